"""What a run has opened and what it has cost whom: the material of a release's statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from common.privacy.composition import Accounting
from common.privacy.noise_law import LAPLACE
from common.privacy.person import Amount, cost_of_a_person
from common.statistics import NoisyTable

OWN_MODEL = "a model of each party's own rows, learnt there under its own noise"


def noise_on_tables(accounting: Accounting | None, *, shared: bool) -> str:
    """The mechanism of noisy tables, and by what it costs some delta if it does."""
    law = LAPLACE if accounting is None else accounting.noise
    kind, opened = ("multi-party ", ", opened as one sum") if shared else ("", "")
    by = "" if accounting is None else f"; {accounting.words}"
    return f"{kind}{law} noise on contingency tables{opened}{by}"


def noise_on_scores(*, shared: bool) -> str:
    """The mechanism of noisy scores of a synthetic table."""
    kind, opened = ("multi-party ", ", opened as sums over the parties") if shared else ("", "")
    return f"{kind}{LAPLACE} noise on scores of the synthetic table{opened}"


def noisy_max_on(score: str) -> str:
    """The mechanism of draws on a score."""
    return f"report noisy max (integer form of the exponential mechanism) on the score {score}"


@dataclass(frozen=True)
class Cost:
    """One charge: which phase and mechanism cost every one of ``payers`` how much, as (epsilon, delta).

    ``rho`` is what its discrete Gaussian noise costs, from which follows what it costs a person with several rows.
    """

    phase: str
    mechanism: str
    epsilon: Fraction
    payers: tuple[str, ...]
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None


@dataclass
class RunRecord:
    """Grows with every await of the session; the same after a replay."""

    opened: list[tuple[str, Sequence[NoisyTable]]] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)

    def add_tables(self, phase: str, tables: Sequence[NoisyTable]) -> None:
        self.opened.append((phase, tables))

    @property
    def measured(self) -> list[tuple[str, NoisyTable]]:
        """Every table that was opened, with its phase."""
        return [(phase, table) for phase, tables in self.opened for table in tables]

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
        """What this party has been charged in all: epsilons add up."""
        return sum(self.phases(party).values(), Fraction(0))

    def delta(self, party: str) -> Fraction:
        """The same for delta."""
        return sum((cost.delta for cost in self.costs if party in cost.payers), Fraction(0))

    def of_a_person(self, party: str, rows: int) -> Amount:
        """(epsilon, delta) that a person of this party with so many rows was charged in all."""
        found = [cost_of_a_person(c.epsilon, c.delta, c.rho, rows) for c in self.costs if party in c.payers]
        return sum((e for e, _ in found), Fraction(0)), sum((d for _, d in found), Fraction(0))
