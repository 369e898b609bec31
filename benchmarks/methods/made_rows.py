"""The made rows of this benchmark: twenty columns of four kinds, or of codes, written to Parquet by DuckDB."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb

from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema, parse_schema

SIZES = (4, 6, 8, 10, 12)
"""Categories of the five columns of integers, and of the five of texts."""

BINS = 16
"""Of the five columns of doubles, and of the five of 64-bit integers."""

CODE_SIZES = [most for size in SIZES for most in (size, size, BINS, BINS)]
"""Of the twenty columns of codes."""

HIGHEST_DOUBLE = 100
HIGHEST_INTEGER = 100_000
GROUP_ROWS = 122_880
"""Of a row group: what DuckDB writes by default."""


def schema_document(coded: bool = False) -> dict[str, Any]:
    """What the made rows are coded by; of codes, each stands for itself."""
    fields: list[dict[str, Any]] = []
    for place, size in enumerate(CODE_SIZES if coded else ()):
        fields.append({"name": f"code{place}", "type": "string", "categories": [str(code) for code in range(size)]})
    for place, size in enumerate(() if coded else SIZES):
        fields += [
            {"name": f"small{place}", "type": "string", "categories": [str(code) for code in range(size)]},
            {"name": f"text{place}", "type": "string", "categories": [f"value {code}" for code in range(size)]},
            {"name": f"double{place}", "type": "number", "bins": BINS,
             "constraints": {"minimum": 0, "maximum": HIGHEST_DOUBLE}},
            {"name": f"wide{place}", "type": "integer", "bins": BINS,
             "constraints": {"minimum": 0, "maximum": HIGHEST_INTEGER}},
        ]  # fmt: skip
    return {"format_version": 1, "name": "made", "fields": fields}


def made_schema(coded: bool = False) -> Schema:
    """The same, read."""
    return parse_schema(schema_document(coded), "schema")


def write_rows(file: Path, rows: int, coded: bool = False) -> None:
    """Write so many random rows; neighbouring columns go together in half of them, but for codes."""
    columns = []
    for place, size in enumerate(CODE_SIZES if coded else ()):
        columns.append(f"CAST(floor({'uvwu'[place % 4]}{place // 4} * {size}) AS INTEGER) AS code{place}")
    for place, size in enumerate(() if coded else SIZES):
        columns += [
            f"CAST(floor(u{place} * {size}) AS INTEGER) AS small{place}",
            f"'value ' || CAST(floor((CASE WHEN v{place} < 0.5 THEN u{place} ELSE w{place} END) * {size}) AS INTEGER)"
            f" AS text{place}",
            f"(CASE WHEN v{place} < 0.5 THEN u{place} ELSE w{place} END) * {HIGHEST_DOUBLE} AS double{place}",
            f"CAST(w{place} * {HIGHEST_INTEGER} AS BIGINT) AS wide{place}",
        ]
    drawn = ", ".join(f"random() AS {letter}{place}" for place in range(len(SIZES)) for letter in "uvw")
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT {', '.join(columns)} FROM (SELECT {drawn} FROM range({rows}))) TO '{file}' "
            f"(FORMAT parquet, ROW_GROUP_SIZE {GROUP_ROWS})"
        )


def all_pairs(attributes: int) -> list[Marginal]:
    """All 2-way tables."""
    return list(combinations(range(attributes), 2))
