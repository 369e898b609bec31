"""What a run has revealed and what it has cost whom: the material of a release's statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from privity.common.data.noisy_tables import NoisyTable
from privity.common.privacy.accountant import Accountant
from privity.common.privacy.discovery import Discovery
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PrivacyLoss, PureDP
from privity.common.privacy.run_budget import RhoBudget, RunBudget
from privity.common.synthesis.inference.fit_choice import Inference

OWN_MODEL = "a model of each party's own rows, learnt there under its own noise"


@dataclass(frozen=True)
class Cost:
    """One charge: which phase and mechanism cost every one of ``payers`` how much.

    Attributes:
        mechanism: in words.
        loss: for one replaced row.
        charge: the mechanism and how often, as ``run.json`` states it (``privity.common.protocol.stated_charges``).
    """

    phase: str
    mechanism: str
    loss: PrivacyLoss
    payers: tuple[str, ...]
    charge: Mapping[str, Any] = field(default_factory=dict, compare=False)


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
        costs: in the order in which they were charged.
        tables: what was measured, by the place of its cost, as far as it is published.
        inference: how the tables were made one distribution; an algorithm that has a choice says so.
        budget: the run's.
        discovery: the domains that the run discovered, if it did; what they cost is part of what the run costs.
    """

    costs: list[Cost] = field(default_factory=list)
    tables: dict[int, Sequence[NoisyTable]] = field(default_factory=dict)
    inference: Inference | None = None
    budget: RunBudget | None = None
    discovery: Discovery | None = None

    @property
    def measured(self) -> list[tuple[str, NoisyTable]]:
        """Every table that is published, with its phase."""
        return [(self.costs[place].phase, table) for place in sorted(self.tables) for table in self.tables[place]]

    def publish_last(self, tables: int) -> None:
        """Of the tables that were revealed last, publish the last so many."""
        place = max(self.tables)
        self.tables[place] = self.tables[place][len(self.tables[place]) - tables :]

    def add_cost(self, cost: Cost) -> int:
        """Put it on the record, and say at which place."""
        self.costs.append(cost)
        return len(self.costs) - 1

    def charges(self) -> list[dict[str, Any]]:
        """Every cost, as ``run.json`` states it."""
        return [
            {
                "phase": cost.phase,
                "paid_by": list(cost.payers),
                **cost.charge,
                **({"published": len(self.tables.get(place, ()))} if "tables" in cost.charge else {}),
            }
            for place, cost in enumerate(self.costs)
        ]

    def _charged(self, costs: Iterable[Cost], before: Accountant) -> Accountant:
        budget = self.budget if isinstance(self.budget, RhoBudget) else None
        for cost in costs:
            before = before.charged(cost.loss, budget)
        return before

    def _of(self, party: str) -> list[Cost]:
        return [cost for cost in self.costs if party in cost.payers]

    def spent(self, party: str) -> dict[str, Spent]:
        """By phase, in their order, what this party was charged."""
        costs, found, accountant = self._of(party), {}, Accountant()
        for phase in dict.fromkeys(cost.phase for cost in costs):
            own = [cost for cost in costs if cost.phase == phase]
            before, accountant = accountant.spent, self._charged(own, accountant)
            after = accountant.spent
            found[phase] = Spent(after.epsilon - before.epsilon, after.delta - before.delta, _rho(own))
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
        return self.of_a_person(party, 1).epsilon

    def delta(self, party: str) -> Fraction:
        """The same for delta."""
        return self.of_a_person(party, 1).delta

    @property
    def in_rho(self) -> bool:
        """Whether anything was charged in rho."""
        return any(isinstance(cost.loss, ZCDP) for cost in self.costs)

    def rho(self, party: str) -> Fraction:
        """What it has been charged in rho."""
        return _rho(self._of(party))

    def of_a_person(self, party: str, rows: int) -> ApproxDP:
        """What a person of this party with so many rows was charged in all."""
        return self._charged(self._of(party), Accountant(rows)).spent

    def of_people(self, rows_per_person: Mapping[str, int], parties_per_person: int) -> dict[str, ApproxDP]:
        """For each party what a person of it was charged at worst: by all its rows, there and where else it costs most.

        Raises:
            ValueError: a delta was spent on people with rows at several parties: what they lose is not known.
        """
        persons = {name: self.of_a_person(name, rows) for name, rows in rows_per_person.items()}
        if parties_per_person > 1 and any(loss.delta for loss in persons.values()):
            raise ValueError("a run with a delta is for people at one party each")
        return {
            name: replace(loss, epsilon=of_a_person(name, persons, parties_per_person))
            for name, loss in persons.items()
        }


def of_a_person(party: str, persons: Mapping[str, PureDP | ApproxDP], parties: int) -> Fraction:
    """Epsilon that the run costs a person of this party at worst: all its rows, here and where else it costs most."""
    elsewhere = sorted((persons[name].epsilon for name in persons if name != party), reverse=True)
    return sum(elsewhere[: parties - 1], persons[party].epsilon)


def _rho(costs: Iterable[Cost]) -> Fraction:
    return sum((cost.loss.rho for cost in costs if isinstance(cost.loss, ZCDP)), Fraction(0))
