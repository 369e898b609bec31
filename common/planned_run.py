"""A session without data: it answers an algorithm with flat tables and public coins, and notes what was asked.

An algorithm is deterministic given its awaits, so a run of it on such a session asks for what a real run would ask:
phases, costs and rounds as they are, tables as large as those of a structure drawn at random.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema
from privity.common.privacy.run_record import OWN_MODEL, Cost, RunRecord
from privity.common.privacy.zcdp_budget import RhoBudget
from privity.common.protocol.evaluation_scores import Evaluation
from privity.common.protocol.expected_tables import check_expected
from privity.common.protocol.public_coin import public_coin
from privity.common.protocol.round import Round
from privity.common.protocol.round_session import RoundSession
from privity.common.protocol.selection_series import SelectionSeries
from privity.common.protocol.step_limits import cells_of
from privity.common.protocol.steps import SelectionStep, SelectTable
from privity.common.release.evaluation.scores_over_parties import PHASE, scores_of
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models import Model

PLANNED = "plan"
INVENTED_ROWS = 100
"""Of the synthetic table that a rehearsed evaluation scores."""


class PlannedSession(RoundSession):
    """K parties that do not exist; a Session of ``privity.common.protocol.session``.

    Args:
        parties: row counts that the parties are taken to hold, by name.
        tolerate: t; 0 for one party alone.
        rho_budget: None in a pure run.
    """

    def __init__(
        self,
        schema: Schema,
        parties: Mapping[str, int],
        tolerate: int,
        delta: Fraction,
        rho_budget: RhoBudget | None = None,
    ) -> None:
        super().__init__(PLANNED, rho_budget=rho_budget)
        self.schema = schema
        self.rows = sum(parties.values())
        self.party_rows = tuple(parties.values())
        self.delta = delta
        self.noise_variables = Fraction(len(parties), len(parties) - tolerate)
        self.record = RunRecord(rho_budget=rho_budget)
        self.rounds: list[tuple[Round, int]] = []
        self.selections: dict[str, int] = {}
        self._parties = dict(parties)

    def public_coin(self, purpose: str, sides: int) -> int:
        return public_coin(PLANNED, purpose, sides)

    async def _reveal(self, round_: Round) -> np.ndarray:
        round_.check_asked(self.schema.derived, max(self.party_rows))
        cells = round_.cells(self.schema.derived.domain)
        self.record.add_cost(self._cost(round_, tuple(self._parties)))
        self.rounds.append((round_, cells))
        rows = self._rows_in(round_)
        sizes = cells_of(round_.tables, self.schema.derived.domain).astype(int).tolist() if round_.tables else []
        return np.concatenate([_flat(size, rows) for size in sizes]) if sizes else np.zeros(cells, np.int64)

    def selection(
        self, phase: str, selections: int, epsilon: Fraction, *, balanced: bool = False, score: str = "R"
    ) -> SelectionSeries:
        series = self._series(phase, selections, epsilon, balanced, score, self._choose)
        for cost in series.costs(tuple(self._parties)):
            self.record.add_cost(cost)
        self.selections[phase] = self.selections.get(phase, 0) + selections
        return series

    async def _choose(self, _party: int, step: SelectionStep) -> int:
        if isinstance(step, SelectTable):
            check_expected(step.expected, self.schema.derived, max(self.party_rows))
        return self.public_coin(step.selection, step.choices)

    async def learn_apart(
        self, phase: str, algorithm: str, settings: Mapping[str, Any], epsilon: Fraction
    ) -> list[Model]:
        self.record.add_cost(Cost(phase, OWN_MODEL, epsilon, tuple(self._parties)))
        alone = (PlannedSession(self.schema, {name: rows}, 0, Fraction(0)) for name, rows in self._parties.items())
        return [await ALGORITHMS[algorithm].learn(session, epsilon, settings) for session in alone]


def _flat(cells: int, rows: int) -> np.ndarray:
    """As many rows in each cell as in any other, int64 of shape (cells,)."""
    counts = np.full(cells, rows // cells, dtype=np.int64)
    counts[: rows % cells] += 1
    return counts


def rehearse(
    session: PlannedSession,
    algorithm: str,
    epsilon: Fraction,
    settings: Mapping[str, Any],
    evaluation: Evaluation | None = None,
) -> None:
    """Run the algorithm on the session, and the evaluation; what was asked for is in the session then.

    Args:
        epsilon: of the algorithm alone.
    """
    model = asyncio.run(ALGORITHMS[algorithm].learn(session, epsilon, settings))
    if evaluation is not None:
        codes = (np.arange(INVENTED_ROWS) % size for size in model.schema.domain)
        invented = CodedTable(model.schema, tuple(column.astype(np.uint32) for column in codes))
        asyncio.run(session.score(PHASE, scores_of(invented, evaluation.targets), evaluation.epsilon))
