"""Numbers as texts for people."""

from __future__ import annotations

from fractions import Fraction

from privity.common.privacy.budget import readable

UNITS = ("bytes", "kB", "MB", "GB", "TB")


def percent(share: float) -> str:
    """A share in hundredths, with as many digits as a page has room for; ``-0`` is 0."""
    hundredths = 100 * share
    digits = 1 if abs(hundredths) >= 100 else 2
    text = f"{hundredths:.{digits}f}"
    return "0.00\u00a0%" if text == "-0.00" else f"{text}\u00a0%"


def count(number: int) -> str:
    """A whole number, its thousands apart by narrow spaces that do not break."""
    return f"{number:,}".replace(",", "\u202f")


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things."""
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def exact(text: str) -> str:
    """An exact fraction as it is published, with a decimal beside it where that is not short."""
    return readable(Fraction(text))


def size(number: int) -> str:
    """Bytes, in units of a thousand."""
    if number < 1000:
        return f"{number} bytes" if number != 1 else "1 byte"
    value, unit = float(number), 0
    while value >= 999.5 and unit + 1 < len(UNITS):
        value, unit = value / 1000, unit + 1
    return f"{value:.3g} {UNITS[unit]}"


def strength(value: float) -> str:
    """A strength of association, to two decimals."""
    return f"{value:.2f}"
