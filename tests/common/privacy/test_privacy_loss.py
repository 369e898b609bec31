"""Privacy losses: what they say, what they add up to, and every mistake that they refuse."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP, check_loss, compose

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
NUMBERS = st.fractions(min_value=0, max_value=100, max_denominator=10**6)
RELATIONS = st.sampled_from(Relation)
DELTAS = st.fractions(min_value=0, max_value=1, max_denominator=10**9)
PURE = st.builds(PureDP, NUMBERS, RELATIONS)
IN_RHO = st.builds(ZCDP, NUMBERS, RELATIONS)
APPROXIMATE = st.builds(ApproxDP, NUMBERS, DELTAS, RELATIONS)
LOSSES = st.one_of(PURE, IN_RHO, APPROXIMATE)
ONE_OF_EACH = (PureDP(1, REPLACE), ZCDP(1, REPLACE), ApproxDP(Fraction(1), Fraction(1, 10**6), REPLACE))


@pytest.mark.parametrize("bad", [0.5, True, "1", None, np.float64(1), np.int64(1)])
def test_only_exact_numbers_are_taken(bad):
    for make in (
        lambda: PureDP(bad, REPLACE),
        lambda: ZCDP(bad, REPLACE),
        lambda: ApproxDP(bad, Fraction(0), REPLACE),
        lambda: ApproxDP(Fraction(1), bad, REPLACE),
    ):
        with pytest.raises(TypeError, match="exact fraction"):
            make()


def test_negative_numbers_and_missing_relations_are_refused():
    for kind in (PureDP, ZCDP):
        with pytest.raises(ValueError, match="at least 0"):
            kind(Fraction(-1), REPLACE)
        with pytest.raises(TypeError, match="Relation"):
            kind(Fraction(1), "replace one row")
    with pytest.raises(ValueError, match="at most 1"):
        ApproxDP(Fraction(1), Fraction(2), REPLACE)
    for epsilon, delta in ((-1, 0), (1, -1)):
        with pytest.raises(ValueError, match="at least 0"):
            ApproxDP(Fraction(epsilon), Fraction(delta), REPLACE)
    with pytest.raises(TypeError, match="Relation"):
        ApproxDP(Fraction(1), Fraction(0), "replace one row")


def test_whole_numbers_become_fractions_and_nothing_changes_afterwards():
    loss = PureDP(1, REPLACE)
    assert isinstance(loss.epsilon, Fraction)
    with pytest.raises(dataclasses.FrozenInstanceError):
        loss.epsilon = Fraction(2)
    assert len({loss, PureDP(Fraction(2, 2), REPLACE)}) == 1


@given(LOSSES, LOSSES)
def test_losses_add_within_their_kind_and_relation_only(one, other):
    if type(one) is type(other) and one.relation is other.relation:
        both = one + other
        assert both == other + one == compose([one, other])
    else:
        for mix in (lambda: one + other, lambda: compose([one, other])):
            with pytest.raises(PrivacyMismatchError):
                mix()


def test_sums():
    assert PureDP(Fraction(1, 3), ADD) + PureDP(Fraction(1, 6), ADD) == PureDP(Fraction(1, 2), ADD)
    assert compose([ZCDP(Fraction(1, 3), REPLACE)] * 3) == ZCDP(1, REPLACE)
    one = ApproxDP(Fraction(1), Fraction(2, 3), REPLACE)
    assert compose([one]) is one
    assert one + one == ApproxDP(Fraction(2), Fraction(1), REPLACE)  # a delta of 1 promises nothing: no more than that
    with pytest.raises(ValueError, match="nothing to compose"):
        compose([])
    with pytest.raises(TypeError):
        PureDP(1, REPLACE) + Fraction(1)
    with pytest.raises(TypeError):
        sum([PureDP(1, REPLACE)])


@pytest.mark.parametrize("one", ONE_OF_EACH, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("other", ONE_OF_EACH, ids=lambda loss: type(loss).__name__)
def test_losses_of_two_kinds_or_two_relations_refuse_to_add(one, other):
    if one is other:
        other = dataclasses.replace(one, relation=ADD)
        said = "one is stated for 'replace one row', the other for 'add or remove one row': convert explicitly first"
    else:
        said = "are different kinds of loss: convert explicitly first"
    for mix in (
        lambda: one + other,
        lambda: compose([one, other]),
        lambda: compose([one, one, other]),
        lambda: check_loss(other, type(one), REPLACE),
    ):
        with pytest.raises(PrivacyMismatchError, match=f"{said}|a loss of kind {type(one).__name__} is needed"):
            mix()
    assert check_loss(one, type(one), REPLACE) is one


@pytest.mark.parametrize("loss", ONE_OF_EACH, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("number", [Fraction(1), 1, 1.0])
def test_a_number_is_no_loss(loss, number):
    for mix in (lambda: loss + number, lambda: number + loss):
        with pytest.raises(TypeError):
            mix()
    for mix in (lambda: compose([loss, number]), lambda: compose([number, loss])):
        with pytest.raises(TypeError):
            mix()
    with pytest.raises(PrivacyMismatchError, match="is needed, not"):
        check_loss(number, type(loss), REPLACE)


@given(NUMBERS, st.integers(1, 20), RELATIONS)
def test_a_person_with_several_rows(value, rows, relation):
    assert PureDP(value, relation).scaled(rows) == PureDP(rows * value, relation)
    assert ZCDP(value, relation).scaled(rows) == ZCDP(rows**2 * value, relation)


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
    for loss in (PureDP(1, ADD), ZCDP(1, ADD), ApproxDP(Fraction(1), Fraction(1, 3 * 10**5), ADD)):
        assert loss.scaled(1) == loss
        for rows in (0, -1, True, 1.5):
            with pytest.raises(ValueError, match="rows per person"):
                loss.scaled(rows)
    assert ApproxDP(Fraction(1), Fraction(0), ADD).scaled(3).delta == 0


def test_a_delta_of_a_person_is_told_in_few_digits_and_promises_nothing_at_worst():
    several = ApproxDP(Fraction(1), Fraction(1, 2**30), REPLACE).scaled(3)
    exact = 3 * np.exp(2) / 2**30
    assert exact <= several.delta <= exact * (1 + 1e-4)
    assert several.delta.denominator <= 10**14
    assert ApproxDP(Fraction(50), Fraction(1, 2**30), REPLACE).scaled(1000) == ApproxDP(
        Fraction(50_000), Fraction(1), REPLACE
    )
