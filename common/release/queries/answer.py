"""What is told of a question: the estimate, its interval, what the errors are made of, and what it stands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from privity.common.release.queries.intervals import Interval
from privity.common.release.queries.support import EXTRAPOLATED, Support

POPULATION, ROWS = "population", "rows"
TARGETS = (POPULATION, ROWS)
"""Whom an answer is about: those from whom the rows were sampled, or these rows."""


@dataclass(frozen=True)
class Answer:
    """One number that was asked for.

    Attributes:
        of: what it is of: groups by their attribute, a term of a regression and the like.
        value: the estimate; None if it is not determined.
        low, high: the ends of the interval; infinite where the release tells nothing.
        level: with which probability such an interval holds the truth.
        errors: standard errors of ``sampling``, ``noise`` and ``model``; their squares add up.
        notes: what to know before it is used.
    """

    of: Mapping[str, str]
    value: float | None
    low: float
    high: float
    level: float
    errors: Mapping[str, float]
    support: Support
    notes: tuple[str, ...] = ()

    @property
    def standard_error(self) -> float:
        """Of all three together."""
        return float(sum(each**2 for each in self.errors.values()) ** 0.5)

    def document(self) -> dict[str, Any]:
        """As JSON: what is not finite is null."""
        return {
            "of": dict(self.of),
            "value": self.value,
            "low": self.low if isfinite(self.low) else None,
            "high": self.high if isfinite(self.high) else None,
            "level": self.level,
            "errors": {name: error if isfinite(error) else None for name, error in self.errors.items()},
            "support": self.support.document(),
            "notes": list(self.notes),
        }


def answer(found: Interval, of: Mapping[str, str], level: float, support: Support, *notes: str) -> Answer:
    """Of an interval, with the notes that follow from it."""
    said = list(notes)
    if not found.determined:
        said.append("not determined: the noise hides the group, or what the estimate is divided by")
    elif support.kind == EXTRAPOLATED:
        said.append("the model alone tells of pairs that were not measured; the interval has what it may have wrong")
    errors = {"sampling": found.sampling, "noise": found.noise, "model": found.model}
    return Answer(dict(of), found.value, found.low, found.high, level, errors, support, tuple(said))
