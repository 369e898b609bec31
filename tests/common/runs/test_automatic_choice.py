"""The algorithm of a run that names none: by public numbers alone, and never with a delta of its own."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.schema import Schema, parse_schema
from privity.common.runs.automatic_choice import CANDIDATES, LARGEST_PART, choose, noise_part
from privity.common.synthesis.algorithms import ALGORITHMS

DELTA = Fraction(1, 10**9)


def schema(attributes: int = 10, values: int = 8) -> Schema:
    fields = [{"name": f"A{a}", "type": "integer", "categories": list(range(values))} for a in range(attributes)]
    return parse_schema({"fields": fields}, "schema")


@pytest.mark.parametrize(
    ("table", "rows", "epsilon", "delta", "algorithm"),
    [
        (schema(), [50_000], Fraction(1), DELTA, "aim"),
        (schema(), [50_000], Fraction(1), Fraction(0), "aim"),
        (schema(), [500], Fraction(1, 10), Fraction(0), "privbayes"),
        (schema(), [500], Fraction(1, 10), DELTA, "aim"),
        (schema(60, 16), [20_000] * 3, Fraction(1, 5), Fraction(0), "privbayes"),
        (schema(2, 2000), [50_000], Fraction(1), DELTA, "one-way"),
        (schema(1), [50_000], Fraction(1), Fraction(0), "aim"),
    ],
)
def test_what_it_takes(table, rows, epsilon, delta, algorithm):
    chosen = choose(table, rows, int(len(rows) > 1), epsilon, delta)
    assert chosen.algorithm == algorithm
    assert chosen.document()["reason"] == chosen.reason


@given(
    st.integers(1, 30), st.integers(2, 40), st.lists(st.integers(1, 10**7), min_size=1, max_size=5),
    st.fractions(Fraction(1, 100), 10, max_denominator=100), st.sampled_from([Fraction(0), DELTA]),
)  # fmt: skip
def test_what_is_chosen_can_run(attributes, values, rows, epsilon, delta):
    table = schema(attributes, values)
    chosen = choose(table, rows, int(len(rows) > 1), epsilon, delta)
    assert chosen.algorithm in CANDIDATES
    ALGORITHMS[chosen.algorithm].check_request({}, table, delta)
    assert len(chosen.reason) < 300


@given(st.integers(2, 20), st.integers(100, 10**6), st.fractions(Fraction(1, 100), 10, max_denominator=100))
def test_more_rows_epsilon_or_a_delta_never_make_noise_a_larger_part(attributes, rows, epsilon):
    table = schema(attributes)
    part = noise_part(table, [rows], 0, epsilon, Fraction(0))
    assert noise_part(table, [2 * rows], 0, epsilon, Fraction(0)) <= part
    assert noise_part(table, [rows], 0, 2 * epsilon, Fraction(0)) <= part * (1 + 1e-9)
    # Shared among three, of whom one may collude, noise is wider.
    assert noise_part(table, [rows, rows, rows], 1, epsilon, Fraction(0)) <= part
    if choose(table, [rows], 0, epsilon, Fraction(0)).algorithm == "aim":
        assert part <= LARGEST_PART
