"""Orders and sums that hold in every row are proposed as what would declare them; what chance would give is not."""

import json
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from privity.common.data.file_look import look_at
from privity.common.data.relation_hints import row_hints
from privity.common.data.schema import parse_schema
from privity.common.data.schema_draft import drafted
from privity.party.sources.address import parse_address
from privity.party.sources.broken_rules import broken_rows

ROWS = 400
GENERATOR = np.random.default_rng(6)


def proposed(folder: Path, **columns: Any) -> tuple[dict[str, Any], list[str], dict[str, list[str]]]:
    """The draft of a table, the rules and the sums that are proposed with it."""
    pd.DataFrame(columns).to_csv(folder / "t.csv", index=False)
    document = drafted(look_at(folder / "t.csv")).document
    hints = row_hints(folder / "t.csv", document)
    assert all("read off the rows" in hint for hint in hints)
    objects = [json.loads(hint[hint.index("{") :]) for hint in hints if "{" in hint]
    rules = [
        rule for hint in hints for rule in json.loads((re.findall(r'"rowConstraints": (\[.*\])', hint) or ["[]"])[0])
    ]
    return document, rules, {each["name"]: each["sum"] for each in objects}


def days(offsets: np.ndarray) -> list[str]:
    return [str(date(2000, 1, 1) + timedelta(int(offset))) for offset in offsets]


def test_an_order_of_dates_and_a_sum_of_numbers_are_proposed_as_they_can_be_declared(tmp_path):
    onset = GENERATOR.integers(0, 3000, ROWS)
    above = GENERATOR.integers(500, 4000, ROWS)
    below = GENERATOR.integers(0, 2, ROWS) * GENERATOR.integers(100, 900, ROWS)
    table = {
        "onset": days(onset), "class": days(onset + GENERATOR.integers(0, 900, ROWS)),
        "living": above + below, "above": above, "basement": below, "lot": GENERATOR.integers(500, 9000, ROWS),
    }  # fmt: skip
    document, rules, sums = proposed(tmp_path, **table)
    assert rules == ["onset <= `class`"]
    assert sums == {"living": ["above", "basement"]}
    fields = [
        {"name": "living", "type": "integer", "sum": sums["living"]} if field["name"] == "living" else field
        for field in document["fields"]
    ]
    schema = parse_schema({**document, "fields": fields, "rowConstraints": rules}, "t")
    found = broken_rows(parse_address(str(tmp_path / "t.csv")), schema, 1 << 30)
    assert set(found.values()) == {0}


def test_one_row_that_breaks_it_is_enough(tmp_path):
    first = GENERATOR.integers(0, 1000, 40 * ROWS)
    second = first + GENERATOR.integers(0, 500, 40 * ROWS)
    total, part = first + second, second
    assert proposed(tmp_path, first=first, total=total, part=part)[2] == {"total": ["first", "part"]}
    assert proposed(tmp_path, first=first, part=part)[1] == ["first <= part"]
    total[-1] += 1
    part[-2] = first[-2] - 1
    _, rules, sums = proposed(tmp_path, first=first, total=total, part=part)
    assert sums == {}
    assert "first <= part" not in rules


def test_decimals_missing_values_and_more_parts(tmp_path):
    parts = [np.round(GENERATOR.random(ROWS) * 90, 2) for _ in range(3)]
    gone = GENERATOR.random(ROWS) < 0.1
    total = np.where(gone, np.nan, np.round(sum(parts), 2))
    lacking = np.where(gone, np.nan, parts[0])
    assert proposed(tmp_path, a=lacking, b=parts[1], c=parts[2], all=total)[2] == {"all": ["a", "b", "c"]}
    assert proposed(tmp_path, a=parts[0], b=parts[1], c=parts[2], all=total)[2] == {}, "it is missing where no part is"


@pytest.mark.parametrize(
    "table",
    [
        {"rooms": GENERATOR.integers(1, 60, ROWS), "area": GENERATOR.integers(300, 900, ROWS)},  # in order by chance
        {"a": np.arange(60), "b": np.arange(60) + 5},  # few rows
        {"a": GENERATOR.integers(0, 50, ROWS), "b": np.zeros(ROWS, int), "c": GENERATOR.integers(0, 50, ROWS)},
        {"a": days(np.arange(ROWS)), "b": np.arange(ROWS) + 50_000},  # a day is no number
    ],
    ids=["ranges", "few", "independent", "types"],
)
def test_what_says_nothing_is_not_proposed(tmp_path, table):
    _, rules, sums = proposed(tmp_path, **table, sex=["f", "m"] * (len(table["a" if "a" in table else "rooms"]) // 2))
    assert (rules, sums) == ([], {})


def test_an_order_that_follows_from_two_others_is_left_out(tmp_path):
    first = GENERATOR.integers(0, 1000, ROWS)
    second = first + GENERATOR.integers(0, 300, ROWS)
    third = second + GENERATOR.integers(0, 300, ROWS)
    assert proposed(tmp_path, first=first, second=second, third=third)[1] == ["first <= second", "second <= third"]


@pytest.mark.parametrize("kind", ["dates", "numbers"])
def test_a_small_gap_is_proposed_as_an_attribute_and_keeps_its_rows(kind, tmp_path):
    first = GENERATOR.integers(0, 3000, ROWS)
    gap = GENERATOR.geometric(0.4, ROWS) - 1
    written = days if kind == "dates" else list
    table = {"first": written(first), "second": written(first + gap), "other": GENERATOR.integers(0, 90, ROWS)}
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    document = drafted(look_at(tmp_path / "t.csv")).document
    (hint,) = row_hints(tmp_path / "t.csv", document)
    gap_field, total = json.loads(hint[hint.index("[") :])
    assert (gap_field["constraints"], total["sum"]) == ({"minimum": 0}, ["first", gap_field["name"]])
    fields = [gap_field, total, *(field for field in document["fields"] if field["name"] != "second")]
    schema = parse_schema({**document, "fields": fields}, "t")
    found = broken_rows(parse_address(str(tmp_path / "t.csv")), schema, 1 << 30)
    assert found == {"Column second": 0}


def test_a_date_that_is_another_one_and_a_number_of_days_is_proposed_as_their_sum(tmp_path):
    first, stay = GENERATOR.integers(0, 3000, ROWS), GENERATOR.integers(0, 40, ROWS)
    _, rules, sums = proposed(tmp_path, first=days(first), stay=stay, last=days(first + stay))
    assert (rules, sums) == ([], {"last": ["first", "stay"]})
