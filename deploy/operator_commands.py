"""``privity operator``: the folder of the one who submits runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from common.joining import read_invite
from common.member_folder import hand_over, make_folder, make_join
from common.toml_file import read_toml
from deploy.operator_client import OperatorClient

operator_app = typer.Typer(no_args_is_help=True, help="The operator's own folder.")

SETTINGS = "operator.toml"
OPERATOR_TOML = """\
# The operator's side (docs/formats.md). Paths are relative to this file.
format_version = 1
curator = {curator}
certificate = "tls.pem"
key = "tls.key"
authority = "authority.pem"
"""


@operator_app.callback()
def operator() -> None:
    """The operator's own folder."""


@operator_app.command("init")
def init(
    invite: Annotated[Path, typer.Option(help="what the organiser sent")],
    folder: Annotated[Path, typer.Option(help="folder to make")] = Path("operator"),
    answer: Annotated[Path | None, typer.Option(help="where to put the answer for the organiser, too")] = None,
) -> None:
    """Make the operator's folder from an invite: its key is made here and never leaves."""
    read = read_invite(invite, "operator")
    make_folder(folder, read, SETTINGS)
    file, content = make_join(folder, read)
    (folder / SETTINGS).write_text(OPERATOR_TOML.format(curator=json.dumps(read.curator)), encoding="utf-8")
    print(hand_over(file, answer, content, read))


def client_of(config: Path) -> OperatorClient:
    """The operator's link to its curator."""
    document = read_toml(config, "operator")
    base = config.parent
    return OperatorClient(
        document["curator"], base / document["authority"], base / document["certificate"], base / document["key"]
    )
