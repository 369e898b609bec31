"""Sensitivities: what tables and scores move by, in which norm and for which relation, and what is refused."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_table
from privity.common.privacy.mechanisms import LaplaceNoise
from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation
from privity.common.privacy.privacy_loss import PureDP
from privity.common.privacy.sensitivity import Norm, Sensitivity, contingency_tables, scores, weighted_tables
from privity.common.protocol.round import Tables

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
NUMBERS = st.fractions(min_value=0, max_value=100, max_denominator=10**6)
RELATIONS = st.sampled_from(Relation)


def test_what_contingency_tables_move_by():
    assert contingency_tables(5, REPLACE) == Sensitivity.l1(10, REPLACE)
    assert contingency_tables(5, ADD) == Sensitivity.l1(5, ADD)
    assert contingency_tables(5, REPLACE, Norm.L2) == Sensitivity.l2_squared(10, REPLACE)
    assert contingency_tables(5, ADD, Norm.L2) == Sensitivity.l2_squared(5, ADD)
    assert contingency_tables(5, REPLACE, Norm.LINF) == Sensitivity.linf(1, REPLACE)
    assert contingency_tables(0, REPLACE).value == 0
    assert scores(7, REPLACE) == Sensitivity.linf(7, REPLACE)


def cells_of(schema, rows, marginals):
    columns = tuple(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    table = CodedTable(schema, columns)
    return np.concatenate([contingency_table(table, m).ravel() for m in marginals])


@pytest.mark.parametrize("relation", Relation)
def test_the_stated_sensitivities_are_reached_and_never_passed(make_table, relation):
    """Every neighbour of a small table, for one to three tables, in all three norms."""
    schema = make_table((2, 3), 1).schema
    cells = list(itertools.product(range(2), range(3)))
    marginals = [(0,), (1,), (0, 1)]
    rest = [cells[0], cells[3]]
    for count in (1, 2, 3):
        some = marginals[-count:]
        single = [cells_of(schema, [*rest, row], some) for row in cells]
        others = single if relation is REPLACE else [cells_of(schema, rest, some)]
        moves = [np.abs(a - b) for a in single for b in others]
        assert contingency_tables(count, relation).value == max(m.sum() for m in moves)
        assert contingency_tables(count, relation, Norm.L2).squared == max((m**2).sum() for m in moves)
        assert contingency_tables(count, relation, Norm.LINF).value == max(m.max() for m in moves)


@given(NUMBERS, st.integers(0, 50), RELATIONS)
def test_statistics_side_by_side(value, count, relation):
    l1, l2, linf = (
        Sensitivity.l1(value, relation),
        Sensitivity.l2_squared(value**2, relation),
        Sensitivity.linf(value, relation),
    )
    assert l1.times(count).value == count * value
    assert l2.times(count).squared == count * value**2
    assert linf.times(count).value == (value if count else 0)
    for one in (l1, l2, linf):
        assert one.squared == value**2
        assert one.times(1) == one


def test_a_sensitivity_is_read_in_its_own_norm_only():
    one = Sensitivity.l1(2, REPLACE)
    with pytest.raises(PrivacyMismatchError, match="L2"):
        one.in_norm(Norm.L2)
    with pytest.raises(PrivacyMismatchError, match="squared"):
        _ = Sensitivity.l2_squared(2, REPLACE).value
    with pytest.raises(TypeError):
        one + one


@pytest.mark.parametrize("bad", [0.5, True, "1", None, np.float64(1), np.int64(1)])
def test_only_exact_numbers_are_taken(bad):
    for make in (Sensitivity.l1, Sensitivity.l2_squared, scores):
        with pytest.raises(TypeError, match="exact fraction"):
            make(bad, REPLACE)


def test_negative_numbers_and_missing_relations_are_refused():
    with pytest.raises(ValueError, match="at least 0"):
        Sensitivity.l1(-1, REPLACE)
    with pytest.raises(TypeError, match="Relation"):
        Sensitivity.l1(1, None)
    for count in (-1, True, 1.0):
        with pytest.raises(ValueError):
            contingency_tables(count, REPLACE)


@given(st.lists(st.integers(1, 1024), min_size=1, max_size=9), RELATIONS)
def test_a_table_of_weight_w_counts_w_times(weights, relation):
    """As if it stood there so often in L1; in L2 as if its counts were so many times as large."""
    moved = {REPLACE: 2, ADD: 1}[relation]
    assert weighted_tables(weights, relation, Norm.L1).value == moved * sum(weights)
    assert weighted_tables(weights, relation, Norm.L2).squared == moved * sum(w * w for w in weights)
    ones = [1] * len(weights)
    for norm in (Norm.L1, Norm.L2):
        assert weighted_tables(ones, relation, norm) == contingency_tables(len(weights), relation, norm)


def test_one_replaced_row_moves_m_tables_by_two_each_at_most_and_some_row_does(make_table):
    schema = make_table((2, 3, 2), 1).schema
    cells = list(itertools.product(range(2), range(3), range(2)))
    marginals = [(0,), (0, 1), (1, 2), (0, 1, 2)]
    for count in range(1, len(marginals) + 1):
        some = marginals[:count]
        moved = []
        for rest in itertools.combinations_with_replacement(cells[::4], 2):
            single = {row: cells_of(schema, [*rest, row], some) for row in cells}
            moved += [int(np.abs(single[a] - single[b]).sum()) for a, b in itertools.combinations(cells, 2)]
        assert max(moved) == 2 * count
        assert LaplaceNoise.calibrated(Tables(tuple(some)), PureDP(1, REPLACE)).scale == max(moved)
