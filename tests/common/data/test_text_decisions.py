"""What a draft does with texts: listed, discovered or left out, each with a line that says why, and what mends it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privity.common.data.file_look import look_at
from privity.common.data.schema import parse_schema
from privity.common.data.schema_draft import drafted
from privity.common.privacy.budget import USUAL
from privity.common.privacy.category_budget import category_budget

ROWS = 4000
CITIES = ["Bern"] * 1500 + ["Basel"] * 1200 + [f"hamlet {place}" for place in range(1300)]
NAMES = [f"{chr(97 + place % 26)} of {place}" for place in range(ROWS - 10)] + ["b of 1"] * 10
WARDS = [f"ward {'abcdefgh'[place % 8]}" for place in range(ROWS)]


def looked(folder, **columns):
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    return look_at(folder / "t.csv")


def lines_of(draft, name):
    return [line for line in draft.findings if line.startswith(repr(name))]


def test_each_text_is_listed_discovered_or_left_out_and_a_line_says_so(tmp_path):
    draft = drafted(looked(tmp_path, city=CITIES, name=NAMES, ward=WARDS))
    city, ward = draft.document["fields"]
    assert (city["name"], city["domain"]) == ("city", "discover")
    assert len(ward["categories"]) == 8
    assert draft.left_out == ["name"]
    threshold = category_budget(1, *USUAL, rows=ROWS).mechanism.threshold
    assert lines_of(draft, "city") == [
        "'city': 1302 different texts in 4000 rows; 2 of them would be discovered at epsilon 1 and delta 0.000001, from"
        f" about {threshold} rows on; 32% of the rows become '(other)'."
    ]
    (said,) = lines_of(draft, "name")
    assert "none of them would be discovered" in said
    assert "100% of the rows become '(other)'" in said
    assert said.endswith("To keep it: --keep 'name' (to be discovered, or to declare groups of it).")
    assert lines_of(draft, "ward") == []
    parse_schema(draft.document, "draft")


@pytest.mark.parametrize(("epsilon", "discovered"), [(Fraction(1), True), (Fraction(1, 20), False)])
def test_what_would_be_discovered_depends_on_the_budget(tmp_path, epsilon, discovered):
    draft = drafted(looked(tmp_path, city=CITIES, ward=WARDS), budget=(epsilon, USUAL[1]))
    assert ("city" not in draft.left_out) == discovered


def test_without_a_delta_nothing_is_discovered_and_the_remedy_is_one(tmp_path):
    look = looked(tmp_path, city=CITIES, ward=WARDS)
    draft = drafted(look, budget=(USUAL[0], Fraction(0)))
    assert draft.left_out == ["city"]
    assert lines_of(draft, "city")[0].endswith("To keep it, draft for a delta: --delta 1e-6.")
    assert drafted(look).left_out == []


def test_a_column_that_tells_nothing_does_not_raise_the_threshold_of_others(tmp_path):
    alone = drafted(looked(tmp_path, city=CITIES, ward=WARDS))
    among = drafted(looked(tmp_path, city=CITIES, **{f"name{place}": NAMES for place in range(5)}, ward=WARDS))
    assert lines_of(among, "city") == lines_of(alone, "city")


def test_a_column_of_which_little_would_be_known_is_left_out(tmp_path):
    names = ["John"] * 400 + [f"{chr(97 + place % 26)} of {place}" for place in range(ROWS - 400)]
    draft = drafted(looked(tmp_path, first=names, ward=WARDS))
    assert draft.left_out == ["first"]
    assert "1 of them would be discovered" in lines_of(draft, "first")[0]


def test_texts_that_nearly_each_row_has_are_listed_if_that_is_asked_for(tmp_path):
    texts = [f"{'ab'[place % 2]}-{place % 100}" for place in range(200)]
    look = looked(tmp_path, text=texts, ward=WARDS[:200])
    assert drafted(look).left_out == ["text"]
    assert len(drafted(look, keep=["text"]).document["fields"][0]["categories"]) == 100


def test_keys_are_left_out_unless_they_are_kept(tmp_path):
    look = looked(tmp_path, case=[str(place + 1) for place in range(ROWS)], ward=WARDS)
    draft = drafted(look)
    assert draft.left_out == ["case"]
    assert any("Keep one that is none: --keep NAME." in line for line in draft.findings)
    assert drafted(look, keep=["case"]).left_out == []
