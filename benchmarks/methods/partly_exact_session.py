"""PrivBayes with draws or tables that carry no noise: where its error comes from. NOT private, for benchmarks only."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privity.assessment.planning.in_process_backend import RUN, InProcessBackend
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.noisy_tables import NoisyTables
from privity.common.privacy.run_budget import PureBudget, Share
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.session import Session
from privity.common.protocol.steps import SelectionStep, SelectTable
from privity.party.answers_from_rows import PairScores, TableCounts, distances

NO_NOISE = 1e-6
"""Variance that exact counts are given: above 0, as estimates weigh by its inverse, and below all that matters."""


class _ExactDraws(InProcessBackend):
    """Each draw gives the candidate of the largest score, the first of equals. NOT PRIVATE."""

    async def select(self, _party: int, step: SelectionStep) -> int:
        rows = self.rows[0]
        if isinstance(step, SelectTable):
            found = distances(step.expected, TableCounts(rows))
        else:
            found = PairScores(rows).of(step.candidates, step.score)
        return max(range(len(found)), key=found.__getitem__)


class _ExactTables(Session):
    """Each table has the true counts. NOT PRIVATE."""

    table: CodedTable

    async def _tables(self, round_: Round, _share: Share) -> NoisyTables:
        query = round_.query
        assert isinstance(query, Tables)
        vector = np.concatenate([counts.ravel() for counts in contingency_tables(self.table, list(query.marginals))])
        laws = {weight: round_.noise.law(weight) for weight in query.weights}
        none = dict.fromkeys(query.weights, NO_NOISE)
        domain = self.schema.derived.domain
        return NoisyTables(query.marginals, vector, domain, query.weights, laws, none, self.rows)


def partly_exact_session(table: CodedTable, epsilon: Fraction, *, exact_draws: bool, exact_tables: bool) -> Session:
    """A session over one table whose draws, tables or both are answered exactly. NOT PRIVATE.

    All else stays: the budget is divided as if there were noise, so the same tables count as useful.
    """
    budget = PureBudget(epsilon)
    backend = (_ExactDraws if exact_draws else InProcessBackend)([table], budget)
    if not exact_tables:
        return backend.session()
    session = _ExactTables(backend, table.schema, budget, RUN)
    session.table = table
    return session
