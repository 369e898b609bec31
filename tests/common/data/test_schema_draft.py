"""Values come out of a drafted schema as they went in, and what does not is said."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privity.common.data.coded_table import decode
from privity.common.data.date_formats import years_from
from privity.common.data.file_look import look_at
from privity.common.data.schema import parse_schema
from privity.common.data.schema_draft import drafted, recodings
from privity.common.data.table_reading import read_table
from privity.common.data.written_values import as_pandas, as_texts


def through(folder: Path, texts: list[str]) -> tuple[list[str], list[str]]:
    """The texts as a table that has them comes out, and what is said of it."""
    path = folder / "t.csv"
    path.write_text("x,y\n" + "".join(f"{text},{place % 3}\n" for place, text in enumerate(texts)))
    look = look_at(path)
    document = drafted(look).document
    schema = parse_schema(document, "draft")
    rows = decode(read_table(path, schema), np.random.default_rng(0))
    return [str(text) for text in as_texts(rows, schema)["x"]], recodings(look, document["fields"])


@pytest.mark.parametrize(
    "texts",
    [
        ["True", "False", "True"],
        ["TRUE", "", "FALSE", ""],
        ["true", "false"],
        ["a", "b", "\\N"],
        ["a", "NULL", "a"],
        ["1", "\\N", "2"],
        ["NA", "3", "NA"],
        ["AT", "AT", "AT"],
        ["2013", "2013"],
        ["0.5", "0.25"],
    ],
    ids=str,
)
def test_listed_values_come_out_as_they_went_in(tmp_path, texts):
    assert through(tmp_path, texts) == (texts, [])


@pytest.mark.parametrize(
    ("days", "form"),
    [
        (["11/1/2000", "3/14/2001"], "%-m/%-d/%Y"),
        (["11/21/2000", "03/14/2001"], "%m/%d/%Y"),
        (["1.2.2000 09:30", "21.12.2001 10:00"], "%-d.%-m.%Y %H:%M"),
        (["1 Feb 2000"], "%-d %b %Y"),
        (["12:05", "9:30"], "%-H:%M"),
        (["12:05 PM", "9:30 AM"], "%-I:%M %p"),
    ],
)
def test_a_date_is_drafted_as_it_is_written(tmp_path, days, form):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{day},1\n" for day in days))
    look = look_at(tmp_path / "t.csv")
    document = drafted(look).document
    assert document["fields"][0]["format"] == form
    (attribute, _) = parse_schema(document, "draft").attributes
    assert [attribute.temporal.text(attribute.temporal.read(day)) for day in days] == days
    assert recodings(look, document["fields"]) == []


@pytest.mark.parametrize(
    ("texts", "written", "said"),
    [
        (["True", "False", "True", "false"], ["True", "False", "True", "False"], "1 rows have another spelling"),
        (["3", "", "NA", "NA", "4"], ["3", "NA", "NA", "NA", "4"], "'' (1 rows) mean a missing value, as 'NA' does"),
    ],
)
def test_what_comes_out_otherwise_is_said(tmp_path, texts, written, said):
    found, lines = through(tmp_path, texts)
    assert found == written
    assert len(lines) == 1
    assert said in lines[0]


def test_days_with_and_without_zeros_are_said(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1/14/2000,1\n02/15/2000,2\n3/16/2000,1\n")
    look = look_at(tmp_path / "t.csv")
    said = "1 rows come out written otherwise, such as '02/15/2000' as '2/15/2000'"
    assert said in drafted(look).findings[0]


def test_how_years_of_two_digits_are_read_is_said(tmp_path):
    (tmp_path / "t.csv").write_text("born,x\n9/13/81,1\n12/23/56,2\n1/22/84,1\n")
    draft = drafted(look_at(tmp_path / "t.csv"))
    first = draft.document["fields"][0]["yearsFrom"]
    assert f"read as {first} to {first + 99}" in draft.findings[0]
    (born, _) = parse_schema(draft.document, "draft").attributes
    assert [born.temporal.iso(born.read(day)) for day in ("9/13/81", "12/23/56")] == ["1981-09-13", "1956-12-23"]


def test_years_below_100_are_said_and_bounded(tmp_path):
    (tmp_path / "t.csv").write_text("seen,x\n0014-11-18,1\n0015-02-01,2\n0014-12-31,1\n")
    draft = drafted(look_at(tmp_path / "t.csv"))
    assert draft.document["fields"][0]["constraints"] == {"minimum": "0001-01-01", "maximum": "0099-12-31"}
    assert "its years are below 100, as in '0014-11-18'" in draft.findings[0]
    (seen, _) = parse_schema(draft.document, "draft").attributes
    assert seen.read("0015-02-01") - seen.read("0014-12-31") == 32, "each day has a cell"
    (tmp_path / "t.csv").write_text("seen,x\n0014-11-18,1\n2015-02-01,2\n")
    assert "constraints" not in drafted(look_at(tmp_path / "t.csv")).document["fields"][0]


@pytest.mark.parametrize(
    ("name", "years", "first"),
    [
        ("dob", [30, 56, 99], 1931), ("dob", [25, 30, 35], 1931), ("visit", [24, 30, 35], 1941),
        ("visit", [24, 30], 1931), ("visit", [99, 35], 1931), ("visit", [33], 1931), ("visit", [], 1931),
    ],
)  # fmt: skip
def test_nobody_is_born_after_this_year_and_appointments_may_be(name, years, first):
    assert years_from(name, years, 2030) == first


@pytest.mark.parametrize(
    ("texts", "keys"),
    [
        (["Ward 1", "Ward 2"], {"categories": ["Ward 1", "Ward 2"]}),
        (["Stage 2", "Stage 10", "unknown"], {"categories": ["Stage 10", "Stage 2", "unknown"]}),
        (["5th", "6th"], {"categories": ["5th", "6th"]}),
        (["#1", "#2"], {"categories": ["#1", "#2"]}),
        (["2 rooms", "3 rooms"], {"categories": ["2 rooms", "3 rooms"]}),
        (["5 kg", "7 kg"], {"categories": [5, 7], "bareNumber": False}),
        (["$5", "$7"], {"categories": [5, 7], "bareNumber": False}),
        (["USD 5", "USD 7"], {"categories": [5, 7], "bareNumber": False}),
    ],
    ids=str,
)
def test_what_a_text_says_beside_its_number_is_kept_unless_it_is_a_unit(tmp_path, texts, keys):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{text},1\n" for text in texts))
    draft = drafted(look_at(tmp_path / "t.csv"))
    field = draft.document["fields"][0]
    assert {key: field.get(key) for key in keys} == keys
    said = [line for line in draft.findings if "beside its numbers is left out" in line]
    assert len(said) == ("bareNumber" in keys)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["1/2/2024", "3/4/2024"], "are days in more than one way (%-d/%-m/%Y or %-m/%-d/%Y)"),
        (["a", '"b\nc"'], "1 texts with line ends or other control characters (1 rows) become '(other)'"),
        ([*map(str, range(200)), "refused"], "'refused' (1 rows) are no numbers, and mean a missing value"),
        (["2024-01-01T10:00:00+01:00", "2024-07-01T10:00:00+02:00"], "written otherwise, in the time zone UTC"),
    ],
)
def test_each_decision_is_a_line(tmp_path, rows, said):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{row},1\n" for row in rows))
    assert any(said in line for line in drafted(look_at(tmp_path / "t.csv")).findings)


@pytest.mark.parametrize("many", [8, 400])
def test_decimals_of_single_precision_are_read_as_what_they_were(tmp_path, many):
    """As a program writes them that has made doubles of them."""
    values = np.array([1.8 + 0.1 * (place % many) for place in range(400)], dtype=np.float32).astype(float)
    pd.DataFrame({"x": values, "y": 1}).to_csv(tmp_path / "t.csv", index=False)
    look = look_at(tmp_path / "t.csv")
    document = drafted(look).document
    assert document["fields"][0] | {"readOffRows": ""} == {
        "name": "x", "type": "number", "domain": "discover", "constraints": {"minimum": 0}, "decimals": 1,
        "readOffRows": "",
    }  # fmt: skip
    assert read_table(tmp_path / "t.csv", parse_schema(document, "draft")).rows == 400
    assert "'x' (" in recodings(look, document["fields"])[0]


@pytest.mark.parametrize(
    ("numbers", "decimals"),
    [
        ([f"{0.000125 + place * 1e-9:.9f}" for place in range(50)], 8),
        ([f"{place / 3}" for place in range(1, 50)], 6),
        ([f"{place}.25" for place in range(50)], 2),
        ([f"{place}e-7" for place in range(1, 50)], 7),
    ],
)
def test_small_numbers_keep_their_digits(tmp_path, numbers, decimals):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{number},1\n" for number in numbers))
    assert drafted(look_at(tmp_path / "t.csv")).document["fields"][0]["decimals"] == decimals


def test_a_boolean_of_another_spelling_is_a_boolean_everywhere_else():
    schema = parse_schema({"fields": [{"name": "x", "type": "boolean", "format": "True/False"}]}, "s")
    rows = pd.DataFrame({"x": ["true", "false"]})
    assert as_pandas(rows, schema)["x"].tolist() == [True, False]
    assert parse_schema(schema.table_schema(), "s") == schema
    assert schema.digest == parse_schema({"fields": [{"name": "x", "type": "boolean"}]}, "s").digest


def test_a_day_whose_year_has_two_digits_is_no_constant(tmp_path):
    """What the digits stand for would be lost."""
    (tmp_path / "t.csv").write_text("born,sex\n" + "".join(f"9/13/45,{'mf'[place % 2]}\n" for place in range(20)))
    born, _ = drafted(look_at(tmp_path / "t.csv")).document["fields"]
    assert (born["type"], born["domain"]) == ("date", "discover")
    assert born["yearsFrom"] <= 1945
