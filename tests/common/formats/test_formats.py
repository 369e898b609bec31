import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from privity.common import formats
from privity.common.errors import PrivityError, ProblemsFound

NAMES = sorted(path.name.removesuffix(".schema.json") for path in Path(formats.__file__).parent.glob("*.schema.json"))
CONDITIONS = {"if", "then", "else", "allOf", "oneOf", "not"}
"""Keywords below which a JSON Schema only repeats keys that are declared elsewhere."""


def undescribed(form, place=""):
    """Every key that a JSON Schema declares without a description, as a path: ``properties/a/items/properties/b``."""
    found = []
    for word, inner in form.items():
        named = word in ("properties", "$defs")
        if word in CONDITIONS or not isinstance(inner, dict | list):
            continue
        entries = inner.items() if named else [("", inner)] if isinstance(inner, dict) else enumerate(inner)
        for name, one in entries:
            if isinstance(one, dict):
                path = "/".join(str(part) for part in (place, word, name) if part != "")
                if word == "properties" and not one.get("description", "").strip():
                    found.append(path)
                found += undescribed(one, path)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_key_has_a_description(name):
    assert undescribed(formats.load(name)) == []


def test_a_key_without_a_description_is_found():
    bare, described = {"type": "string"}, {"type": "string", "description": "name of the run"}
    form = {
        "required": ["a"],
        "properties": {
            "a": {**described, "properties": {"b": bare}},
            "c": {**described, "items": {"properties": {"d": bare}}},
        },
        "$defs": {"e": {"properties": {"f": {"type": "string", "description": " "}, "g": described}}},
        "anyOf": [{"properties": {"h": bare}}, {"type": "null"}],
        "if": {"properties": {"a": bare}},
        "allOf": [{"then": {"properties": {"a": bare}}}],
    }
    assert undescribed(form) == [
        "properties/a/properties/b",
        "properties/c/items/properties/d",
        "$defs/e/properties/f",
        "anyOf/0/properties/h",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_committed_formats_are_valid_json_schemas(name):
    Draft202012Validator.check_schema(formats.load(name))


def test_unknown_format():
    with pytest.raises(KeyError, match="nothing"):
        formats.load("nothing")


def test_every_violation_is_reported_at_once_with_its_place():
    document = {
        "colour": 1,
        "format_version": "1",
        "fields": [
            {"name": "", "type": "text"},
            {"type": "string", "categories": []},
            {"name": "a", "type": "integer", "bins": 0, "edges": [1], "constraints": {"minimum": "x", "max": 3}},
            {"name": "b", "type": "string", "missingValues": ["", ""], "taxonomy": {"A": {"B": 7}}},
        ],
    }
    found = {(problem.field, problem.rule) for problem in formats.check(document, "table_schema", "s.json")}
    assert found == {
        ("colour", "additionalProperties"),
        ("format_version", "const"),
        ("fields[0].name", "minLength"),
        ("fields[0].type", "enum"),
        ("fields[1]", "required"),
        ("fields[1].categories", "minItems"),
        ("fields[2].bins", "minimum"),
        ("fields[2].edges", "minItems"),
        ("fields[2].constraints.max", "additionalProperties"),
        ("fields[2].constraints.minimum", "type"),
        ("fields[3].missingValues", "uniqueItems"),
        ("fields[3].taxonomy.A.B", "type"),
    }


@pytest.mark.parametrize("name", [name for name in NAMES if "format_version" in formats.load(name)["properties"]])
def test_every_format_is_version_1_and_of_another_nothing_else_is_said(name):
    assert formats.load(name)["properties"]["format_version"]["const"] == 1
    for version in (0, 2):
        (problem,) = formats.check({"format_version": version, "colour": 1}, name, "f.json")
        assert str(problem) == (
            f"f.json: format_version: [format-version] {version} is not 1."
            " Another version of Privity wrote it: install that one, or a later one."
        )


def test_messages_name_what_was_found_and_what_to_do():
    problems = formats.check({"fields": [{"type": "string", "x" * 500: 1}]}, "table_schema", "s.json")
    unknown, missing = sorted(problems, key=lambda problem: problem.rule)
    assert missing.message == "the key 'name' is missing."
    assert len(unknown.message) < 100
    assert "categories" in unknown.remedy
    assert str(missing).startswith("s.json: fields[0]: [required]")


def test_require_raises_all_problems():
    with pytest.raises(ProblemsFound) as caught:
        formats.require({"fields": 3, "name": 3}, "table_schema", "s.json")
    assert [problem.field for problem in caught.value.problems] == ["fields", "name"]


def test_deep_nesting_and_lone_surrogates_are_reported_not_raised():
    deep: dict = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert [problem.rule for problem in formats.check({"fields": deep}, "table_schema", "s")] == ["depth"]
    assert [problem.rule for problem in formats.check({"name": "\ud800"}, "table_schema", "s")] == ["text"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": }', "line 1"),
        ("[" * 100_000, "deep"),
        ("1" * 5000, "JSON"),
    ],
)
def test_json_that_is_not_plain_is_unreadable(tmp_path, text, word):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(PrivityError, match=word) as caught:
        formats.read_json(path)
    assert caught.value.code == "file-unreadable"


def test_json_numbers_are_exact(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"a": 0.1000000000000000055, "b": 123456789012345678901234567890}')
    assert json.dumps({key: str(value) for key, value in formats.read_json(path).items()}) == (
        '{"a": "0.1000000000000000055", "b": "123456789012345678901234567890"}'
    )


def test_missing_file(tmp_path):
    with pytest.raises(PrivityError, match="no such file"):
        formats.read_json(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PrivityError, match="UTF-8"):
        formats.read_json(tmp_path / "bytes.json")


WHOLE = st.integers(-3, 3) | st.integers()
NUMBERS = WHOLE | st.floats() | st.decimals(allow_nan=False)
ITEMS = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number", "string", "array", ["number", "null"]])},
    optional={"minimum": WHOLE, "maximum": WHOLE, "description": st.just("a number"), "exclusiveMinimum": WHOLE},
)
FORMS = st.fixed_dictionaries(
    {"items": ITEMS | st.booleans()}, optional={"type": st.just("array"), "prefixItems": st.lists(ITEMS, max_size=2)}
)
VALUES = st.sampled_from([0, 1, True, 1.0, Decimal(1), "a", "ab", None, [], {}]) | NUMBERS
PROPERTIES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["integer", "number", "string", "array", "boolean", ["number", "null"]]),
        "minimum": WHOLE,
        "maximum": WHOLE,
        "const": VALUES,
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 2),
        "pattern": st.sampled_from(["^a", "b$"]),
        "not": st.just({"type": "null"}),
    },
)
OBJECTS = st.lists(st.dictionaries(st.sampled_from("xyz"), VALUES | st.lists(VALUES, max_size=2)), max_size=4)
ARRAYS = st.lists(WHOLE) | st.lists(NUMBERS) | st.lists(NUMBERS | st.booleans() | st.text() | st.none())


@given(FORMS, ARRAYS | st.text() | WHOLE)
def test_numbers_that_are_checked_together_fit_when_each_fits(form, document):
    def found(validator):
        return [(list(error.path), error.validator) for error in validator(form).iter_errors(document)]

    assert found(formats.Validator) == found(Draft202012Validator)


@given(st.dictionaries(st.sampled_from("xyz"), PROPERTIES | st.booleans() | FORMS), OBJECTS)
def test_what_many_objects_say_alike_is_found_in_each(properties, document):
    def found(validator):
        form = {"items": {"type": "object", "properties": properties, "additionalProperties": False}}
        return [(list(error.path), error.validator) for error in validator(form).iter_errors(document)]

    assert found(formats.Validator) == found(Draft202012Validator)


@pytest.mark.parametrize("stray", [True, "1", None, 1.5, -1, 11, Decimal("10.5"), float("nan"), [1]])
def test_one_stray_item_among_many_numbers_is_found_in_its_place(stray):
    form = {"items": {"type": "integer", "minimum": 0, "maximum": 10}}
    errors = formats.Validator(form).iter_errors([*range(11), stray, *range(11)])
    assert {tuple(error.path) for error in errors} == {(11,)}
