"""Exact numbers that show themselves as decimals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privity.common.privacy.budget import readable


class ExactNumber(Fraction):
    """A fraction that is shown as a decimal of six digits at most; it counts and compares as what it is."""

    def __repr__(self) -> str:
        return readable(self)

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return ExactNumber, (self.numerator, self.denominator)
