"""The integer score R against a plain loop, and its sensitivity against all neighbours."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.privacy.scores import r_score, r_sensitivity


def by_hand(table: list[list[int]]) -> int:
    n = sum(map(sum, table))
    total = 0
    for x, line in enumerate(table):
        for y, c in enumerate(line):
            total += abs(n * c - sum(table[x]) * sum(other[y] for other in table))
    return total


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
        lambda s: st.lists(st.lists(st.integers(0, 10**10), min_size=s[1], max_size=s[1]), min_size=s[0], max_size=s[0])
    )
)
def test_score_is_the_plain_sum(table: list[list[int]]) -> None:
    assert r_score(np.array(table, dtype=np.int64)) == by_hand(table)


def test_score_is_twice_n_squared_r() -> None:
    table = [[4, 1], [2, 3]]
    r = Fraction(1, 2) * sum(
        abs(Fraction(table[x][y], 10) - Fraction(sum(table[x]), 10) * Fraction(table[0][y] + table[1][y], 10))
        for x in range(2)
        for y in range(2)
    )
    assert r_score(np.array(table)) == 2 * 10**2 * r


@pytest.mark.parametrize("half", [500_000_000, 2**30 - 1, 2**30, 5 * 10**9])
def test_large_tables_do_not_wrap(half: int) -> None:
    assert r_score(np.array([[half, 0], [0, half]])) == 4 * half * half
    wide = np.diag([half // 2] * 4)
    assert r_score(wide) == by_hand(wide.tolist())


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="2-D"):
        r_score(np.array([1, 2]))
    with pytest.raises(ValueError, match="integers"):
        r_score(np.array([[1.5]]))
    with pytest.raises(ValueError, match="at least 0"):
        r_score(np.array([[1, -1]]))
    assert r_score(np.zeros((0, 3), dtype=np.int64)) == 0
    with pytest.raises(ValueError, match="at least 1"):
        r_sensitivity(0, 2, 2)


def worst_move(rows: int, x_size: int, parent_size: int) -> int:
    """The largest change of the score over all tables of ``rows`` rows and all replaced rows."""
    cells = list(range(x_size * parent_size))
    scores: dict[tuple[int, ...], int] = {}
    for filled in itertools.combinations_with_replacement(cells, rows):
        counts = tuple(filled.count(c) for c in cells)
        scores[counts] = r_score(np.array(counts).reshape(x_size, parent_size))
    worst = 0
    for counts, score in scores.items():
        for gone, come in itertools.permutations(cells, 2):
            if counts[gone]:
                other = list(counts)
                other[gone] -= 1
                other[come] += 1
                worst = max(worst, abs(score - scores[tuple(other)]))
    return worst


@pytest.mark.parametrize(
    ("rows", "x_size", "parent_size"),
    [(1, 2, 2), (2, 2, 2), (3, 2, 2), (6, 2, 2), (3, 2, 3), (4, 3, 2), (3, 2, 4), (2, 4, 2)],
)
def test_binary_sensitivity_is_attained(rows: int, x_size: int, parent_size: int) -> None:
    assert worst_move(rows, x_size, parent_size) == r_sensitivity(rows, x_size, parent_size) == 4 * (rows - 1)


@pytest.mark.parametrize(("rows", "x_size", "parent_size"), [(1, 3, 3), (2, 3, 3), (3, 3, 3), (4, 3, 3), (3, 3, 4)])
def test_general_sensitivity_is_never_exceeded(rows: int, x_size: int, parent_size: int) -> None:
    worst = worst_move(rows, x_size, parent_size)
    assert worst <= r_sensitivity(rows, x_size, parent_size) == 6 * rows + 4


def test_the_binary_formula_does_not_hold_for_wider_domains() -> None:
    assert worst_move(4, 3, 3) > r_sensitivity(4, 2, 3)
