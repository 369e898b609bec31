"""Epsilon and delta as people write them: exact numbers from text, within what any run may have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from privity.common.errors import Catalogue, PrivityError, Problem
from privity.common.text.short_values import shorten

# Beyond this the guarantee is void in practice, and a typing error is the likelier reason.
LARGEST_EPSILON = Fraction(100)
# Below this no table of any size is above its noise; and integer noise stays far within 64 bits.
SMALLEST_EPSILON = Fraction(1, 1_000_000)

LARGEST_DELTA = Fraction(1, 1000)
"""Of any run: with a larger one even a row drawn at random could be published."""

SMALLEST_DELTA = Fraction(1, 10**20)
"""Of those above 0: a smaller one says nothing more."""

Budget = tuple[Fraction, Fraction]
"""Epsilon and delta."""

USUAL: Budget = Fraction(1), Fraction(1, 1_000_000)
"""What is taken for the budget of a run where nobody has said one yet: for a draft."""

LARGEST_DENOMINATOR = 1_000_000
"""Finest epsilon, and finest part of one: what is derived from it stays within exact 64-bit noise."""

Number = str | int | float | Decimal | Fraction
"""As people write one; a float stands for its shortest decimal."""

_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30}|/[0-9]{1,30})?|([0-9]{1,30}(\.[0-9]{1,30})?)[eE][+-]?[0-9]{1,2}")


def exact_number(value: Number) -> Fraction:
    """The number behind ``"0.1"``, ``"1/3"``, ``"1e-9"`` or ``0.1``, of at most 30 digits a part.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, Fraction):
        text = f"{value.numerator}/{value.denominator}"
    else:
        text = repr(float(value)) if isinstance(value, float) else str(value)
    if isinstance(value, bool) or not _NUMBER.fullmatch(text):
        raise ValueError("neither a decimal nor a fraction")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("a division by zero") from None


def parse_epsilon(value: Number, option: str = "epsilon") -> Fraction:
    """An exact epsilon, such as ``"0.1"``, ``0.1``, ``"1/3"`` or ``"1e-2"``.

    Raises:
        PrivityError: bad-option: no number, or not within SMALLEST_EPSILON and LARGEST_EPSILON.
    """
    value = value.strip() if isinstance(value, str) else value
    hint = _with_a_point(value) or "Give a decimal such as 1.0 or a fraction such as 1/3."
    try:
        number = exact_number(value)
    except ValueError:
        reason = f"{shorten(str(value))} is not a positive number"
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint) from None
    if not SMALLEST_EPSILON <= number <= LARGEST_EPSILON:
        reason = f"{shorten(str(value))} is not from {readable(SMALLEST_EPSILON)} to {LARGEST_EPSILON}"
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)
    if number.denominator > LARGEST_DENOMINATOR:
        reason = f"{shorten(str(value))} has too many digits for exact integer noise"
        raise PrivityError(
            Catalogue.BAD_OPTION, option=option, reason=reason, hint="Use at most six digits after the point."
        )
    return number


def readable(number: Fraction) -> str:
    """An exact number for people: a decimal, in full if six digits after the point are enough, else of six digits."""
    scaled = number * LARGEST_DENOMINATOR
    if scaled.denominator == 1:
        return f"{scaled.numerator / LARGEST_DENOMINATOR:.6f}".rstrip("0").rstrip(".")
    return re.sub(r"e([+-])0+", r"e\1", f"{float(number):.6g}")


def _with_a_point(value: Number) -> str:
    """What to write in the place of a decimal with a comma; empty of any other text."""
    text = str(value).strip().replace(",", ".", 1)
    return f"Write {text} with a point." if text != str(value).strip() and _NUMBER.fullmatch(text) else ""


def parse_delta(value: Number, option: str = "delta") -> Fraction:
    """An exact delta, 0 or from SMALLEST_DELTA to LARGEST_DELTA, such as ``0``, ``"1e-9"`` or ``"1/1073741824"``.

    Raises:
        PrivityError: bad-option: anything else.
    """
    try:
        delta = exact_number(value.strip() if isinstance(value, str) else value)
    except ValueError:
        delta = Fraction(1)
    if delta > LARGEST_DELTA:
        reason = f"{shorten(str(value))} is not a number from 0 to {float(LARGEST_DELTA)}"
        hint = _with_a_point(value) or "Write for instance 0 or 1e-9."
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)
    if 0 < delta < SMALLEST_DELTA:
        reason = f"{shorten(str(value))} is below {readable(SMALLEST_DELTA)}"
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint="Write for instance 0 or 1e-9.")
    return delta


def budget_problems(
    document: Mapping[str, Any], file: str, epsilons: Sequence[str] = (), deltas: Sequence[str] = ()
) -> list[Problem]:
    """Faults of the epsilons and deltas of a document under these keys; what is no text is a fault of the format."""
    problems = []
    for rule, keys, read in (("epsilon", epsilons, parse_epsilon), ("delta", deltas, parse_delta)):
        for key in keys:
            text = document.get(key)
            if isinstance(text, str) and text:
                try:
                    read(text, key)
                except PrivityError as error:
                    problems.append(Problem(file, key, rule, error.message + ".", error.remedy))
    return problems
