"""Commands of a data owner: ``privity party ...``."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from common.errors import Catalogue, PrivityError
from common.membership.joining import read_invite
from common.membership.member_folder import hand_over
from common.node import logs
from common.node.process import stay_alone, stop_when_stdin_closes
from common.privacy.ledger import Entry, Ledger
from party import approval_commands, joining
from party.agent import Agent
from party.config import LEDGER_FILE, Node, load_config
from party.policy import Approval, load_policy
from party.synthesizer import default_ledger

party_app = typer.Typer(no_args_is_help=True, help="Commands of a data owner's node.")
party_app.command()(approval_commands.show)
party_app.command()(approval_commands.approve)
party_app.command()(approval_commands.refuse)


@party_app.callback()
def _party() -> None:
    """Commands of a data owner's node."""


@party_app.command()
def init(
    invite: Annotated[Path, typer.Option(help="what the organiser sent")],
    data: Annotated[Path, typer.Option(help="this party's rows: CSV, or CSV in gzip")],
    population: Annotated[str, typer.Option(help="the people whose rows these are: the ledger's name")],
    approval: Annotated[Approval, typer.Option(help="who says yes to each run")] = Approval.MANUAL,
    folder: Annotated[Path | None, typer.Option(help="folder to make; the party's name if left out")] = None,
    answer: Annotated[Path | None, typer.Option(help="where to put the answer for the organiser, too")] = None,
) -> None:
    """Make a party's folder from an invite: its keys are made here and never leave. Review its policy.toml."""
    read = read_invite(invite, "party")
    place = folder or Path(read.name)
    file, content = joining.join(place, read, data, population, approval)
    print(hand_over(file, answer, content, read))
    print(f"Review {place / 'policy.toml'}: nothing runs that it does not allow.")


@party_app.command()
def renew(
    config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml"),
    keys: Annotated[bool, typer.Option("--keys", help="new signing, sealing and agreement keys, too")] = False,
    answer: Annotated[Path | None, typer.Option(help="where to put the answer for the organiser, too")] = None,
) -> None:
    """Make a new TLS key and certificate; the node takes them once a manifest lists them, without a restart."""
    file, content = joining.renew(load_config(config), keys=keys)
    print(hand_over(file, answer, content))


@party_app.command()
def serve(
    config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml"),
    log_format: Annotated[logs.LogFormat, typer.Option(help="of log lines")] = logs.LogFormat.TEXT,
    stop_with_stdin: Annotated[bool, typer.Option(help="stop when standard input closes")] = False,
) -> None:
    """Answer the steps of runs that the policy allows, until interrupted."""
    logs.configure(log_format)
    with logs.errors_for_logs(log_format):
        settings = load_config(config)
        agent = Agent(Node(settings))
        if stop_with_stdin:
            stop_when_stdin_closes()
        with stay_alone(settings.state):
            asyncio.run(_until_stopped(agent))


@party_app.command()
def ledger(
    config: Annotated[Path | None, typer.Option(help="party.toml of a node")] = None,
    file: Annotated[Path | None, typer.Option(help="a ledger's file, as for privity synthesize --ledger")] = None,
    population: Annotated[str | None, typer.Option(help="the people; needed without --config")] = None,
    steps: Annotated[bool, typer.Option(help="every single charge")] = False,
) -> None:
    """Show what has been spent on a population: by run, the total, what is left."""
    total = None
    if config:
        settings = load_config(config)
        policy = load_policy(settings.policy)
        path, population, total = settings.state / LEDGER_FILE, policy.population, policy.total_epsilon
    elif population:
        path = file or default_ledger(population)
    else:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="population", reason="neither --config nor --population is given",
            hint="Give party.toml with --config, or the name of the people with --population.",
        )  # fmt: skip
    if not path.exists():
        first = "privity party serve" if config else "privity synthesize"
        raise PrivityError(Catalogue.OUT_OF_ORDER, missing=path, first=first)
    book = Ledger(path, population)
    Console().print(_by_step(book) if steps else _by_run(book))
    spent = book.spent()
    left = f" Left: {total - spent} of {total}." if total is not None else ""
    print(f"Population {population!r}: epsilon {spent} spent.{left}")


def _by_run(book: Ledger) -> Table:
    table = Table("first charge (UTC)", "run", "epsilon", "delta", "charges", "not answered")
    runs: dict[str, list[Entry]] = {}
    for entry in book.entries():
        runs.setdefault(entry.charge.run, []).append(entry)
    for run, entries in runs.items():
        epsilon = sum((e.charge.epsilon for e in entries), Fraction(0))
        delta = sum((e.charge.delta for e in entries), Fraction(0))
        open_ones = sum(not e.answered for e in entries)
        table.add_row(entries[0].at, run, str(epsilon), str(delta), str(len(entries)), str(open_ones))
    return table


def _by_step(book: Ledger) -> Table:
    table = Table("when (UTC)", "run", "step", "epsilon", "delta", "answered")
    for entry in book.entries():
        c = entry.charge
        table.add_row(entry.at, c.run, c.step, str(c.epsilon), str(c.delta), "yes" if entry.answered else "no")
    return table


async def _until_stopped(agent: Agent) -> None:
    task = asyncio.create_task(agent.serve())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
