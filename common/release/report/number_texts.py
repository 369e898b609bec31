"""Numbers as texts for people."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

from privity.common.privacy.budget import readable
from privity.common.release.statement import rounded_up

UNITS = ("bytes", "kB", "MB", "GB", "TB")


def percent(share: float | Decimal, digits: int = 2) -> str:
    """A share in hundredths, with so many digits after the point, but of no more than 100 one; ``-0`` is 0.

    A number that was written to a file and read again, as a decimal, has the same text.
    """
    hundredths = 100 * float(share)
    text = f"{hundredths:.{min(digits, 1) if abs(hundredths) >= 100 else digits}f}"
    return f"{text.removeprefix('-') if not float(text) else text}\u00a0%"


def real(number: float | None) -> str:
    """A number of four digits; a dash where there is none."""
    return "–" if number is None else f"{float(number):.4g}".replace("-", "\u2212")


def at_most(share: float) -> str:
    """A difference of shares in percentage points, not below what it is."""
    return f"{math.ceil(1000 * share) / 10:.1f}"


def count(number: int) -> str:
    """A whole number, its thousands apart by narrow spaces that do not break."""
    return f"{number:,}".replace(",", "\u202f")


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things."""
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def exact(text: str) -> str:
    """An exact number as it is published, as a decimal."""
    return readable(Fraction(text))


def loss(number: Fraction | str) -> str:
    """An epsilon or a delta as a decimal of few digits, not below the exact one."""
    return re.sub(r"e([+-])0+", r"e\1", rounded_up(Fraction(number)))


def rough(number: Fraction) -> str:
    """The same with three digits."""
    return loss(Fraction(rounded_up(number, 3)))


def size(number: int) -> str:
    """Bytes, in units of a thousand."""
    if number < 1000:
        return f"{number} bytes" if number != 1 else "1 byte"
    value, unit = float(number), 0
    while value >= 999.5 and unit + 1 < len(UNITS):
        value, unit = value / 1000, unit + 1
    return f"{value:.3g} {UNITS[unit]}"


def with_error_bar(value: float, half_width: float) -> str:
    """A strength of association and how far it may be off, which is rounded up."""
    return f"{strength(value)} ± {math.ceil(100 * half_width) / 100:.2f}"


def strength(value: float) -> str:
    """A strength of association, to two decimals."""
    return f"{value:.2f}"
