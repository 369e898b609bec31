"""What lies beyond a measured range: how many rows, as an estimate that holds, and where they are taken to lie."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.synthesis.learning.grid_histogram import _consistent
from privity.common.synthesis.learning.range_tails import Beyond, Cell, sums_between, sums_outside, tail
from tests.common.synthesis.learning.test_domain_discovery import INTEGER, drawn, open_schema, under_noise

DEPTHS = (3, 1, 0)
EDGES = tuple(map(Fraction, range(-100, 101)))


def counted(values: np.ndarray, deviation: float, generator: np.random.Generator) -> list[np.ndarray]:
    sums = [np.add.reduceat(values, np.arange(0, len(values), 1 << depth)) for depth in DEPTHS]
    return [part + deviation * generator.standard_normal(len(part)) for part in sums]


def unseen(cuts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Counts under so much noise that they tell nothing."""
    return np.zeros(len(cuts) + 1), 1e12 * np.eye(len(cuts) + 1)


@pytest.mark.parametrize(("low", "high"), [(3, 21), (0, 25), (9, 10), (4, 26)])
def test_estimates_of_rows_beyond_are_those_of_least_squares(low, high):
    """Held against the textbook's formula over all counts and the total."""
    generator = np.random.default_rng(3)
    values = generator.integers(0, 50, 26).astype(float)
    raw = counted(values, 7.0, generator)
    between = partial(sums_between, raw, *_consistent(raw, DEPTHS, 7.0), DEPTHS, values.sum())
    found = sums_outside(between, low, high)
    groups = [np.arange(len(values)) >> depth for depth in DEPTHS]
    design = np.vstack([np.equal.outer(np.unique(group), group).astype(float) for group in groups])
    # The total is known: a count of it all but without noise.
    weights = np.append(np.full(len(design), 7.0), 1e-4) ** -2
    design = np.vstack([design, np.ones(len(values))])
    covariance = np.linalg.inv(design.T @ (weights[:, None] * design))
    best = covariance @ design.T @ (weights * np.append(np.concatenate(raw), values.sum()))
    places = np.arange(len(values))
    for of, part in zip(found, (places < low, places >= high, (places < low) | (places >= high)), strict=True):
        assert of.rows == pytest.approx(best[part].sum(), abs=1e-3)
        assert of.deviation == pytest.approx(float(part @ covariance @ part) ** 0.5, abs=1e-3)
    cuts = sorted({low, 7, 15, high})
    parts = np.equal.outer(np.arange(len(cuts) + 1), np.searchsorted(cuts, places, side="right")).astype(float)
    mean, of_parts = between(cuts)
    assert mean == pytest.approx(parts @ best, abs=1e-3)
    assert of_parts == pytest.approx(parts @ covariance @ parts.T, abs=1e-3)


@pytest.mark.parametrize(("up", "limit"), [(True, 200), (False, 0), (True, 112), (False, 95)])
def test_a_tail_goes_on_as_dense_as_the_nearest_values_are_and_never_passes_its_limit(up, limit):
    cells = [Cell(100, 104, 40.0), Cell(104, 110, 60.0)]
    found = tail(EDGES, cells, (limit, limit), 20.0, unseen, up=up)
    assert sum(cell.mass for cell in found) == pytest.approx(20.0)
    assert [cell.first for cell in found[1:]] == [cell.end for cell in found[:-1]], "without a gap"
    near, far = (found[0].first, found[-1].end) if up else (found[-1].end, found[0].first)
    assert near == (110 if up else 100)
    assert far <= limit if up else far >= limit
    dense = [cell.mass / (cell.end - cell.first) for cell in found]
    assert dense == sorted(dense, reverse=up), "ever fewer"
    if limit in (0, 200):
        assert max(dense) == pytest.approx(10.0, rel=0.4)


@given(
    st.integers(0, 90), st.integers(1, 90), st.floats(0.01, 1e4), st.floats(0.01, 1e4), st.booleans(), st.integers(0, 9)
)
def test_whatever_is_beyond_is_spread_within_its_limits(first, width, within, rows, up, room):
    cells = [Cell(first, first + width, within)]
    limit = min(200, first + width + room) if up else max(0, first - room)
    found = tail(EDGES, cells, (limit, limit), rows, unseen, up=up)
    assert bool(found) == bool(room and limit != (first + width if up else first))
    if found:
        assert sum(cell.mass for cell in found) == pytest.approx(rows)
        assert min(cell.first for cell in found) >= min(limit, first + width)
        assert max(cell.end for cell in found) <= max(limit, first)


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("reach", [2, 20, 80])
def test_a_tail_reaches_as_far_as_counts_together_tell(up, reach):
    """Of 1,000 rows 400 lie beyond a point, evenly up to a reach: no single code stands out of the noise."""
    cells = [Cell(100, 101, 600.0)]
    start, limit = (101, 200) if up else (100, 0)

    def between(cuts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        ends = np.array([0, *cuts, 200])
        low, high = (start, start + reach) if up else (start - reach, start)
        inside = np.minimum(ends[1:], high) - np.maximum(ends[:-1], low)
        return 400 * np.maximum(inside, 0) / reach, 60.0**2 * np.eye(len(cuts) + 1)

    found = tail(EDGES, cells, (limit, limit), 400.0, between, up=up)
    outwards = found if up else found[::-1]
    below = np.cumsum([cell.mass for cell in outwards]) / 400
    distances = np.array([cell.end - start if up else start - cell.first for cell in outwards])
    half = distances[np.searchsorted(below, 0.5)]
    assert reach / 8 <= half <= reach
    assert reach / 2 <= distances[np.searchsorted(below, 0.999)] <= 4 * reach


def test_rows_that_an_estimate_may_hold_are_never_fewer_than_none():
    assert Beyond(0.0, 0.0).spread == 0
    assert 0 < Beyond(-10.0, 5.0).spread < Beyond(0.0, 5.0).spread < Beyond(10.0, 5.0).spread
    assert Beyond(100.0, 5.0).spread == pytest.approx(100.0)


@pytest.mark.statistical
def test_ages_under_noise_keep_a_tail_and_the_error_of_what_lies_beyond_holds():
    generator = np.random.default_rng(8)
    ages = np.clip(generator.normal(48, 17, 500), 18, 89).astype(int)
    found = under_noise(ages, 35.0, 40, attributes=1)
    held, covered = [], []
    for attribute in found:
        measured = attribute.measured
        assert measured is not None
        beyond = measured.beyond
        assert beyond is not None
        true = float(((ages < measured.minimum) | (ages > measured.maximum)).mean())
        held.append(abs(beyond.share - true) <= beyond.error)
        schema = open_schema(INTEGER)
        again = drawn(type(schema)("s", (attribute,)), [ages])
        covered.append(float(((ages < again.min()) | (ages > again.max())).mean()))
        assert attribute.labels[attribute.values - 1].endswith("and more")
    # The range is chosen by the same counts, so that the error holds somewhat less often than 95 times of 100.
    assert np.mean(held) >= 0.7
    assert np.mean(covered) < 0.1


@pytest.mark.long
@pytest.mark.statistical
def test_a_century_without_rows_is_not_taken_for_the_first_one():
    """Rows before 1900 share their coarsest group with all centuries: noise in one of these is no end of a range."""
    generator = np.random.default_rng(9)
    days = np.datetime64("1871-01-01") + generator.integers(0, 55_000, 4000)
    found = under_noise(days, 30.0, 40, attributes=1, field={"type": "date"})
    year_1700 = -98_615
    assert sum(attribute.edges[0] < year_1700 for attribute in found) <= 1
    kept = [attribute for attribute in found if attribute.edges[0] <= -25_567]
    assert len(kept) >= 36, "decades that have rows stand out"
