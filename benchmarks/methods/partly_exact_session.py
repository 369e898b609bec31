"""PrivBayes with draws or tables that carry no noise: where its error comes from. NOT private, for benchmarks only."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.noisy_tables import NoisyTables
from privity.common.protocol.round import Round
from privity.common.protocol.steps import SelectionStep, SelectTable
from privity.deploy.planning.in_process_session import InProcessSession
from privity.party.answers_from_rows import PairScores, TableCounts, distances
from privity.party.rows import InMemory

NO_NOISE = 1e-6
"""Variance that exact counts are given: above 0, as estimates weigh by its inverse, and below all that matters."""


class PartlyExactSession(InProcessSession):
    """A session over one table whose draws, tables or both are answered exactly. NOT PRIVATE.

    All else stays: epsilon is divided as if there were noise, so the same tables count as useful.

    Args:
        exact_draws: each draw gives the candidate of the largest score, the first of equals.
        exact_tables: each table has the true counts.
    """

    def __init__(self, table: CodedTable, epsilon: Fraction, *, exact_draws: bool, exact_tables: bool) -> None:
        super().__init__([table], epsilon)
        self._table, self._pair_scores = table, PairScores(InMemory(table))
        self._counts = TableCounts(InMemory(table))
        self._exact_draws, self._exact_tables = exact_draws, exact_tables

    async def _ask(self, party: int, step: SelectionStep) -> int:
        if not self._exact_draws:
            return await super()._ask(party, step)
        if isinstance(step, SelectTable):
            found = distances(step.expected, self._counts)
        else:
            found = self._pair_scores.of(step.candidates, step.score)
        return max(range(len(found)), key=found.__getitem__)

    async def _reveal_tables(self, round_: Round) -> NoisyTables:
        if not self._exact_tables:
            return await super()._reveal_tables(round_)
        vector = np.concatenate([counts.ravel() for counts in contingency_tables(self._table, list(round_.tables))])
        weights = round_.all_weights
        laws = {weight: round_.law(weight) for weight in weights}
        none = dict.fromkeys(weights, NO_NOISE)
        return NoisyTables(round_.tables, vector, self.schema.derived.domain, weights, laws, none, self.rows)
