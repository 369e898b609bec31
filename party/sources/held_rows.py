"""Where coded rows are held while a node works: in memory, in a file, or nowhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np

from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.absent_rows import absent_codes
from privity.party.sources.coded_batches import CodedBatches, CodedFile, holds, load_coded, write_coded
from privity.party.sources.fingerprint import digest, fingerprint
from privity.party.sources.rereading import PassedRows
from privity.party.sources.rows import InMemory, Rows, Texts
from privity.party.sources.sql_queries import Slots, Survey

CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
"""What a container may take, as Linux shows it inside: bytes, or "max"."""


class Hold(Enum):
    """Where the rows are while the node works.

    AUTO: files in memory if they fit, else they are read anew for each question; servers count for themselves, and
    coded rows are loaded for the time of a run whose questions come again and again, into a file if they do not fit.
    MEMORY: coded, in memory; refused if they do not fit. CACHE: coded, in a file of the state folder.
    STORE: nothing is held.
    """

    AUTO = "auto"
    MEMORY = "memory"
    CACHE = "cache"
    STORE = "store"


@dataclass(frozen=True)
class Access:
    """How rows are to be read.

    Attributes:
        memory: bytes that coded rows, and DuckDB at its work, may each take.
        slots: where a person may have several rows; None: a row is a person.
        cache: folder for files of coded rows; it must be its owner's alone.
        tidy: whether files of other states than this one are removed from there.
    """

    hold: Hold = Hold.AUTO
    memory: int = 0
    slots: Slots | None = None
    cache: Path | None = None
    tidy: bool = True


def default_memory() -> int:
    """Bytes: a quarter of the machine's memory, or of the container's, if that is limited to less."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        container = int(CONTAINER_LIMIT.read_text(encoding="ascii"))
    except (OSError, ValueError):  # not in a container, or "max"
        container = machine
    return min(machine, container) // 4


def coded_bytes(schema: Schema, rows: int) -> int:
    """Memory of so many coded rows."""
    return rows * sum(code_type(size)().itemsize for size in schema.domain)


class Holder:
    """Ways to hold the rows of some batches.

    Args:
        survey: of all rows that the batches hold.
        rows: n_k, absent ones too.
        texts: about the same rows.
    """

    def __init__(
        self, batches: CodedBatches, schema: Schema, survey: Survey, rows: int, texts: Texts, access: Access
    ) -> None:
        self._batches, self._schema, self._survey, self._access = batches, schema, survey, access
        self._texts = texts
        self.rows = rows
        # As if the absent rows were stored.
        absent = fingerprint([np.array([code]) for code in absent_codes(schema)[: len(schema.domain)]], schema)
        self.digest = digest(schema, rows, survey.fingerprint + (rows - survey.rows) * absent)

    @property
    def fits(self) -> bool:
        """Whether they fit in memory."""
        return coded_bytes(self._schema, self.rows) <= self._access.memory

    def loaded(self) -> InMemory:
        """In memory."""
        if not self.fits:
            raise too_many(self._schema, self.rows, "Allow more memory, or use cache.")
        table, _, found = load_coded(self._batches, self._schema, self._survey.rows)
        if table is None or found != self._survey.fingerprint:
            raise PrivityError(Catalogue.SOURCE_CHANGED, source=self._batches.name)
        return InMemory(with_absent(table, self.rows), self._texts)

    def cached(self) -> PassedRows:
        """In a file of coded rows, which stays."""
        return self.passed(self._written(self._path()))

    def _spilled(self) -> PassedRows:
        """In a file of coded rows, which goes when it is forgotten."""
        path = self._path()
        return self.passed(self._written(path), lambda: path.unlink(missing_ok=True))

    def tidy(self) -> None:
        """Remove files of coded rows that are of other states, or of a run that was cut off."""
        folder = self._access.cache if self._access.tidy else None
        for file in folder.glob("*.parquet") if folder is not None and folder.is_dir() else []:
            if self._access.hold is not Hold.CACHE or file != self._path():
                file.unlink()

    def _path(self) -> Path:
        if self._access.cache is None:
            raise unfit("there is no folder for coded rows", "Use memory or store.")
        return self._access.cache / f"{self.digest[:32]}.parquet"

    def _written(self, path: Path) -> CodedFile:
        file = CodedFile(path, self._batches.name)
        rows, fingerprint_ = self._survey.rows, self._survey.fingerprint
        if not (path.exists() and holds(file, self._schema, rows, fingerprint_)):
            write_coded(path, self._batches, self._schema, rows, fingerprint_)
        return file

    def passed(self, batches: CodedBatches, erase: Callable[[], None] = lambda: None) -> PassedRows:
        """Read anew for each question."""
        whole, rows, stored = self._schema, self.rows, self._survey.rows
        return PassedRows(batches, whole, whole, rows, stored, self.digest, batches.state(), self._texts, erase)

    def near(self) -> Rows | None:
        """Close at hand for the time of a run: in memory, or in a file if they do not fit; None if nowhere."""
        if self._access.hold is not Hold.AUTO:
            return None
        if self.fits:
            return self.loaded()
        return None if self._access.cache is None else self._spilled()


def with_absent(table: CodedTable, rows: int) -> CodedTable:
    """So many rows; a schema may have no absent ones where none is needed."""
    return table.with_absent(rows - table.rows) if rows > table.rows else table


def too_many(schema: Schema, rows: int, hint: str) -> PrivityError:
    """The rows are more than may be in memory."""
    return unfit(f"{coded_bytes(schema, rows) / 1e9:.2g} GB of coded rows are more than memory allows", hint)


def unfit(reason: str, hint: str) -> PrivityError:
    """A way to hold the rows that is not possible."""
    return PrivityError(Catalogue.BAD_OPTION, option="hold", reason=reason, hint=hint)
