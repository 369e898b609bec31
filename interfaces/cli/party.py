"""Commands of a data owner: ``privity party ...``."""

from __future__ import annotations

import asyncio
import contextlib
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from privity.common.consortium.invitation import read_invite
from privity.common.consortium.member_folder import hand_over
from privity.common.errors import Catalogue, PrivityError
from privity.common.node import logs
from privity.common.node.process import at_interrupt, dump_no_core, open_files, stay_alone, stop_when_stdin_closes
from privity.common.privacy.budget import readable
from privity.common.privacy.ledger_folder import declare, declared, open_ledger
from privity.common.privacy.ledger_listing import RUNS, columns_of
from privity.common.privacy.ledger_reader import LedgerReader
from privity.common.privacy.population import parse_population
from privity.common.storage.journal import Journal
from privity.common.text import text_table
from privity.common.text.terminal import say
from privity.interfaces.cli import (
    console,
    party_approvals,
    party_check,
    party_map,
    party_notices,
    party_schema,
    party_transcripts,
)
from privity.party import joining
from privity.party.agent import Agent
from privity.party.config import JOURNAL_FILE, Node, ledger_of, load_config, read_policy
from privity.party.ledger_rollback import KnownLedger
from privity.party.other_nodes import OtherNodes
from privity.party.policy import Approval
from privity.party.sources.address import is_there, refuse_password
from privity.party.sources.pass_progress import kept_in

party_app = typer.Typer(no_args_is_help=True, help="Commands of a data owner's node.")
party_app.command()(party_approvals.show)
party_app.command()(party_approvals.approve)
party_app.command()(party_approvals.reject)
party_app.command()(party_transcripts.transcript)
party_app.command()(party_check.check)
party_app.command("map")(party_map.draft)
party_app.command()(party_notices.fetch)
party_app.command()(party_notices.notices)
party_app.command()(party_schema.accept)
party_app.command("console")(console.party_console)


@party_app.callback()
def _party() -> None:
    """Commands of a data owner's node."""


@party_app.command()
def init(
    invite: Annotated[Path, typer.Option(help="what the organiser sent")],
    data: Annotated[
        str, typer.Option(help="this party's rows: a path or URL (docs/sources.md)", callback=refuse_password)
    ],
    population: Annotated[str, typer.Option(help="the population: the people in these rows")],
    total_epsilon: Annotated[
        str | None, typer.Option(help="also declare the population: what all releases together may cost one person")
    ] = None,
    approval: Annotated[Approval, typer.Option(help="whether a person approves each run")] = Approval.MANUAL,
    folder: Annotated[Path | None, typer.Option(help="folder to make; by default the party's name")] = None,
    answer: Annotated[Path | None, typer.Option(help="where to put a copy of the answer for the organiser")] = None,
) -> None:
    """Make a party's folder from an invite. Its private keys are made here and never leave. Review its policy.toml."""
    read = read_invite(invite, "party")
    if total_epsilon is not None:
        declare(parse_population(population, total_epsilon)).close()
    place = folder or Path(read.name)
    file, content = joining.join(place, read, data, population, approval)
    say(*hand_over(file, answer, content, read))
    say(f"Review {place / 'policy.toml'}: nothing runs that it does not allow.")
    if not is_there(data):
        told = f"Warning: {data} is not there; the node does not start without it. {place / 'party.toml'} names it."
        say(told, err=True)
    if population not in declared():
        told = f"The population {population!r} is not declared for this user account. Before the node starts, run:"
        say(told, f"  privity population declare {population!r} --total-epsilon TOTAL", err=True)


@party_app.command()
def renew(
    config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml"),
    keys: Annotated[bool, typer.Option("--keys", help="also make new signing, sealing and agreement keys")] = False,
    answer: Annotated[Path | None, typer.Option(help="where to put a copy of the answer for the organiser")] = None,
) -> None:
    """Make a new TLS key and certificate. The node uses them once a manifest lists them, without a restart."""
    file, content = joining.renew(load_config(config), keys=keys)
    say(*hand_over(file, answer, content))


@party_app.command()
def serve(
    config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml"),
    log_format: Annotated[logs.LogFormat, typer.Option(help="format of log lines")] = logs.LogFormat.TEXT,
    stop_with_stdin: Annotated[bool, typer.Option(help="stop when standard input closes")] = False,
) -> None:
    """Run a party's node: answer the runs that the policy allows, until interrupted."""
    logs.configure(log_format)
    dump_no_core()
    open_files()
    with logs.errors_for_logs(log_format):
        settings = load_config(config)
        with kept_in(settings.state):
            agent = Agent(Node(settings))
            if stop_with_stdin:
                stop_when_stdin_closes()
            with stay_alone(settings.state):
                asyncio.run(_until_stopped(agent))


@party_app.command()
def ledger(
    config: Annotated[Path | None, typer.Option(help="party.toml of a node")] = None,
    file: Annotated[Path | None, typer.Option(help="a ledger's file, as in privity synthesize --ledger")] = None,
    population: Annotated[str | None, typer.Option(help="the population; needed without --config")] = None,
    steps: Annotated[bool, typer.Option(help="show every line of the ledger")] = False,
) -> None:
    """Show what was spent on a population: by run, in total, and what is left."""
    if config:
        settings = load_config(config)
        population, file = read_policy(settings).population.name, settings.ledger
    elif not population:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="population", reason="neither --config nor --population was given",
            hint="Give party.toml with --config, or the name of the people with --population.",
        )  # fmt: skip
    with contextlib.closing(open_ledger(population, file)) as book:
        reader = LedgerReader(book)
        entries = list(reader.entries()) if steps else []
        columns = columns_of(entries) if steps else RUNS
        shown = text_table.table(*(column.heading for column in columns))
        for line in entries if steps else reader.by_run():
            text_table.add(shown, *(column.text(line) for column in columns))
        text_table.show(shown)
        total, spent, left, reserved = book.population.total_epsilon, book.spent(), book.left()[0], book.reserved()
    for one in reserved:
        say(f"{one.in_words[0].upper()}{one.in_words[1:]}.")
    say(f"Population {population!r}: epsilon {readable(spent)} spent. {_left(left, total, bool(reserved))}")


@party_app.command()
def restored(config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml")) -> None:
    """Say that this node's ledger or journal comes from a backup. First stop the node.

    Every run that was open here ends, charged with all that it may cost. Nothing more is charged to the population
    until you say what was spent after the backup.
    """
    settings = load_config(config)
    population = read_policy(settings).population.name
    with stay_alone(settings.state):
        journal = Journal(settings.state / JOURNAL_FILE)
        with contextlib.closing(journal), contextlib.closing(ledger_of(settings, population)) as book:
            ended = KnownLedger(journal, book).set_back()
            OtherNodes(settings.name, journal).forget()
            say(f"Runs that ended here: {', '.join(ended) or 'none'}. Spent so far: epsilon {readable(book.spent())}.")
            error = PrivityError(Catalogue.POPULATION_FROZEN, population=population)
            say(f"{error.message[0].upper()}{error.message[1:]}. {error.remedy}")


def _left(left: Fraction, total: Fraction, reserved: bool) -> str:
    if left < 0:
        what = "This and what is reserved" if reserved else "That"
        return f"{what} is {readable(-left)} more than the total, {readable(total)}: nothing more is released."
    return f"Left: {readable(left)} of {readable(total)}."


async def _until_stopped(agent: Agent) -> None:
    task = asyncio.create_task(agent.serve())
    at_interrupt(task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
