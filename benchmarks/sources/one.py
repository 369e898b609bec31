"""One measurement in a process of its own; prints it as JSON. Called by ``benchmarks.sources``."""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.datasets import load
from benchmarks.sources.rows import all_pairs, made_schema
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import load_schema
from privity.common.privacy.ledger import Allowance, Ledger
from privity.common.privacy.population import Population
from privity.common.storage.journal import MEMORY, Journal
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.party.charged_releases import ChargedReleases
from privity.party.local_session import LocalSession, complete
from privity.party.rows import InMemory
from privity.party.sources import counting_store
from privity.party.sources.address import parse_address
from privity.party.sources.coded_batches import StoreBatches
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import Opened, open_rows
from privity.party.sources.store import Codes
from privity.party.sources.table_supersets import WIDEST_CELLS, supersets

EPSILON = Fraction(1)
SPARK = (
    "--master local[2] --driver-memory 4g --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2 "
    "--conf spark.driver.bindAddress=127.0.0.1 --conf spark.driver.host=127.0.0.1 "
    "--conf spark.log.level=ERROR pyspark-shell"
)


def opened(options: argparse.Namespace) -> tuple[Opened, float]:
    """The made rows of an address, and the seconds in which they were looked at and held."""
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", SPARK)
    access = Access(Hold(options.hold), int(options.memory * 1e9))
    started = time.perf_counter()
    found = open_rows(parse_address(options.data), made_schema(), access)
    return found, time.perf_counter() - started


def count(options: argparse.Namespace) -> dict[str, Any]:
    """Open, and count all pairs once."""
    found, seconds = opened(options)
    pairs = all_pairs(len(found.rows.schema.attributes))
    with patch.object(counting_store, "supersets", partial(supersets, widest=options.widest)):
        started = time.perf_counter()
        cells = found.rows.count(pairs)
        counting = time.perf_counter() - started
    if int(cells.sum()) != len(pairs) * found.rows.rows:
        raise ValueError("cells that do not add up to the rows")
    tables = len(supersets(pairs, found.rows.schema.domain, options.widest))
    return {"rows": found.rows.rows, "open": seconds, "count": counting, "cells": cells.size, "tables": tables}


def draws(options: argparse.Namespace) -> dict[str, Any]:
    """Open, and learn a model of the rows; passes are whole readings of the rows after that of the opening."""
    found, seconds = opened(options)
    ledger = Ledger.declare(MEMORY, Population("benchmark", EPSILON))
    releases = ChargedReleases("owner", found.rows, Journal(MEMORY), ledger)
    session = LocalSession("benchmark", found.rows.schema, releases, Allowance(EPSILON))
    passes = 0
    read = StoreBatches.read

    def told(batches: StoreBatches, attributes: Sequence[int]) -> Iterator[list[Codes]]:
        nonlocal passes
        passes += 1
        return read(batches, attributes)

    with patch.object(StoreBatches, "read", told):
        started = time.perf_counter()
        complete(ALGORITHMS[options.algorithm].learn(session, EPSILON, {}))
        learning = time.perf_counter() - started
    return {"rows": found.rows.rows, "open": seconds, "learn": learning, "passes": passes}


def memory(options: argparse.Namespace) -> dict[str, Any]:
    """All pairs of a table in memory, each time as if it had just been read."""
    schema = load_schema(options.schema)
    table = load(Path(options.data), options.schema)
    attributes: Sequence[int] = range(len(schema.attributes))
    if options.bits:
        attributes = [bit for attribute in attributes for bit in schema.derived.bits(attribute)]
    pairs = [(attributes[first], attributes[second]) for first, second in all_pairs(len(attributes))]
    seconds = []
    # The first one warms the process up.
    for _ in range(options.repeats + 1):
        rows = InMemory(CodedTable(schema, table.columns))
        started = time.perf_counter()
        rows.count(pairs)
        seconds.append(time.perf_counter() - started)
    return {"rows": table.rows, "columns": len(attributes), "tables": len(pairs), "seconds": seconds[1:]}


TASKS = {"count": count, "draws": draws, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--data", required=True, help="an address; of memory a CSV file")
    parser.add_argument("--hold", default="store")
    parser.add_argument("--memory", type=float, default=1.0, help="GB")
    parser.add_argument("--widest", type=int, default=WIDEST_CELLS)
    parser.add_argument("--algorithm", default="dp-subn")
    parser.add_argument("--schema", type=Path)
    parser.add_argument("--bits", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    found = TASKS[options.task](options)
    used = resource.getrusage(resource.RUSAGE_SELF)
    # Kilobytes on Linux.
    print(json.dumps({**found, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024 / 1e9}))


if __name__ == "__main__":
    main()
