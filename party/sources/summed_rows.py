"""Rows that stay in a store whose workers sum over them: one pass for what they are like, and for many tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from privity.common.data.contingency_tables import counting_plan
from privity.common.data.marginal_counter import CountingPlan
from privity.common.data.noisy_tables import Marginal
from privity.party.sources.absent_rows import add_absent
from privity.party.sources.counting_store import CountedRows
from privity.party.sources.fingerprint import weights
from privity.party.sources.pass_progress import a_pass
from privity.party.sources.row_sums import RowSums
from privity.party.sources.rows import PASS_CELLS, Counts
from privity.party.sources.sql_queries import Questions, Survey, surveyed, together
from privity.party.sources.store import Parted, Store, Summing


def survey_of(store: Store, questions: Questions) -> Survey:
    """What the rows of a store are like; looks at all of them.

    Raises:
        PrivityError: source-unreachable, source-refused.
    """
    if isinstance(store, Summing):
        return _summed(store, questions)[0]
    if isinstance(store, Parted) and questions.row_by_row:
        found = []
        with a_pass() as told:
            for number in range(parts := store.parts()):
                found.append(surveyed(store.part(number).rows(questions.survey())[0]))
                told((number + 1) / parts)
        return together(found)
    return surveyed(store.rows(questions.survey())[0])


class SummedRows(CountedRows):
    """``Rows`` that a store's workers count; each pass says again which state of the rows it saw."""

    def count(self, marginals: Sequence[Marginal]) -> Counts:
        assert isinstance(self._store, Summing)
        whole = self._questions.schema
        attributes = [whole.index(name) for name in self.schema.names]
        found = [np.zeros(0, dtype=np.int64)]
        for some in _passes(marginals, self.schema.derived.domain):
            plan = counting_plan(self.schema.derived, some, self._survey.rows)
            survey, cells = _summed(self._store, self._questions, plan, attributes)
            if survey != self._survey:
                raise self._changed()
            found.append(cells)
        counts = np.concatenate(found)
        add_absent(counts, marginals, self.schema, self.rows - self._survey.rows)
        return counts


def _summed(
    store: Summing, questions: Questions, plan: CountingPlan | None = None, attributes: Sequence[int] = ()
) -> tuple[Survey, Counts]:
    """One pass; ``attributes`` are those of the schema that the plan's columns are."""
    domain = questions.schema.domain
    sums = RowSums(tuple(domain), tuple(weights(questions.schema)), plan, tuple(attributes))
    found = store.summed(questions.coded_with_first(), [*domain, 1], sums)
    rows, persons, fingerprint, *misses = found[: sums.head].tolist()
    return Survey(rows, persons, tuple(misses), fingerprint), found[sums.head :]


def _passes(marginals: Sequence[Marginal], domain: Sequence[int]) -> Iterator[list[Marginal]]:
    """The marginals in order, as many at a time as a pass may count; a larger one alone."""
    waiting: list[Marginal] = []
    cells = 0
    for marginal in marginals:
        size = prod(domain[a] for a in marginal)
        if waiting and cells + size > PASS_CELLS:
            yield waiting
            waiting, cells = [], 0
        waiting.append(marginal)
        cells += size
    if waiting:
        yield waiting
