"""``privity schema``: check a schema, and a table against it; draft a schema from a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from privity.common.data.schema import Schema, load_schema
from privity.common.data.schema_draft import LEAK_WARNING, draft_schema
from privity.common.data.spreadsheet_formulas import warning
from privity.common.data.table_reading import RowProblemsFound
from privity.common.errors import ProblemsFound
from privity.common.exit_codes import Exit
from privity.common.storage.safe_files import write_text
from privity.common.text.terminal import say
from privity.deploy.options import refuse_existing
from privity.party.sources.address import Address, parse_address, refuse_password
from privity.party.sources.broken_rules import broken_rows
from privity.party.sources.held_rows import Access, default_memory
from privity.party.sources.inspection import inspect

schema_app = typer.Typer(help="Check or draft the schema of a table.", no_args_is_help=True)


@schema_app.command("check")
def check(
    schema_file: Annotated[Path, typer.Argument(help="The Table Schema (JSON).")],
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            help="Rows to check against it (docs/sources.md); nothing leaves this machine.",
            callback=refuse_password,
        ),
    ] = None,
) -> None:
    """Report every error of a schema, and of a table against it, at once."""
    try:
        schema = load_schema(schema_file)
        address = None if data is None else parse_address(data)
        rows = None if address is None else _rows(address, schema)
    except ProblemsFound as error:
        for problem in error.problems:
            say(str(problem))
        say(f"{len(error.problems)} error(s).")
        raise typer.Exit(Exit.INPUT) from error
    cells = sum(schema.domain)
    say(f"{schema_file}: {len(schema.attributes)} attributes, {cells} categories and bins in all.")
    say(f"SHA-256 {schema.digest}")
    tell_formulas(schema)
    if address is None:
        for constraint in schema.row_constraints:
            say(f"Rule: {constraint.rule}")
    else:
        say(f"{data}: {rows} rows, all in the domain.")
        _tell_broken_rules(address, schema)


def tell_formulas(schema: Schema) -> None:
    """Warn of texts that a spreadsheet takes for formulas, if there are any."""
    if warned := warning(schema):
        say(f"Warning: {warned}", err=True)


def _tell_broken_rules(address: Address, schema: Schema) -> None:
    """Say how many real rows break each rule: on this screen only."""
    broken = broken_rows(address, schema, default_memory())
    for constraint, count in zip(schema.row_constraints, broken, strict=True):
        said = "too many different values to look at" if count is None else f"broken by {count} rows"
        say(f"Rule {constraint.rule}: {said}.")
    if broken:
        say("How many real rows break a rule is private: keep these figures where the rows are.")


def _rows(address: Address, schema: Schema) -> int:
    """How many rows there are, all of them in the domain."""
    found = inspect(address, schema, Access(memory=default_memory()))
    if found.problems:
        raise RowProblemsFound(list(found.problems))
    return found.survey.rows


@schema_app.command("draft")
def draft(
    file: Annotated[Path, typer.Argument(help="The CSV file (.csv or .csv.gz) to read.", callback=refuse_password)],
    out: Annotated[Path | None, typer.Option("--out", help="Where to write it; standard output if absent.")] = None,
) -> None:
    """Draft a schema from a table's own rows, to be reviewed by a person."""
    if out is not None:
        refuse_existing(out)
    text = json.dumps(draft_schema(file), indent=2, ensure_ascii=False)
    say(f"Warning: {LEAK_WARNING}", err=True)
    if out is None:
        say(*text.split("\n"))
    else:
        write_text(text + "\n", out, private=True)
