"""How an epsilon is written, and every text that is none."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.common.privacy.budget import LARGEST_EPSILON, SMALLEST_EPSILON, parse_epsilon


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


def test_more_digits_than_the_noise_can_serve_are_refused():
    with pytest.raises(PrivityError, match="too many digits"):
        parse_epsilon("0.1000000000000000055")
