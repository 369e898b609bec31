"""Discovered domains: what a person's many rows decide."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privity.deploy.audit.auditor import Finding, audit
from privity.deploy.audit.discovered_domains import discovered_categories
from privity.deploy.audit.subject import Subject

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
