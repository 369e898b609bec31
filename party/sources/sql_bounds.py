"""The least value of a column that reads as a bound or more, as SQL: exact for every type of number."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privity.party.sources.store_columns import FLOATS, Column, Kind

ALWAYS = "TRUE"
LARGEST_INTEGER = 2**63 - 1
LEAST_INTEGER = -(2**63)
DECIMAL_DIGITS = 38


def below(value: str, column: Column, bound: Fraction) -> str:
    """SQL: the text of the value reads as less than the bound."""
    if _has_no_end(column, bound):
        return f"{value} * {bound.denominator} < {bound.numerator}"
    least = least_value(column, bound)
    return ALWAYS if least is None else f"{value} < {least[0]}"


def not_above(value: str, column: Column, bound: Fraction) -> str:
    """SQL: the text of the value reads as the bound or less."""
    if _has_no_end(column, bound):
        return f"{value} * {bound.denominator} <= {bound.numerator}"
    least = least_value(column, bound)
    if least is None:
        return ALWAYS
    return f"{value} {'<=' if least[1] == bound else '<'} {least[0]}"


def least_value(column: Column, bound: Fraction) -> tuple[str, Fraction] | None:
    """The least value of the column that reads as the bound or more: in SQL, and exactly. None: there is none."""
    match column.kind:
        case Kind.INTEGER:
            whole = math.ceil(bound)
            held = max(whole, LEAST_INTEGER)
            # No literal is the least integer itself.
            written = f"{held + 1} - 1" if held == LEAST_INTEGER else str(held)
            return None if whole > LARGEST_INTEGER else (f"({written})", Fraction(held))
        case Kind.DECIMAL:
            return _least_decimal(column.scale, bound)
        case Kind.SINGLE:
            least = _least_single(bound)
        case _:
            least = _least_double(bound)
    return None if least is None else (float_literal(column, least), Fraction(least))


def _least_decimal(scale: int | None, bound: Fraction) -> tuple[str, Fraction] | None:
    if scale is None:
        # It has a decimal's end, within as many digits as its denominator has bits.
        return f"CAST('{_decimal_text(bound, bound.denominator.bit_length())}' AS NUMERIC)", bound
    digits = math.ceil(bound * 10**scale)
    if digits >= 10**DECIMAL_DIGITS:
        return None
    least = Fraction(max(digits, 1 - 10**DECIMAL_DIGITS), 10**scale)
    return f"CAST('{_decimal_text(least, scale)}' AS DECIMAL({DECIMAL_DIGITS}, {scale}))", least


def _decimal_text(number: Fraction, scale: int) -> str:
    digits = abs(int(number * 10**scale))
    fraction = f".{digits % 10**scale:0{scale}d}" if scale else ""
    return f"{'-' if number < 0 else ''}{digits // 10**scale}{fraction}"


def _has_no_end(column: Column, bound: Fraction) -> bool:
    """Whether a decimal without a limit to its digits is compared with a number that no decimal is, such as 1/3."""
    if column.kind is not Kind.DECIMAL or column.scale is not None:
        return False
    rest = bound.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest > 1


def _least_double(bound: Fraction) -> str | None:
    if bound > Fraction(float(np.finfo(np.float64).max)):
        return None
    guess = float(bound)
    while Fraction(repr(guess)) >= bound:
        guess = math.nextafter(guess, -math.inf)
        if math.isinf(guess):
            break
    guess = math.nextafter(guess, math.inf)
    while Fraction(repr(guess)) < bound:
        guess = math.nextafter(guess, math.inf)
    return repr(guess)


def _least_single(bound: Fraction) -> str | None:
    if bound > Fraction(float(np.finfo(np.float32).max)):
        return None
    low, high = np.float32(-np.inf), np.float32(np.inf)
    guess = np.float32(float(max(bound, Fraction(float(np.finfo(np.float32).min)))))
    while np.isfinite(guess) and Fraction(str(guess)) >= bound:
        guess = np.nextafter(guess, low)
    guess = np.nextafter(guess, high)
    while Fraction(str(guess)) < bound:
        guess = np.nextafter(guess, high)
    return str(guess)


def float_literal(column: Column, text: str) -> str:
    """A number in SQL, of the column's own precision: else it would be compared as a wider one."""
    kind = {Kind.SINGLE: "FLOAT4", Kind.DECIMAL: "NUMERIC"}.get(column.kind, "FLOAT8")
    return f"CAST('{text}' AS {kind})"


def may_be_infinite(column: Column) -> bool:
    """Whether the column may hold NaN and infinities: floats, and PostgreSQL's decimals without a limit."""
    return column.kind in FLOATS or (column.kind is Kind.DECIMAL and column.scale is None)
