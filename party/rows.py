"""The rows of an owner as the handlers see them: something that counts tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import Marginal
from privity.common.data.pair_tables import count_all
from privity.common.data.parent_set_tables import JointCounter, Request
from privity.common.data.schema import Schema
from privity.party.sources.fingerprint import digest, fingerprint

Counts = npt.NDArray[np.int64]
Texts = Callable[[str], Mapping[str, int]]
"""How many rows have each text of an attribute."""

BLOCK_ROWS = 1 << 20
"""Rows of a long table that are counted together: their columns stay in the processor's cache from one table to the
next, and no cell numbers of all rows are made."""


class Rows(Protocol):
    """Rows of one state; they never change, or every further question about them is refused.

    Every method may raise PrivityError: source-unreachable, source-refused, source-changed. None depends on a row.

    Attributes:
        schema: what the rows are coded by.
        rows: how many there are, n_k; public.
        digest: names their state, in hexadecimal. It depends on rows and never leaves their owner.
    """

    @property
    def schema(self) -> Schema: ...

    @property
    def rows(self) -> int: ...

    @property
    def digest(self) -> str: ...

    def over(self, names: Collection[str] | None) -> Rows:
        """The same rows with some of the attributes; None stands for all. KeyError for one that the schema lacks."""
        ...

    def count(self, marginals: Sequence[Marginal]) -> Counts:
        """All cells of the tables, one after another, C order within each: int64 of shape (cells,), the caller's."""
        ...

    def joint_counts(self, requests: Sequence[Request]) -> Iterator[list[Counts]]:
        """For each (parents, attributes) the attributes' tables with the parents, as ``JointCounter`` gives them."""
        ...

    def forget(self) -> None:
        """Drop what was kept for further questions of a run."""
        ...


class InMemory:
    """Rows as a coded table."""

    def __init__(self, table: CodedTable) -> None:
        self.table = table
        self.schema = table.schema
        self.rows = table.rows
        self._counter = JointCounter(table)

    @cached_property
    def digest(self) -> str:
        return digest(self.schema, self.rows, fingerprint(self.table.columns, self.schema))

    def over(self, names: Collection[str] | None) -> InMemory:
        return self if names is None else InMemory(self.table.over(names))

    def count(self, marginals: Sequence[Marginal]) -> Counts:
        found = count_all(self._block(0), marginals)
        for start in range(BLOCK_ROWS, self.rows, BLOCK_ROWS):
            count_all(self._block(start), marginals, found)
        return found

    def _block(self, start: int) -> CodedTable:
        if self.rows <= BLOCK_ROWS:
            return self.table
        return CodedTable(self.schema, tuple(column[start : start + BLOCK_ROWS] for column in self.table.columns))

    def joint_counts(self, requests: Sequence[Request]) -> Iterator[list[Counts]]:
        return self._counter.count_all(requests)

    def forget(self) -> None:
        """What was packed serves the next run as well."""
