"""Commands of the curator's operator: ``privity curator ...``."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Annotated

import typer

from common.errors import Catalogue, PrivityError
from common.joining import read_invite
from common.member_folder import hand_over, make_folder, make_join
from common.process import stop_when_stdin_closes
from common.protocol.manifest_file import ManifestFile
from curator import server

SETTINGS = "curator.toml"
CURATOR_TOML = """\
# The curator's server (docs/formats.md). Paths are relative to this file.
format_version = 1
listen = {listen}
key = "tls.key"
# From the organiser: privity curator accept FILE
manifest = "manifest.json"
organiser_key = "organiser.pub"
schema = "schema.json"
# Runs and releases: keep it.
state = "state"
# Seconds without a sign of life from a party that was asked something, after which a run fails.
patience = 60
"""

curator_app = typer.Typer(no_args_is_help=True, help="Commands of the curator's operator.")


@curator_app.callback()
def _curator() -> None:
    """Commands of the curator's operator."""


@curator_app.command()
def init(
    invite: Annotated[Path, typer.Option(help="what the organiser sent")],
    folder: Annotated[Path, typer.Option(help="folder to make")] = Path("curator"),
    listen: Annotated[str | None, typer.Option(help="address to bind; all interfaces at the invite's port")] = None,
    answer: Annotated[Path | None, typer.Option(help="where to put the answer for the organiser, too")] = None,
) -> None:
    """Make the curator's folder from an invite: its key is made here and never leaves."""
    read = read_invite(invite, "curator")
    make_folder(folder, read, SETTINGS)
    file, content = make_join(folder, read)
    bind = listen or f"0.0.0.0:{read.curator.rpartition(':')[2]}"
    (folder / SETTINGS).write_text(CURATOR_TOML.format(listen=json.dumps(bind)), encoding="utf-8")
    print(hand_over(file, answer, content, read))


@curator_app.command()
def accept(
    manifest: Annotated[Path, typer.Argument(help="what the organiser sealed")],
    config: Annotated[Path, typer.Option(help="curator.toml")] = Path(SETTINGS),
) -> None:
    """Take a manifest that the organiser sealed; a curator at work goes by it at once."""
    settings = server.load_config(config)
    manifests = ManifestFile(settings.manifest, settings.organiser_key)
    try:
        document = manifest.read_bytes()
    except OSError:
        raise PrivityError(Catalogue.FILE_MISSING, file=manifest) from None
    newer = manifests.offer(document)
    print(f"Serial {manifests.current().serial}: {'accepted' if newer else 'it was here already'}.")


@curator_app.command()
def serve(
    config: Annotated[Path, typer.Option(help="curator.toml")] = Path("curator.toml"),
    port_file: Annotated[Path | None, typer.Option(help="write the bound port to this file")] = None,
    stop_with_stdin: Annotated[bool, typer.Option(help="stop when standard input closes")] = False,
) -> None:
    """Serve parties and operators until interrupted."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    if stop_with_stdin:
        stop_when_stdin_closes()
    asyncio.run(server.serve(server.load_config(config), port_file))
