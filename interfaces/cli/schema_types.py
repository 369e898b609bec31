"""``privity schema types``: what each type is read from and comes out as; docs/schema.md has the same table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable, decode
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.written_values import arrow_type, as_pandas, pandas_type
from privity.common.text import text_table
from privity.common.text.terminal import say
from privity.party.sources.store_columns import fitting

HEADINGS = ("type", "text in a file", "columns of Parquet and databases", "pandas", "Arrow and Parquet")

EXAMPLES: dict[str, dict[str, Any]] = {
    "string": {"categories": ["north", "south"]},
    "integer": {"edges": [0, 5, 9]},
    "integer, categories from 2^63 on": {"categories": [0, 10**20]},
    "number": {"edges": [0, 12.5, 90]},
    "number, `decimals` beyond a double": {"decimals": 2, "edges": [0, 10**15, 2 * 10**15]},
    "boolean": {},
    "date": {"edges": ["2020-02-28", "2020-02-29", "2020-03-01"]},
    "time": {"edges": ["12:30:00", "13:00:00", "14:00:00"]},
    "datetime": {"edges": ["2020-02-29T12:30:00", "2020-03-01T00:00:00"], "missingValues": [""]},
    "datetime, `timezone`": {
        "timezone": "Europe/Vienna", "missingValues": [""],
        "edges": ["2020-02-29T12:30:00+01:00", "2020-03-01T00:00:00+01:00"],
    },
    "duration": {"edges": ["P1DT2H30M", "P2D", "P3D"]},
}  # fmt: skip
"""A field of each type, and of those that come out otherwise."""


def types(
    markdown: Annotated[bool, typer.Option("--markdown", help="the table of docs/schema.md")] = False,
) -> None:
    """List the types of attributes: what each is read from, and how it is written."""
    if markdown:
        say(*page())
        return
    shown = text_table.table(*HEADINGS)
    for row in _rows():
        text_table.add(shown, *(cell.replace("`", "") for cell in row))
    text_table.show(shown)


def page() -> Iterator[str]:
    """The lines of the table; of two types of pandas the second one is that of an attribute that may be missing."""
    yield f"| {' | '.join(HEADINGS)} |"
    yield f"|{'---|' * len(HEADINGS)}"
    for row in _rows():
        yield f"| {' | '.join(row)} |"


def _rows() -> Iterator[tuple[str, ...]]:
    for name, keys in EXAMPLES.items():
        kind = name.partition(",")[0]
        attribute, may_lack = (_attribute(kind, {**keys, **more}) for more in ({}, {"missingValues": ["NA"]}))
        columns = ", ".join(found.value for found in fitting(attribute))
        types = dict.fromkeys(f"`{pandas_type(each)}`" + _inside(each) for each in (attribute, may_lack))
        text = attribute.text_of(attribute.categories[-1] if attribute.categories else attribute.edges[0])
        text = "`true`, `false`" if kind == "boolean" else f"`{text}`"
        yield name, text, columns, ", or ".join(types), f"`{arrow_type(attribute)}`"


def _inside(attribute: Attribute) -> str:
    """What the values of a column of objects are."""
    if pandas_type(attribute) != "object":
        return ""
    schema = Schema("", (attribute,))
    rows = decode(CodedTable(schema, (np.zeros(1, dtype=np.uint8),)), np.random.default_rng(0))
    return f" of `{type(as_pandas(rows, schema).iloc[0, 0]).__name__}`"


def _attribute(kind: str, keys: dict[str, Any]) -> Attribute:
    schema = parse_schema({"fields": [{"name": "x", "type": kind, **keys}]}, "example")
    return schema.attributes[0]
