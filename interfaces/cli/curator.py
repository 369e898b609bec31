"""Commands of the curator's operator: ``privity curator ...``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from privity.common.consortium.invitation import read_invite
from privity.common.consortium.member_folder import hand_over
from privity.common.node import logs
from privity.common.node.process import dump_no_core, stop_when_stdin_closes
from privity.common.synthesis.single_threaded_blas import keep_one_blas_thread
from privity.common.text.terminal import say
from privity.curator import joining, server
from privity.curator.run_queue import JOURNAL_FILE
from privity.interfaces.cli import notices as shown

curator_app = typer.Typer(no_args_is_help=True, help="Commands of the curator.")


@curator_app.callback()
def _curator() -> None:
    """Commands of the curator."""


@curator_app.command()
def init(
    invite: Annotated[Path, typer.Option(help="what the organiser sent")],
    folder: Annotated[Path, typer.Option(help="folder to make")] = Path("curator"),
    listen: Annotated[
        str | None, typer.Option(help="address to bind; by default all interfaces, at the invite's port")
    ] = None,
    answer: Annotated[Path | None, typer.Option(help="where to put a copy of the answer for the organiser")] = None,
) -> None:
    """Make the curator's folder from an invite. Its private key is made here and never leaves."""
    read = read_invite(invite, "curator")
    file, content = joining.join(folder, read, listen or f"0.0.0.0:{read.curator.rpartition(':')[2]}")
    say(*hand_over(file, answer, content, read))


@curator_app.command()
def renew(
    config: Annotated[Path, typer.Option(help="curator.toml")] = Path(joining.SETTINGS),
    answer: Annotated[Path | None, typer.Option(help="where to put a copy of the answer for the organiser")] = None,
) -> None:
    """Make a new TLS key and certificate. The curator uses them once it has accepted a manifest that lists them."""
    file, content = joining.renew(server.load_config(config))
    say(*hand_over(file, answer, content))


@curator_app.command()
def accept(
    manifest: Annotated[Path, typer.Argument(help="what the organiser sealed")],
    schema: Annotated[
        Path | None, typer.Option(help="the schema that it names, if it is another one than before")
    ] = None,
    config: Annotated[Path, typer.Option(help="curator.toml")] = Path(joining.SETTINGS),
) -> None:
    """Accept a manifest that the organiser sealed. A running curator uses it at once."""
    serial, newer = joining.accept(server.load_config(config), manifest, schema)
    say(f"Serial {serial}: {'accepted' if newer else 'it was here already'}.")


@curator_app.command()
def serve(
    config: Annotated[Path, typer.Option(help="curator.toml")] = Path("curator.toml"),
    port_file: Annotated[Path | None, typer.Option(help="file to write the bound port to")] = None,
    log_format: Annotated[logs.LogFormat, typer.Option(help="format of log lines")] = logs.LogFormat.TEXT,
    stop_with_stdin: Annotated[bool, typer.Option(help="stop when standard input closes")] = False,
) -> None:
    """Run the curator: serve parties and operators until interrupted."""
    logs.configure(log_format)
    dump_no_core()
    if stop_with_stdin:
        stop_when_stdin_closes()
    with logs.errors_for_logs(log_format):
        keep_one_blas_thread()
        asyncio.run(server.serve(server.load_config(config), port_file))


@curator_app.command()
def notices(
    config: Annotated[Path, typer.Option(help="curator.toml")] = Path("curator.toml"), trial: shown.Trial = False
) -> None:
    """Show what the curator told operators by e-mail or webhook, or send a trial."""
    settings = server.load_config(config)
    shown.show(config, "curator", settings.notices, settings.state / JOURNAL_FILE, trial=trial)
