"""Rows counted, or learned from, where they are: each to be called in a process of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

from benchmarks.experiment import Values
from benchmarks.methods.made_rows import all_pairs, made_schema
from benchmarks.methods.own_process import used
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import load_schema
from privity.common.data.table_reading import read_table
from privity.common.data.table_supersets import supersets
from privity.common.privacy.ledger import Allowance, Ledger
from privity.common.privacy.population import Population
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.session import complete
from privity.common.storage.journal import MEMORY, Journal
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import local_session
from privity.party.sources import counting_store
from privity.party.sources.address import parse_address
from privity.party.sources.coded_batches import StoreBatches
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import Opened, open_rows
from privity.party.sources.rows import InMemory
from privity.party.sources.store import Codes

EPSILON = Fraction(1)
SPARK = (
    "--master local[2] --driver-memory 4g --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2 "
    "--conf spark.driver.bindAddress=127.0.0.1 --conf spark.driver.host=127.0.0.1 "
    "--conf spark.log.level=ERROR"
)


def opened(data: str, hold: str, gigabytes: float, java: str = "", coded: bool = False) -> tuple[Opened, float]:
    """The made rows of an address, and the seconds in which they were looked at and held; ``java`` is for Spark's."""
    options = f"--conf spark.driver.extraJavaOptions={java} " if java else ""
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"{SPARK} {options}pyspark-shell")
    started = time.perf_counter()
    found = open_rows(parse_address(data), made_schema(coded), Access(Hold(hold), int(gigabytes * 1e9)))
    return found, time.perf_counter() - started


def count(
    data: str,
    hold: str,
    gigabytes: float,
    widest: int = counting_store.WIDEST_CELLS,
    java: str = "",
    coded: bool = False,
) -> Values:
    """Open, and count all pairs once."""
    found, seconds = opened(data, hold, gigabytes, java, coded)
    pairs = all_pairs(len(found.rows.schema.attributes))
    with patch.object(counting_store, "WIDEST_CELLS", widest):
        started = time.perf_counter()
        cells = found.rows.count(pairs)
        counting = time.perf_counter() - started
    if int(cells.sum()) != len(pairs) * found.rows.rows:
        raise ValueError("cells that do not add up to the rows")
    tables = len(supersets(pairs, found.rows.schema.domain, widest))
    return {"open": seconds, "count": counting, "both": seconds + counting, "tables": tables, **used()}


def learn(data: str, hold: str, gigabytes: float, algorithm: str) -> Values:
    """Open, and learn a model of the rows; passes are whole readings of the rows after that of the opening."""
    found, seconds = opened(data, hold, gigabytes)
    ledger = Ledger.declare(MEMORY, Population("benchmark", EPSILON))
    releases = ChargedReleases("owner", found.rows, Journal(MEMORY), ledger)
    session = local_session("benchmark", releases, Allowance(EPSILON, budget=PureBudget(EPSILON)))
    passes = 0
    read = StoreBatches.read

    def told(batches: StoreBatches, attributes: Sequence[int], part: int | None = None) -> Iterator[list[Codes]]:
        nonlocal passes
        passes += not part
        return read(batches, attributes, part)

    with patch.object(StoreBatches, "read", told):
        started = time.perf_counter()
        complete(ALGORITHMS[algorithm].learn(session, session.budget.whole, {}))
        learning = time.perf_counter() - started
    return {"open": seconds, "learn": learning, "passes": passes, **used()}


def count_in_memory(data: Path, schema_file: Path, bits: bool, times: int = 5) -> Values:
    """All pairs of a table in memory, or of its bits, each time as if it had just been read."""
    schema = load_schema(schema_file)
    table = read_table(data, schema)
    attributes: Sequence[int] = range(len(schema.attributes))
    if bits:
        attributes = [bit for attribute in attributes for bit in schema.derived.bits(attribute)]
    pairs = [(attributes[first], attributes[second]) for first, second in all_pairs(len(attributes))]
    seconds = []
    # The first one warms the process up.
    for _ in range(times + 1):
        rows = InMemory(CodedTable(schema, table.columns))
        started = time.perf_counter()
        rows.count(pairs)
        seconds.append(1000 * (time.perf_counter() - started))
    of = {"rows": table.rows, "columns": len(attributes), "tables": len(pairs)}
    return {**of, "ms": min(seconds[1:]), "slowest, ms": max(seconds[1:])}
