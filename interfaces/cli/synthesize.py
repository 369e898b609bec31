"""``privity synthesize``: single-party mode, a single owner with its own rows and ledger."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from privity.common.data.schema import Schema, load_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.node.process import dump_no_core
from privity.common.privacy.budget import parse_delta, parse_epsilon, readable
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.release.shortcomings import constraint_notes, fallback, notes
from privity.common.release.statement import headline
from privity.common.release.synthetic_rows import check_release_size
from privity.common.runs.automatic_choice import AUTO, check_automatic, choose
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.learning.domain_discovery import stand_in
from privity.common.text import terminal
from privity.common.text.terminal import say
from privity.deploy.operator.request_options import OF_ALGORITHM, Inference
from privity.deploy.options import DialectOption, learning_settings, refuse_existing, row_options
from privity.local_release import publish
from privity.party.sources.address import refuse_password
from privity.party.sources.pass_progress import shown_on
from privity.party.sources.rows import Rows
from privity.synthesizers import SYNTHESIZERS


def synthesize_command(
    data: Annotated[str, typer.Option(help="the table: a path or a URL (docs/sources.md)", callback=refuse_password)],
    schema: Annotated[Path, typer.Option(help="the table's schema (docs/schema.md)")],
    epsilon: Annotated[str, typer.Option(help="epsilon that this release costs, exact, such as 1.0 or 1/3")],
    population: Annotated[str, typer.Option(help="the declared population: the people in these rows")],
    out: Annotated[Path, typer.Option(help="release folder to make; must not exist")],
    algorithm: Annotated[str, typer.Option(help=OF_ALGORITHM)] = AUTO,
    delta: Annotated[
        str, typer.Option(help="delta that this release costs, such as 1e-9; with 0 it is pure epsilon-DP")
    ] = "0",
    settings: Annotated[str, typer.Option(help="the algorithm's settings as JSON")] = "{}",
    inference: Inference = None,
    ledger: Annotated[
        Path | None, typer.Option(help="the ledger's file; by default in the user's state folder")
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="column with the person's key, if a person has several rows")
    ] = None,
    order: Annotated[str | None, typer.Option(help="column that numbers each person's rows")] = None,
    rows: Annotated[int | None, typer.Option(help="synthetic rows; by default as many as the table has")] = None,
    dialect: DialectOption = None,
) -> None:
    """Publish one owner's table: learn a model for epsilon, charge the ledger, write a release."""
    dump_no_core()
    if algorithm not in (AUTO, *SYNTHESIZERS):
        raise PrivityError(
            Catalogue.BAD_OPTION, option="algorithm", reason=f"{algorithm!r} is unknown",
            hint=f"Use one of: {', '.join((AUTO, *SYNTHESIZERS))}.",
        )  # fmt: skip
    if rows is not None and rows < 1:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="rows", reason=f"{rows} is not a number of rows", hint="Use 1 or more."
        )
    chosen = learning_settings(algorithm, settings, inference)
    refuse_existing(out)
    declared = load_schema(schema)
    declared.require_reviewed(schema)
    if algorithm == AUTO:
        check_automatic(chosen)
    else:
        _check(algorithm, chosen, declared, delta)
    with closing(open_ledger(population, ledger)) as book:
        rows_per_person = book.population.rows_per_person
    with terminal.console(err=True).status(title := "Reading all rows ...") as status, shown_on(status, title):
        options = row_options(data, person, order, dialect)
        table = options.open(declared, rows_per_person).rows

    def coded(schema: Schema) -> Rows:
        return table if schema == declared else options.open(schema, rows_per_person).rows

    check_release_size(rows or table.rows, declared)
    automatic = None
    if algorithm == AUTO:
        best = choose(declared, [table.rows], 0, parse_epsilon(epsilon), parse_delta(delta))
        algorithm, automatic = best.algorithm, best.document()
        say(f"Algorithm: {algorithm} ({best.reason}).")
        _check(algorithm, chosen, declared, delta)
    synthesizer = SYNTHESIZERS[algorithm](epsilon, delta=delta, population=population, ledger=ledger, **chosen)
    if memory := ALGORITHMS[algorithm].memory(stand_in(declared)):
        say(f"Needs about {memory / 1e9:.2g} GB of memory besides the table.")
    started = time.monotonic()
    synthesizer.fit(coded, declared)
    learned = time.monotonic()
    release = publish(synthesizer, out, rows, automatic)
    ended = time.monotonic()
    charged, spent = synthesizer.charged_, synthesizer.spent_
    limit = f" of {readable(synthesizer.population_.total_epsilon)}"
    say(f"Release written to {out}.")
    say(headline(release.privacy))
    say(f"Seconds, not in the release: learning {learned - started:.1f}, the rest {ended - learned:.1f}.")
    for note in [
        *fallback(release.marginals["inference"]),
        *notes(synthesizer.model_, joins=ALGORITHMS[algorithm].joins),
        *constraint_notes(release.run),
    ]:
        say(note)
    say(f"Population {population!r}: epsilon {readable(charged.epsilon)} now, {readable(spent.epsilon)}{limit} in all.")
    if spent.delta:
        say(f"Delta: {readable(charged.delta)} now, {readable(spent.delta)} in all.")


def _check(algorithm: str, settings: dict[str, Any], declared: Schema, delta: str) -> None:
    """Refuse what the algorithm cannot do, before anything is read or spent."""
    known = declared if ALGORITHMS[algorithm].discovers else stand_in(declared)
    ALGORITHMS[algorithm].check_request(settings, known, parse_delta(delta))
