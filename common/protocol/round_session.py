"""What all sessions share: they ask for tables in rounds, and name their steps by number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from fractions import Fraction

import numpy as np

from privity.common.data.noisy_tables import Marginal, NoisyScores, NoisyTables
from privity.common.data.schema import Schema
from privity.common.privacy.advanced_composition import Accounting
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.run_record import Cost, RunRecord, noise_on_scores, noise_on_tables
from privity.common.privacy.step_cost import noise_scale, quotas, selection_epsilon
from privity.common.privacy.zcdp_budget import RhoBudget
from privity.common.protocol.evaluation_scores import Score
from privity.common.protocol.round import Round
from privity.common.protocol.running_sums import RunningSums
from privity.common.protocol.secure_sum import noisy_tables
from privity.common.protocol.selection_series import SelectionSeries
from privity.common.protocol.session import Result
from privity.common.protocol.steps import SelectionStep


class RoundSession(ABC):
    """The part of ``privity.common.protocol.session.Session`` that is the same wherever rounds are revealed.

    Args:
        run: name of the run.
        prefix: of the names of the steps, when they are part of a larger run.
        rho_budget: None in a pure run: the shares that are asked for are shares of it.
    """

    def __init__(self, run: str, prefix: str = "", rho_budget: RhoBudget | None = None) -> None:
        self.run = run
        self._prefix = prefix
        self._rho_budget = rho_budget
        self._steps = 0

    schema: Schema
    party_rows: tuple[int, ...]
    noise_variables: Fraction
    record: RunRecord

    @abstractmethod
    async def _reveal(self, round_: Round) -> np.ndarray:
        """Reveal one round and charge it to everybody whose rows are in it: int64 of shape (cells,)."""

    def _cost(self, round_: Round, members: Sequence[str], *, shared: bool = True) -> Cost:
        """What a round costs the members whose rows are in it; ``shared``: whether several draw its noise."""
        payers = tuple(member for place, member in enumerate(members) if round_.covers(place))
        if round_.scores:
            mechanism = noise_on_scores(shared=shared)
        else:
            mechanism = noise_on_tables(round_.terms or round_.accounting, shared=shared)
        return Cost(round_.phase, mechanism, round_.cost, payers, round_.delta, round_.rho)

    def _rows_in(self, round_: Round) -> int:
        """Public number of rows that the revealed sum is over."""
        return sum(rows for place, rows in enumerate(self.party_rows) if round_.covers(place))

    async def compute(self, work: Callable[[], Result]) -> Result:
        return work()

    async def _reveal_tables(self, round_: Round) -> NoisyTables:
        vector = await self._reveal(round_)
        revealed = noisy_tables(
            vector, round_, self.schema, len(self.party_rows), self._noise_quota, self._rows_in(round_)
        )
        self.record.add_tables(round_.phase, revealed)
        return revealed

    @property
    def _noise_quota(self) -> int:
        """q = K - t."""
        return int(len(self.party_rows) / self.noise_variables)

    def noise_variance(self, tables: int, epsilon: Fraction) -> float:
        if self._rho_budget is None:
            law = NoiseLaw(LAPLACE, noise_scale(tables, epsilon))
        else:
            law = self._rho_budget.terms(epsilon, (1,) * tables, self._noise_quota).law(1)
        return len(self.party_rows) * law.share_variance(self._noise_quota)

    def selection_epsilon(self, selections: int, epsilon: Fraction, *, balanced: bool = False) -> float:
        most = max(quotas(selections, self.party_rows, balanced=balanced))
        priced = selection_epsilon if self._rho_budget is None else self._rho_budget.selection_epsilon
        return float(priced(epsilon, most))

    def _series(
        self,
        phase: str,
        selections: int,
        epsilon: Fraction,
        balanced: bool,
        score: str,
        ask: Callable[[int, SelectionStep], Awaitable[int]],
    ) -> SelectionSeries:
        name = self._next_name(phase)
        return SelectionSeries(
            self.run, phase, name, selections, epsilon, self.party_rows, balanced, ask, score, self._rho_budget
        )

    def _next_name(self, phase: str) -> str:
        self._steps += 1
        return f"{self._prefix}{self._steps}-{phase}"

    async def measure(
        self,
        phase: str,
        tables: Sequence[Marginal],
        epsilon: Fraction,
        weights: Sequence[int] = (),
        accounting: Accounting | None = None,
    ) -> NoisyTables:
        name, asked, weighted = self._next_name(phase), tuple(tables), tuple(weights)
        if self._rho_budget is None:
            round_ = Round(self.run, phase, name, asked, epsilon, None, weighted, accounting)
        else:
            terms = self._rho_budget.terms(epsilon, weighted or (1,) * len(asked), self._noise_quota)
            round_ = Round(self.run, phase, name, asked, Fraction(0), None, weighted, accounting, terms=terms)
        return await self._reveal_tables(round_)

    async def score(self, phase: str, scores: Sequence[Score], epsilon: Fraction) -> NoisyScores:
        name = self._next_name(phase)
        round_ = Round(self.run, phase, name, (), epsilon, scores=tuple(scores))
        return NoisyScores(await self._reveal(round_), round_.law(1))

    def running_sums(
        self, phase: str, tables: Sequence[Marginal], epsilon: Fraction, weights: Sequence[Fraction]
    ) -> RunningSums:
        name = self._next_name(phase)
        return RunningSums(
            self.run, phase, name, tables, epsilon, weights, self._reveal_tables, self._rho_budget, self._noise_quota
        )
