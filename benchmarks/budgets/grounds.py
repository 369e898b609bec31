"""The tables: those of a library that a rule takes, generated ones, and those of which results are reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy_plan.library import library_tables
from benchmarks.budgets.session import Ground
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import load_schema, parse_schema
from privity.common.data.table_reading import read_table
from privity.deploy.planning.invented_tables import invent, shipped_profiles

LEAST_ROWS = 8000
"""In shorter tables of the library noise is nearly all there is."""

LEAST_ATTRIBUTES, MOST_ATTRIBUTES = 7, 20
DRAWN_ATTRIBUTES = 12
"""Of a wider table, so many are drawn."""

REPORTED = ("adult", "nltcs", "diabetes130", "cps_taxunits")
GENERATED = (
    ("typical", 20_000, (16, 8, 16, 5, 16, 7, 14, 6, 2, 16)),
    ("strong", 50_000, (16, 8, 16, 16, 7, 14, 6, 5, 2, 16, 41, 2)),
    ("strong", 100_000, (2, 3, 2, 16, 4, 2, 9, 16, 2, 6, 16)),
    ("typical", 100_000, (16, 8, 16, 16, 16, 7, 14, 6, 5, 2, 16, 16, 16, 30, 2)),
)
"""Profile of a stand-in, rows, categories of each attribute."""


def grounds(data: Path | None) -> Iterator[Ground]:
    """All tables, the public ones first.

    Args:
        data: folder of the reported tables; without it they are left out.
    """
    for name, table in library_tables():
        if table.rows >= LEAST_ROWS and LEAST_ATTRIBUTES <= len(table.schema.domain) <= MOST_ATTRIBUTES:
            yield Ground(name, table)
    for seed, (profile, rows, domain) in enumerate(GENERATED):
        name = f"generated {seed + 1}: {profile}, {rows:,} x {len(domain)}"
        yield Ground(name, generated(profile, rows, domain, seed))
    if data is None:
        return
    for name in REPORTED:
        table = read_table(data / f"{name}.csv.gz", load_schema(data / f"{name}.schema.json"))
        yield Ground(name, some_attributes(table), reported=True)


def generated(profile: str, rows: int, domain: tuple[int, ...], seed: int) -> CodedTable:
    fields = [
        {"name": f"a{place}", "type": "integer", "categories": list(range(size)), "categoriesOrdered": place % 2 == 0}
        for place, size in enumerate(domain)
    ]
    schema = parse_schema({"fields": fields}, "generated")
    return invent(schema, rows, shipped_profiles()[profile], np.random.default_rng(seed))


def some_attributes(table: CodedTable) -> CodedTable:
    """The table, or if it is wide some of its attributes, drawn with a fixed seed."""
    count = len(table.schema.domain)
    if count <= MOST_ATTRIBUTES:
        return table
    drawn = sorted(np.random.default_rng(1).choice(count, DRAWN_ATTRIBUTES, replace=False).tolist())
    names = tuple(table.schema.names[a] for a in drawn)
    return CodedTable(table.schema.over(names), tuple(table.columns[a] for a in drawn))
