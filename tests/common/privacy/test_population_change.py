"""What an owner changes of a population: only what was meant, and as a line of the ledger."""

from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.common.privacy.ledger import Kind, Ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population
from privity.common.privacy.population_change import change_population, in_words, return_reserved
from privity.common.privacy.privacy_loss import ApproxDP
from tests.harness.ledgers import PEOPLE, declared

EPSILONS = st.fractions(Fraction(1, 100), 100, max_denominator=100)
DELTAS = st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(1, 1000)])
TERMS = st.builds(Population, st.just(PEOPLE), EPSILONS, DELTAS, st.integers(1, 3))


def lines(book):
    return [entry.kind for entry in book.entries()]


@given(TERMS, TERMS, st.booleans())
def test_a_larger_total_is_declared_only_if_that_was_said(now, wanted, said):
    larger = wanted.total_epsilon > now.total_epsilon or wanted.total_delta > now.total_delta
    fewer = wanted.rows_per_person < now.rows_per_person
    with closing(Ledger.declare(":memory:", now)) as book:
        if (larger and not said) or fewer:
            with pytest.raises(PrivityError, match=r"weakens what these people were promised|a person has up to"):
                change_population(book, wanted, now, raise_total=said)
            assert (book.population, lines(book)) == (now, [Kind.POPULATION])
        else:
            change_population(book, wanted, now, raise_total=said)
            assert book.population == wanted
            assert lines(book) == [Kind.POPULATION] * (1 if wanted == now else 2)


def test_what_was_changed_since_it_was_looked_at_is_not_changed_again():
    with closing(declared()) as book:
        seen = book.population
        change_population(book, replace(seen, total_epsilon=Fraction(5)), seen, raise_total=False)
        with pytest.raises(PrivityError, match="changed meanwhile, to epsilon 5"):
            change_population(book, replace(seen, total_epsilon=Fraction(4)), seen, raise_total=True)
        assert book.population.total_epsilon == 5


def test_what_a_run_reserved_is_returned_at_every_node_and_nothing_else(tmp_path):
    most = ApproxDP(Fraction(1, 2), Fraction(0), RELATION)
    with (
        closing(declared(tmp_path / "l", node="north")) as north,
        closing(declared(tmp_path / "l", node="south")) as south,
    ):
        north.reserve("lost", most, "north")
        south.reserve("lost", most, "south")
        south.reserve("other", most, "south")
        return_reserved(north, "lost")
        assert [(one.node, one.run) for one in north.reserved()] == [("south", "other")]
        assert lines(north)[-2:] == [Kind.RETURN, Kind.RETURN]
        with pytest.raises(PrivityError, match="'lost' has reserved nothing of 'people'"):
            return_reserved(north, "lost")
        assert lines(north).count(Kind.RETURN) == 2


@pytest.mark.parametrize(
    ("rows", "told"), [(1, "a person has 1 row."), (4, "a person has up to 4 rows.")], ids=["one row", "several"]
)
def test_terms_are_told_in_a_sentence(rows, told):
    people = Population("staff", Fraction(3, 2), Fraction(1, 10**6), rows)
    assert in_words(people) == f"'staff': epsilon 1.5 and delta 0.000001 in all; {told}"
