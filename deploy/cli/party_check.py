"""``privity party check``: what an owner sees of its rows before a node uses them. Nothing of it is sent."""

from __future__ import annotations

from math import comb
from pathlib import Path
from typing import Annotated

import typer

from privity.common.data.schema import Schema, load_schema
from privity.common.exit_codes import Exit
from privity.common.text import terminal, text_table
from privity.common.text.terminal import say
from privity.party.config import load_config, read_policy
from privity.party.sources.held_rows import Access, coded_bytes
from privity.party.sources.inspection import Inspection, in_pairs, inspect, time_to_count
from privity.party.sources.open_rows import Opened, open_rows
from privity.party.sources.source_settings import RowSettings

PRIVATE = "These figures depend on the rows: they are for their owner, and are not sent anywhere."


def check(
    config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml"),
) -> None:
    """Look at the rows: how many, values outside the domain, memory, and how long counting takes. Nothing is sent."""
    settings = load_config(config)
    schema = load_schema(settings.schema)
    per_person = read_policy(settings, schema.names).population.rows_per_person
    address, access = settings.rows.address(), settings.rows.access(per_person)
    say(f"{address.name} ({address.form.value})")
    with terminal.console(err=True).status("Reading all rows ..."):
        found = inspect(address, schema, access)
    _show_attributes(schema, found)
    for problem in found.problems:
        say(problem)
    if found.problems:
        say(f"{len(found.problems)} error(s): the node would not start. {PRIVATE}")
        raise typer.Exit(Exit.INPUT)
    with terminal.console(err=True).status("Counting pairs ..."):
        opened = open_rows(address, schema, access)
        tables, seconds = time_to_count(opened.rows)
    _show_rows(opened, found, schema, access, settings.rows)
    _show_time(found.seconds, tables, seconds, max(comb(len(in_pairs(schema)), 2), 1))
    say(PRIVATE)


def _show_attributes(schema: Schema, found: Inspection) -> None:
    table = text_table.table("attribute", "type", "column", "codes", "rows outside the domain")
    for attribute, kind, misses in zip(schema.attributes, found.types, found.survey.misses, strict=True):
        text_table.add(table, attribute.name, attribute.type, kind, str(attribute.size), str(misses))
    text_table.show(table)


def _show_rows(opened: Opened, found: Inspection, schema: Schema, access: Access, settings: RowSettings) -> None:
    rows, survey = opened.rows, opened.survey
    say(f"Rows: {survey.rows} that count; n = {rows.rows}, {len(schema.attributes)} attributes.")
    if access.slots is not None:
        absent = rows.rows - survey.rows
        say(f"Persons: {survey.persons}, with {access.slots.most} places each; {absent} places are empty.")
    needed, allowed = coded_bytes(schema, rows.rows) / 1e9, access.memory / 1e9
    say(f"Memory: {needed:.2g} GB as codes, {allowed:.2g} GB allowed; hold = {settings.hold.value}.")


def _show_time(reading: float, tables: int, seconds: float, every: int) -> None:
    say(f"Time: {reading:.1f} s to read through all rows, {seconds:.2f} s to count {tables} tables of pairs;")
    say(f"  all {every} pairs: about {seconds * every / tables:.2g} s expected.")
