"""Rows that are read anew for each question, some at a time: from files, or from coded ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from privity.common.data.contingency_tables import Request, counting_plan
from privity.common.data.marginal_counter import OutOfDomainError
from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.party.rows import Counts, Rows, joint_in_passes
from privity.party.sources.absent_rows import add_absent
from privity.party.sources.coded_batches import CodedBatches


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
        """Shows every row once, and sees to it that they are those of the beginning."""
        plan = counting_plan(self.schema.derived, marginals, self._stored)
        found = np.zeros(plan.cells, dtype=np.int64)
        used = sorted(plan.sizes) or [0]
        rows = 0
        self._check_state()
        for columns in self._batches.read([self._whole.index(self.schema.names[a]) for a in used]):
            rows += len(columns[0])
            if rows > self._stored:
                raise self._changed()
            try:
                plan.add(dict(zip(used, columns, strict=True)), found, os.cpu_count() or 1)
            except OutOfDomainError:
                raise self._changed() from None
        if rows != self._stored:
            raise self._changed()
        self._check_state()
        add_absent(found, marginals, self.schema, self.rows - self._stored)
        return found

    def joint_counts(self, requests: Sequence[Request]) -> Iterator[list[Counts]]:
        return joint_in_passes(self, requests)

    def _check_state(self) -> None:
        if self._batches.state() != self._state:
            raise self._changed()

    def _changed(self) -> PrivityError:
        return PrivityError(Catalogue.SOURCE_CHANGED, source=self._batches.name)

    def forget(self) -> None:
        self._erase()
