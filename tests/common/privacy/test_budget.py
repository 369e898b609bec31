"""Sensitivities and budgets: what they say, and every mistake that they refuse."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_table
from privity.common.privacy.budget import ApproxDP, PureEpsilon, Zcdp, compose
from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation
from privity.common.privacy.sensitivity import Norm, Sensitivity, contingency_tables, scores
from privity.common.privacy.step_cost import RELATION, noise_scale, selection_epsilon, selection_scale

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
NUMBERS = st.fractions(min_value=0, max_value=100, max_denominator=10**6)
RELATIONS = st.sampled_from(Relation)
DELTAS = st.fractions(min_value=0, max_value=1, max_denominator=10**9)
PURE = st.builds(PureEpsilon, NUMBERS, RELATIONS)
ZCDP = st.builds(Zcdp, NUMBERS, RELATIONS)
APPROXIMATE = st.builds(ApproxDP, NUMBERS, DELTAS, RELATIONS)


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
        assert one.joined(one) == one.times(2)
        assert one.times(1) == one


def test_sensitivities_in_different_norms_or_relations_do_not_join():
    one = Sensitivity.l1(2, REPLACE)
    for other in (Sensitivity.l2_squared(2, REPLACE), Sensitivity.linf(2, REPLACE), Sensitivity.l1(2, ADD)):
        with pytest.raises(PrivacyMismatchError):
            one.joined(other)
        with pytest.raises(PrivacyMismatchError):
            other.joined(one)
    with pytest.raises(PrivacyMismatchError, match="L2"):
        one.in_norm(Norm.L2)
    with pytest.raises(PrivacyMismatchError, match="squared"):
        _ = Sensitivity.l2_squared(2, REPLACE).value
    with pytest.raises(TypeError):
        one + one


@pytest.mark.parametrize("bad", [0.5, True, "1", None, np.float64(1), np.int64(1)])
def test_only_exact_numbers_are_taken(bad):
    for make in (
        lambda: Sensitivity.l1(bad, REPLACE),
        lambda: Sensitivity.l2_squared(bad, REPLACE),
        lambda: scores(bad, REPLACE),
        lambda: PureEpsilon(bad, REPLACE),
        lambda: Zcdp(bad, REPLACE),
        lambda: ApproxDP(bad, Fraction(0), REPLACE),
        lambda: ApproxDP(Fraction(1), bad, REPLACE),
    ):
        with pytest.raises(TypeError, match="exact fraction"):
            make()


def test_negative_numbers_and_missing_relations_are_refused():
    for kind in (PureEpsilon, Zcdp):
        with pytest.raises(ValueError, match="at least 0"):
            kind(Fraction(-1), REPLACE)
        with pytest.raises(TypeError, match="Relation"):
            kind(Fraction(1), "replace one row")
    with pytest.raises(ValueError, match="at most 1"):
        ApproxDP(Fraction(1), Fraction(2), REPLACE)
    with pytest.raises(ValueError, match="at least 0"):
        Sensitivity.l1(-1, REPLACE)
    with pytest.raises(TypeError, match="Relation"):
        Sensitivity.l1(1, None)
    for count in (-1, True, 1.0):
        with pytest.raises(ValueError):
            contingency_tables(count, REPLACE)


def test_whole_numbers_become_fractions_and_nothing_changes_afterwards():
    budget = PureEpsilon(1, REPLACE)
    assert isinstance(budget.epsilon, Fraction)
    with pytest.raises(dataclasses.FrozenInstanceError):
        budget.epsilon = Fraction(2)
    assert len({budget, PureEpsilon(Fraction(2, 2), REPLACE)}) == 1


@given(st.one_of(PURE, ZCDP, APPROXIMATE), st.one_of(PURE, ZCDP, APPROXIMATE))
def test_budgets_add_within_their_kind_and_relation_only(one, other):
    if type(one) is type(other) and one.relation is other.relation:
        both = one + other
        assert both == other + one == compose([one, other])
        assert not one.exceeds(both)
        assert not other.exceeds(both)
    else:
        for mix in (lambda: one + other, lambda: one.exceeds(other), lambda: compose([one, other])):
            with pytest.raises(PrivacyMismatchError):
                mix()


def test_sums():
    assert PureEpsilon(Fraction(1, 3), ADD) + PureEpsilon(Fraction(1, 6), ADD) == PureEpsilon(Fraction(1, 2), ADD)
    assert compose([Zcdp(Fraction(1, 3), REPLACE)] * 3) == Zcdp(1, REPLACE)
    one = ApproxDP(Fraction(1), Fraction(2, 3), REPLACE)
    assert compose([one]) is one
    assert one + one == ApproxDP(Fraction(2), Fraction(1), REPLACE)  # a delta of 1 promises nothing: no more than that
    with pytest.raises(ValueError, match="nothing to compose"):
        compose([])
    with pytest.raises(TypeError):
        PureEpsilon(1, REPLACE) + Fraction(1)
    with pytest.raises(TypeError):
        sum([PureEpsilon(1, REPLACE)])


def test_limits():
    assert PureEpsilon(Fraction(10**9 + 1, 10**9), REPLACE).exceeds(PureEpsilon(1, REPLACE))
    assert not Zcdp(1, REPLACE).exceeds(Zcdp(1, REPLACE))
    limit = ApproxDP(Fraction(1), Fraction(1, 10**6), REPLACE)
    assert not limit.exceeds(limit)
    assert dataclasses.replace(limit, delta=Fraction(2, 10**6)).exceeds(limit)
    assert dataclasses.replace(limit, epsilon=Fraction(2), delta=Fraction(0)).exceeds(limit)


@given(NUMBERS, st.integers(1, 20), RELATIONS)
def test_a_person_with_several_rows(value, rows, relation):
    assert PureEpsilon(value, relation).scaled(rows) == PureEpsilon(rows * value, relation)
    assert Zcdp(value, relation).scaled(rows) == Zcdp(rows**2 * value, relation)


@given(st.fractions(min_value=0, max_value=5, max_denominator=1000), DELTAS, st.integers(1, 6))
def test_a_person_with_several_rows_under_approximate_privacy(epsilon, delta, rows):
    """Never below the exact sum, and hardly above the bound that it stands for."""
    scaled = ApproxDP(epsilon, delta, REPLACE).scaled(rows)
    assert scaled.epsilon == rows * epsilon
    exact = float(delta) * sum(np.exp(i * float(epsilon)) for i in range(rows))
    assert float(scaled.delta) >= min(1.0, exact) * (1 - 1e-12)
    bound = float(delta) * rows * np.exp((rows - 1) * float(epsilon))
    assert float(scaled.delta) <= bound * 1.001 + 1e-300
    assert scaled.delta <= 1


def test_one_row_a_person_changes_nothing_and_fewer_are_refused():
    for budget in (PureEpsilon(1, ADD), Zcdp(1, ADD), ApproxDP(Fraction(1), Fraction(1, 3 * 10**5), ADD)):
        assert budget.scaled(1) == budget
        for rows in (0, -1, True, 1.5):
            with pytest.raises(ValueError, match="rows per person"):
                budget.scaled(rows)
    assert ApproxDP(Fraction(1), Fraction(0), ADD).scaled(3).delta == 0


@given(st.integers(1, 60), st.fractions(min_value=Fraction(1, 1000), max_value=10, max_denominator=1000))
def test_the_cost_of_a_step_follows_from_its_sensitivity(count, epsilon):
    assert noise_scale(count, epsilon) == contingency_tables(count, RELATION).value / epsilon == 2 * count / epsilon
    assert selection_scale(count, epsilon) == 2 * scores(count, RELATION).value / epsilon
    assert compose([PureEpsilon(selection_epsilon(epsilon, count), RELATION)] * count) == PureEpsilon(epsilon, RELATION)
