"""A table with every type of column and the values that go wrong, and its codes by brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from privity.common.data.attribute import Attribute, read_number
from privity.common.data.schema import Schema, parse_schema

NAN, INF = float("nan"), float("inf")
UP, DOWN = math.nextafter(0.1, 1), math.nextafter(0.1, 0)
NOT_FINITE = ["", "nan", "inf", "-inf"]

FIELDS: list[dict[str, Any]] = [
    {"name": "flag", "type": "boolean", "missingValues": [""]},
    {"name": "Word", "type": "string", "outOfDomain": "other", "other": "other",
     "categories": ["a", "A", "", " a", "a ", "ß", "日本", "it's \"quoted\"", "back\\slash", "100%", "NULL", "other"]},
    {"name": "whole", "type": "integer", "edges": [-10, -3, 0, 7, 20], "constraints": {"minimum": -10, "maximum": 20},
     "outOfDomain": "edge", "missingValues": ["", "-99"]},
    {"name": "kind", "type": "integer", "categories": [1, 2, 30], "outOfDomain": "other", "other": 30},
    {"name": "yesno", "type": "boolean", "missingValues": ["", "9"]},
    {"name": "amount", "type": "number", "edges": [0, 0.1, 0.3, 1], "constraints": {"minimum": 0, "maximum": 1},
     "outOfDomain": "edge", "missingValues": NOT_FINITE},
    {"name": "single", "type": "number", "edges": [0, 0.1, 0.3, 1], "constraints": {"minimum": 0, "maximum": 1},
     "outOfDomain": "edge", "missingValues": NOT_FINITE},
    {"name": "price", "type": "number", "bins": 3, "constraints": {"minimum": 0, "maximum": 1}, "outOfDomain": "edge",
     "missingValues": [""]},
    {"name": "code", "type": "string", "categories": ["1", "07", "7"], "missingValues": [""]},
    {"name": "day", "type": "string", "categories": ["2024-02-29", "1999-12-31"], "missingValues": ["", "1900-01-01"]},
    {"name": "moment", "type": "string", "categories": ["2024-02-29 00:00:00", "2024-02-29 12:30:00.5"],
     "missingValues": [""]},
    {"name": "digits", "type": "integer", "categories": [7, 8], "outOfDomain": "other", "other": 8,
     "missingValues": ["", "x"]},
    {"name": "real", "type": "number", "edges": [0, 0.1, 0.3, 1], "constraints": {"minimum": 0, "maximum": 1},
     "outOfDomain": "edge", "missingValues": [""]},
    {"name": "score", "type": "number", "categories": [0.5, 1, 2.25, -1], "outOfDomain": "other", "other": -1},
    {"name": "level", "type": "integer", "categories": [7, 8, 0], "outOfDomain": "other", "other": 0},
    {"name": "tight", "type": "integer", "edges": [0, 2, 4], "constraints": {"minimum": 0, "maximum": 4},
     "outOfDomain": "edge", "missingValues": NOT_FINITE},
]  # fmt: skip

VALUES: dict[str, list[Any]] = {
    "flag": [True, False, None],
    "Word": ["a", "A", "", " a", "a ", "ß", "ss", "日本", "it's \"quoted\"", "back\\slash", "new\nline", "100%", "NULL",
             "a\u0301"],
    "whole": [-10, -4, -3, -1, 0, 6, 7, 20, 21, 2**62, -(2**62), -99, None],
    "kind": [1, 2, 30, 4, -1],
    "yesno": [0, 1, 9, None],
    "amount": [0.0, -0.0, 0.1, UP, DOWN, 0.1 + 0.2, 0.3, 1.0, 1.0000000000000002, -1e-300, 1e300, -1e300,
               NAN, INF, -INF, None],
    "single": [0.0, 0.1, 0.3, 1.0, 0.5, 3.0e38, NAN, INF, None],
    "price": [Decimal("0.333"), Decimal("0.334"), Decimal("0.666"), Decimal("0.667"), Decimal("1.000"),
              Decimal("1.001"), Decimal("-0.001"), Decimal("123456.789"), None],
    "code": [1, 7, None],
    "day": [date(2024, 2, 29), date(1999, 12, 31), date(1900, 1, 1), None],
    "moment": [datetime(2024, 2, 29), datetime(2024, 2, 29, 12, 30, 0, 500000), None],
    "digits": ["7", "7.0", "+7", "07", "7e0", " 7", "8", "7.5", "seven", "x", "", "-0", "7" * 30],
    "real": ["0.1", "0.10", "1e-1", "0.09999999999999999999999", "0.3", ".3", "0.30000000000000004", "1", "2",
             "-5", ""],
    "score": [0.5, 1.0, 2.25, 2.2500000000000004, NAN, -1.0],
    "level": [7.0, 8.0, 7.5, -0.0, NAN, INF, 1e300],
    "tight": [0.0, 1.0, 1.5, 2.0, 4.0, 5.0, -3.0, 1e30, None],
}  # fmt: skip
# A number that is no integer is outside every bin of integers, whatever the rule.
VALUES["tight"].remove(1.5)

ARROW = {
    "flag": pa.bool_(), "Word": pa.string(), "whole": pa.int64(), "kind": pa.int16(), "yesno": pa.int32(),
    "amount": pa.float64(), "single": pa.float32(), "price": pa.decimal128(9, 3), "code": pa.int64(),
    "day": pa.date32(), "moment": pa.timestamp("us"), "digits": pa.string(), "real": pa.string(), "score": pa.float64(),
    "level": pa.float64(), "tight": pa.float32(),
}  # fmt: skip

POSTGRESQL = {
    "flag": "boolean", "Word": "text", "whole": "bigint", "kind": "smallint", "yesno": "integer",
    "amount": "double precision", "single": "real", "price": "numeric(9,3)", "code": "bigint", "day": "date",
    "moment": "timestamp", "digits": "varchar(40)", "real": "text", "score": "double precision",
    "level": "double precision", "tight": "real",
}  # fmt: skip


def typed_schema() -> Schema:
    return parse_schema({"name": "typed", "extraColumns": "ignore", "fields": FIELDS}, "typed.json")


def typed_rows(rows: int = 400) -> list[dict[str, Any]]:
    """Rows in which every value of every column occurs, in ever other company."""
    generator = np.random.default_rng(3)
    found = []
    for place in range(rows):
        first = place < max(map(len, VALUES.values()))
        found.append(
            {
                name: values[place % len(values) if first else int(generator.integers(len(values)))]
                for name, values in VALUES.items()
            }
        )
    return found


def arrow_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """The rows as Arrow, with a column that nobody declares."""
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in ARROW.items()}
    return pa.table({**columns, "undeclared": pa.array(range(len(rows)))})


def text_of(value: Any, name: str) -> str:
    """The text of a value as a CSV file holds it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(np.float32(value)) if name in ("single", "tight") else repr(value)
    if isinstance(value, datetime):
        fraction = f".{value.microsecond:06d}".rstrip("0").rstrip(".")
        return f"{value:%Y-%m-%d %H:%M:%S}{fraction}"
    return str(value)


def code_by_hand(attribute: Attribute, value: Any) -> int:
    """The code by the rule of texts, with what holds beyond texts: NULL, and missing values that are numbers."""
    if value is None and attribute.missing:
        return attribute.values
    text = text_of(value, attribute.name)
    if (
        isinstance(value, int | float | Decimal)
        and not isinstance(value, bool)
        and attribute.type in ("integer", "number")
    ):
        number = read_number(text)
        known = {read_number(missing) for missing in attribute.missing} - {None}
        if number is not None and Fraction(number) in {Fraction(some) for some in known if some is not None}:
            return attribute.values
    code = attribute.code_of(text)
    assert code is not None, (attribute.name, value)
    return code


def codes_by_hand(schema: Schema, rows: Sequence[dict[str, Any]]) -> dict[int, list[int]]:
    """Codes of all attributes, derived ones included, row by row."""
    derived = schema.derived
    found: dict[int, list[int]] = {}
    for index, attribute in enumerate(schema.attributes):
        found[index] = [code_by_hand(attribute, row[attribute.name]) for row in rows]
    for index in range(len(schema.attributes), len(derived.domain)):
        base = np.array(found[derived.base[index]])
        found[index] = derived.derive(index, base).tolist()
    return found


def table_by_hand(schema: Schema, codes: dict[int, list[int]], marginal: Sequence[int]) -> np.ndarray:
    """A contingency table, one row after another."""
    counts = np.zeros([schema.derived.domain[a] for a in marginal], dtype=np.int64)
    for cell in zip(*(codes[a] for a in marginal), strict=True):
        counts[cell] += 1
    return counts


def some_marginals(schema: Schema) -> list[tuple[int, ...]]:
    """Every attribute, derived ones too; every pair of attributes; some triples, in any order of axes."""
    derived = schema.derived
    singles = [(a,) for a in range(len(derived.domain))]
    pairs = list(itertools.combinations(range(len(schema.attributes)), 2))
    mixed = [(b, a) for a, b in itertools.islice(itertools.combinations(range(len(derived.domain)), 2), 0, None, 37)]
    triples = [(5, 2, 8), (1, 0, 13), (11, 7, 3)]
    return [*singles, *pairs, *[m for m in mixed if derived.base[m[0]] != derived.base[m[1]]], *triples]


def write_csv_of(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """The rows as CSV: texts as they stand, quoted where need be."""
    import csv

    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(VALUES)
        writer.writerows([text_of(row[name], name) for name in VALUES] for row in rows)
