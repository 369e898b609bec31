"""Commands of a data owner: ``privity party ...``."""

from __future__ import annotations

import asyncio
import contextlib
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from common import text_table
from common.errors import Catalogue, PrivityError
from common.membership.joining import read_invite
from common.membership.member_folder import hand_over
from common.node import logs
from common.node.process import at_interrupt, dump_no_core, stay_alone, stop_when_stdin_closes
from common.privacy.budget import readable
from common.privacy.ledger import Entry, Ledger
from party import approval_commands, check_commands, joining, transcript_commands
from party.agent import Agent
from party.config import LEDGER_FILE, Node, load_config
from party.policy import Approval, load_policy
from party.sources.address import is_there
from party.synthesizer import default_ledger

party_app = typer.Typer(no_args_is_help=True, help="Commands of a data owner's node.")
party_app.command()(approval_commands.show)
party_app.command()(approval_commands.approve)
party_app.command()(approval_commands.refuse)
party_app.command()(transcript_commands.transcript)
party_app.command()(check_commands.check)


@party_app.callback()
def _party() -> None:
    """Commands of a data owner's node."""


@party_app.command()
def init(
    invite: Annotated[Path, typer.Option(help="what the organiser sent")],
    data: Annotated[str, typer.Option(help="this party's rows: a path or a URL (docs/sources.md)")],
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
    if not is_there(data):
        told = f"Warning: {data} is not there; the node does not start without it. {place / 'party.toml'} names it."
        typer.echo(told, err=True)


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
    dump_no_core()
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
    text_table.show(_by_step(book) if steps else _by_run(book))
    spent = book.spent()
    left = f" Left: {readable(total - spent)} of {readable(total)}." if total is not None else ""
    print(f"Population {population!r}: epsilon {readable(spent)} spent.{left}")


def _by_run(book: Ledger) -> Table:
    table = text_table.table("first charge (UTC)", "run", "epsilon", "delta", "charges", "not answered")
    runs: dict[str, list[Entry]] = {}
    for entry in book.entries():
        runs.setdefault(entry.charge.run, []).append(entry)
    for run, entries in runs.items():
        epsilon = sum((e.charge.epsilon for e in entries), Fraction(0))
        delta = sum((e.charge.delta for e in entries), Fraction(0))
        open_ones = sum(not e.answered for e in entries)
        amounts = (readable(epsilon), readable(delta), str(len(entries)), str(open_ones))
        text_table.add(table, entries[0].at, run, *amounts)
    return table


def _by_step(book: Ledger) -> Table:
    entries = book.entries()
    in_rho = any(entry.charge.rho is not None for entry in entries)
    table = text_table.table("when (UTC)", "run", "step", "epsilon", "delta", *["rho"] * in_rho, "answered")
    for entry in entries:
        c = entry.charge
        rho = ["" if c.rho is None else f"{float(c.rho):.4g}"] * in_rho
        answered = "yes" if entry.answered else "no"
        text_table.add(table, entry.at, c.run, c.step, readable(c.epsilon), readable(c.delta), *rho, answered)
    return table


async def _until_stopped(agent: Agent) -> None:
    task = asyncio.create_task(agent.serve())
    at_interrupt(task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
