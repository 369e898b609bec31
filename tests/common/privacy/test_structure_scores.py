"""The integer score R against a plain loop, and its sensitivity against all neighbours."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.privacy.score_f import _by_enumeration, _by_states, f_scores, f_sensitivity
from privity.common.privacy.score_i import ROUNDING, i_scores, i_sensitivity
from privity.common.privacy.score_r import r_score, r_sensitivity
from privity.common.privacy.structure_scores import SCORES


def by_hand(table: list[list[int]]) -> int:
    n = sum(map(sum, table))
    total = 0
    for x, line in enumerate(table):
        for y, c in enumerate(line):
            total += abs(n * c - sum(table[x]) * sum(other[y] for other in table))
    return total


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


def f_by_hand(table: np.ndarray) -> Fraction:
    """F by equation 9 of the paper, over every way to give each parent cell to X = 0, to X = 1 or to neither."""
    n = int(table.sum())
    least = None
    for sides in itertools.product((0, 1, 2), repeat=table.shape[1]):
        a = sum(int(table[0, cell]) for cell, side in enumerate(sides) if side == 0)
        b = sum(int(table[1, cell]) for cell, side in enumerate(sides) if side == 1)
        distance = max(0, Fraction(1, 2) - Fraction(a, n)) + max(0, Fraction(1, 2) - Fraction(b, n))
        least = distance if least is None else min(least, distance)
    return -least


def test_f_of_the_papers_table_3() -> None:
    """The L1 distance is .4, so F = -.2."""
    table = np.array([[6, 0, 0, 0], [1, 1, 1, 1]])
    assert f_by_hand(table) == Fraction(-1, 5)
    assert f_scores([table]) == [-4]


@given(st.integers(1, 5).flatmap(lambda c: st.lists(st.integers(0, 30), min_size=2 * c, max_size=2 * c)))
def test_f_is_twice_n_f(counts: list[int]) -> None:
    table = np.array(counts).reshape(2, -1)
    if table.sum():
        assert f_scores([table]) == [2 * int(table.sum()) * f_by_hand(table)]


@given(st.integers(0, 99), st.integers(9, 40))
def test_both_ways_to_compute_f_agree(seed: int, cells: int) -> None:
    generator = np.random.default_rng(seed)
    table = generator.integers(0, 30, (2, 8))
    wide = generator.integers(0, 4, (2, cells))
    assert _by_enumeration(table[None]) == [_by_states(table)]
    assert f_scores([wide]) == [_by_states(wide)]


def test_f_is_for_binary_attributes() -> None:
    with pytest.raises(ValueError, match="binary"):
        f_scores([np.ones((3, 2), dtype=np.int64)])
    with pytest.raises(ValueError, match="binary"):
        f_sensitivity(10, 3, 2)


@given(st.lists(st.integers(0, 2000), min_size=6, max_size=6))
def test_i_is_mutual_information_in_units(counts: list[int]) -> None:
    table = np.array(counts).reshape(2, 3)
    n = table.sum()
    if n:
        joint = table / n
        product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        seen = joint > 0
        bits = (joint[seen] * np.log2(joint[seen] / product[seen])).sum()
        assert i_scores([table])[0] == pytest.approx(2**16 * n * bits, abs=ROUNDING)


def neighbours(rows: int, cells: int):
    for filled in itertools.combinations_with_replacement(range(cells), rows):
        counts = [filled.count(c) for c in range(cells)]
        for gone, come in itertools.permutations(range(cells), 2):
            if counts[gone]:
                other = list(counts)
                other[gone] -= 1
                other[come] += 1
                yield counts, other


@pytest.mark.parametrize("kind", sorted(SCORES))
@pytest.mark.parametrize(("rows", "x_size", "parent_size"), [(2, 2, 2), (5, 2, 2), (4, 2, 3), (3, 3, 3), (6, 2, 2)])
def test_no_replaced_row_moves_a_score_by_more_than_its_sensitivity(kind, rows, x_size, parent_size) -> None:
    score = SCORES[kind]
    if score.binary and x_size != 2:
        return
    worst = 0
    for mine, other in neighbours(rows, x_size * parent_size):
        tables = [np.array(counts).reshape(x_size, parent_size) for counts in (mine, other)]
        first, second = score.of(tables)
        worst = max(worst, abs(first - second))
    bound = score.sensitivity(rows, x_size, parent_size)
    assert worst <= bound
    if kind == "I" and 2 in (x_size, parent_size):
        # Lemma 4.1 is attained; what is left is the room for rounding.
        assert worst >= bound - 2 * ROUNDING
    if kind == "F":
        assert worst == bound


def test_a_sensitivity_of_i_at_many_rows_is_that_of_the_lemma() -> None:
    n = 45_222
    bits = math.log2(n) / n + (n - 1) / n * math.log2(n / (n - 1))
    assert i_sensitivity(n, 2, 9) == pytest.approx(2**16 * n * bits, abs=ROUNDING + 2)
    assert i_sensitivity(n, 3, 9) > i_sensitivity(n, 2, 9)
    with pytest.raises(ValueError, match="below"):
        i_sensitivity(2**31, 2, 2)
