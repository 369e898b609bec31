"""Which open numbers few rows would not tell, and the ends and bins that a person gives."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.schema import parse_schema
from privity.common.errors import ProblemsFound
from privity.common.runs.few_rows import DECLARED_BINS, hidden_numbers, with_ends

OPEN = {
    "fields": [
        {"name": "age", "type": "integer", "domain": "discover", "constraints": {"minimum": 0}},
        {"name": "rate", "type": "number", "domain": "discover", "decimals": 1},
        {"name": "day", "type": "date", "domain": "discover"},
        {"name": "at", "type": "datetime", "domain": "discover", "format": "%d.%m.%Y %H:%M"},
        {"name": "sex", "type": "string", "categories": ["f", "m"]},
    ]
}


def test_numbers_are_hidden_by_the_number_of_rows_alone() -> None:
    schema = parse_schema(OPEN, "s")
    assert hidden_numbers(schema, 300) == ("age", "rate", "day", "at")
    assert hidden_numbers(schema, 30_000) == ()
    assert hidden_numbers(schema, 0) == (), "of a schema that is no draft nobody knows the rows"
    known = with_ends(OPEN, "age", ["0", "120", "10"], "s")
    assert hidden_numbers(parse_schema(known, "s"), 300) == ("rate", "day", "at")
    people = {**OPEN, "absentRows": True}
    assert hidden_numbers(parse_schema(people, "s"), 300) == (), "their number is private"


@pytest.mark.parametrize(
    ("name", "texts", "bins"),
    [
        ("age", ["0", "120", "10"], 10),
        ("age", ["0", "5", "10"], 6),
        ("age", ["1", "2", str(DECLARED_BINS)], 2),
        ("rate", ["-1.5", "2", "10"], 10),
        ("rate", ["0", "0.3", "10"], 4),
        ("day", ["2020-01-01", "2020-01-05", "10"], 5),
        ("at", ["2020-01-01T08:00", "2020-12-31T18:00", "10"], 10),
    ],
)
def test_bins_are_no_more_than_there_are_values(name: str, texts: list[str], bins: int) -> None:
    found = with_ends(OPEN, name, texts, "s")
    field = next(field for field in found["fields"] if field["name"] == name)
    assert field["bins"] == bins
    assert "domain" not in field
    assert len(parse_schema(found, "s").attributes[parse_schema(found, "s").index(name)].edges) == bins + 1


words = st.one_of(
    st.integers(-10, 10**6).map(str), st.floats().map(str), st.dates().map(str), st.text(max_size=8), st.just("1e3")
)


@given(st.sampled_from([field["name"] for field in OPEN["fields"]]), st.lists(words, max_size=4))
def test_ends_fit_or_are_refused_with_what_is_wrong(name: str, texts: list[str]) -> None:
    before = repr(OPEN)
    with contextlib.suppress(ProblemsFound):
        parse_schema(with_ends(OPEN, name, texts, "s"), "s")
    assert repr(OPEN) == before
