"""What steps cost, how draws are shared out, and how an epsilon is written."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_table
from privity.common.errors import PrivityError
from privity.common.privacy.budget import LARGEST_EPSILON, SMALLEST_EPSILON, parse_epsilon, split_epsilon
from privity.common.privacy.step_cost import noise_scale, quotas, selection_epsilon, selection_scale

ROWS = st.lists(st.integers(1, 10**7), min_size=1, max_size=12)
DRAWS = st.integers(0, 200)


@given(DRAWS, ROWS, st.booleans())
def test_quotas_add_up_to_the_selections(draws, rows, balanced):
    counts = quotas(draws, rows, balanced=balanced)
    assert len(counts) == len(rows)
    assert sum(counts) == draws
    assert min(counts) >= 0


@given(DRAWS, ROWS)
def test_quotas_are_proportional_to_the_rows_to_less_than_one(draws, rows):
    for count, n in zip(quotas(draws, rows), rows, strict=True):
        assert abs(count - Fraction(draws * n, sum(rows))) < 1


@given(DRAWS, ROWS)
def test_more_rows_never_mean_fewer_selections(draws, rows):
    counts = quotas(draws, rows)
    for a, b in itertools.combinations(range(len(rows)), 2):
        if rows[a] != rows[b]:
            assert (counts[a] - counts[b]) * (rows[a] - rows[b]) >= 0


@given(DRAWS, ROWS)
def test_balanced_quotas_differ_by_one_at_most_and_go_to_the_earlier_parties(draws, rows):
    counts = quotas(draws, rows, balanced=True)
    assert max(counts) - min(counts) <= 1
    assert list(counts) == sorted(counts, reverse=True)


@pytest.mark.parametrize(
    ("draws", "rows", "expected"),
    [
        (2, [5, 5, 5, 5], (1, 1, 0, 0)),  # more parties than draws
        (10, [8000, 1000, 1000], (8, 1, 1)),
        (7, [80, 10, 10], (5, 1, 1)),
        (1, [1, 1000], (0, 1)),
        (0, [3, 4], (0, 0)),
        (9, [123], (9,)),
    ],
)
def test_quotas_of_known_cases(draws, rows, expected):
    assert quotas(draws, rows) == expected


@given(st.integers(1, 100), ROWS, st.fractions(min_value=Fraction(1, 100), max_value=10))
def test_every_party_that_selects_pays_the_series_epsilon_exactly(draws, rows, epsilon):
    for quota in quotas(draws, rows):
        if quota:
            assert quota * selection_epsilon(epsilon, quota) == epsilon


def test_noise_scale_is_two_tables_moved_over_epsilon():
    assert noise_scale(1, Fraction(1)) == 2
    assert noise_scale(21, Fraction("0.1")) == 420
    assert noise_scale(5, Fraction(1, 3)) == 30


def test_selection_scale_is_twice_the_sensitivity_over_epsilon():
    assert selection_scale(7, Fraction(1, 3)) == 42
    assert selection_scale(1, Fraction("0.7")) == Fraction(20, 7)


def tables_of(schema_table, rows, marginals):
    columns = tuple(np.array(column) for column in zip(*rows, strict=True))
    table = CodedTable(schema_table.schema, columns)
    return np.concatenate([contingency_table(table, m).ravel() for m in marginals])


def test_one_replaced_row_moves_m_tables_by_two_each_at_most_and_some_row_does(make_table):
    schema_table = make_table((2, 3, 2), 1)
    cells = list(itertools.product(range(2), range(3), range(2)))
    marginals = [(0,), (0, 1), (1, 2), (0, 1, 2)]
    for count in range(1, len(marginals) + 1):
        some = marginals[:count]
        moved = []
        for rest in itertools.combinations_with_replacement(cells[::4], 2):
            single = {row: tables_of(schema_table, [*rest, row], some) for row in cells}
            moved += [int(np.abs(single[a] - single[b]).sum()) for a, b in itertools.combinations(cells, 2)]
        assert max(moved) == 2 * count
        assert noise_scale(count, Fraction(1)) == max(moved)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0", 1),
        ("1", 1),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("2/6", Fraction(1, 3)),
        (" 0.5\n", Fraction(1, 2)),
        ("007", 7),
        ("100", LARGEST_EPSILON),
        ("0.000001", SMALLEST_EPSILON),
        ("0.333333", Fraction(333333, 10**6)),
        ("1/1000000", SMALLEST_EPSILON),
    ],
)
def test_epsilon_is_read_exactly(text, value):
    assert parse_epsilon(text) == value


@pytest.mark.statistical
@pytest.mark.parametrize(
    "text",
    [
        *("abc", "", " ", "0", "0.0", "0/1", "-1", "+1", "1e3", "1e-3", "1E2", "nan", "inf", "1/0", "101"),
        *("100.0000001", ".5", "5.", "1.5/2", "1/2/3", "1 / 3", "1 0", "1_0", "0x1", "1,5", "0.0000001"),
        *("0.1000000000000000055", "0.3333333", "1000000/1000001"),
        *("١", "１", "²", "½", "1\u00a00", "1\n2", "\x00"),  # digits elsewhere, but none that all would read alike
        *("1" * 5000, "1." + "0" * 5000, "1/1" + "0" * 5000, "0." + "3" * 10**6),
    ],
)
def test_what_is_not_a_plain_number_within_range_is_no_epsilon(text):
    with pytest.raises(PrivityError) as caught:
        parse_epsilon(text, "total_epsilon")
    assert caught.value.code == "bad-option"
    assert caught.value.message.startswith("total_epsilon: ")
    assert len(str(caught.value)) < 300
    assert caught.value.remedy


@given(st.text())
def test_any_text_is_an_epsilon_or_a_catalogued_error(text):
    value, code = SMALLEST_EPSILON, "bad-option"
    try:
        value = parse_epsilon(text)
    except PrivityError as error:
        code = error.code
    assert SMALLEST_EPSILON <= value <= LARGEST_EPSILON
    assert code == "bad-option"


WEIGHTS = st.lists(st.fractions(min_value=Fraction(1, 50), max_value=100, max_denominator=50), min_size=1, max_size=6)


@given(st.fractions(min_value=Fraction(1, 10), max_value=100, max_denominator=10**6), WEIGHTS)
def test_the_parts_of_epsilon_add_up_to_it_and_follow_the_weights_to_a_millionth(epsilon, weights):
    parts = split_epsilon(epsilon, weights)
    assert sum(parts) == epsilon
    assert min(parts) > 0
    exact = [epsilon * weight / sum(weights) for weight in weights]
    for part, share in zip(parts[:-1], exact[:-1], strict=True):
        assert part <= share < part + Fraction(1, 10**6)
        assert part.denominator <= 10**6
    assert exact[-1] <= parts[-1] < exact[-1] + Fraction(len(weights), 10**6)


def test_parts_of_few_digits_are_exact():
    assert split_epsilon(Fraction(1), [Fraction(1), Fraction(2)]) == [Fraction(1, 3), Fraction(2, 3)]


def test_an_epsilon_too_small_to_be_split_is_refused():
    with pytest.raises(PrivityError, match="too small to be split") as caught:
        split_epsilon(SMALLEST_EPSILON, [Fraction(1), Fraction(1)])
    assert caught.value.code == "bad-option"


def test_more_digits_than_the_noise_can_serve_are_refused():
    with pytest.raises(PrivityError, match="too many digits"):
        parse_epsilon("0.1000000000000000055")
