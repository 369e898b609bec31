"""A declared series of selections and whose turn each one is: one implementation for both sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from fractions import Fraction

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.privacy.run_record import Cost, exponential_on, noisy_max_on
from privity.common.privacy.step_cost import quotas, selection_epsilon
from privity.common.privacy.structure_scores import DISTANCE
from privity.common.privacy.zcdp_budget import RhoBudget, selection_rho
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.steps import FREE, Select, SelectionStep, SelectTable


class SelectionSeries:
    """``session.selection(...)``: party after party, each its quota, each selection paid from its share.

    Args:
        epsilon: what the series costs every party that makes some of its selections, as a share of the run's.
        ask: sends a step to the party of this index and gives back the index of the choice.
        score: kind of score, a name in ``privity.common.privacy.structure_scores``: of pairs, or ``DISTANCE`` of
            tables.
        name: prefix of the selections' keys, unique within the run.
        rho_budget: None in a pure run.
    """

    def __init__(
        self,
        run: str,
        phase: str,
        name: str,
        selections: int,
        epsilon: Fraction,
        party_rows: Sequence[int],
        balanced: bool,
        ask: Callable[[int, SelectionStep], Awaitable[int]],
        score: str = "R",
        rho_budget: RhoBudget | None = None,
    ) -> None:
        self._run, self._phase, self._name = run, phase, name
        self._counts = quotas(selections, party_rows, balanced=balanced)
        priced = selection_epsilon if rho_budget is None else rho_budget.selection_epsilon
        self._ranges = [priced(epsilon, count) if count else FREE for count in self._counts]
        self._turns = [(k, self._ranges[k]) for k, count in enumerate(self._counts) for _ in range(count)]
        self._epsilon, self._delta = epsilon, FREE if rho_budget is None else rho_budget.delta
        self._next = 0
        self._ask = ask
        self._score = score
        self._party_rows = tuple(party_rows)

    def costs(self, members: Sequence[str]) -> list[Cost]:
        """What the series costs the members, of which some may make no selection."""
        payers = [member for member, count in zip(members, self._counts, strict=True) if count]
        if not self._delta:
            return [Cost(self._phase, noisy_max_on(self._score), self._epsilon, tuple(payers))]
        by_rho: dict[Fraction, list[str]] = {}
        for member, count, range_ in zip(members, self._counts, self._ranges, strict=True):
            if count:
                by_rho.setdefault(count * selection_rho(range_), []).append(member)
        mechanism = exponential_on(self._score)
        return [Cost(self._phase, mechanism, FREE, tuple(who), self._delta, rho) for rho, who in by_rho.items()]

    async def select(self, candidates: Sequence[AttributeParentPair]) -> AttributeParentPair:
        """The next selection of the series, at the party whose turn it is."""
        if not candidates:
            raise ValueError("a selection needs candidates")
        if self._score == DISTANCE:
            raise RuntimeError("the series was declared for selections among tables")
        party, selection, epsilon = self._take_turn()
        step = Select(self._run, self._phase, selection, candidates, epsilon, self._score, self._delta)
        return candidates[await self._ask(party, step)]

    async def select_farthest(self, expected: ExpectedTables) -> int:
        """The next selection of the series, among tables: the index of the one that was chosen."""
        if self._score != DISTANCE:
            raise RuntimeError(f"the series was declared for selections on the score {self._score}")
        party, selection, epsilon = self._take_turn()
        return await self._ask(party, SelectTable(self._run, self._phase, selection, expected, epsilon, self._delta))

    @property
    def rows_next(self) -> int:
        """Public row count of the party whose turn is next."""
        return self._party_rows[self._turn()[0]]

    def _turn(self) -> tuple[int, Fraction]:
        if self._next >= len(self._turns):
            raise RuntimeError(f"only {len(self._turns)} selections were declared")
        return self._turns[self._next]

    def _take_turn(self) -> tuple[int, str, Fraction]:
        """Whose turn it is, by index, the name of the selection, and its epsilon."""
        party, epsilon = self._turn()
        selection = f"{self._name}/{self._next}"
        self._next += 1
        return party, selection, epsilon
