"""What a run would model together, and what would fit: by public numbers, before anything is spent."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.schema import Schema, parse_schema
from privity.common.runs.modelled_together import LARGEST_ADVISED, Together, foreseen, in_words
from privity.common.synthesis.algorithms import ALGORITHMS

DELTA = Fraction(1, 10**6)


def schema(attributes: int = 117, values: int = 8, *more: dict[str, object]) -> Schema:
    fields = [{"name": f"A{a}", "type": "integer", "categories": list(range(values))} for a in range(attributes)]
    return parse_schema({"fields": [*fields, *more]}, "schema")


def of_one(table: Schema, rows: int, algorithm: str = "mst", epsilon: str = "1", delta: Fraction = DELTA):
    return foreseen(table, [rows], 0, algorithm, {}, Fraction(epsilon), delta)


def test_many_attributes_of_few_rows_are_mostly_alone_and_it_says_what_fits() -> None:
    told = of_one(schema(), 2265, "aim")
    assert told is not None
    assert 80 < told.alone < 117
    assert (told.enough, told.out_of_reach) == (False, ())
    assert 5 < told.fitting < 25
    said = in_words(told.to_dict(), 2265, Fraction(1), DELTA)
    assert len(said) == 2
    assert (
        f"{117 - told.alone} of 117 attributes can be modelled together at epsilon 1, delta 0.000001 and 2,265"
        in said[0]
    )
    assert f"no more than {told.fitting} of them" in said[1]


@pytest.mark.parametrize("delta", [DELTA, Fraction(0)])
@pytest.mark.parametrize(("attributes", "values", "rows"), [(40, 12, 5000), (12, 20, 900), (6, 30, 300)])
def test_what_would_fit_does(attributes: int, values: int, rows: int, delta: Fraction) -> None:
    told = of_one(schema(attributes, values), rows, delta=delta)
    assert told is not None
    assert of_one(schema(told.fitting, values), rows, delta=delta) is None
    if told.values:
        assert of_one(schema(attributes, told.values), rows, delta=delta) is None
        assert of_one(schema(attributes, told.values + 1), rows, delta=delta) is not None
    if told.epsilon:
        assert Fraction(told.epsilon) > 1
        assert of_one(schema(attributes, values), rows, epsilon=told.epsilon, delta=delta) is None


def test_nothing_is_said_where_nothing_is_known_to_be_alone() -> None:
    assert of_one(schema(), 50_000_000) is None
    assert of_one(schema(1), 10) is None
    for algorithm in ("one-way", "copula", "dp-ccbn", "discover"):
        assert of_one(schema(6), 300, algorithm) is None
    assert in_words(None, 300, Fraction(1), DELTA) == []


def test_attributes_that_noise_hides_beside_every_other_are_named() -> None:
    codes = {"name": "code", "type": "integer", "categories": list(range(3000))}
    told = of_one(schema(6, 2, codes), 1000)
    assert told is not None
    assert told.out_of_reach == ("code",)
    assert "with: code." in " ".join(in_words(told.to_dict(), 1000, Fraction(1), DELTA))


def test_an_algorithm_that_leaves_some_alone_is_told_of_one_that_does_not() -> None:
    told = of_one(schema(10, 8), 4000, "privhd")
    assert told is not None
    assert told.enough
    assert (
        in_words(told.to_dict(), 4000, Fraction(1), DELTA)[-1] == "The algorithm mst would model all of them together."
    )


def test_open_domains_an_evaluation_and_several_parties_leave_less() -> None:
    opened = [{"name": f"open{a}", "type": "integer", "domain": "discover"} for a in range(4)]
    less = foreseen(schema(20, 8, *opened), [1000, 1000, 1000], 1, "aim", {}, Fraction(1), DELTA, Fraction(1, 4))
    more = of_one(schema(24, 8), 3000, "aim")
    assert less is not None
    assert more is not None
    assert less.fitting < more.fitting
    assert less.alone > more.alone


@given(
    st.integers(2, 30), st.integers(2, 40), st.integers(50, 10**6), st.sampled_from([Fraction(0), DELTA]),
    st.fractions(Fraction(1, 100), 20, max_denominator=100),
    st.sampled_from([name for name, kind in ALGORITHMS.items() if kind.joins and not kind.apart]),
)  # fmt: skip
def test_what_is_told_is_in_bounds(attributes, values, rows, delta, epsilon, algorithm) -> None:
    told = foreseen(schema(attributes, values), [rows], 0, algorithm, {}, epsilon, delta)
    if told is None:
        return
    assert isinstance(told, Together)
    assert 0 < told.alone <= attributes
    assert 1 < told.fitting <= attributes
    assert told.epsilon is None or epsilon < Fraction(told.epsilon) < LARGEST_ADVISED
    assert told.values is None or 1 < told.values < values
    assert all(len(sentence) < 300 for sentence in in_words(told.to_dict(), rows, epsilon, delta))
