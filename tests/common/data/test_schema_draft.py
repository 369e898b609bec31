"""Values come out of a drafted schema as they went in, and what does not is said."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privity.common.data.coded_table import decode
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
    assert "have a zero in front" in drafted(look).findings[0]


def test_how_years_of_two_digits_are_read_is_said(tmp_path):
    (tmp_path / "t.csv").write_text("born,x\n9/13/81,1\n12/23/56,2\n1/22/84,1\n")
    look = look_at(tmp_path / "t.csv")
    assert "1969 to 2068" in drafted(look).findings[0]


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
