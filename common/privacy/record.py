"""What a run has opened and what it has cost whom: the material of a release's statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from common.statistics import NoisyTable

LAPLACE = "discrete Laplace noise on contingency tables"
SHARED_LAPLACE = "multi-party discrete Laplace noise on contingency tables, opened as one sum"
OWN_MODEL = "a model of each party's own rows, learnt there under its own noise"


def noisy_max_on(score: str) -> str:
    """The mechanism of draws on a score."""
    return f"report noisy max (integer form of the exponential mechanism) on the score {score}"


@dataclass(frozen=True)
class Cost:
    """One charge: which phase and mechanism cost every one of ``payers`` how much."""

    phase: str
    mechanism: str
    epsilon: Fraction
    payers: tuple[str, ...]


@dataclass
class RunRecord:
    """Grows with every await of the session; the same after a replay."""

    measured: list[tuple[str, NoisyTable]] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)

    def add_tables(self, phase: str, tables: Sequence[NoisyTable]) -> None:
        self.measured += [(phase, table) for table in tables]

    def add_cost(self, cost: Cost) -> None:
        self.costs.append(cost)

    def phases(self, party: str) -> dict[str, Fraction]:
        """Epsilon by phase, as charged to this party."""
        spent: dict[str, Fraction] = {}
        for cost in self.costs:
            if party in cost.payers:
                spent[cost.phase] = spent.get(cost.phase, Fraction(0)) + cost.epsilon
        return spent

    def epsilon(self, party: str) -> Fraction:
        """What this party has been charged in all: pure epsilon adds up."""
        return sum(self.phases(party).values(), Fraction(0))
