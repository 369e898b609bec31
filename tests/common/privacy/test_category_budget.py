"""What categories cost before the rest of a fit, and what they leave: exactly what was granted, together."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.common.privacy.accountant import Accountant
from privity.common.privacy.budget import LARGEST_DENOMINATOR
from privity.common.privacy.category_budget import MOST_CATEGORIES, PART, category_budget
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ZCDP
from privity.common.privacy.run_budget import RhoBudget
from privity.common.privacy.thresholded_counts import ThresholdedCounts

EPSILONS = st.fractions(min_value=Fraction(1, 20), max_value=8, max_denominator=1000)
DELTAS = st.integers(3, 9).map(lambda digits: Fraction(1, 10**digits))


@given(st.integers(1, 6), EPSILONS, DELTAS)
def test_both_parts_add_up_to_what_was_granted(columns, epsilon, delta):
    found = category_budget(columns, epsilon, delta)
    of_texts = found.mechanism.loss(RELATION)
    assert (of_texts.epsilon + found.epsilon, of_texts.delta + found.delta) == (epsilon, delta)
    assert of_texts.epsilon >= PART * epsilon
    assert found.epsilon.denominator <= LARGEST_DENOMINATOR
    assert found.mechanism.columns == columns


@given(EPSILONS, DELTAS)
def test_a_fit_that_spends_all_of_both_has_cost_what_was_granted(epsilon, delta):
    found = category_budget(1, epsilon, delta)
    rest = RhoBudget(found.epsilon, found.delta)
    spent = Accountant().charged(found.mechanism.loss(RELATION)).charged(ZCDP(rest.rho, RELATION), rest).spent
    assert (spent.epsilon, spent.delta) == (epsilon, delta)


@given(EPSILONS, DELTAS)
def test_texts_alone_have_all_of_it(epsilon, delta):
    found = category_budget(2, epsilon, delta, Fraction(1))
    assert (found.epsilon, found.delta) == (0, 0)
    assert found.mechanism == ThresholdedCounts(2, epsilon, delta)


@given(st.integers(0, 10**7))
def test_a_threshold_rises_with_the_rows_and_never_falls_below_what_is_private(rows):
    least = category_budget(1, Fraction(1), Fraction(1, 10**6)).mechanism.threshold
    assert category_budget(1, Fraction(1), Fraction(1, 10**6), rows=rows).mechanism.threshold == max(
        least, rows // MOST_CATEGORIES
    )


def test_a_delta_that_no_threshold_serves_is_refused():
    with pytest.raises(PrivityError, match="quarter of epsilon"):
        category_budget(1, Fraction(1), Fraction(1, 10))
