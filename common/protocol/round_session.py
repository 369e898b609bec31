"""What all sessions share: they ask for tables in rounds, and name their steps by number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from common.privacy.composition import Accounting
from common.privacy.record import Cost, RunRecord, noise_on_scores, noise_on_tables
from common.protocol.openings import OpeningSeries
from common.protocol.round import Round
from common.protocol.scores import Score
from common.protocol.secure_sum import noisy_tables
from common.schema import Schema
from common.statistics import Marginal, NoisyScores, NoisyTables


class RoundSession(ABC):
    """The part of ``common.protocol.session.Session`` that is the same wherever rounds are opened.

    Args:
        run: name of the run.
        prefix: of the names of the steps, when they are part of a larger run.
    """

    def __init__(self, run: str, prefix: str = "") -> None:
        self.run = run
        self._prefix = prefix
        self._steps = 0

    schema: Schema
    party_rows: tuple[int, ...]
    noise_variables: Fraction
    record: RunRecord

    @abstractmethod
    async def _open(self, round_: Round) -> np.ndarray:
        """Open one round and charge it to everybody whose rows are in it: int64 of shape (cells,)."""

    def _cost(self, round_: Round, members: Sequence[str], *, shared: bool = True) -> Cost:
        """What a round costs the members whose rows are in it; ``shared``: whether several draw its noise."""
        payers = tuple(member for place, member in enumerate(members) if round_.covers(place))
        if round_.scores:
            mechanism = noise_on_scores(shared=shared)
        else:
            mechanism = noise_on_tables(round_.accounting, shared=shared)
        return Cost(round_.phase, mechanism, round_.cost, payers, round_.delta, round_.rho)

    def _rows_in(self, round_: Round) -> int:
        """Public number of rows that the opened sum is over."""
        return sum(rows for place, rows in enumerate(self.party_rows) if round_.covers(place))

    async def _open_tables(self, round_: Round) -> NoisyTables:
        vector = await self._open(round_)
        parties = len(self.party_rows)
        quota = int(parties / self.noise_variables)
        opened = noisy_tables(vector, round_, self.schema, parties, quota, self._rows_in(round_))
        self.record.add_tables(round_.phase, opened)
        return opened

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
        name = self._next_name(phase)
        return await self._open_tables(
            Round(self.run, phase, name, tuple(tables), epsilon, None, tuple(weights), accounting)
        )

    async def score(self, phase: str, scores: Sequence[Score], epsilon: Fraction) -> NoisyScores:
        name = self._next_name(phase)
        round_ = Round(self.run, phase, name, (), epsilon, scores=tuple(scores))
        return NoisyScores(await self._open(round_), round_.law(1))

    def openings(
        self, phase: str, tables: Sequence[Marginal], epsilon: Fraction, weights: Sequence[Fraction]
    ) -> OpeningSeries:
        return OpeningSeries(self.run, phase, self._next_name(phase), tables, epsilon, weights, self._open_tables)
