"""``privity synthesize``: single-party mode, a single owner with its own rows and ledger."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from privity.common.data.schema import Schema, load_schema
from privity.common.formats.given_values import bad_option
from privity.common.node.process import dump_no_core
from privity.common.privacy.budget import parse_delta, parse_epsilon, readable
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.protocol.declared_options import Taker
from privity.common.protocol.run_terms import AUTO
from privity.common.release.shortcomings import constraint_notes, fallback, notes
from privity.common.release.statement import headline
from privity.common.release.synthetic_rows import check_release_size
from privity.common.runs.automatic_choice import check_automatic, choose
from privity.common.runs.modelled_together import told_of_one_owner
from privity.common.storage.safe_files import refuse_existing
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.learning.category_discovery import open_texts
from privity.common.synthesis.learning.domain_discovery import stand_in
from privity.common.text import terminal
from privity.common.text.terminal import say
from privity.deploy.operator.request_options import run_request
from privity.interfaces.cli.options import DialectOption, EventsOption, MapOption, row_options, takes_run_options
from privity.interfaces.cli.schema import tell_unkept_rules
from privity.party.sources.address import refuse_password
from privity.party.sources.pass_progress import shown_on
from privity.party.sources.rows import Rows
from privity.synthesizers import SYNTHESIZERS


@takes_run_options(Taker.SYNTHESIZE)
def synthesize_command(
    asked: dict[str, Any],
    data: Annotated[str, typer.Option(help="the table: a path or a URL (docs/sources.md)", callback=refuse_password)],
    schema: Annotated[Path, typer.Option(help="the table's schema (docs/schema.md)")],
    population: Annotated[str, typer.Option(help="the declared population: the people in these rows")],
    out: Annotated[Path, typer.Option(help="release folder to make; must not exist")],
    ledger: Annotated[
        Path | None, typer.Option(help="the ledger's file; by default in the user's state folder")
    ] = None,
    events: EventsOption = None,
    person: Annotated[
        str | None, typer.Option(help="column with the person's key, if a person has several rows")
    ] = None,
    order: Annotated[str | None, typer.Option(help="column that numbers each person's rows")] = None,
    dialect: DialectOption = None,
    table_map: MapOption = None,
) -> None:
    """Publish one owner's table: learn a model for epsilon, charge the ledger, write a release."""
    dump_no_core()
    request = run_request(asked)
    algorithm, epsilon, delta, rows = (request[name] for name in ("algorithm", "epsilon", "delta", "rows"))
    chosen = request["settings"]
    if algorithm not in (AUTO, *SYNTHESIZERS):
        hint = f"Use one of: {', '.join((AUTO, *SYNTHESIZERS))}."
        raise bad_option("algorithm", f"{algorithm!r} is unknown", hint)
    refuse_existing(out)
    declared = load_schema(schema)
    declared.require_reviewed(schema)
    tell_unkept_rules(declared)
    if algorithm == AUTO:
        check_automatic(chosen)
    else:
        _check(algorithm, chosen, declared, delta)
    with closing(open_ledger(population, ledger)) as book:
        rows_per_person = book.population.rows_per_person
    with terminal.console(err=True).status(title := "Reading all rows ...") as status, shown_on(status, title):
        options = row_options(data, person, order, dialect, table_map, events)
        table = options.open(declared, rows_per_person).rows

    def coded(schema: Schema) -> Rows:
        return table if schema == declared else options.open(schema, rows_per_person).rows

    check_release_size(rows or table.rows, declared)
    automatic = None
    if algorithm == AUTO:
        best = choose(declared, [table.rows], 0, parse_epsilon(epsilon), parse_delta(delta), chosen)
        algorithm, automatic = best.algorithm, best.document()
        say(f"Algorithm: {algorithm} ({best.reason}).")
        _check(algorithm, chosen, declared, delta)
    synthesizer = SYNTHESIZERS[algorithm](epsilon, delta=delta, population=population, ledger=ledger, **chosen)
    if memory := ALGORITHMS[algorithm].memory(stand_in(declared)):
        say(f"Needs about {memory / 1e9:.2g} GB of memory besides the table.")
    if (first := synthesizer.for_texts(declared, table.rows)) is not None:
        say(first.in_words([text.name for text in open_texts(declared)]))
    if not terminal.console(err=True).is_terminal:  # where the fit says it itself
        budget = parse_epsilon(epsilon), parse_delta(delta)
        for told in told_of_one_owner(declared, table.rows, algorithm, chosen, *budget):
            say(told)
    started = time.monotonic()
    synthesizer.learn(coded, declared, out=out, automatic=automatic)
    learned = time.monotonic()
    release = synthesizer.publish(out, rows)
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
    known = stand_in(declared, numbers=not ALGORITHMS[algorithm].discovers)
    ALGORITHMS[algorithm].check_request(settings, known, parse_delta(delta))
