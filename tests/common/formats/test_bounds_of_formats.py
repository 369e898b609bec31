"""Every text, integer and exact number of every format has a bound, and no text but content has a line end last."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common import formats
from tests.hostile.parsers import FORMATS

CONTENT = {
    "history": {"description"},
    "table_schema": {"categories", "missingValues", "values", "groups", "other", "description"},
    "invite": {"authority"},
    "join": {"certificate"},
    "manifest": {"certificates"},
}
"""Texts that are values of a table as they stand in its file, prose, or PEM, which ends with a line end."""
LONGEST, LONGEST_PEM = 10_000, 20_000
NAMES_OF_MEMBERS = ("properties", "patternProperties", "$defs")


def places(form: Any, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema in a schema, with the name of the member that it is about."""
    if isinstance(form, list):
        for one in form:
            yield from places(one, name)
    elif isinstance(form, dict):
        yield name, form
        for key, value in form.items():
            if key in NAMES_OF_MEMBERS:
                for member, inner in value.items():
                    yield from places(inner, member)
            elif key not in ("const", "enum", "required", "dependentRequired", "default", "examples"):
                yield from places(value, name)


def has_type(form: dict[str, Any], wanted: str) -> bool:
    types = form.get("type", [])
    return "enum" not in form and "const" not in form and wanted in ([types] if isinstance(types, str) else types)


def fits(form: dict[str, Any], value: object) -> bool:
    return bool(formats.Validator(form).is_valid(value))


def faults(form: dict[str, Any], format_name: str = "") -> list[str]:
    found = []
    for name, part in places(form):
        if has_type(part, "integer") and not {"maximum", "exclusiveMaximum"} & part.keys():
            found.append(f"{name}: no maximum")
        pattern = part.get("pattern", "")
        if pattern.count("$") > pattern.endswith("$"):
            found.append(f"{name}: a pattern with a $ before its end")
        if pattern and pattern != formats.EXACT and re.search(pattern, "1/2") and not re.search(pattern, "x"):
            found.append(f"{name}: another pattern of exact numbers")
        if not has_type(part, "string"):
            continue
        if name not in CONTENT.get(format_name, ()):
            if not (pattern.startswith("^") and pattern.endswith("$")):
                found.append(f"{name}: no pattern of the whole text")
            elif any(fits(part, text + end) for text in ("a", "1", "1/2", "", "a:1") for end in ("\n", "\r\n")):
                found.append(f"{name}: takes a line end")
        if any(fits(part, sign * LONGEST_PEM + rest) for sign in "a1:" for rest in ("", ":1", "@b", "/2")):
            found.append(f"{name}: no bound")
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_every_text_and_integer_of_a_format_has_a_bound(name: str) -> None:
    assert not faults(formats.load(name), name)


def test_what_has_no_bound_is_found() -> None:
    text, number = {"type": "string"}, {"type": ["integer", "null"]}
    form = {"properties": {"a": text, "b": number, "c": {**text, "pattern": "^[0-9]+(/[0-9]+)?$", "maxLength": 9}}}
    found = faults(form)
    assert [fault.partition(":")[0] for fault in found] == ["a", "a", "b", "c"]


def test_a_pattern_ends_where_the_text_ends() -> None:
    assert not fits({"pattern": "^a$"}, "a\n")
    assert fits({"pattern": "^a$"}, "a")


@given(st.fractions(min_value=0))
def test_every_exact_number_that_is_written_is_taken(number: Any) -> None:
    assert fits({"pattern": formats.EXACT}, str(number))


@pytest.mark.parametrize(
    "text", ["1/0", "0/0", "9" * 5000, "1/" + "9" * 5000, "1e999999999", "-1", "nan", "01", "1/2\n"]
)
def test_no_other_is(text: str) -> None:
    found = formats.check({"epsilon": text}, "run", "run.json")
    assert ["is no exact number" in problem.message for problem in found if problem.field == "epsilon"] == [True]
