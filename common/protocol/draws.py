"""A declared series of draws and whose turn each one is: one implementation for both sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from fractions import Fraction

from common.privacy.cost import draw_epsilon, quotas
from common.protocol.steps import Select
from common.statistics import AttributeParentPair


class DrawSeries:
    """``session.selection(...)``: party after party, each its quota, each draw paid from its share.

    Args:
        ask: sends a step to the party of this index and gives back the index of the choice.
        score: kind of score, a name in ``common.privacy.scores``.
        name: prefix of the draws' keys, unique within the run.
    """

    def __init__(
        self,
        run: str,
        phase: str,
        name: str,
        draws: int,
        epsilon: Fraction,
        party_rows: Sequence[int],
        balanced: bool,
        ask: Callable[[int, Select], Awaitable[int]],
        score: str = "R",
    ) -> None:
        self._run, self._phase, self._name = run, phase, name
        counts = quotas(draws, party_rows, balanced=balanced)
        self._turns = [(k, draw_epsilon(epsilon, count)) for k, count in enumerate(counts) for _ in range(count)]
        self._next = 0
        self._ask = ask
        self._score = score

    async def draw(self, candidates: Sequence[AttributeParentPair]) -> AttributeParentPair:
        """The next draw of the series, at the party whose turn it is."""
        if self._next >= len(self._turns):
            raise RuntimeError(f"only {len(self._turns)} draws were declared")
        if not candidates:
            raise ValueError("a draw needs candidates")
        party, epsilon = self._turns[self._next]
        step = Select(self._run, self._phase, f"{self._name}/{self._next}", candidates, epsilon, self._score)
        self._next += 1
        return candidates[await self._ask(party, step)]
