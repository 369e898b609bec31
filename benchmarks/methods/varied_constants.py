"""The constants that are fitted, as they were when they were fitted, and what is tried in their places."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from privity.common.synthesis.algorithms.aim import Settings
from privity.common.synthesis.inference import maximum_likelihood
from privity.common.synthesis.learning import budget_split, worst_explained
from privity.common.synthesis.learning.budget_split import Power, Split

AIM, MST = "aim", "mst"


@dataclass(frozen=True)
class Constants:
    """Everything that is tried. The split is of one way of adding up: epsilons, or rhos.

    Attributes:
        tables, one_way: of ``budget_split.Split``.
        selecting: setting of MST and AIM.
        handicap: ``worst_explained.PENALTY``.
        prior, ridge: ``maximum_likelihood.PRIOR`` and ``SINGLE_RIDGE``.
    """

    tables: Power
    one_way: Power
    selecting: float = 0.1
    handicap: float = 0.6
    prior: float = 0.5
    ridge: float = 0.5


REFERENCE = {
    True: Constants(Power(0.85, -0.54, 1, 4), Power(1.46, 0.24, 0.1, 0.8)),
    False: Constants(Power(1.6, -0.7, 1, 4), Power(0.9, 0.27, 0.1, 0.7)),
}
"""Around which they were varied, by whether a run is pure: what was shipped before this page."""

FACTORS = (0.5, 0.71, 1.4, 2.0)
WIDE_FACTORS, FAR_FACTORS = (0.5, 2.0), (0.25, 4.0)
TURNS = (-0.2, 0.2)
"""Added to a power, the value at ``TURNED_AT`` staying as it is."""

TURNED_AT = 0.3
"""Noise of a table, in distance, in the middle of what is tried."""


@dataclass(frozen=True)
class Change:
    """One constant changed, the others held.

    Attributes:
        name: of an attribute of ``Constants``, or with `` power`` after it; ``SHIPPED`` is all that is shipped now.
        by: factor, or what is added to a power.
    """

    name: str
    by: float

    def of(self, constants: Constants) -> Constants:
        if self == SHIPPED:
            return shipped(pure=constants == REFERENCE[True])
        if self in TOGETHER:
            return reduce(lambda so_far, change: change.of(so_far), TOGETHER[self], constants)
        field, _, power = self.name.partition(" ")
        value = getattr(constants, field)
        if isinstance(value, Power):
            turned = value.power + self.by if power else value.power
            at_one = value.at_one * (TURNED_AT**-self.by if power else self.by)
            changed: Any = Power(at_one, turned, value.least, value.largest)
        else:
            changed = value * self.by
        return replace(constants, **{field: changed})


SHIPPED = Change("shipped now", 1.0)


_FEWER, _LESS, _LOWER = Change("tables", 0.71), Change("one_way", 0.71), Change("handicap", 0.5)
TOGETHER = {
    Change("tables, one_way, handicap", 1.0): (_FEWER, _LESS, _LOWER),
    Change("one_way, handicap", 1.0): (_LESS, _LOWER),
    Change("tables, handicap", 1.0): (_FEWER, _LOWER),
    Change("tables, one_way", 1.0): (_FEWER, _LESS),
}
"""Of the changes that do well one by one in pure runs: they need not add up."""


def shipped(*, pure: bool) -> Constants:
    """What the software has now."""
    split = budget_split.PURE if pure else budget_split.CONCENTRATED
    return Constants(
        split.tables,
        split.one_way,
        float(Settings().selecting),
        worst_explained.PENALTY,
        maximum_likelihood.PRIOR,
        maximum_likelihood.SINGLE_RIDGE,
    )


def changes(algorithm: str, *, pure: bool) -> list[Change]:
    """What is tried with an algorithm; fits of MST have neither prior nor ridge that matters."""
    found = [Change(name, by) for name in ("tables", "one_way", "handicap") for by in FACTORS]
    found += [Change(f"{name} power", by) for name in ("tables", "one_way") for by in TURNS]
    found.append(Change("handicap", FAR_FACTORS[0]))
    found += [Change("selecting", by) for by in WIDE_FACTORS] + [SHIPPED]
    found += TOGETHER if pure else ()
    if algorithm == AIM:
        found += [Change("prior", by) for by in WIDE_FACTORS] + [Change("ridge", by) for by in FAR_FACTORS]
    return found


@contextmanager
def in_place(constants: Constants) -> Iterator[dict[str, str]]:
    """The constants in the places of those that are shipped; gives the settings of a run."""
    shipped = (
        budget_split.PURE,
        budget_split.CONCENTRATED,
        worst_explained.PENALTY,
        maximum_likelihood.PRIOR,
        maximum_likelihood.SINGLE_RIDGE,
    )
    split = Split(constants.tables, constants.one_way)
    _put(split, split, constants.handicap, constants.prior, constants.ridge)
    try:
        yield {"selecting": str(Fraction(constants.selecting).limit_denominator(1000))}
    finally:
        _put(*shipped)


def _put(pure: Split, concentrated: Split, handicap: float, prior: float, ridge: float) -> None:
    budget_split.PURE, budget_split.CONCENTRATED = pure, concentrated
    worst_explained.PENALTY = handicap
    maximum_likelihood.PRIOR, maximum_likelihood.SINGLE_RIDGE = prior, ridge
