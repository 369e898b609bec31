"""Of a number whose domain was discovered: between which values it was measured, and how many rows lie beyond.

Both follow from the noisy counts that the domain follows from, so they are as public as it is, and decide no code.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

DIGITS = 4
"""Of a share that is written."""


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
