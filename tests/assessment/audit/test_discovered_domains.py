"""Discovered domains: what a person's many rows decide, and what a release under a discovered schema states."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privity.assessment.audit.auditor import Finding, audit
from privity.assessment.audit.discovered_domains import discovered_categories, under_discovered_schema
from privity.assessment.audit.subject import Subject

pytestmark = pytest.mark.statistical

DELTA = Fraction(1, 1000)


def finding(subject: Subject) -> Finding:
    """The noise is the operating system's, so a claim that seems broken by chance is audited once more."""
    (found,) = audit([subject])
    return found


@pytest.mark.parametrize("places", [1, 2])
def test_rows_of_a_person_beyond_the_places_decide_nothing(places: int) -> None:
    """Of 200 rows of one person as many count as are charged."""
    many = discovered_categories(2, Fraction(1, 2), DELTA, 80, 0, places=places, mine=200)
    assert finding(many).holds


def test_a_release_under_a_discovered_schema_states_what_the_schema_cost() -> None:
    found = finding(under_discovered_schema(Fraction(6), DELTA, Fraction(1, 10), 40, 0))
    assert found.claim == Fraction(61, 10)
    assert found.holds
