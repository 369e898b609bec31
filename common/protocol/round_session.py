"""What all sessions share: they ask for tables in rounds, and name their steps by number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from common.privacy.composition import Accounting
from common.protocol.openings import OpeningSeries
from common.protocol.round import Round
from common.statistics import Marginal, NoisyTables


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

    @abstractmethod
    async def _open_round(self, round_: Round) -> NoisyTables:
        """Open one round and charge it to everybody whose rows are in it."""

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
        return await self._open_round(
            Round(self.run, phase, name, tuple(tables), epsilon, None, tuple(weights), accounting)
        )

    def openings(
        self, phase: str, tables: Sequence[Marginal], epsilon: Fraction, weights: Sequence[Fraction]
    ) -> OpeningSeries:
        return OpeningSeries(self.run, phase, self._next_name(phase), tables, epsilon, weights, self._open_round)
