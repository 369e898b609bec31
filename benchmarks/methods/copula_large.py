"""One large made table, counted, fitted and sampled: to be called in a process of its own."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import combinations

import numpy as np

from benchmarks.experiment import Values
from benchmarks.methods.learning import learn
from benchmarks.methods.own_process import peak
from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.contingency_tables import count_marginals
from privity.common.data.schema import parse_schema
from privity.common.privacy.run_budget import PureBudget
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models.copula_model import columns_of

ROWS_AT_ONCE = 1 << 19
FOLLOWS = 85
"""Of 256 rows, how many follow an earlier column."""


def sizes_of(text: str) -> list[int]:
    """``25x26,24``: 26 attributes of 25 categories and one of 24."""
    sizes = []
    for part in text.split(","):
        size, _, count = part.partition("x")
        sizes += [int(size)] * int(count or 1)
    return sizes


def made(rows: int, sizes: list[int], seed: int) -> CodedTable:
    """Columns one at a time, so that there is never more than the table itself."""
    generator = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for place, size in enumerate(sizes):
        column = generator.integers(0, size, rows, dtype=code_type(size))
        if place:
            source = int(generator.integers(max(0, place - 20), place))
            follows = generator.integers(0, 256, rows, dtype=np.uint8) < FOLLOWS
            np.copyto(column, (columns[source].astype(np.uint32) % size).astype(column.dtype), where=follows)
        columns.append(column)
    fields = [
        {"name": f"a{place}", "type": "string", "categories": [f"v{code}" for code in range(size)]}
        for place, size in enumerate(sizes)
    ]
    return CodedTable(parse_schema({"fields": fields}, "made"), tuple(columns))


def cost(rows: int, sizes: list[int]) -> Values:
    """Seconds and GB; sampled rows are made in parts and dropped, as a writer would."""
    base = peak()
    table = made(rows, sizes, 1)
    copula = ALGORITHMS["copula"]
    memory = copula.memory(table.schema) + sum(c.nbytes for c in table.columns)
    started = time.perf_counter()
    count_marginals(table, list(combinations(range(len(sizes)), 2)))
    counted = time.perf_counter()
    model = learn(InProcessBackend([table], PureBudget(Fraction(1))).session(), "copula", {})
    fitted = time.perf_counter()
    del table
    generator = np.random.default_rng(2)
    for start in range(0, rows, ROWS_AT_ONCE):
        model.sample(min(ROWS_AT_ONCE, rows - start), generator)
    sampled = time.perf_counter()
    seconds = {"count": counted - started, "fit": fitted - counted, "sample": sampled - fitted}
    memory_used = {"both": sampled - counted, "peak": peak(), "promised": base + memory / 1e9}
    return {"rows": rows, "attributes": len(sizes), "columns": sum(map(columns_of, sizes)), **seconds, **memory_used}
