"""Rows that are read anew for each question, some at a time: from files, or from coded ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privity.common.data.contingency_tables import Request, counting_plan
from privity.common.data.marginal_counter import CountingPlan, OutOfDomainError
from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.absent_rows import add_absent
from privity.party.sources.coded_batches import CodedBatches
from privity.party.sources.pass_progress import Told, a_pass
from privity.party.sources.rows import Counts, Rows, Texts, joint_in_passes


@dataclass(frozen=True)
class Counted:
    """What a pass has counted so far.

    Attributes:
        marginals: that it counts, of the rows' own schema.
        parts: that are counted; each of them once and whole.
        rows: that were in them.
        cells: of the marginals, summed over these parts.
    """

    marginals: tuple[Marginal, ...]
    parts: int
    rows: int
    cells: Counts


class PassedRows:
    """``Rows`` that are counted in passes over batches. A pass that fails goes on with the parts that are not counted.

    Args:
        schema: of the rows as they are seen: some attributes of ``whole``.
        stored: rows that the batches hold; the others up to ``rows`` are absent.
        digest: of their state.
        state: of the batches when it was made.
        texts: about the same rows.
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
        texts: Texts,
        erase: Callable[[], None] = lambda: None,
    ) -> None:
        self.schema, self.rows, self.digest = schema, rows, digest
        self._batches, self._whole, self._stored, self._state = batches, whole, stored, state
        self._erase, self.texts = erase, texts
        self._cut_off: Counted | None = None

    def over(self, names: Collection[str] | None) -> Rows:
        if names is None:
            return self
        schema = self.schema.over(names)
        kept = (self.rows, self._stored, self.digest, self._state, self.texts, self._erase)
        return PassedRows(self._batches, self._whole, schema, *kept)

    def count(self, marginals: Sequence[Marginal]) -> Counts:
        """Shows every row once, and sees to it that they are those of the beginning."""
        plan = counting_plan(self.schema.derived, marginals, self._stored)
        self._check_state()
        counted = self._cut_off
        if counted is None or counted.marginals != tuple(marginals):
            counted = Counted(tuple(marginals), 0, 0, np.zeros(plan.cells, dtype=np.int64))
        with a_pass() as told:
            while counted.parts < self._batches.parts():
                try:
                    counted = self._with_next_part(plan, counted, told)
                except PrivityError as error:
                    # What these parts hold stays the same, as long as the state does.
                    if counted.parts and error.kind is Catalogue.SOURCE_UNREACHABLE:
                        self._cut_off = counted
                    raise
        if counted.rows != self._stored:
            raise self._changed()
        self._check_state()
        if self._cut_off is not None and self._cut_off.marginals == counted.marginals:
            self._cut_off = None
        add_absent(counted.cells, marginals, self.schema, self.rows - self._stored)
        return counted.cells

    def _with_next_part(self, plan: CountingPlan, counted: Counted, told: Told) -> Counted:
        """The same with one more part; ``counted`` itself stays as it is, so that a part counts whole or not at all."""
        used = sorted(plan.sizes) or [0]
        found = np.zeros(plan.cells, dtype=np.int64)
        rows = counted.rows
        attributes = [self._whole.index(self.schema.names[a]) for a in used]
        for columns in self._batches.read(attributes, counted.parts):
            rows += len(columns[0])
            if rows > self._stored:
                raise self._changed()
            try:
                plan.add(dict(zip(used, columns, strict=True)), found, os.cpu_count() or 1)
            except OutOfDomainError:
                raise self._changed() from None
            told(rows / self._stored)
        if counted.parts:
            found += counted.cells
        return Counted(counted.marginals, counted.parts + 1, rows, found)

    def joint_counts(self, requests: Sequence[Request]) -> Iterator[list[Counts]]:
        return joint_in_passes(self, requests)

    def _check_state(self) -> None:
        if self._batches.state() != self._state:
            raise self._changed()

    def _changed(self) -> PrivityError:
        self._cut_off = None
        return PrivityError(Catalogue.SOURCE_CHANGED, source=self._batches.name)

    def forget(self) -> None:
        self._cut_off = None
        self._erase()
