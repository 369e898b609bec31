"""``privity data``: what a file seems to be, for its owner's screen."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from privity.common.data.dialect import dialect_option
from privity.common.data.dialect_detection import sample
from privity.common.data.file_look import LookedAt
from privity.common.data.schema_draft import Draft, draft_field, moments_of
from privity.common.data.temporal import TEMPORAL
from privity.common.text import text_table
from privity.common.text.short_values import shorten
from privity.common.text.terminal import say
from privity.interfaces.cli.options import DialectOption
from privity.party.sources.address import refuse_password
from privity.party.sources.drafted_tables import LookedAtTable, looked_at_source

data_app = typer.Typer(help="Look at a table before anything is declared about it.", no_args_is_help=True)

MOST_EXAMPLES = 3
LONG = ("categories", "categoriesOrdered", "readOffRows")
"""Keys of a field that the draft has, and a screen has no room for."""

PRIVATE = (
    "All of this tells of the rows: it is not private, and for their owner's screen. A release reads what is declared."
)


@data_app.callback()
def data() -> None:
    """Look at a table before anything is declared about it."""


@data_app.command("inspect")
def inspect(
    file: Annotated[
        str,
        typer.Argument(help="a CSV file in any dialect, or another table (docs/sources.md)", callback=refuse_password),
    ],
    dialect: DialectOption = None,
) -> None:
    """Show what a table seems to hold, and what to declare so that it is read. Nothing is decided or sent."""
    with looked_at_source(file, None if dialect is None else dialect_option(dialect)) as looked:
        _show(looked, Path(file))


def _show(looked: LookedAtTable, file: Path) -> None:
    look, found = looked.look, looked.look.dialect
    quote = f"values that need it in {found.quote}" if found.quote else "no quotes"
    say(f"{look.file}: {look.rows} rows, {len(look.columns)} columns.")
    if looked.path == file:
        say(f"Written in {found.encoding}{_signs(file, found.encoding)}, {found.delimiter!r} between values, {quote}.")
    if found.decimal or found.group:
        between = f", {found.group!r} between groups of digits" if found.group else ""
        say(f"Numbers have the decimal mark {found.decimal or '.'!r}{between}.")
    table = text_table.table("column", "seems to be", "different", "missing", "such as")
    fields = [draft_field(column, found) for column in look.columns]
    draft = looked.drafted()
    for column, field in zip(look.columns, fields, strict=True):
        missing = sum(column.texts[text] for text in field.get("missingValues", ()))
        examples = ", ".join(shorten(text) for text, _ in _values(column, field)[:MOST_EXAMPLES])
        text_table.add(table, column.name, _kind(column, field, draft), str(len(column.texts)), str(missing), examples)
    text_table.show(table)
    for finding in (*look.findings, *draft.findings):
        say(f"- {finding}")
    say("Declare in the schema (`privity schema draft` writes all of it):")
    for line in _declared(draft):
        say(f"  {line}")
    say(PRIVATE)


def _values(column: LookedAt, field: dict[str, Any]) -> list[tuple[str, int]]:
    missing = field.get("missingValues", ())
    return [
        (text, times) for text, times in column.texts.most_common(MOST_EXAMPLES + len(missing)) if text not in missing
    ]


def _kind(column: LookedAt, field: dict[str, Any], draft: Draft) -> str:
    """What its values seem to be, in words."""
    if column.name in draft.left_out:
        texts = field["type"] == "string"
        return "a key: left out" if column.identifies else f"{'texts' if texts else field['type']}: left out"
    if field["type"] in TEMPORAL:
        said = [field[key] for key in ("format", "timezone") if key in field]
        return f"{field['type']}, {' '.join(said) or 'ISO 8601'}, to be discovered"
    if field["type"] == "string" and len(forms := moments_of(column)) > 1:
        written = " or ".join(form["format"] for form in forms[:MOST_EXAMPLES])
        return f"date or time, {written}: it is not clear which"
    written = "" if field.get("bareNumber", True) else ", with a unit"
    domain = "to be discovered" if field.get("domain") else f"{len(field.get('categories', '12'))} values"
    return f"{field['type']}{written}, {domain}"


def _declared(draft: Draft) -> list[str]:
    """What differs from what is read without being declared."""
    document = draft.document
    said = [key for key in ("dialect", "extraColumns", "leaveOut") if key in document]
    found = [f'"{key}": {json.dumps(document[key], ensure_ascii=False)}' for key in said]
    for field in document["fields"]:
        found.append(json.dumps({key: value for key, value in field.items() if key not in LONG}, ensure_ascii=False))
    return found


def _signs(file: Path, encoding: str) -> str:
    """Words with signs beyond ASCII, by which an owner sees whether the encoding is right."""
    words = re.split(r"[\s,;|\"]+", sample(file).decode(encoding, "replace").removeprefix("\ufeff"))
    some = list(dict.fromkeys(word for word in words if not word.isascii()))
    return f" (it reads {', '.join(map(shorten, some[:MOST_EXAMPLES]))})" if some else ""
