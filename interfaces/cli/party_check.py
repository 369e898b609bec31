"""``privity party check``: what an owner sees of its rows before a node uses them. Nothing of it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from privity.common.data.schema import Schema, load_schema
from privity.common.exit_codes import Exit
from privity.common.text import terminal, text_table
from privity.common.text.terminal import say
from privity.party.config import load_config, read_policy
from privity.party.sources.held_rows import Hold
from privity.party.sources.inspection import Inspection, Way, automatic, inspect, tried
from privity.party.sources.pass_progress import shown_on
from privity.party.sources.source_settings import RowSettings

PRIVATE = "These figures depend on the rows: they are for their owner, and are not sent anywhere."


def check(
    config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml"),
) -> None:
    """Check the rows: their number, values outside the domain, memory and time to count them. Nothing is sent."""
    settings = load_config(config)
    schema = load_schema(settings.schema)
    per_person = read_policy(settings, schema.names).population.rows_per_person
    if schema.history is not None:
        tell_histories(settings.rows, schema, per_person)
        return
    address, access = settings.rows.address(), settings.rows.access(schema, per_person)
    say(f"{address.name} ({address.form.value})")
    if address.table_map is not None:
        say(f"Read by {address.table_map}:", *(f"  {line}" for line in address.read_by(schema).table_map.in_words()))
    with terminal.console(err=True).status(title := "Reading all rows ...") as status, shown_on(status, title):
        found = inspect(address, schema, access)
    _show_attributes(schema, found)
    for problem in found.problems:
        say(problem)
    if found.problems:
        say(f"{len(found.problems)} error(s): the node would not start. {PRIVATE}")
        raise typer.Exit(Exit.INPUT)
    ways = []
    for hold in (Hold.MEMORY, Hold.CACHE, Hold.STORE):
        title = f"Trying hold = {hold.value} ..."
        with terminal.console(err=True).status(title) as status, shown_on(status, title):
            ways.append(tried(address, schema, access, hold))
    _show_ways(ways)
    opened = next((way.opened for way in ways if way.opened is not None), None)
    if opened is None:
        say(f"No way to hold these rows is possible: the node would not start. {PRIVATE}")
        raise typer.Exit(Exit.INPUT)
    rows, survey = opened.rows.rows, opened.survey
    say(f"Rows: {survey.rows} that count; n = {rows}, {len(schema.attributes)} attributes.")
    if access.slots is not None:
        say(f"Persons: {survey.persons}, with {access.slots.most} places each; {rows - survey.rows} places are empty.")
    say(f"Time: {found.seconds:.1f} s to read through all rows.")
    say(f"{settings.rows.hold.value} is set as hold. auto {automatic(address, schema, access, rows)}.")
    say(PRIVATE)


def tell_histories(rows: RowSettings, schema: Schema, per_person: int) -> None:
    """Check persons and their events, and tell what is not read of them."""
    with terminal.console(err=True).status(title := "Reading all rows ...") as status, shown_on(status, title):
        found = rows.histories(schema, per_person)
    say(f"All rows are in the domain: {found.rows.rows:,} persons, n = {found.rows.rows}.")
    for line in found.in_words():
        say(line)
    say(PRIVATE)


def _show_attributes(schema: Schema, found: Inspection) -> None:
    table = text_table.table("attribute", "type", "column", "codes", "rows outside the domain")
    for attribute, kind, misses in zip(schema.attributes, found.types, found.misses, strict=True):
        shown = "not read" if misses is None else str(misses)
        text_table.add(table, attribute.name, attribute.type, kind, str(attribute.size), shown)
    text_table.show(table)


def _show_ways(ways: Sequence[Way]) -> None:
    table = text_table.table("hold", "ready after, s", "all pairs, s", "memory, GB", "")
    for way in ways:
        figures = (
            ("", "", "") if way.unfit else (f"{way.opening:.1f}", f"{way.counting:.2g}", f"{way.memory / 1e9:.2g}")
        )
        text_table.add(table, way.hold.value, *figures, way.unfit)
    text_table.show(table)
