"""``privity operator``: the folder of the one who submits runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from privity.common.crypto.certificates import name_in
from privity.common.files import write_private
from privity.common.formats.toml_file import read_toml
from privity.common.membership import member_folder
from privity.common.membership.joining import read_invite
from privity.common.membership.member_folder import hand_over, make_folder, make_join
from privity.common.membership.renewal import Next
from privity.common.node.proxy import proxy_of, proxy_problems
from privity.common.terminal import say
from privity.deploy.operator_client import OperatorClient

operator_app = typer.Typer(no_args_is_help=True, help="The operator's own folder.")

SETTINGS = "operator.toml"
OPERATOR_TOML = """\
# The operator's side (docs/formats.md). Paths are relative to this file.
format_version = 1
curator = {curator}
# If this machine dials out through a proxy (HTTP CONNECT); keep the file to yourself if there is a password in it.
# proxy = "http://proxy.example.org:3128"
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
    write_private(folder / SETTINGS, OPERATOR_TOML.format(curator=json.dumps(read.curator)).encode())
    say(*hand_over(file, answer, content, read))


@operator_app.command("renew")
def renew(
    config: Annotated[Path, typer.Option(help="operator.toml")] = Path(SETTINGS),
    invite: Annotated[Path | None, typer.Option(help="a newer invite, if the organiser sent one")] = None,
    answer: Annotated[Path | None, typer.Option(help="where to put the answer for the organiser, too")] = None,
) -> None:
    """Make a new TLS key and certificate; commands take them once the curator knows them."""
    client = link_of(config)
    name = name_in(client.certificate.read_bytes())
    file, content = member_folder.renew(Next(client.key), "operator", name, invite=invite)
    say(*hand_over(file, answer, content))


def client_of(config: Path) -> OperatorClient:
    """The operator's link to its curator, under renewed keys from the moment that the curator knows them."""
    client = link_of(config)
    waiting = Next(client.key, client.certificate)
    if waiting.half_taken() or (
        waiting.there() and replace(client, certificate=waiting.next_certificate, key=waiting.next_key).known()
    ):
        waiting.take()
    return client


def link_of(config: Path) -> OperatorClient:
    """The operator's link under the keys that are in use."""
    document = read_toml(config, "operator", lambda document: proxy_problems(document, str(config)))
    base = config.parent
    return OperatorClient(
        document["curator"],
        base / document["authority"],
        base / document["certificate"],
        base / document["key"],
        proxy_of(document),
    )
