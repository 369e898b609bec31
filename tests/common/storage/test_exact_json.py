"""JSON is read exactly, and within its bounds: at them, and refused one beyond."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.storage.exact_json import DEEPEST, LARGEST_EXPONENT, MOST_DIGITS, read_exactly

PLAIN = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text()
DOCUMENTS = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


@given(DOCUMENTS)
def test_plain_documents_are_read_as_they_are(document: object) -> None:
    assert read_exactly(json.dumps(document)) == document


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_is_within_the_bounds(number: float) -> None:
    assert read_exactly(repr(number)) == Decimal(repr(number))
    assert read_exactly(repr(number), doubles=True) == number


@pytest.mark.parametrize(
    ("within", "beyond", "word"),
    [
        ("9" * MOST_DIGITS, "9" * (MOST_DIGITS + 1), "digits"),
        ("0." + "1" * (MOST_DIGITS - 2), "0." + "1" * MOST_DIGITS, "digits"),
        (f"1e{LARGEST_EXPONENT}", f"1e{LARGEST_EXPONENT + 1}", "exponent"),
        (f"1e-{LARGEST_EXPONENT}", f"1e-{LARGEST_EXPONENT + 1}", "exponent"),
        ("1e9", "1e999999999999999999999", "exponent"),
        (deep(DEEPEST + 1), deep(DEEPEST + 2), "deeper"),
        (deep(2), deep(200_000), "deep"),
        ('{"a": 1, "b": 1}', '{"a": 1, "a": 1}', "twice"),
        ("1", "NaN", "NaN"),
    ],
)
def test_a_bound_is_a_bound(within: str, beyond: str, word: str) -> None:
    read_exactly(within)
    with pytest.raises(ValueError, match=word):
        read_exactly(beyond)
