"""Discovered domains: what a person's many rows decide, and what a release under a discovered schema states."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from privity.assessment.audit.auditor import Finding, audit
from privity.assessment.audit.discovered_domains import (
    discovered_categories,
    discovered_in_a_fit,
    under_discovered_schema,
)
from privity.assessment.audit.subject import Subject
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.protocol.run_record import Cost

pytestmark = pytest.mark.statistical

DELTA = Fraction(1, 1000)
HARDLY = PureDP(Fraction(1, 1000), RELATION)


def finding(subject: Subject) -> Finding:
    """The noise is the operating system's, so a claim that seems broken by chance is audited once more."""
    (found,) = audit([subject])
    return found


@pytest.mark.parametrize("places", [pytest.param(1, marks=pytest.mark.long), 2])
def test_rows_of_a_person_beyond_the_places_decide_nothing(places: int) -> None:
    """Of 200 rows of one person as many count as are charged."""
    many = discovered_categories(2, Fraction(1, 2), DELTA, 80, 0, places=places, mine=200)
    assert finding(many).holds


def test_a_release_under_a_discovered_schema_states_what_the_schema_cost() -> None:
    found = finding(under_discovered_schema(Fraction(6), DELTA, Fraction(1, 10), 40, 0))
    assert found.claim == Fraction(61, 10)
    assert found.holds


def test_a_fit_that_discovers_categories_states_and_pays_for_them() -> None:
    found = finding(discovered_in_a_fit(Fraction(6), DELTA, 40, 0))
    assert (found.claim, found.charged, found.charged_delta) == (6, 6, DELTA)
    assert found.holds


def test_categories_that_a_statement_leaves_out_are_found_out(monkeypatch) -> None:
    left_out = lambda phase, payers, mechanism: Cost(phase, mechanism.in_words, HARDLY, tuple(payers), {})  # noqa: E731
    monkeypatch.setattr("privity.common.protocol.session.categories_cost", left_out)
    assert_found_out()


def test_categories_that_are_not_charged_are_found_out(monkeypatch) -> None:
    loss = ThresholdedCounts.loss
    free = lambda self, *rest: replace(loss(self, *rest), epsilon=HARDLY.epsilon)  # noqa: E731
    monkeypatch.setattr(ThresholdedCounts, "loss", free)
    assert_found_out()


def assert_found_out() -> None:
    (found,) = audit([discovered_in_a_fit(Fraction(6), DELTA, 40, 0)], confirm=False)
    assert found.bound.epsilon > found.claim
