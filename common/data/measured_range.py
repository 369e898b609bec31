"""Of a number whose domain was discovered: between which values it was measured, and how many rows lie beyond.

Both follow from the noisy counts that the domain follows from, so they are as public as it is, and decide no code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privity.common.text.first_few import first_few

if TYPE_CHECKING:
    from privity.common.data.attribute import Attribute

DIGITS = 4
"""Of a share that is written."""

WORTH_TELLING = 0.005
"""Share of the rows beyond a range from which on people are told."""


REMEDY = (
    "Their values are spread by a tail, not measured one by one. To mend it, declare minimum and maximum (constraints)"
    " of the field, or discover with a larger epsilon."
)


@dataclass(frozen=True)
class PartOfRows:
    """An estimated part of the rows, and its error: 1.96 standard deviations of the noise in it."""

    share: float
    error: float


@dataclass(frozen=True)
class MeasuredRange:
    """Between which values a number was measured.

    Attributes:
        minimum, maximum: the first and the last one.
        beyond: the share of the rows that has other values; None where the number of rows is not public.
    """

    minimum: Fraction
    maximum: Fraction
    beyond: PartOfRows | None


def beyond_ranges(attributes: Iterable[Attribute]) -> list[str]:
    """An item for each number of which a part may lie beyond the range where it was measured."""
    return [item for attribute in attributes if (item := _item(attribute))]


def beyond_note(attributes: Iterable[Attribute]) -> str:
    """A sentence that names some of them, and what mends it; empty if there are none."""
    items = beyond_ranges(attributes)
    return f"Estimated beyond the measured range: {first_few(items, '; ')}. {REMEDY}" if items else ""


def _item(attribute: Attribute) -> str:
    measured = attribute.measured
    if measured is None or (measured.beyond is not None and measured.beyond.share < WORTH_TELLING):
        return ""
    low, high = (attribute.name_of(value) for value in (measured.minimum, measured.maximum))
    share = "not determined, as the number of rows is not public"
    if measured.beyond is not None:
        share = f"{measured.beyond.share:.1%} of the rows ± {measured.beyond.error:.1%}"
    return f"{attribute.name}: {share} (measured from {low} to {high})"
