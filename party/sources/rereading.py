"""Rows that are read anew for each question, some at a time: from files, or from coded ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from math import prod

import numpy as np

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import Marginal
from privity.common.data.pair_tables import count_all
from privity.common.data.parent_set_tables import JointCounter, Request
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.party.rows import Counts, Rows
from privity.party.sources.absent_rows import add_absent
from privity.party.sources.coded_batches import CodedBatches

PASS_CELLS = 1 << 23
"""Of the tables that are counted in one pass: 64 MiB of counts."""


class PassedRows:
    """``Rows`` that are counted in passes over batches.

    Args:
        schema: of the rows as they are seen: some attributes of ``whole``.
        stored: rows that the batches hold; the others up to ``rows`` are absent.
        digest: of their state.
        state: of the batches when it was made.
        erase: takes the batches away when they are forgotten, if they were made for one run.
    """

    def __init__(
        self,
        batches: CodedBatches,
        whole: Schema,
        schema: Schema,
        rows: int,
        stored: int,
        digest: str,
        state: str,
        erase: Callable[[], None] = lambda: None,
    ) -> None:
        self.schema, self.rows, self.digest = schema, rows, digest
        self._batches, self._whole, self._stored, self._state = batches, whole, stored, state
        self._erase = erase

    def over(self, names: Collection[str] | None) -> Rows:
        if names is None:
            return self
        schema = self.schema.over(names)
        kept = (self.rows, self._stored, self.digest, self._state, self._erase)
        return PassedRows(self._batches, self._whole, schema, *kept)

    def count(self, marginals: Sequence[Marginal]) -> Counts:
        domain = self.schema.derived.domain
        found = np.zeros(sum(prod(domain[a] for a in marginal) for marginal in marginals), dtype=np.int64)
        self._pass(lambda table: count_all(table, marginals, found))
        add_absent(found, marginals, self.schema, self.rows - self._stored)
        return found

    def joint_counts(self, requests: Sequence[Request]) -> Iterator[list[Counts]]:
        for some in in_passes(requests, self.schema.derived.domain):
            yield from self._joint(some)

    def _joint(self, requests: Sequence[Request]) -> list[list[Counts]]:
        found: list[list[Counts]] = []

        def add(table: CodedTable) -> None:
            counter = JointCounter(table)
            for place, (parents, attributes) in enumerate(requests):
                counted = counter.count(parents, attributes)
                if place == len(found):
                    found.append([np.array(counts) for counts in counted])
                else:
                    for whole, part in zip(found[place], counted, strict=True):
                        whole += part

        self._pass(add)
        for (parents, attributes), counts in zip(requests, found, strict=True):
            for attribute, table in zip(attributes, counts, strict=True):
                flat = table.reshape(-1)
                add_absent(flat, [(attribute, *parents)], self.schema, self.rows - self._stored)
                table[...] = flat.reshape(table.shape)
        return found

    def _pass(self, see: Callable[[CodedTable], object]) -> None:
        """Show every row once, and see to it that they are those of the beginning."""
        places = [self._whole.index(name) for name in self.schema.names]
        rows = 0
        self._check_state()
        for columns in self._batches.read(places):
            if not len(columns[0]):
                continue
            rows += len(columns[0])
            sizes = zip(columns, self.schema.domain, strict=True)
            if rows > self._stored or any(int(column.max()) >= size for column, size in sizes):
                raise self._changed()
            see(CodedTable(self.schema, tuple(columns)))
        if rows != self._stored:
            raise self._changed()
        self._check_state()

    def _check_state(self) -> None:
        if self._batches.state() != self._state:
            raise self._changed()

    def _changed(self) -> PrivityError:
        return PrivityError(Catalogue.SOURCE_CHANGED, source=self._batches.name)

    def forget(self) -> None:
        self._erase()


def in_passes(requests: Sequence[Request], domain: Sequence[int]) -> Iterator[list[Request]]:
    """The requests in parts, each of which is counted in one pass."""
    waiting: list[Request] = []
    cells = 0
    for parents, attributes in requests:
        wanted = prod(domain[p] for p in parents) * sum(domain[a] for a in attributes)
        if waiting and cells + wanted > PASS_CELLS:
            yield waiting
            waiting, cells = [], 0
        waiting.append((parents, attributes))
        cells += wanted
    if waiting:
        yield waiting
