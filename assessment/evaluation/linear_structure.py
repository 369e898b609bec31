"""How numbers go together: rank correlations, and the regression of each number on all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privity.assessment.evaluation.value_tables import Floats, ValueTable

STRONG = 0.1
"""A standardised coefficient from which its sign matters."""

ROWS_A_COEFFICIENT = 10
"""Complete rows that a regression needs."""


@dataclass(frozen=True)
class Correlations:
    """Differences of Spearman's rank correlations: the mean one, and the pair that is worst, with both values."""

    error: float
    worst: tuple[str, str]
    real: float
    found: float


@dataclass(frozen=True)
class Regression:
    """The least squares fit of one number on all others, all standardised, on complete rows.

    Attributes:
        signs: share of the coefficients whose sign is the real one.
        strong_signs: the same of coefficients of at least ``STRONG`` in the real rows; None if there is none.
        error: mean absolute difference of the coefficients.
        explained: the share of the variance that the real fit explains.
    """

    target: str
    signs: float
    strong_signs: float | None
    error: float
    explained: float


class RealStructure:
    """The numbers of the real rows."""

    def __init__(self, real: ValueTable) -> None:
        spread = [numbers is not None and _varies(numbers) for numbers in real.numbers]
        self._places = [place for place, varies in enumerate(spread) if varies]
        self._names = [real.schema.names[place] for place in self._places]
        self._correlations = self._ranked(real)
        self._triangle = self._reduced(real)

    def correlations(self, other: ValueTable) -> Correlations | None:
        """None if fewer than two numbers vary."""
        if len(self._places) < 2:
            return None
        found = self._ranked(other)
        gaps = np.abs(found - self._correlations)
        upper = np.triu_indices(len(gaps), 1)
        worst = int(gaps[upper].argmax())
        a, b = int(upper[0][worst]), int(upper[1][worst])
        pair = self._names[a], self._names[b]
        return Correlations(float(gaps[upper].mean()), pair, float(self._correlations[a, b]), float(found[a, b]))

    def regressions(self, other: ValueTable) -> list[Regression]:
        """One for each number that varies; none if too few rows are complete, or there is nothing to explain it by."""
        theirs = self._reduced(other)
        if self._triangle is None or theirs is None or len(self._places) < 2:
            return []
        found = []
        for place, name in enumerate(self._names):
            mine, explained = _coefficients(self._triangle, place)
            coefficients, _ = _coefficients(theirs, place)
            same, strong = np.sign(mine) == np.sign(coefficients), np.abs(mine) >= STRONG
            found.append(
                Regression(
                    name,
                    float(same.mean()),
                    float(same[strong].mean()) if strong.any() else None,
                    float(np.abs(mine - coefficients).mean()),
                    explained,
                )
            )
        return found

    def _ranked(self, table: ValueTable) -> Floats:
        """Spearman's correlations, of the rows in which both values are present, by ranks within each column."""
        if not self._places:
            return np.empty((0, 0))
        ranks = np.column_stack([_ranks(_numbers(table, place)) for place in self._places])
        present = ~np.isnan(ranks)
        if present.all():
            ranks -= ranks.mean(0)
            length = np.sqrt((ranks**2).sum(0))
            length[length == 0] = 1
            ranks /= length
            return np.asarray(ranks.T @ ranks)
        ranks, there = np.nan_to_num(ranks), present.astype(np.float64)
        count = np.maximum(there.T @ there, 1)
        sums, squares = ranks.T @ there, (ranks**2).T @ there
        covariance = ranks.T @ ranks / count - sums * sums.T / count**2
        variance = np.maximum(squares / count - (sums / count) ** 2, 0)
        scale = np.sqrt(variance * variance.T)
        return np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 1e-12)

    def _reduced(self, table: ValueTable) -> tuple[Floats, int] | None:
        """The triangle R of the standardised complete rows' QR decomposition, and their number: all fits follow."""
        columns = [_numbers(table, place) for place in self._places]
        if len(columns) < 2:
            return None
        rows = np.column_stack(columns)
        rows = rows[~np.isnan(rows).any(1)]
        if len(rows) < ROWS_A_COEFFICIENT * (len(columns) - 1):
            return None
        deviation = rows.std(0, ddof=1)
        deviation[deviation == 0] = 1
        rows -= rows.mean(0)
        rows /= deviation
        return np.asarray(np.linalg.qr(rows, mode="r")), len(rows)


def _numbers(table: ValueTable, place: int) -> Floats:
    numbers = table.numbers[place]
    assert numbers is not None
    return numbers


def _varies(numbers: Floats) -> bool:
    present = numbers[~np.isnan(numbers)]
    return len(present) > 1 and bool((present != present[0]).any())


def _ranks(numbers: Floats) -> Floats:
    """Mean ranks of the present values, NaN for others."""
    present = ~np.isnan(numbers)
    _, inverse, counts = np.unique(numbers[present], return_inverse=True, return_counts=True)
    ranks = np.full(len(numbers), np.nan)
    ranks[present] = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def _coefficients(reduced: tuple[Floats, int], place: int) -> tuple[Floats, float]:
    """Coefficients of the column at this place on all others, of least norm, and the share that they explain."""
    triangle, rows = reduced
    others = np.delete(triangle, place, axis=1)
    # As of the rows themselves: the triangle has their singular values.
    precision = np.finfo(np.float64).eps * max(rows, others.shape[1])
    found: Floats = np.linalg.lstsq(others, triangle[:, place], rcond=precision)[0].astype(np.float64)
    total = float((triangle[:, place] ** 2).sum())
    rest = float(((triangle[:, place] - others @ found) ** 2).sum())
    return found, 1 - rest / total if total else 0.0
