"""What a run has revealed and what it has cost whom: the material of a release's statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from privity.common.data.noisy_tables import NoisyTable
from privity.common.privacy.advanced_composition import Accounting
from privity.common.privacy.group_privacy import EpsilonDelta, cost_of_a_person, rho_of_a_person
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE
from privity.common.privacy.structure_scores import DISTANCE
from privity.common.privacy.zcdp_budget import GaussianTerms, RhoBudget
from privity.common.synthesis.inference.fit_choice import Inference

OWN_MODEL = "a model of each party's own rows, learnt there under its own noise"

CONCENTRATED = "zero-concentrated differential privacy, charged along one order for the whole run"


def noise_on_tables(spent: Accounting | GaussianTerms | None, *, shared: bool) -> str:
    """The mechanism of noisy marginals, and by what it costs some delta if it does."""
    law = GAUSSIAN if isinstance(spent, GaussianTerms) else LAPLACE
    kind, revealed = ("multi-party ", ", opened as one sum") if shared else ("", "")
    words = CONCENTRATED if isinstance(spent, GaussianTerms) else "" if spent is None else "advanced composition"
    by = f"; {words}" if words else ""
    return f"{kind}{law} noise on contingency tables{revealed}{by}"


def noise_on_scores(*, shared: bool) -> str:
    """The mechanism of noisy scores of a synthetic table."""
    kind, revealed = ("multi-party ", ", opened as sums over the parties") if shared else ("", "")
    return f"{kind}{LAPLACE} noise on scores of the synthetic table{revealed}"


def noisy_max_on(score: str) -> str:
    """The mechanism of selections on a score."""
    return f"report noisy max (integer form of the exponential mechanism) on {_named(score)}"


def exponential_on(score: str) -> str:
    """The mechanism of selections on a score in a run with a budget in rho."""
    return f"exponential mechanism (bounded range) on {_named(score)}; {CONCENTRATED}"


def _named(score: str) -> str:
    return "the distance of tables from a model" if score == DISTANCE else f"the score {score}"


@dataclass(frozen=True)
class Cost:
    """One charge: which phase and mechanism cost every one of ``payers`` how much.

    Attributes:
        epsilon, delta: on their own; of a charge in rho no epsilon, and the delta of the run.
        rho: of a charge in a run in rho; None of any other.
    """

    phase: str
    mechanism: str
    epsilon: Fraction
    payers: tuple[str, ...]
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None


@dataclass(frozen=True)
class Spent:
    """What somebody has been charged: its part of the total, if a phase's costs came after those before it.

    Attributes:
        epsilon, delta: in all, those of the rho included: the first phase in rho has what a run in rho costs at once.
        rho: that it has spent.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)


@dataclass
class RunRecord:
    """Grows with every await of the session; the same after a replay.

    Attributes:
        inference: how the tables were made one distribution; an algorithm that has a choice says so.
        rho_budget: the run's budget in rho, if it has one.
    """

    revealed: list[tuple[str, Sequence[NoisyTable]]] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)
    inference: Inference | None = None
    rho_budget: RhoBudget | None = None

    def add_tables(self, phase: str, tables: Sequence[NoisyTable]) -> None:
        self.revealed.append((phase, tables))

    @property
    def measured(self) -> list[tuple[str, NoisyTable]]:
        """Every table that was revealed, with its phase."""
        return [(phase, table) for phase, tables in self.revealed for table in tables]

    def add_cost(self, cost: Cost) -> None:
        self.costs.append(cost)

    def _of(self, party: str) -> list[Cost]:
        return [cost for cost in self.costs if party in cost.payers]

    def spent(self, party: str) -> dict[str, Spent]:
        """By phase, in their order, what this party was charged."""
        costs, found = self._of(party), {}
        before, rho, delta = Fraction(0), Fraction(0), Fraction(0)
        for phase in dict.fromkeys(cost.phase for cost in costs):
            own = [cost for cost in costs if cost.phase == phase and cost.rho is None]
            shared = [cost for cost in costs if cost.phase == phase and cost.rho]
            new = _rho(shared)
            rho += new
            after = self._of_rho(rho, 1) if shared else before
            epsilon = sum((cost.epsilon for cost in own), after - before)
            # The delta is that of all the rho together.
            first = shared[0].delta if shared and not delta else Fraction(0)
            found[phase] = Spent(epsilon, sum((cost.delta for cost in own), first), new)
            before, delta = after, delta + first
        return found

    def most(self, phase: str) -> Spent:
        """What the phase cost the party that it cost most.

        Of those whom it cost as much, that which paid most in all: the same phase adds less to what a party has paid
        the more that is.
        """
        payers = dict.fromkeys(payer for cost in self.costs if cost.phase == phase for payer in cost.payers)
        found = [(self.spent(payer)[phase], self.rho(payer)) for payer in payers]
        return max(found, key=lambda one: (one[0].rho, one[1], one[0].epsilon), default=(Spent(), 0))[0]

    def phases(self, party: str) -> dict[str, Fraction]:
        """Epsilon by phase, as charged to this party."""
        return {phase: spent.epsilon for phase, spent in self.spent(party).items()}

    def epsilon(self, party: str) -> Fraction:
        """What this party has been charged in all: epsilons add up, and that of all its rho."""
        return self.of_a_person(party, 1)[0]

    def delta(self, party: str) -> Fraction:
        """The same for delta."""
        return self.of_a_person(party, 1)[1]

    @property
    def in_rho(self) -> bool:
        """Whether anything was charged in rho."""
        return any(cost.rho for cost in self.costs)

    def rho(self, party: str) -> Fraction:
        """What it has been charged in rho."""
        return _rho(self._of(party))

    def of_a_person(self, party: str, rows: int) -> EpsilonDelta:
        """(epsilon, delta) that a person of this party with so many rows was charged in all."""
        costs = self._of(party)
        found = [cost_of_a_person(cost.epsilon, cost.delta, rows) for cost in costs if cost.rho is None]
        delta = next((cost.delta for cost in costs if cost.rho), Fraction(0))
        return sum((e for e, _ in found), self._of_rho(_rho(costs), rows)), sum((d for _, d in found), delta)

    def _of_rho(self, rho: Fraction, rows: int) -> Fraction:
        """Epsilon that so much rho of one row has cost a person."""
        if not rho:
            return Fraction(0)
        if self.rho_budget is None:
            raise ValueError("rho was charged in a run that has no budget in rho")
        return self.rho_budget.filter(rows).spent(rho_of_a_person(rho, rows))


def _rho(costs: Sequence[Cost]) -> Fraction:
    return sum((cost.rho for cost in costs if cost.rho is not None), Fraction(0))
