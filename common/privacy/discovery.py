"""What was derived from rows, at this cost: the only way by which a discovered domain becomes part of a schema.

A discovered category, range or bin is the output of a mechanism for as long as it is used: whoever sees a release under
a discovered schema has seen both. So the schema carries what its domains cost, from file to file
(``privity.common.data.schema.Schema.discovered``), and each statement adds it to what its own run cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP, compose


@dataclass(frozen=True)
class Discovery:
    """Domains that were derived from rows, and what that cost.

    Attributes:
        attributes: names of those whose domains they are, in the order of the schema.
        run: the run or fit that was charged.
        population: in whose rows: the population that an owner declared, or the consortium.
        loss: of a person of it, by all that the run had released when the domains were there.
        release: SHA-256 of the ``run.json`` of the release that the domains were taken from: the digest that its
            signers signed; None if they were taken from none.

    Raises:
        ValueError: it is of no attribute, or costs nothing.
    """

    attributes: tuple[str, ...]
    run: str
    population: str
    loss: ApproxDP
    release: str | None = None

    def __post_init__(self) -> None:
        if not self.attributes or not self.loss.epsilon:
            raise ValueError("a discovery is of attributes, and costs something")

    @property
    def what(self) -> tuple[str, str, ApproxDP]:
        """What makes two entries one and the same release of domains, whichever of these a schema keeps."""
        return self.run, self.population, self.loss

    def document(self) -> dict[str, Any]:
        """As a schema and a statement have it."""
        return {
            "attributes": list(self.attributes),
            "run": self.run,
            "population": self.population,
            "epsilon": str(self.loss.epsilon),
            "delta": str(self.loss.delta),
            **({} if self.release is None else {"release": self.release}),
        }


def read_discovery(document: Mapping[str, Any]) -> Discovery:
    """An entry that fits its format.

    Raises:
        ValueError, ArithmeticError: its loss is none.
    """
    loss = ApproxDP(Fraction(document["epsilon"]), Fraction(document["delta"]), RELATION)
    return Discovery(
        tuple(document["attributes"]), document["run"], document["population"], loss, document.get("release")
    )


def joined(discoveries: Iterable[Discovery]) -> tuple[Discovery, ...]:
    """Each discovery once, with all its attributes."""
    found: dict[tuple[str, str, ApproxDP], Discovery] = {}
    for one in discoveries:
        before = found.get(one.what, one)
        attributes = tuple(dict.fromkeys((*before.attributes, *one.attributes)))
        found[one.what] = Discovery(attributes, one.run, one.population, one.loss, before.release or one.release)
    return tuple(found.values())


def loss_of(discoveries: Iterable[Discovery]) -> ApproxDP:
    """What a person loses by all of them: epsilons and deltas add, as in a ledger."""
    nothing = ApproxDP(Fraction(0), Fraction(0), RELATION)
    return compose([nothing, *(one.loss for one in discoveries)])
