"""Exact privacy budgets: pure epsilon as a fraction, read from decimal text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction

from common.errors import Catalogue, PrivityError
from common.formats import shorten

# Beyond this the guarantee is void in practice, and a typing error is the likelier reason.
LARGEST_EPSILON = Fraction(100)
# Below this no table of any size is above its noise; and integer noise stays far within 64 bits.
SMALLEST_EPSILON = Fraction(1, 1_000_000)

LARGEST_DENOMINATOR = 1_000_000
"""Finest epsilon, and finest part of one: what is derived from it stays within exact 64-bit noise."""

_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30}|/[0-9]{1,30})?")


def exact_number(text: str) -> Fraction:
    """The number behind ``"0.1"`` or ``"1/3"``, of at most 30 digits a part; ValueError for anything else."""
    if not _NUMBER.fullmatch(text):
        raise ValueError("neither a decimal nor a fraction")
    return Fraction(text)


def parse_epsilon(text: str, option: str = "epsilon") -> Fraction:
    """An exact epsilon from ``"0.1"`` (one tenth) or ``"1/3"``.

    Raises PrivityError (bad-option) for anything that is not a number in
    [SMALLEST_EPSILON, LARGEST_EPSILON]; scientific notation is refused, so that no digit hides.
    """
    hint = "Give a decimal such as 1.0 or a fraction such as 1/3."
    text = text.strip()
    try:
        value = exact_number(text)
    except ZeroDivisionError:
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason="division by zero", hint=hint) from None
    except ValueError:
        reason = f"{shorten(text)} is not a positive number"
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint) from None
    if value.denominator > LARGEST_DENOMINATOR:
        reason = f"{shorten(text)} has too many digits for exact integer noise"
        raise PrivityError(
            Catalogue.BAD_OPTION, option=option, reason=reason, hint="Use at most six digits after the point."
        )
    if not SMALLEST_EPSILON <= value <= LARGEST_EPSILON:
        reason = f"{text} lies outside [{float(SMALLEST_EPSILON):g}, {LARGEST_EPSILON}]"
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)
    return value


def split_epsilon(epsilon: Fraction, weights: Sequence[Fraction]) -> list[Fraction]:
    """Parts of epsilon in proportion to the weights, exactly ``epsilon`` together.

    A part with more digits than exact integer noise can serve is rounded down to a millionth; the last
    part takes up what is left.

    Raises:
        PrivityError: epsilon is too small for such a split.
    """
    total = sum(weights, Fraction(0))
    parts = [_rounded_down(epsilon * weight / total) for weight in weights[:-1]]
    parts.append(epsilon - sum(parts, Fraction(0)))
    if min(parts) <= 0:
        raise PrivityError(
            Catalogue.BAD_OPTION,
            option="epsilon",
            reason=f"{epsilon} is too small to be split over the algorithm's phases",
            hint="Use a larger epsilon.",
        )
    return parts


def _rounded_down(part: Fraction) -> Fraction:
    if part.denominator <= LARGEST_DENOMINATOR:
        return part
    return Fraction(math.floor(part * LARGEST_DENOMINATOR), LARGEST_DENOMINATOR)
