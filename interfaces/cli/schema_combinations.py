"""``privity schema combinations``: admit only the combinations of a public list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from privity.common.data.listed_combinations import with_file
from privity.common.data.schema import load_schema, parse_schema
from privity.common.storage.safe_files import read_regular, refuse_existing, write_text
from privity.common.text.terminal import say


def combinations(
    listed: Annotated[Path, typer.Argument(help="the public list: a CSV file whose header names fields of the schema")],
    schema: Annotated[Path, typer.Option(help="the table's schema")],
    out: Annotated[Path, typer.Option(help="where to write the schema in which only these combinations occur")],
) -> None:
    """Admit only the combinations of a public list, such as those of city, state and zip code."""
    refuse_existing(out)
    load_schema(schema)
    document = json.loads(read_regular(schema).decode("utf-8-sig"))
    found = with_file(document, listed)
    parsed = parse_schema(found, str(out))
    write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", out)
    say(f"Schema written to {out}, SHA-256 {parsed.digest}")
