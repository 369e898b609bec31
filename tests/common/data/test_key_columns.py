"""Keys are left out of a draft, codes in digits are categories, and what repeats is asked about."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from privity.common.data.file_look import Look, look_at
from privity.common.data.schema import parse_schema
from privity.common.data.schema_draft import drafted, recodings
from privity.common.data.table_reading import read_table

ROWS = 600


def look(folder: Path, **columns: Sequence[Any]) -> Look:
    columns = {**columns, "sex": ["m", "f"] * (ROWS // 2)}
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path = folder / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return look_at(path)


def field(found: Look, name: str) -> dict[str, Any] | None:
    return next((each for each in drafted(found).document["fields"] if each["name"] == name), None)


def spread(many: int, first: int, step: int) -> list[int]:
    """So many different numbers, with uneven gaps, over and over."""
    return [first + step * (place % many) + (place % many) ** 2 % step for place in range(ROWS)]


@pytest.mark.parametrize(("name", "values"), [("zip", spread(60, 98001, 7)), ("month", spread(36, 202001, 9))])
def test_codes_in_digits_are_categories_that_exist(tmp_path, name, values):
    found = look(tmp_path, **{name: values})
    assert field(found, name) == {
        "name": name, "type": "integer", "categories": sorted(set(values)), "readOffRows": "undeclared",
    }  # fmt: skip
    assert any(f"{name!r} looks like codes" in finding for finding in found.findings)
    assert not any("persons" in finding for finding in found.findings)
    assert read_table(tmp_path / "t.csv", parse_schema(drafted(found).document, "draft")).rows == ROWS


@pytest.mark.parametrize(
    "values",
    [
        [1900 + place % 100 for place in range(ROWS)],  # years have no gaps
        [1000 + 10 * (place % 50) for place in range(ROWS)],  # nor have what is measured in tens
        [950 + place * place % 977 for place in range(ROWS)],  # lengths differ
        spread(150, 10_000, 60),  # few rows have the same
        [1 + place % 15 for place in range(ROWS)],  # few values are listed anyhow
        [f"{place % 60}.5" for place in range(ROWS)],
    ],
)
def test_numbers_that_count_or_measure_are_no_codes(tmp_path, values):
    found = look(tmp_path, x=values)
    assert field(found, "x") is not None
    assert not any(column.codes or column.identifies for column in found.columns)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("playerID", [f"p{place % 300:03d}x" for place in range(ROWS)]),
        ("CUSTOMER_ID", [1 + place % 200 for place in range(ROWS)]),
        ("user", spread(40, 10_000_000, 1_000_001)),
        ("whoever", [f"a{place % 280:04d}" for place in range(ROWS)]),
        ("x", spread(400, 10_000_000, 200_003)),
    ],
)
def test_a_key_whose_values_repeat_is_left_out_and_may_be_a_person(tmp_path, name, values):
    found = look(tmp_path, **{name: values})
    assert field(found, name) is None
    said = [finding for finding in found.findings if repr(name) in finding]
    assert any("looks like a key whose values repeat" in finding for finding in said)
    assert any("--rows-per-person" in finding and f"--person {name}" in finding for finding in said)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("teamID", [f"T{place % 30:02d}" for place in range(ROWS)]),
        ("yearID", [1980 + place % 40 for place in range(ROWS)]),
        ("city", [f"town of {'abcdefghij'[place % 10]}{place % 290}" for place in range(ROWS)]),
        ("paid", [place % 200 for place in range(ROWS)]),
    ],
)
def test_what_is_no_key_stays(tmp_path, name, values):
    found = look(tmp_path, **{name: values})
    assert not next(column for column in found.columns if column.name == name).identifies
    assert not any(repr(name) in finding for finding in found.findings)


def test_too_many_codes_to_list_are_left_out(tmp_path):
    values = [100_000 + 1_013 * (place % 300) + 37 * (place % 2) for place in range(3 * ROWS)]
    lines = ["product,sex", *(f"{value},{'mf'[place % 2]}" for place, value in enumerate(values))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    found = look_at(tmp_path / "t.csv")
    assert [each["name"] for each in drafted(found).document["fields"]] == ["sex"]
    assert any("too many to list" in finding for finding in found.findings)


def test_days_of_eight_digits_are_dates(tmp_path):
    born = [f"{1930 + place % 60}{1 + place % 12:02d}{1 + place % 28:02d}" for place in range(ROWS)]
    found = look(tmp_path, born=born)
    day = {"name": "born", "type": "date", "format": "%Y%m%d", "domain": "discover", "readOffRows": "undeclared"}
    assert field(found, "born") == day
    found = look(tmp_path, born=["99999999", "0", *born[2:]])
    assert field(found, "born") == {**day, "missingValues": ["0", "99999999"]}
    assert read_table(tmp_path / "t.csv", parse_schema(drafted(found).document, "draft")).rows == ROWS
    found = look(tmp_path, born=["19301301", *born[1:]])
    assert field(found, "born") == {**day, "missingValues": ["19301301"]}
    said = recodings(found, drafted(found).document["fields"])
    assert any("'born': '19301301' (1 rows) are no days, and mean a missing value." in line for line in said)
    found = look(tmp_path, born=["19301301"] * 60 + born[60:])
    assert field(found, "born") is None, "too many are no days"
