"""Rules that rows of a model will hardly meet are told from the schema alone; those that they keep are not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from privity.common.data.schema import parse_schema
from privity.common.release.rule_forecast import gap_hints, unkept_rules

WIDE = {"constraints": {"minimum": 0, "maximum": 100_000}, "bins": 10}
FIELDS: list[dict[str, Any]] = [
    {"name": "low", "type": "integer", **WIDE, "missingValues": [""]},
    {"name": "high", "type": "integer", **WIDE},
    {"name": "years", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "bins": 10},
    {"name": "open", "type": "integer", "domain": "discover"},
    {"name": "also", "type": "number", "domain": "discover", "constraints": {"minimum": 0}, "decimals": 2},
    {"name": "from", "type": "date", "domain": "discover"},
    {"name": "to", "type": "date", "domain": "discover"},
    {"name": "kind", "type": "string", "categories": ["a", "b"]},
    {"name": "many", "type": "integer", "constraints": {"minimum": 0, "maximum": 10**9}, "bins": 5000},
    {"name": "more", "type": "integer", "constraints": {"minimum": 0, "maximum": 10**9}, "bins": 5000},
]


def told(rule: str) -> list[str]:
    return unkept_rules(parse_schema({"fields": FIELDS, "rowConstraints": [rule]}, "s"))


@pytest.mark.parametrize(
    "rule",
    [
        "low == high", "kind == 'a' or low == high", "`from` == to", "open == also", "low == 777", "low == 30000",
        "many == more", "kind == 'b' or high == 12345",
    ],
)  # fmt: skip
def test_a_rule_that_few_values_of_a_bin_meet_is_told(rule: str) -> None:
    (sentence,) = told(rule)
    assert sentence.startswith(f"Rule {rule}: hardly any")
    assert "Declare" in sentence


@pytest.mark.parametrize(
    "rule",
    [
        "low <= high", "low < high", "`from` <= to", "open <= also", "years >= 18 or kind == 'a'", "open >= 18",
        "kind == 'a' or open == 5", "years == 7", "many < more", "missing(low) or low < 555", "low != high",
        "10 <= low < 500 or kind == 'b'",
    ],
)  # fmt: skip
def test_a_rule_that_values_can_be_drawn_for_is_not(rule: str) -> None:
    assert told(rule) == []


def test_what_is_proposed_can_be_declared() -> None:
    (sentence,) = told("low == high")
    field = json.loads(sentence[sentence.index("{") :])
    assert field == {"name": "high", "type": "integer", "sum": ["low"], "missingValues": [""]}
    parse_schema({"fields": [field if item["name"] == "high" else item for item in FIELDS]}, "s")
    rules = {"rowConstraints": ["`from` <= to", "low < high", "low >= 5"]}
    schema = parse_schema({"fields": FIELDS, **rules}, "s")
    hints = gap_hints(schema)
    assert [hint.split(":")[0] for hint in hints] == ["Rule `from` <= to", "Rule low < high"]
    for hint, gone in zip(hints, ("to", "high"), strict=True):
        fields = [field for field in FIELDS if field["name"] != gone] + json.loads(hint[hint.index("[") :])
        assert gone not in parse_schema({"fields": fields}, "s").names
