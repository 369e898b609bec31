"""What Spark's workers do with the words of rows: numpy and pyarrow alone.

The functions travel to the workers with what they use, so that nothing of this project is installed there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privity.party.sources.packed_codes import taken_apart
from privity.party.sources.row_sums import RowSums

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_ONCE = 1 << 17
SUMS_AT_ONCE = 1 << 16
"""Of a batch from a worker to Spark: 1 MiB."""

SUMS = "place long, n long"
BYTES = "found binary"

Batches = Iterable["pa.RecordBatch"]
Work = Callable[[Batches], Iterator["pa.RecordBatch"]]


def summing(sizes: Sequence[int], sums: RowSums) -> Work:
    """Makes of words the sums of a partition that are not 0, as ``SUMS``, and a line that says whose they are."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        found = np.zeros(sums.length, dtype=np.int64)
        for words in joined(batches):
            sums.add(taken_apart(words, sizes), found)
        task = TaskContext.get()
        places = np.flatnonzero(found)
        counts = np.append(found[places], 1)
        places = np.append(places, -1 - (task.partitionId() if task else 0))
        for start in range(0, len(places), SUMS_AT_ONCE):
            some = slice(start, start + SUMS_AT_ONCE)
            yield pa.RecordBatch.from_arrays([pa.array(places[some]), pa.array(counts[some])], ["place", "n"])

    return work


def packing(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Makes of columns of 64-bit integers one value of bytes for some rows, as ``BYTES``: cheaper to bring back."""
    import pyarrow as pa

    for columns in joined(batches):
        packed = pa.array([np.stack(columns).tobytes()], pa.binary())
        yield pa.RecordBatch.from_arrays([packed], ["found"])


def joined(batches: Batches) -> Iterator[list[npt.NDArray[np.int64]]]:
    """The columns of batches, some rows at a time: Spark's own batches are small.

    Raises:
        ValueError: a NULL.
    """
    waiting: list[list[npt.NDArray[Any]]] = []
    rows = 0
    for batch in batches:
        if any(column.null_count for column in batch.columns):
            raise ValueError("privity: a code is NULL")
        if batch.num_rows:
            waiting.append([column.to_numpy() for column in batch.columns])
            rows += batch.num_rows
        if rows >= ROWS_AT_ONCE:
            yield [np.concatenate(some) for some in zip(*waiting, strict=True)]
            waiting, rows = [], 0
    if rows:
        yield [np.concatenate(some) for some in zip(*waiting, strict=True)]


class RepeatedPartError(ValueError):
    """A partition was summed more than once, or not at all."""


def added(found: Iterable[bytes], length: int) -> npt.NDArray[np.int64]:
    """The sums of all partitions, of which each has said once that it is among them.

    Args:
        found: what ``packing`` made of lines of ``SUMS``.

    Raises:
        RepeatedPartError: another number of times.
    """
    places, counts = np.concatenate([unpacked(packed, 2) for packed in found], axis=1)
    partitions = places < 0
    told = np.sort(-1 - places[partitions])
    if (counts[partitions] != 1).any() or not np.array_equal(told, np.arange(len(told))):
        raise RepeatedPartError
    total = np.zeros(length, dtype=np.int64)
    np.add.at(total, places[~partitions], counts[~partitions])
    return total


def unpacked(packed: bytes, columns: int) -> npt.NDArray[np.int64]:
    """What ``packing`` made: of shape (columns, rows)."""
    return np.frombuffer(packed, dtype=np.int64).reshape(columns, -1)
