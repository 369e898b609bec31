"""What workers sum over rows, and how the sums of partitions are added."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from privity.common.data.contingency_tables import counting_plan
from privity.party.sources.fingerprint import fingerprint, weights
from privity.party.sources.packed_codes import words
from privity.party.sources.row_sums import RowSums
from privity.party.sources.spark_workers import RepeatedPartError, added, packing, summing, unpacked
from tests.harness.typed_table import typed_schema

SCHEMA = typed_schema()
ROWS = 1000
GENERATOR = np.random.default_rng(5)
CODES = [GENERATOR.integers(0, size, ROWS).astype(np.uint16) for size in SCHEMA.domain]
FIRST = GENERATOR.integers(0, 2, ROWS).astype(np.uint8)
MARGINALS = [(0, 1), (2,), ()]


def sums() -> RowSums:
    plan = counting_plan(SCHEMA.derived, MARGINALS, ROWS)
    return RowSums(tuple(SCHEMA.domain), tuple(weights(SCHEMA)), plan, tuple(range(len(SCHEMA.domain))))


def test_sums_of_parts_of_the_rows_are_those_of_all() -> None:
    found = np.zeros(sums().length, np.int64)
    for some in (slice(0, 300), slice(300, 300), slice(300, ROWS)):
        sums().add([column[some] for column in (*CODES, FIRST)], found)
    rows, first, total, *others = found.tolist()
    assert (rows, first, total) == (ROWS, int(FIRST.sum()), fingerprint(CODES, SCHEMA))
    shape = SCHEMA.domain[:2]
    pairs = np.bincount(np.ravel_multi_index(CODES[:2], shape), minlength=shape[0] * shape[1])
    singles = np.bincount(CODES[2], minlength=SCHEMA.domain[2])
    assert others == [*[0] * len(SCHEMA.domain), *pairs, *singles, ROWS]


def test_rows_outside_a_domain_are_told_by_attribute_and_not_counted() -> None:
    beyond = [column.copy() for column in CODES]
    beyond[1][:7] = SCHEMA.domain[1]
    found = np.zeros(sums().length, np.int64)
    sums().add([*beyond, FIRST], found)
    assert found[3 : sums().head].tolist() == [7 if place == 1 else 0 for place in range(len(SCHEMA.domain))]
    assert not found[sums().head :].any()


def partition(rows: slice) -> pa.RecordBatch:
    """What a worker makes of some rows."""
    bounds = [*(size + 1 for size in SCHEMA.domain), 2]
    columns = [*CODES, FIRST]
    packed = []
    for places in words(bounds):
        word = np.zeros(ROWS, np.int64)
        for place in places:
            word = word * bounds[place] + columns[place]
        packed.append(pa.array(word[rows]))
    batch = pa.RecordBatch.from_arrays(packed, [f"w{place}" for place in range(len(packed))])
    (made,) = summing(bounds, sums())([batch.slice(0, 11), batch.slice(11)])
    return made


def bytes_of(batch: pa.RecordBatch) -> bytes:
    (made,) = packing([batch])
    return bytes(made.column(0)[0].as_py())


def of_partition(batch: pa.RecordBatch, number: int) -> pa.RecordBatch:
    """The same as if another partition had made it."""
    places = batch.column(0).to_numpy().copy()
    places[places < 0] = -1 - number
    return pa.RecordBatch.from_arrays([pa.array(places), batch.column(1)], ["place", "n"])


def test_each_partition_counts_once() -> None:
    whole = np.zeros(sums().length, np.int64)
    sums().add([*CODES, FIRST], whole)
    parts = [
        bytes_of(of_partition(partition(rows), place)) for place, rows in enumerate((slice(400), slice(400, ROWS)))
    ]
    assert unpacked(parts[0], 2).shape[0] == 2
    assert added(parts, sums().length).tolist() == whole.tolist()
    for wrong in ([*parts, parts[1]], parts[1:], [parts[0], parts[0]]):
        with pytest.raises(RepeatedPartError):
            added(wrong, sums().length)


def test_a_null_among_the_codes_is_an_error() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1, None])], ["w0"])
    with pytest.raises(ValueError, match="a code is NULL"):
        list(packing([batch]))
