"""``privity operator`` and ``privity run``: who submits runs, and the runs."""

from __future__ import annotations

import json
import secrets
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from common import member_folder
from common.algorithms import ALGORITHMS
from common.crypto.certificates import name_in
from common.crypto.residues import Exponents
from common.errors import Catalogue, PrivityError
from common.joining import read_invite
from common.member_folder import hand_over, make_folder, make_join
from common.privacy.budget import parse_delta, parse_epsilon
from common.protocol.sum_kind import Method
from common.proxy import proxy_of, proxy_problems
from common.release import verify_release
from common.renewal import Next
from common.toml_file import read_toml
from deploy.operator_client import OperatorClient
from deploy.options import refuse_existing, settings_option, sum_options
from deploy.progress import ProgressView

operator_app = typer.Typer(no_args_is_help=True, help="The operator's own folder.")
run_app = typer.Typer(no_args_is_help=True, help="Runs of a consortium.")

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

Config = Annotated[Path, typer.Option(help="operator.toml")]
HERE = Path(SETTINGS)


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


@operator_app.command("renew")
def renew(
    config: Annotated[Path, typer.Option(help="operator.toml")] = Path(SETTINGS),
    answer: Annotated[Path | None, typer.Option(help="where to put the answer for the organiser, too")] = None,
) -> None:
    """Make a new TLS key and certificate; commands take them once the curator knows them."""
    client = _client(config)
    name = name_in(client.certificate.read_bytes())
    file, content = member_folder.renew(Next(client.key), "operator", name)
    print(hand_over(file, answer, content))


def client_of(config: Path) -> OperatorClient:
    """The operator's link to its curator, under renewed keys from the moment that the curator knows them."""
    client = _client(config)
    waiting = Next(client.key, client.certificate)
    if waiting.there() and replace(client, certificate=waiting.next_certificate, key=waiting.next_key).known():
        waiting.take()
    return client


def _client(config: Path) -> OperatorClient:
    document = read_toml(config, "operator", lambda document: proxy_problems(document, str(config)))
    base = config.parent
    return OperatorClient(
        document["curator"],
        base / document["authority"],
        base / document["certificate"],
        base / document["key"],
        proxy_of(document),
    )


@run_app.command("submit")
def submit(
    epsilon: Annotated[str, typer.Option(help="exact, such as 1.0 or 1/3: what the run costs each party")],
    algorithm: Annotated[str, typer.Option(help=" or ".join(ALGORITHMS))] = "dp-subn",
    delta: Annotated[str, typer.Option(help="the same, for algorithms that can spend some: copula")] = "0",
    settings: Annotated[str, typer.Option(help="the algorithm's settings as JSON")] = "{}",
    tolerate: Annotated[int, typer.Option(help="t, how many parties may pool what they know")] = 1,
    rows: Annotated[int | None, typer.Option(help="of the release; as many as the parties hold if left out")] = None,
    secure_sum: Annotated[Method, typer.Option(help="how sums are taken; docs/secure_sums.md")] = Method.PAILLIER,
    key_bits: Annotated[int | None, typer.Option(help="of the Paillier modulus; 3072 if left out")] = None,
    exponents: Annotated[Exponents | None, typer.Option(help="of Paillier's randomness; half if left out")] = None,
    token: Annotated[str | None, typer.Option(help="the same token again names the same run")] = None,
    out: Annotated[Path | None, typer.Option(help="wait, and fetch the release into this new folder")] = None,
    config: Config = HERE,
) -> None:
    """Submit a run; with --out, wait for it and fetch its release."""
    kind, bits = sum_options(secure_sum, exponents, key_bits)
    parse_epsilon(epsilon)
    parse_delta(delta)
    if out is not None:
        refuse_existing(out)
    request = {
        "format_version": 1,
        "algorithm": algorithm,
        "settings": settings_option(settings),
        "epsilon": epsilon,
        "delta": delta,
        "tolerate": tolerate,
        "key_bits": bits,
        "secure_sum": kind.method.value,
        "exponents": None if kind.exponents is None else kind.exponents.value,
        "rows": rows,
    }
    client = client_of(config)
    run = client.submit(request, token or secrets.token_hex(16))
    print(run)
    if out is not None:
        _watch(client, run)
        _fetch(client, run, out)


@run_app.command("watch")
def watch(run: Annotated[str, typer.Argument(help="name of the run")], config: Config = HERE) -> None:
    """Show a run's progress until it has ended."""
    _watch(client_of(config), run)


@run_app.command("fetch")
def fetch(
    run: Annotated[str, typer.Argument(help="name of the run")],
    out: Annotated[Path, typer.Option(help="release folder to make; must not exist")],
    config: Config = HERE,
) -> None:
    """Fetch the release of a completed run."""
    refuse_existing(out)
    _fetch(client_of(config), run, out)


@run_app.command("stop")
def stop(run: Annotated[str, typer.Argument(help="name of the run")], config: Config = HERE) -> None:
    """End a run that is queued or at work; what was charged stays charged."""
    client_of(config).stop(run)


def _watch(client: OperatorClient, run: str) -> None:
    with ProgressView(Console(stderr=True), run) as view:
        for event in client.watch(run):
            view.update(event)
    if event.state != "COMPLETED":
        raise PrivityError(
            Catalogue.RUN_FAILED, run=run, state=event.state, reason=event.reason, hint="Nothing was released."
        )


def _fetch(client: OperatorClient, run: str, out: Path) -> None:
    parent = out.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=f".{out.name}-") as scratch:
        folder = Path(scratch) / "release"
        folder.mkdir()
        client.fetch(run, folder)
        verify_release(folder)
        folder.rename(out)
    print(f"Release written to {out}.")
