"""Rows that stay in their store, which counts for itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from math import prod

import numpy as np

from privity.common.data.contingency_tables import Request
from privity.common.data.marginal_counter import read_marginals
from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.common.data.table_supersets import Superset, supersets
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.absent_rows import add_absent
from privity.party.sources.pass_progress import a_pass
from privity.party.sources.rows import Counts, Rows, Texts, joint_in_passes
from privity.party.sources.sql_queries import Questions, Survey, attributes_of
from privity.party.sources.store import Store

WIDEST_CELLS = 1 << 12
"""Of a table that is counted in the place of several (docs/benchmarks/sources.md): fewer tables are sooner counted, but
each has more cells to bring back."""

NEAR_TABLES = 8
"""Tables from which on it is sooner done to load the coded columns than to have the server count."""

STATEMENT_TABLES = 64
STATEMENT_KEYS = 60
"""Attributes in one statement; Spark groups by 64 at most."""

STATEMENT_CELLS = 1 << 20
"""Of the tables that one statement counts: what comes back of it at most."""


class CountedRows:
    """``Rows`` that a store counts, batch by batch; each statement says again which state of the rows it saw.

    Args:
        schema: of the rows as they are seen: some attributes of the one that the questions are made for.
        survey: what the rows were like at the beginning.
        rows: n_k; those that the store does not have are absent.
        texts: about the same rows.
        near: the same rows where they are counted faster, for many tables and for selections; None if nowhere.
    """

    def __init__(
        self,
        store: Store,
        questions: Questions,
        schema: Schema,
        survey: Survey,
        rows: int,
        digest: str,
        texts: Texts,
        near: Callable[[], Rows | None],
    ) -> None:
        self.schema, self.rows, self.digest, self.texts = schema, rows, digest, texts
        self._store, self._questions, self._survey, self._near = store, questions, survey, near
        self._kept: Rows | None = None

    def over(self, names: Collection[str] | None) -> Rows:
        if names is None:
            return self

        def near() -> Rows | None:
            whole = self._near()
            return None if whole is None else whole.over(names)

        schema = self.schema.over(names)
        return type(self)(self._store, self._questions, schema, self._survey, self.rows, self.digest, self.texts, near)

    def count(self, marginals: Sequence[Marginal]) -> Counts:
        domain = self.schema.derived.domain
        tables = [table.in_order() for table in supersets(marginals, domain, WIDEST_CELLS)]
        if len(tables) > NEAR_TABLES and (kept := self._close_at_hand()) is not None:
            return kept.count(marginals)
        starts = np.cumsum([0, *(prod(domain[a] for a in marginal) for marginal in marginals)]).tolist()
        found = np.zeros(starts[-1], dtype=np.int64)
        statements = list(_statements(tables, domain))
        with a_pass() as told:
            for number, statement in enumerate(statements):
                for superset, counts in zip(statement, self._ask(statement), strict=True):
                    read_marginals(counts, superset.readings(marginals, starts), found)
                told((number + 1) / len(statements))
        add_absent(found, marginals, self.schema, self.rows - self._survey.rows)
        return found

    def joint_counts(self, requests: Sequence[Request]) -> Iterator[list[Counts]]:
        kept = self._close_at_hand()
        yield from joint_in_passes(self, requests) if kept is None else kept.joint_counts(requests)

    def _close_at_hand(self) -> Rows | None:
        self._kept = self._kept or self._near()
        return self._kept

    def forget(self) -> None:
        if self._kept is not None:
            self._kept.forget()
        self._kept = None

    def _ask(self, statement: Sequence[Superset]) -> list[Counts]:
        """The tables of one statement, each of the shape of its sizes."""
        domain = self.schema.derived.domain
        tables = [superset.attributes for superset in statement]
        used = attributes_of(tables)
        # The codes that a line has say which table it is of.
        by_codes = {tuple(a in table for a in used): place for place, table in enumerate(tables)}
        counts = [np.zeros([domain[a] for a in table], dtype=np.int64) for table in tables]
        same = False
        for *codes, rows, fingerprint in self._store.rows(self._questions.counts(tables, self.schema)):
            there = tuple(code >= 0 for code in codes)
            if not any(there):
                same = (int(rows), int(fingerprint or 0)) == (self._survey.rows, self._survey.fingerprint)
            if there not in by_codes:
                continue
            place = by_codes[there]
            cell = tuple(int(code) for code in codes if code >= 0)
            if any(not 0 <= code < size for code, size in zip(cell, counts[place].shape, strict=True)):
                raise self._changed()
            counts[place][cell] = int(rows)
        if not same:
            raise self._changed()
        return counts

    def _changed(self) -> PrivityError:
        return PrivityError(Catalogue.SOURCE_CHANGED, source=self._store.name)


def _statements(tables: Sequence[Superset], domain: Sequence[int]) -> Iterator[list[Superset]]:
    waiting: list[Superset] = []
    cells, keys = 0, set[int]()
    for table in tables:
        size = prod(domain[a] for a in table.attributes)
        full = len(waiting) == STATEMENT_TABLES or len(keys.union(table.attributes)) > STATEMENT_KEYS
        if waiting and (full or cells + size > STATEMENT_CELLS):
            yield waiting
            waiting, cells, keys = [], 0, set()
        waiting.append(table)
        cells += size
        keys.update(table.attributes)
    if waiting:
        yield waiting
