"""A declared series of selections: whose turn each one is, and by which mechanism."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.privacy.mechanisms import Selecting
from privity.common.privacy.run_budget import Share
from privity.common.privacy.structure_scores import DISTANCE
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.run_record import Cost
from privity.common.protocol.stated_charges import selections_cost
from privity.common.protocol.steps import Select, SelectionStep, SelectTable


class SelectionSeries:
    """``session.selection(...)``: party after party, each its quota, each selection paid from its share.

    Every party's own total is the share: its selections share it out, and its rows enter no other party's selection
    (parallel composition over disjoint rows). A party without selections is charged nothing.

    Args:
        name: prefix of the selections' keys, unique within the run.
        quotas: number of selections for each party.
        share: what the series costs every party that makes some of its selections.
        ask: sends a step to the party of this index and gives back the index of the choice.
        score: kind of score, a name in ``privity.common.privacy.structure_scores``: of pairs, or ``DISTANCE`` of
            tables.
    """

    def __init__(
        self,
        run: str,
        phase: str,
        name: str,
        quotas: Sequence[int],
        share: Share,
        party_rows: Sequence[int],
        ask: Callable[[int, SelectionStep], Awaitable[int]],
        score: str = "R",
    ) -> None:
        self._run, self._phase, self._name = run, phase, name
        self._quotas = tuple(quotas)
        by_count = {count: share.selecting(count) for count in set(self._quotas) if count}
        self._turns = [(k, by_count[count]) for k, count in enumerate(self._quotas) for _ in range(count)]
        self._mechanisms = by_count
        self._next = 0
        self._ask = ask
        self._score = score
        self._party_rows = tuple(party_rows)

    def costs(self, members: Sequence[str]) -> list[Cost]:
        """What the series costs the members, of which some may make no selection."""
        payers: dict[int, list[str]] = {}
        for member, count in zip(members, self._quotas, strict=True):
            if count:
                payers.setdefault(count, []).append(member)
        return [
            selections_cost(self._phase, who, self._mechanisms[count], self._score, count)
            for count, who in payers.items()
        ]

    async def select(self, candidates: Sequence[AttributeParentPair]) -> AttributeParentPair:
        """The next selection among the candidates by their score, at the party whose turn it is.

        The candidates may depend on earlier outputs only. Selecting more often than declared is an error.
        """
        if not candidates:
            raise ValueError("a selection needs candidates")
        if self._score == DISTANCE:
            raise RuntimeError("the series was declared for selections among tables")
        party, selection, mechanism = self._take_turn()
        step = Select(self._run, self._phase, selection, candidates, mechanism, self._score)
        return candidates[await self._ask(party, step)]

    async def select_farthest(self, expected: ExpectedTables) -> int:
        """The next selection among tables, by their distance from what a model expects: the index of the one selected.

        In a series that was declared with the score ``DISTANCE``. What is expected may depend on earlier outputs only.
        """
        if self._score != DISTANCE:
            raise RuntimeError(f"the series was declared for selections on the score {self._score}")
        party, selection, mechanism = self._take_turn()
        return await self._ask(party, SelectTable(self._run, self._phase, selection, expected, mechanism))

    @property
    def rows_next(self) -> int:
        """Public row count of the party whose turn is next."""
        return self._party_rows[self._turn()[0]]

    def _turn(self) -> tuple[int, Selecting]:
        if self._next >= len(self._turns):
            raise RuntimeError(f"only {len(self._turns)} selections were declared")
        return self._turns[self._next]

    def _take_turn(self) -> tuple[int, str, Selecting]:
        """Whose turn it is, by index, the name of the selection, and its mechanism."""
        party, mechanism = self._turn()
        selection = f"{self._name}/{self._next}"
        self._next += 1
        return party, selection, mechanism
