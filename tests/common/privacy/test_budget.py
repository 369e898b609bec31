"""How an epsilon is written, and every text that is none."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.common.privacy.budget import LARGEST_EPSILON, SMALLEST_EPSILON, parse_delta, parse_epsilon


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
        ("1e-3", Fraction(1, 1000)),
        ("2.5E1", 25),
        (1, 1),
        (0.1, Fraction(1, 10)),
        (1e-5, Fraction(1, 100_000)),
        (np.float64(0.3), Fraction(3, 10)),
        (np.int64(3), 3),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.10"), Fraction(1, 10)),
    ],
)
def test_epsilon_is_read_exactly(text, value):
    assert parse_epsilon(text) == value


@pytest.mark.statistical
@pytest.mark.parametrize(
    "text",
    [
        *(
            "abc",
            "",
            " ",
            "0",
            "0.0",
            "0/1",
            "-1",
            "+1",
            "1e3",
            "1e-7",
            "1E3",
            "1e",
            "e1",
            "1e1e1",
            "nan",
            "inf",
            "1/0",
            "101",
        ),
        *("100.0000001", ".5", "5.", "1.5/2", "1/2/3", "1 / 3", "1 0", "1_0", "0x1", "1,5", "0.0000001"),
        *("0.1000000000000000055", "0.3333333", "1000000/1000001"),
        *("١", "１", "²", "½", "1\u00a00", "1\n2", "\x00"),  # digits elsewhere, but none that all would read alike
        *("1" * 5000, "1." + "0" * 5000, "1/1" + "0" * 5000, "0." + "3" * 10**6),
        *(
            None,
            True,
            -1,
            0.0,
            float("nan"),
            float("inf"),
            0.1 + 0.2,
            Decimal("NaN"),
            Decimal("-1"),
            [1],
            b"1",
            "1e999",
        ),
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


@pytest.mark.parametrize("value", ["1e-9", 1e-9, Decimal("1e-9"), Fraction(1, 10**9), "0.000000001"])
def test_a_delta_may_be_written_with_an_exponent(value):
    assert parse_delta(value) == Fraction(1, 10**9)


@pytest.mark.parametrize("value", ["1e-2", 0.5, -1e-9, None, "1e", float("nan"), True])
def test_what_is_no_delta(value):
    with pytest.raises(PrivityError, match=r"delta: .* is not a number from 0 to 0\.001"):
        parse_delta(value)


def test_more_digits_than_the_noise_can_serve_are_refused():
    with pytest.raises(PrivityError, match="too many digits"):
        parse_epsilon("0.1000000000000000055")
