"""Coded rows, some at a time: from a store, or from a file of coded rows that was made of one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.journal import room_wanted
from privity.common.storage.safe_files import appearing
from privity.party.sources.file_states import files_state
from privity.party.sources.fingerprint import fingerprint
from privity.party.sources.pass_progress import a_pass
from privity.party.sources.sql_queries import Questions
from privity.party.sources.store import Codes, Parted, Store

BATCH_ROWS = 1 << 20


class CodedBatches(Protocol):
    """Coded rows, some at a time.

    Attributes:
        name: of where they are, for messages.
    """

    name: str

    def parts(self) -> int:
        """How many parts the rows can be read in; the same ones as long as the state is."""
        ...

    def read(self, attributes: Sequence[int], part: int | None = None) -> Iterator[list[Codes]]:
        """All rows, or those of a part: an array of codes for each of these attributes of the whole schema."""
        ...

    def state(self) -> str:
        """As ``Store.state``."""
        ...


class StoreBatches:
    """Rows of a store, coded on their way; one beyond an attribute's last code is a value outside its domain."""

    def __init__(self, store: Store, questions: Questions, schema: Schema) -> None:
        self.name = store.name
        self._store, self._questions, self._schema = store, questions, schema

    def parts(self) -> int:
        # A person's rows may be in several parts.
        return self._store.parts() if isinstance(self._store, Parted) and self._questions.row_by_row else 1

    def read(self, attributes: Sequence[int], part: int | None = None) -> Iterator[list[Codes]]:
        store = self._store
        if part is not None and isinstance(store, Parted) and self.parts() > 1:
            store = store.part(part)
        return store.batches(self._questions.coded(attributes), [self._schema.domain[a] for a in attributes])

    def state(self) -> str:
        return self._store.state()


class CodedFile:
    """A Parquet file of codes, in a folder that only its owner's account can read."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path

    def parts(self) -> int:
        return 1

    def read(self, attributes: Sequence[int], part: int | None = None) -> Iterator[list[Codes]]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = [f"a{a}" for a in attributes]
        try:
            with pq.ParquetFile(self._path) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=names):
                    yield [batch.column(name).to_numpy() for name in names]
        except (OSError, pa.ArrowException, KeyError) as error:
            raise self._unreadable(error) from None

    def state(self) -> str:
        try:
            return files_state([self._path])
        except OSError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> PrivityError:
        reason = f"the file of coded rows cannot be read ({type(error).__name__})"
        hint = f"Remove {self._path}; it is made again when the node starts."
        return PrivityError(Catalogue.SOURCE_UNREACHABLE, source=self.name, reason=reason, hint=hint)


def write_coded(path: Path, batches: CodedBatches, schema: Schema, stored: int, expected: int) -> None:
    """Write all rows of the batches to a file, whole or not at all.

    Args:
        stored, expected: how many rows there must be, and their fingerprint.

    Raises:
        PrivityError: source-changed; no-room.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    types = [pa.from_numpy_dtype(np.dtype(code_type(size))) for size in schema.domain]
    form = pa.schema([(f"a{place}", kind) for place, kind in enumerate(types)])
    rows = total = 0
    with appearing(path) as scratch:
        with room_wanted(path), os.fdopen(os.open(scratch, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "wb") as file:
            with pq.ParquetWriter(file, form) as writer:
                for columns in checked(batches, schema, stored):
                    rows += len(columns[0])
                    total += fingerprint(columns, schema)
                    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
                    writer.write_batch(pa.record_batch(arrays, schema=form))
            file.flush()
            os.fsync(file.fileno())
        if (rows, total) != (stored, expected):
            raise PrivityError(Catalogue.SOURCE_CHANGED, source=batches.name)


def holds(file: CodedFile, schema: Schema, stored: int, expected: int) -> bool:
    """Whether a file of coded rows that was left by an earlier node is whole, and of this state."""
    rows = total = 0
    try:
        for columns in checked(file, schema, stored):
            rows += len(columns[0])
            total += fingerprint(columns, schema)
    except PrivityError:
        return False
    return (rows, total) == (stored, expected)


def load_coded(batches: CodedBatches, schema: Schema, stored: int) -> tuple[CodedTable | None, tuple[int, ...], int]:
    """All rows of the batches in memory.

    Returns:
        The table, or None if a value is outside its domain; how many are, by attribute; the rows' fingerprint.

    Raises:
        PrivityError: source-changed: there are not as many rows as there must be.
    """
    whole = [np.empty(stored, dtype=code_type(size)) for size in schema.domain]
    misses = np.zeros(len(schema.domain), dtype=np.int64)
    rows = total = 0
    for columns in nonempty(batches, schema, stored):
        stop = rows + len(columns[0])
        if stop > stored:
            raise PrivityError(Catalogue.SOURCE_CHANGED, source=batches.name)
        for kept, column in zip(whole, columns, strict=True):
            kept[rows:stop] = column
        misses += [int((column >= size).sum()) for column, size in zip(columns, schema.domain, strict=True)]
        total += fingerprint(columns, schema)
        rows = stop
    if rows < stored:
        raise PrivityError(Catalogue.SOURCE_CHANGED, source=batches.name)
    return None if misses.any() else CodedTable(schema, tuple(whole)), tuple(misses.tolist()), total


def checked(batches: CodedBatches, schema: Schema, stored: int) -> Iterator[list[Codes]]:
    """The same batches as ``nonempty``, without a value outside the domain.

    Raises:
        PrivityError: source-changed: there was none when the rows were first looked at.
    """
    for columns in nonempty(batches, schema, stored):
        if any(int(column.max()) >= size for column, size in zip(columns, schema.domain, strict=True)):
            raise PrivityError(Catalogue.SOURCE_CHANGED, source=batches.name)
        yield columns


def nonempty(batches: CodedBatches, schema: Schema, stored: int) -> Iterator[list[Codes]]:
    """The batches of all attributes, each with some rows.

    Args:
        stored: how many rows there must be; the owner is shown how far the pass is.
    """
    rows = 0
    with a_pass() as told:
        for columns in batches.read(range(len(schema.domain))):
            if len(columns[0]):
                rows += len(columns[0])
                told(rows / max(1, stored))
                yield columns
