"""``privity population ...``: declare the people whose rows are used, and what may be spent on them."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from privity.common.errors import PrivityError
from privity.common.privacy.budget import parse_delta, parse_epsilon, readable
from privity.common.privacy.ledger_folder import declare as declare_ledger
from privity.common.privacy.ledger_folder import declared, open_ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import parse_population
from privity.common.privacy.population_change import change_population, changed, in_words, return_reserved
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.text import text_table
from privity.common.text.terminal import say

population_app = typer.Typer(no_args_is_help=True, help="Declare the people whose rows are used, and their budget.")

Name = Annotated[str, typer.Argument(help="name of the population")]
LedgerFile = Annotated[Path | None, typer.Option(help="the ledger's file; by default in the user's state folder")]


@population_app.callback()
def _population() -> None:
    """Declare the people whose rows are used, and their budget."""


@population_app.command()
def declare(
    name: Name,
    total_epsilon: Annotated[str, typer.Option(help="what all releases together may cost one person, such as 4")],
    total_delta: Annotated[
        str, typer.Option(help="the same for delta, such as 0.000001; with 0 all releases are pure epsilon-DP")
    ] = "0",
    rows_per_person: Annotated[int, typer.Option(help="largest number of rows of one person in any table")] = 1,
    ledger: LedgerFile = None,
) -> None:
    """Declare a population, once."""
    wanted = parse_population(name, total_epsilon, total_delta, rows_per_person)
    with closing(declare_ledger(wanted, ledger)) as book:
        say(f"{in_words(wanted)} Spent so far: epsilon {readable(book.spent())}.")


@population_app.command("list")
def show() -> None:
    """List the populations that this user account has declared or used."""
    shown = text_table.table(
        "population",
        *("epsilon spent", "reserved", "of"),
        *("delta spent", "reserved", "of"),
        "rows a person",
        "ledger",
    )
    standing = []
    for name, path in declared().items():
        try:
            with closing(open_ledger(name, path)) as book:
                people, spent, held, reserved = (
                    book.population, (book.spent(), book.spent_delta()), book.held(), book.reserved()
                )  # fmt: skip
        except PrivityError as error:
            text_table.add(shown, name, *[""] * 7, error.message)
            continue
        epsilons, deltas = (spent[0], held[0], people.total_epsilon), (spent[1], held[1], people.total_delta)
        text_table.add(shown, name, *map(readable, (*epsilons, *deltas)), str(people.rows_per_person), str(path))
        standing += [f"{name}: {one.in_words}." for one in reserved]
    text_table.show(shown)
    for line in standing:
        say(line)


@population_app.command()
def change(
    name: Name,
    total_epsilon: Annotated[str | None, typer.Option(help="the new total")] = None,
    total_delta: Annotated[str | None, typer.Option(help="the new total of delta")] = None,
    rows_per_person: Annotated[int | None, typer.Option(help="more rows of one person than before")] = None,
    raise_total: Annotated[bool, typer.Option("--raise", help="needed to make a total larger")] = False,
    ledger: LedgerFile = None,
) -> None:
    """Change the total, or raise the rows a person. The ledger records each change.

    A lower total holds at once. More rows a person price everything that was charged before anew.
    """
    with closing(open_ledger(name, ledger)) as book:
        now = book.population
        wanted = changed(now, total_epsilon, total_delta, rows_per_person)
        change_population(book, wanted, now, raise_total=raise_total)
        say(f"{in_words(book.population)} Spent so far: epsilon {readable(book.spent())}.")
        held = book.held()[0]
        if book.left()[0] < 0 and held:
            over = "with what is spent more than the total: their next charge is refused"
            say(f"Runs that have begun have reserved epsilon {readable(held)} besides, {over}.")


@population_app.command("return")
def give_back(
    name: Name,
    run: Annotated[str, typer.Argument(help="the run, as in privity population list")],
    ledger: LedgerFile = None,
) -> None:
    """Return the budget that is reserved for a run that will not go on, for instance because its node is gone.

    Nothing that was spent comes back. If the run goes on all the same, it is charged what is then left, or refused.
    """
    with closing(open_ledger(name, ledger)) as book:
        return_reserved(book, run)
        say(f"Returned. Left: epsilon {readable(book.left()[0])} of {readable(book.population.total_epsilon)}.")


@population_app.command()
def adjust(
    name: Name,
    spent_epsilon: Annotated[str, typer.Option(help="what all releases together have cost one person, such as 1.5")],
    spent_delta: Annotated[str | None, typer.Option(help="the same for delta; by default what the ledger has")] = None,
    ledger: LedgerFile = None,
) -> None:
    """Say what was spent, after a restore from a backup: the ledger charges what it lacks, and is used again.

    Let the node connect before: what it signed comes back from the curator. Add up the releases since the backup, and
    what the other members know of runs that made none. If you do not know, say the total: nothing more is released
    then.
    """
    with closing(open_ledger(name, ledger)) as book:
        delta = book.spent_delta() if spent_delta is None else parse_delta(spent_delta, "spent_delta")
        book.adjust(ApproxDP(parse_epsilon(spent_epsilon, "spent_epsilon"), delta, RELATION))
        left, total = book.left()[0], book.population.total_epsilon
        say(f"Spent: epsilon {readable(book.spent())}. Left: {readable(max(left, Fraction(0)))} of {readable(total)}.")


@population_app.command()
def merge(
    name: Name,
    other: Annotated[Path, typer.Argument(help="the other ledger, which is closed")],
    ledger: LedgerFile = None,
) -> None:
    """Merge another ledger of the same people into this one. First stop the nodes that use the other."""
    with closing(open_ledger(name, ledger)) as book:
        lines = book.merge(other)
        say(f"Lines taken over from {other}, which is closed: {lines}. Spent: epsilon {readable(book.spent())}.")
