"""How good a release is, by what was released.

Nothing here looks at a real row, and nothing is charged: the figures follow from noisy marginals, the law of their
noise and the synthetic rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from privity.common.release.report.distributions import Distribution
from privity.common.release.report.number_texts import percent
from privity.common.release.report.pair_strengths import Pair

CLOSE, NEAR = 0.01, 0.05
"""Up to which a share may be off to count as close, and as near."""

CHANGED = 0.1
"""Difference of Cramer's V from which on a dependence counts as changed, and noise on V as too large to tell."""


class Standing(StrEnum):
    """How an attribute or a pair stands in the synthetic rows; the best first."""

    CLOSE = "within 1 percentage point"
    NEAR = "within 5 percentage points"
    FAR = "may be further off"
    UNKNOWN = "not measured"

    KEPT = "dependence kept"
    INDEPENDENT = "no dependence found"
    DIFFERENT = "dependence changed"
    HIDDEN = "too noisy to tell"
    UNMEASURED = "not measured together"


OF_ATTRIBUTES = (Standing.CLOSE, Standing.NEAR, Standing.FAR, Standing.UNKNOWN)
OF_PAIRS = (Standing.KEPT, Standing.INDEPENDENT, Standing.DIFFERENT, Standing.HIDDEN, Standing.UNMEASURED)


@dataclass(frozen=True)
class Tally:
    """How many attributes, or pairs, stand how: (standing, number), the best first."""

    parts: tuple[tuple[Standing, int], ...]

    @property
    def total(self) -> int:
        return sum(number for _, number in self.parts)

    def of(self, standing: Standing) -> int:
        """How many stand so."""
        return dict(self.parts)[standing]

    def text(self, count: Callable[[int], str]) -> str:
        """What there is of each standing, in words."""
        return ", ".join(f"{count(number)} {standing}" for standing, number in self.parts if number)


@dataclass(frozen=True)
class Quality:
    """Of a release.

    Attributes:
        group: rows of a group below which its count is mostly noise, in the marginals with the least noise; None if no
            marginal was revealed.
        checks: sentences on what the owners found, with noise, when they scored the rows; empty if they did not.
    """

    attributes: Tally
    pairs: Tally
    group: int | None
    checks: tuple[str, ...]


def quality(
    shown: Iterable[Distribution], pairs: Iterable[Pair], half_widths: Sequence[int], scores: dict[str, Any] | None
) -> Quality:
    """Of a release's distributions, pairs, marginals and scores.

    Args:
        half_widths: error bar of a cell of each noisy marginal.
    """
    attributes = _tally(OF_ATTRIBUTES, (standing_of(one) for one in shown))
    dependences = _tally(OF_PAIRS, (standing(pair) for pair in pairs))
    return Quality(attributes, dependences, min(half_widths, default=None), _checks(scores))


def standing_of(one: Distribution) -> Standing:
    """How an attribute's shares stand."""
    off = one.whole.off
    if off is None:
        return Standing.UNKNOWN
    return Standing.CLOSE if off <= CLOSE else Standing.NEAR if off <= NEAR else Standing.FAR


def standing(pair: Pair) -> Standing:
    """How a pair's dependence stands."""
    if pair.measured is None:
        return Standing.UNMEASURED
    if not pair.measured.told:
        if pair.synthetic.v > pair.measured.noise + CHANGED:
            return Standing.DIFFERENT
        return Standing.INDEPENDENT if pair.measured.noise <= CHANGED else Standing.HIDDEN
    apart, error_bar = abs(pair.measured.v - pair.synthetic.v), pair.measured.half_width
    if error_bar > CHANGED and apart <= error_bar:
        return Standing.HIDDEN
    return Standing.DIFFERENT if apart > CHANGED else Standing.KEPT


def _tally(order: Sequence[Standing], found: Iterable[Standing]) -> Tally:
    there = list(found)
    return Tally(tuple((one, there.count(one)) for one in order))


def _checks(scores: dict[str, Any] | None) -> tuple[str, ...]:
    found = []
    for score in () if scores is None else scores["scores"]:
        if score["measure"] == "total variation distance":
            of = "one attribute" if score["ways"] == 1 else "two attributes"
            found.append(f"distributions of {of} are {percent(score['value'], 1)} off on average")
        elif score["measure"] == "accuracy":
            right, alone = percent(score["value"], 0), percent(score["majority"], 0)
            found.append(
                f"a classifier trained on the synthetic rows gets {score['attribute']} right in {right} of real rows,"
                f" the most frequent value alone in {alone}"
            )
    return tuple(found)
