"""Exact privacy budgets: pure epsilon as a fraction, read from decimal text."""

from __future__ import annotations

import re
from fractions import Fraction

from common.errors import Catalogue, PrivityError

# Beyond this the guarantee is void in practice, and a typing error is the likelier reason.
LARGEST_EPSILON = Fraction(100)
# Below this no table of any size is above its noise; and integer noise stays far within 64 bits.
SMALLEST_EPSILON = Fraction(1, 1_000_000)

_NUMBER = re.compile(r"\d+(\.\d+)?(/\d+)?")


def parse_epsilon(text: str, option: str = "epsilon") -> Fraction:
    """An exact epsilon from ``"0.1"`` (one tenth) or ``"1/3"``.

    Raises PrivityError (bad-option) for anything that is not a number in
    [SMALLEST_EPSILON, LARGEST_EPSILON]; scientific notation is refused, so that no digit hides.
    """
    hint = "Give a decimal such as 1.0 or a fraction such as 1/3."
    text = text.strip()
    if not _NUMBER.fullmatch(text) or ("." in text and "/" in text):
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=f"{text!r} is not a positive number", hint=hint)
    try:
        value = Fraction(text)
    except ZeroDivisionError:
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason="division by zero", hint=hint) from None
    if not SMALLEST_EPSILON <= value <= LARGEST_EPSILON:
        reason = f"{text} lies outside [{float(SMALLEST_EPSILON):g}, {LARGEST_EPSILON}]"
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)
    return value
