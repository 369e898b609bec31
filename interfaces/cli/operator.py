"""``privity operator``: the folder of the one who submits runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privity.common.consortium import member_folder
from privity.common.consortium.invitation import read_invite
from privity.common.consortium.key_renewal import Next
from privity.common.consortium.member_folder import SCHEMA, hand_over, make_folder, make_join
from privity.common.consortium.schema_file import SchemaFile
from privity.common.crypto.certificates import name_in
from privity.common.data.schema import load_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats.declared_keys import new_file
from privity.common.storage.safe_files import write_private
from privity.common.text.terminal import say
from privity.deploy.operator.operator_folder import SETTINGS, OperatorConfig, link_of, newest_manifest
from privity.interfaces.cli import console

operator_app = typer.Typer(no_args_is_help=True, help="Commands of the operator: folder, keys, browser console.")


operator_app.command("console")(console.operator_console)


@operator_app.callback()
def operator() -> None:
    """Commands of the operator: folder, keys, browser console."""


@operator_app.command("init")
def init(
    invite: Annotated[Path, typer.Option(help="what the organiser sent")],
    folder: Annotated[Path, typer.Option(help="folder to make")] = Path("operator"),
    answer: Annotated[Path | None, typer.Option(help="where to put a copy of the answer for the organiser")] = None,
) -> None:
    """Make the operator's folder from an invite. Its private key is made here and never leaves."""
    read = read_invite(invite, "operator")
    make_folder(folder, read, SETTINGS)
    file, content = make_join(folder, read)
    write_private(folder / SETTINGS, new_file(OperatorConfig, curator=read.curator).encode())
    say(*hand_over(file, answer, content, read))


@operator_app.command("accept")
def accept(
    schema: Annotated[Path, typer.Option(help="the schema that the organiser sent")],
    config: Annotated[Path, typer.Option(help="operator.toml")] = Path(SETTINGS),
) -> None:
    """Accept the schema that the curator's manifest names; plans of runs use it."""
    manifest, digest = newest_manifest(config), load_schema(schema).digest
    if digest != manifest.schema_digest:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="schema",
            reason=f"{schema} has SHA-256 {digest}, and the curator's manifest (serial {manifest.serial}) names"
            f" {manifest.schema_digest}",
            hint="Get that schema from the organiser; or wait until the curator has accepted the newest manifest.",
        )  # fmt: skip
    kept = SchemaFile(config.parent / SCHEMA)
    kept.keep_ready(schema)
    kept.settle(manifest)
    say(f"{kept.path} is the schema of manifest serial {manifest.serial}: SHA-256 {digest}.")


@operator_app.command("renew")
def renew(
    config: Annotated[Path, typer.Option(help="operator.toml")] = Path(SETTINGS),
    answer: Annotated[Path | None, typer.Option(help="where to put a copy of the answer for the organiser")] = None,
) -> None:
    """Make a new TLS key and certificate. Commands use them once the curator's manifest lists them."""
    client = link_of(config)
    name = name_in(client.certificate.read_bytes())
    file, content = member_folder.renew(Next(client.key), "operator", name)
    say(*hand_over(file, answer, content))
