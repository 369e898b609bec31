"""One large table, counted, fitted and sampled in a process of its own; prints seconds and memory as JSON.

    python -m benchmarks.copula.large --rows 5240260 --sizes 25x26,24

The table is made: each column follows an earlier one in a third of the rows. Sampled rows are made in parts and
dropped, as a writer would.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
from fractions import Fraction
from itertools import combinations

import numpy as np

from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.pair_tables import count_all
from privity.common.data.schema import parse_schema
from privity.common.synthesis.algorithms import copula
from privity.common.synthesis.models.copula_model import columns_of
from privity.deploy.planning.in_process_session import InProcessSession

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


def peak() -> float:
    """GB, of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6 * 1.024  # kilobytes on Linux


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--sizes", type=sizes_of, required=True)
    options = parser.parse_args()
    base = peak()
    table = made(options.rows, options.sizes, 1)
    found = {"rows": table.rows, "attributes": len(options.sizes), "columns": sum(map(columns_of, options.sizes))}
    found["promised"] = base + (copula.memory(table.schema, table.rows) + sum(c.nbytes for c in table.columns)) / 1e9
    print(f"made; needs about {found['promised']:.2g} GB in all", file=sys.stderr, flush=True)
    started = time.perf_counter()
    count_all(table, list(combinations(range(len(options.sizes)), 2)))
    found |= {"count": time.perf_counter() - started, "count peak": peak()}
    print(found, file=sys.stderr, flush=True)
    started = time.perf_counter()
    model = asyncio.run(copula.learn(InProcessSession([table], Fraction(1)), Fraction(1), {}))
    found |= {"fit": time.perf_counter() - started}
    print(found, file=sys.stderr, flush=True)
    del table
    started = time.perf_counter()
    generator = np.random.default_rng(2)
    for start in range(0, options.rows, ROWS_AT_ONCE):
        model.sample(min(ROWS_AT_ONCE, options.rows - start), generator)
    found |= {"sample": time.perf_counter() - started, "peak": peak()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
