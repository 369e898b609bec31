"""What pictures on pages are drawn with: coordinates, scales with round ticks, and names that fit."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

ROUND = (1, 2, 5, 10)
"""Steps of ticks, times a power of ten."""


@dataclass(frozen=True)
class Label:
    """A text, in pixels."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Scale:
    """Numbers from ``low`` to ``high``, drawn from ``start`` to ``end`` in pixels."""

    low: float
    high: float
    start: float
    end: float

    def at(self, number: float) -> float:
        """Where a number is drawn; beyond the scale at its end."""
        if self.high <= self.low:
            return (self.start + self.end) / 2
        part = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def tick_step(highest: float, most: float, steps: Sequence[float] = ROUND) -> float:
    """A round step that divides 0 to ``highest`` into ``most`` parts or fewer."""
    raw = highest / most
    unit = 10.0 ** math.floor(math.log10(raw))
    return next(unit * times for times in steps if unit * times >= raw * (1 - 1e-9))


def short(number: float) -> str:
    """A coordinate, with one decimal if it needs one."""
    return f"{number:.1f}".removesuffix(".0")


def shortened(text: str, letters: int) -> str:
    """As much of a text as fits into so many letters of usual width."""
    found, width = "", 0
    for sign in text:
        width += 2 if unicodedata.east_asian_width(sign) in "WF" else not unicodedata.combining(sign)
        if width > letters - 1 and len(text) > len(found) + 1:
            return found + "…"
        found += sign
    return found
