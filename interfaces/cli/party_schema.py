"""``privity party accept``: a newer schema of the consortium, looked at beside the rows and kept ready for the node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from privity.common.consortium.schema_file import SchemaFile
from privity.common.data.schema import Schema, load_schema
from privity.common.errors import RowProblemsFound
from privity.common.text import terminal
from privity.common.text.terminal import say
from privity.party.config import load_config, read_policy
from privity.party.sources.inspection import inspect
from privity.party.sources.pass_progress import shown_on


def accept(
    schema: Annotated[Path, typer.Option(help="the schema that the organiser sent")],
    config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml"),
) -> None:
    """Accept a newer schema. The node uses it once a manifest names it, without a restart."""
    settings = load_config(config)
    newer = load_schema(schema)
    newer.require_reviewed(schema)
    per_person = read_policy(settings, newer.names).population.rows_per_person
    with terminal.console(err=True).status(title := "Reading all rows ...") as status, shown_on(status, title):
        found = inspect(settings.rows.address(), newer, settings.rows.access(newer, per_person))
    if found.problems:
        raise RowProblemsFound(list(found.problems))
    before = load_schema(settings.schema)
    SchemaFile(settings.schema).keep_ready(schema)
    say(*_differences(before, newer))
    say("All rows are in the domain.")
    say(f"Accepted: SHA-256 {newer.digest}. Compare it with the organiser by another way than the file came.")
    say("The node takes it as soon as a manifest names it.")


def _differences(before: Schema, newer: Schema) -> Iterator[str]:
    """What another schema changes for the rows, a line for each kind."""
    old, new = ({a.name: a for a in schema.attributes} for schema in (before, newer))
    changed = [name for name in new if name in old and new[name] != old[name]]
    for what, names in (
        ("Attributes that were not there before", [name for name in new if name not in old]),
        ("Attributes that are left out", [name for name in old if name not in new]),
        ("Attributes with another domain", changed),
    ):
        if names:
            yield f"{what}: {', '.join(names)}."
