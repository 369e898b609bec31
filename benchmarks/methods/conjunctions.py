"""Positive conjunctions of one, two and three categories of different attributes, and the errors of their answers.

Source: Asghar et al., "Differentially Private Release of High-Dimensional Datasets using the Gaussian Copula" (2019),
section 4.1: the absolute error of each answer, sorted; the mean and the largest of the first 95, 99 and 100 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable

WAYS = (1, 2, 3)
PARTS = (95, 99, 100)
CURVE_POINTS = 60
"""Of a cumulative distribution as it is kept for a picture."""

Numbers = npt.NDArray[np.float64]
Dummies = npt.NDArray[np.float32]
"""Rows by categories of all attributes, 0 or 1."""


@dataclass(frozen=True)
class Queries:
    """All conjunctions over dummy columns; ``domain`` are the sizes of the attributes."""

    domain: tuple[int, ...]

    def __post_init__(self) -> None:
        owners = np.repeat(np.arange(len(self.domain)), self.domain)
        object.__setattr__(self, "_owners", owners)

    def answers(self, dummies: Dummies) -> dict[int, Numbers]:
        """Counts of rows by number of categories, each query once; of any table of zeros and ones."""
        owners: npt.NDArray[np.int64] = self._owners  # type: ignore[attr-defined]
        pairs = np.triu(owners[:, None] < owners[None, :])
        found: dict[int, list[Numbers]] = {1: [dummies.sum(axis=0, dtype=np.float64)], 2: [], 3: []}
        for column, owner in enumerate(owners.tolist()):
            # Rows that have the category: counts stay below 2^24, exact in single precision.
            have = dummies[dummies[:, column] > 0]
            later = owners > owner
            found[2].append(have.sum(axis=0, dtype=np.float64)[later])
            found[3].append((have.T @ have)[pairs & later[:, None]].astype(np.float64))
        return {ways: np.concatenate(parts) for ways, parts in found.items()}

    def products(self, single: Numbers, rows: int) -> Numbers:
        """Answers to two-way queries if categories were independent."""
        owners: npt.NDArray[np.int64] = self._owners  # type: ignore[attr-defined]
        return np.concatenate([single[c] * single[owners > owner] / rows for c, owner in enumerate(owners.tolist())])


def dummies_of(table: CodedTable) -> Dummies:
    """The table in dummy coding."""
    parts = [
        np.eye(size, dtype=np.float32)[column] for size, column in zip(table.schema.domain, table.columns, strict=True)
    ]
    return np.concatenate(parts, axis=1)


def summary(errors: Numbers, ways: int) -> dict[str, float | list[float]]:
    """Mean and largest of the least errors by part, and the distribution for a picture."""
    ordered = np.sort(errors)
    found: dict[str, float | list[float]] = {}
    for part in PARTS:
        first = ordered[: max(1, round(ordered.size * part / 100))]
        found[f"{ways}/{part}/mean"], found[f"{ways}/{part}/max"] = float(first.mean()), float(first[-1])
    places = np.linspace(0, ordered.size - 1, CURVE_POINTS).round().astype(np.int64)
    found[f"{ways}/curve"] = [round(float(x), 1) for x in ordered[places]]
    return found


def errors_of(truth: Mapping[int, Numbers], answers: Mapping[int, Numbers]) -> dict[str, float | list[float]]:
    """`summary` for all ways for which there are answers."""
    found: dict[str, float | list[float]] = {}
    for ways, given in answers.items():
        found |= summary(np.abs(given - truth[ways]), ways)
    return found


def conjunctions(domain: Sequence[int], ways: int) -> int:
    """How many queries there are."""
    return sum(int(np.prod(some)) for some in combinations(domain, ways))
