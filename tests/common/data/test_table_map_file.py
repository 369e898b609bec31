"""What a map of an owner's table may say: every fault at once, with its place and what to write."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privity.common.data.schema import parse_schema
from privity.common.data.table_map_file import load_table_map, parse_table_map
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.storage.exact_json import read_exactly

SCHEMA = parse_schema(
    {
        "fields": [
            {"name": "sex", "type": "string", "categories": ["f", "m"], "missingValues": ["", "?"]},
            {"name": "kind", "type": "string", "categories": ["a", "rest"], "outOfDomain": "other", "other": "rest"},
            {"name": "weight", "type": "number", "bins": 4, "constraints": {"minimum": 0, "maximum": 200}},
            {"name": "day", "type": "date", "bins": 2,
             "constraints": {"minimum": "2024-01-01", "maximum": "2024-12-31"}},
            {"name": "month", "type": "integer", "categories": list(range(1, 13)),
             "compute": {"from": "left", "part": "month", "type": "date"}},
            {"name": "town", "type": "string", "domain": "discover", "other": "elsewhere"},
        ]
    },
    "s",
)  # fmt: skip


def parsed(*fields: dict[str, Any], **more: Any) -> Any:
    return parse_table_map({"format_version": 1, "fields": list(fields), **more}, SCHEMA, "map.json")


def faults(*fields: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    with pytest.raises(ProblemsFound) as found:
        parsed(*fields, **more)
    assert all(problem.file == "map.json" and problem.remedy for problem in found.value.problems)
    return [(problem.field, problem.rule) for problem in found.value.problems]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"name": "sx"}, ("name", "unknown-attribute")),
        ({"name": "sex", "codes": {"1": "male"}}, ("codes.1", "out-of-domain")),
        ({"name": "sex", "codes": {"1": "?"}}, ("codes.1", "out-of-domain")),
        ({"name": "kind", "codes": {"1": "b"}}, ("codes.1", "out-of-domain")),
        ({"name": "day", "codes": {"1": "2031-01-01"}}, ("codes.1", "out-of-domain")),
        ({"name": "weight", "codes": {"1": "5"}, "factor": 2}, ("factor", "two-readings")),
        ({"name": "sex", "codes": {"1": "m"}, "missingValues": ["1"]}, ("missingValues", "two-readings")),
        ({"name": "sex", "factor": 2}, ("factor", "unit")),
        ({"name": "day", "offset": 2}, ("offset", "unit")),
        ({"name": "left", "factor": 2}, ("factor", "unit")),
        ({"name": "weight", "format": "%d.%m.%Y"}, ("format", "format")),
        ({"name": "day", "format": "%d.%m"}, ("format", "format")),
        ({"name": "weight", "missingValues": ["-1"]}, ("missingValues", "no-missing-values")),
        ({"name": "sex", "codes": {"1": "m"}, "readOffRows": "undeclared"}, ("readOffRows", "undeclared")),
        ({"name": "weight", "factor": 0}, ("factor", "exclusiveMinimum")),
        ({"name": "weight", "factor": "2"}, ("factor", "type")),
        ({"name": "weight", "unit": "lb"}, ("unit", "additionalProperties")),
        ({"name": "weight", "column": "kind"}, ("column", "two-readings")),
    ],
)
def test_each_fault_is_refused_where_it_is(field: dict[str, Any], expected: tuple[str, str]) -> None:
    place, rule = expected
    assert faults(field) == [(f"fields[0].{place}", rule)]


SEVERAL = parse_schema(
    {
        "fields": [
            {"name": "before", "type": "number", "bins": 4, "constraints": {"minimum": 0, "maximum": 200},
             "missingValues": [""]},
            {"name": "gain", "type": "number", "bins": 4, "constraints": {"minimum": -50, "maximum": 50},
             "missingValues": [""], "compute": {"from": "after", "less": "before"}},
            {"name": "stay", "type": "integer", "domain": "discover", "constraints": {"minimum": 0},
             "compute": {"from": "left", "less": "came", "type": "date"}},
            {"name": "place", "type": "string", "categories": ["a | b"], "outOfDomain": "other", "other": "a | b",
             "compute": {"from": "ward", "with": ["room"]}},
        ]
    },
    "s",
)  # fmt: skip


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"name": "after", "codes": {"1": "2"}}, ["codes"]),
        ({"name": "before", "factor": 2, "missingValues": ["-9"]}, ["factor", "missingValues"]),
        ({"name": "left", "offset": 1}, ["offset"]),
        ({"name": "came", "missingValues": ["31.12.9999"]}, ["missingValues"]),
        ({"name": "room", "codes": {"1": "b"}}, ["codes"]),
        ({"name": "after", "format": "%d.%m.%Y"}, ["format"]),
        ({"name": "room", "format": "%d.%m.%Y"}, ["format"]),
        ({"name": "room", "column": "Zimmer"}, []),
        ({"name": "left", "column": "bis", "format": "%d.%m.%Y"}, []),
    ],
)
def test_of_columns_that_another_is_computed_of_a_map_says_name_and_format(
    field: dict[str, Any], expected: list[str]
) -> None:
    document = {"format_version": 1, "fields": [field]}
    if not expected:
        parse_table_map(document, SEVERAL, "map.json")
        return
    with pytest.raises(ProblemsFound) as found:
        parse_table_map(document, SEVERAL, "map.json")
    rule = "format" if expected == ["format"] else "several-columns"
    assert [(one.field, one.rule) for one in found.value.problems] == [(f"fields[0].{key}", rule) for key in expected]


def test_a_difference_that_has_its_own_column_leaves_units_to_the_others() -> None:
    fields = [{"name": "before", "factor": 2, "missingValues": ["-9"]}, {"name": "gain", "column": "kg", "factor": 2}]
    found = parse_table_map({"format_version": 1, "fields": fields}, SEVERAL, "map.json")
    assert found.place_of(SEVERAL.attributes[1], {"kg", "before", "after"}) == ("kg", False)


@pytest.mark.parametrize("declared", [{}, {"format": "%d.%m.%y", "yearsFrom": 1920}])
def test_years_of_two_digits_are_those_of_the_schema(declared: dict[str, Any]) -> None:
    schema = parse_schema({"fields": [{"name": "born", "type": "date", "domain": "discover", **declared}]}, "s")
    document = {"format_version": 1, "fields": [{"name": "born", "format": "%m/%d/%y"}]}
    moment = parse_table_map(document, schema, "map.json").columns["born"].moment
    assert moment is not None
    assert moment.iso(moment.read("02/03/25") or 0) == ("1925-02-03" if declared else "2025-02-03")


def test_all_faults_are_told_at_once() -> None:
    fields = [{"name": "sex", "column": "a"}, {"name": "sex", "column": "b"}, {"name": "nobody"}, {"name": "day"}]
    assert faults(*fields, leaveOut=["b", "weight"]) == [
        ("fields[1].name", "duplicate-name"),
        ("fields[2].name", "unknown-attribute"),
        ("leaveOut[0]", "two-readings"),
        ("leaveOut", "left-out"),
    ]


def test_numbers_are_exact_and_places_have_lines(tmp_path: Path) -> None:
    text = '{"format_version": 1, "fields": [\n{"name": "weight", "factor": 0.45359237, "offset": -1e-30}]}'
    own = parse_table_map(read_exactly(text), SCHEMA, "map.json").columns["weight"]
    assert (own.factor, own.offset) == (Fraction(45359237, 10**8), Fraction(-1, 10**30))
    file = tmp_path / "map.json"
    file.write_text(text.replace("weight", "height"))
    with pytest.raises(ProblemsFound) as found:
        load_table_map(file, SCHEMA)
    assert [problem.line for problem in found.value.problems] == [2]
    file.write_text('{"format_version": 1, "fields": [{"name": "sex", "codes": {"1": "f", "1": "m"}}]}')
    with pytest.raises(PrivityError, match="'1'"):
        load_table_map(file, SCHEMA)


def test_what_may_be_said() -> None:
    found = parsed(
        {"name": "sex", "column": "kind", "codes": {"1": "m"}, "missingValues": ["9"]},
        {"name": "kind", "column": "sex", "readOffRows": "data owner"},
        {"name": "left", "format": "%d.%m.%Y"},
        {"name": "town", "codes": {"1": "Bern"}},
        leaveOut=["month", "key"],
    )
    assert [found.name_of(name) for name in ("sex", "kind", "weight")] == ["kind", "sex", "weight"]
    assert found.in_words() == [
        "sex: column kind; codes 1 = m; no value: '9'.",
        "kind: column sex.",
        "left: column left; written as %d.%m.%Y.",
        "town: column town; codes 1 = Bern.",
        "Not read: key, month.",
    ]
