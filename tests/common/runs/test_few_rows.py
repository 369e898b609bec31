"""Which open numbers few rows would not tell, and the ends and bins that a person gives."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.schema import parse_schema
from privity.common.errors import ProblemsFound
from privity.common.runs.few_rows import DECLARED_BINS, hidden_numbers, with_ends

FIELDS: dict[str, dict[str, Any]] = {
    "age": {"type": "integer", "domain": "discover", "constraints": {"minimum": 0}},
    "rate": {"type": "number", "domain": "discover", "decimals": 1},
    "day": {"type": "date", "domain": "discover"},
    "at": {"type": "datetime", "domain": "discover", "format": "%d.%m.%Y %H:%M"},
    "sex": {"type": "string", "categories": ["f", "m"]},
}


def document(*names: str, **more: Any) -> dict[str, Any]:
    return {"fields": [{"name": name, **FIELDS[name]} for name in names], **more}


def test_numbers_are_hidden_by_the_number_of_rows_alone() -> None:
    three = document("age", "rate", "day", "sex")
    schema = parse_schema(three, "s")
    assert hidden_numbers(schema, 300) == ("age", "rate", "day")
    assert hidden_numbers(schema, 30_000) == ()
    assert hidden_numbers(schema, 0) == (), "of a schema that is no draft nobody knows the rows"
    known = with_ends(three, "age", ["0", "120", "10"], "s")
    assert hidden_numbers(parse_schema(known, "s"), 300) == ("rate", "day")
    people = parse_schema({**three, "absentRows": True}, "s")
    assert hidden_numbers(people, 300) == (), "their number is private"


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
    found = with_ends(document(name), name, texts, "s")
    assert found["fields"][0]["bins"] == bins
    assert "domain" not in found["fields"][0]
    assert len(parse_schema(found, "s").attributes[0].edges) == bins + 1


words = st.one_of(
    st.integers(-10, 10**6).map(str), st.floats().map(str), st.dates().map(str), st.text(max_size=8), st.just("1e3")
)


@given(st.sampled_from(["age", "rate", "day", "sex"]), st.lists(words, max_size=4))
def test_ends_fit_or_are_refused_with_what_is_wrong(name: str, texts: list[str]) -> None:
    before = document(name)
    with contextlib.suppress(ProblemsFound):
        parse_schema(with_ends(before, name, texts, "s"), "s")
    assert before == document(name)
