"""A run without data: it answers an algorithm with flat tables and public coins, and notes what was asked.

An algorithm is deterministic given its awaits, so a run of it on such a session asks for what a real run would ask:
phases, costs and rounds as they are, tables as large as those of a structure drawn at random.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import PureBudget, RunBudget
from privity.common.protocol.evaluation_scores import Evaluation
from privity.common.protocol.expected_tables import check_expected
from privity.common.protocol.public_coin import public_coin
from privity.common.protocol.round import Round, Scores
from privity.common.protocol.session import AllAsked, Backend, Session, complete
from privity.common.protocol.step_limits import check_candidates
from privity.common.protocol.steps import Learn, SelectionStep, SelectTable
from privity.common.release.evaluation.scores_over_parties import PHASE, most_shares, scores_of
from privity.common.synthesis.algorithms import learn
from privity.common.synthesis.models import Model

PLANNED = "plan"
INVENTED_ROWS = 100
"""Of the synthetic table that a rehearsed evaluation scores."""


class PlannedBackend(Backend):
    """K parties that do not exist.

    Args:
        parties: row counts that the parties are taken to hold, by name.
        tolerate: t; 0 for one party alone.
        only_tells: as of ``Backend``.
    """

    coin = population = PLANNED

    def __init__(self, schema: Schema, parties: Mapping[str, int], tolerate: int, *, only_tells: bool = False) -> None:
        self.members = tuple(parties)
        self.party_rows = tuple(parties.values())
        self.quota = len(parties) - tolerate
        self.rows_per_person = (1,) * len(parties)
        self._schema = schema
        self.only_tells = only_tells

    async def reveal(self, round_: Round) -> np.ndarray:
        sizes = round_.query.cells(self._schema.derived.domain)
        if isinstance(round_.query, Scores):
            return np.zeros(sizes.size, np.int64)
        rows = sum(rows for place, rows in enumerate(self.party_rows) if round_.covers(place))
        return np.concatenate([_flat(size, rows) for size in sizes.tolist()])

    async def select(self, _party: int, step: SelectionStep) -> int:
        if isinstance(step, SelectTable):
            check_expected(step.expected, self._schema.derived, max(self.party_rows))
        else:
            check_candidates(step.candidates, self._schema.derived)
        return public_coin(PLANNED, step.selection, step.choices)

    async def learn(self, step: Learn) -> list[Model]:
        if self.only_tells:
            raise AllAsked
        budget = PureBudget(step.loss.epsilon)
        alone = [planned_session(self._schema, {name: rows}, 0, budget) for name, rows in self._parties]
        return [await learn(session, step.algorithm, step.settings) for session in alone]

    @property
    def _parties(self) -> list[tuple[str, int]]:
        return list(zip(self.members, self.party_rows, strict=True))


def planned_session(
    schema: Schema, parties: Mapping[str, int], tolerate: int, budget: RunBudget, *, only_tells: bool = False
) -> Session:
    """A session over parties that do not exist; the arguments are those of ``PlannedBackend``."""
    return Session(PlannedBackend(schema, parties, tolerate, only_tells=only_tells), schema, budget, PLANNED)


def _flat(cells: int, rows: int) -> np.ndarray:
    """As many rows in each cell as in any other, int64 of shape (cells,)."""
    counts = np.full(cells, rows // cells, dtype=np.int64)
    counts[: rows % cells] += 1
    return counts


def rehearse(
    session: Session, algorithm: str, settings: Mapping[str, Any], evaluation: Evaluation | None = None
) -> Session:
    """Run the algorithm on a planned session, and the evaluation; the session has what was asked for then."""
    schema = session.schema
    with contextlib.suppress(AllAsked):
        schema = complete(learn(session, algorithm, settings)).schema
    if evaluation is not None:
        codes = (np.arange(INVENTED_ROWS) % size for size in schema.domain)
        invented = CodedTable(schema, tuple(column.astype(np.uint32) for column in codes))
        asked = scores_of(invented, evaluation.targets, most_shares(session, evaluation))
        share = PureBudget(evaluation.epsilon).whole
        complete(session.score(PHASE, asked, share))
    return session
