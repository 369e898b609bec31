"""What is proposed of a file reads it: drafts of messy files, and what a look at them says."""

import numpy as np
import pytest

from benchmarks.methods.messy_files import FILES
from privity.common.data.date_formats import formats_of
from privity.common.data.dialect import COMMON, NumberMarks
from privity.common.data.dialect_detection import fitting_marks, likely_dialect, likely_encoding
from privity.common.data.file_look import look_at
from privity.common.data.schema import parse_schema
from privity.common.data.schema_draft import drafted
from privity.common.data.table_reading import read_rows, read_table
from privity.common.errors import RowProblemsFound


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_draft_of_a_messy_file_reads_it(tmp_path, file):
    path = file.write(tmp_path, rows=300)
    draft = drafted(look_at(path), keep=[name for name in file.types if file.types[name] == "string"]).document
    schema = parse_schema(draft, "draft")
    assert read_table(path, schema).rows == 300
    types = {attribute.name: attribute.type for attribute in schema.attributes}
    assert file.types.items() <= types.items()
    numbers = [attribute.name for attribute in schema.attributes if attribute.type == "number"]
    rows = read_rows(path, schema)
    missing = {attribute.name: attribute.missing for attribute in schema.attributes}
    for name in numbers:
        assert np.isfinite([float(text) for text in rows[name] if text not in missing[name]]).all()


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("a,b\nx,1\ny,2\n", {}),
        ("a;b\nx;1,5\ny;2,5\n", {"delimiter": ";"}),
        ("a\tb\nx y\t1\n", {"delimiter": "\t"}),
        ("39, State-gov, 7\n50, Private, 8\n", {"skipInitialSpace": True, "header": False}),
        ("name,1960,1961,1962\nx,3.5,,4\ny,1.5,2,\n", {}),
        ("1 2 3\n4 5 6\n", {"delimiter": " ", "header": False}),
        ("a\nsome words\nof a text that varies\n", {}),
        ("sep=;\na;b\n1;2\n", {"delimiter": ";", "skipRows": 1}),
        ("report of May\nmade by us\n\na,b,c\n1,2,3\n4,5,6\n", {"skipRows": 3}),
        ("a,b\n1,2\n\n3,4\n", {"skipBlankRows": True}),
        ('a,b\n"x \\"y\\", z",1\n"w",2\n', {"escapeChar": "\\"}),
        ("a,b\n5\" pipe,1\n\"6\" pipe,2\n", {"quoteChar": ""}),
        ("'a','b'\n'x, y','1'\n", {"quoteChar": "'"}),
    ],
)  # fmt: skip
def test_the_likely_dialect(text, declared):
    assert likely_dialect(text.encode()).document() == declared


def test_an_identifier_is_left_out_of_a_draft_and_named(tmp_path):
    """A register with semicolons, decimal commas, days, and two columns that number or name its rows."""
    path = tmp_path / "register.csv"
    rows = [
        f"{70_001 + 7 * place};P-{place:04d};{place % 60 + 20};{place},{place % 7}5;{1 + place % 28}.3.{1900 + place}"
        for place in range(120)
    ]
    path.write_text("\n".join(["patient_id;case;age;cost;day", *rows]) + "\n", encoding="utf-8-sig")
    look = look_at(path)
    assert [column.name for column in look.columns if column.identifies] == ["patient_id", "case"]
    said = [finding for finding in look.findings if "looks like an identifier: every row has another value" in finding]
    assert [finding.split()[0] for finding in said] == ["'patient_id'", "'case'"]
    draft = drafted(look_at(path)).document
    assert [field["name"] for field in draft["fields"]] == ["age", "cost", "day"]
    assert read_table(path, parse_schema(draft, "draft")).rows == 120, "the other columns are read"
    path.write_text("\n".join(["patient_id;case", *(";".join(row.split(";")[:2]) for row in rows)]) + "\n")
    draft = drafted(look_at(path), keep=["case"]).document
    assert [field["name"] for field in draft["fields"]] == ["patient_id", "case"], "nothing else is there"
    path.write_text("\n".join(["dose,age", *(f"{place % 119},{place % 5}" for place in range(120))]) + "\n")
    assert not any(column.identifies for column in look_at(path).columns), "two rows have the same"


ENCODINGS = ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "mac-roman", "cp1251"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_likely_encoding(encoding):
    text = "Москва, Привет" if encoding == "cp1251" else "Zürich, Genève, Malmö; Größe in Übergröße"
    assert likely_encoding(text.encode(encoding) * 3) == encoding.removesuffix("-sig")


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["1", "2"], NumberMarks()), (["1,5", "2"], NumberMarks(",")), (["1,234.50"], NumberMarks(".", ",")),
        (["1.234,50", "7"], NumberMarks(",", ".")), (["$5", "$7.5"], NumberMarks(bare=False)),
        (["5 €", "5 $"], None), (["A1", "A2"], None), (["<5", "5"], None), (["x"], None), ([], None),
    ],
)  # fmt: skip
def test_the_marks_that_fit(texts, first):
    assert next(iter(fitting_marks(texts)), None) == first


def test_what_is_doubtful_is_said(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n"1,234",5\n"2,345",6\n"2,345"\n"2,345",6\n')
    said = " ".join(look_at(tmp_path / "t.csv").findings)
    for part in ("'1,234' may be 1.234 or 1234", '"badRows": "missing"', "row 3", "1 rows are the same"):
        assert part in said
    (tmp_path / "t.csv").write_text("x,x,\n1,2,3\n")
    look = look_at(tmp_path / "t.csv")
    assert [column.name for column in look.columns] == ["x", "x 2", "column 3"]
    assert look.dialect == COMMON.changed({"header": False, "skipRows": 1})
    (tmp_path / "t.csv").write_text(",x\n0,7\n1,7\n")
    assert look_at(tmp_path / "t.csv").ignored == ("",)
    for text in ("", "a,b\n"):
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(RowProblemsFound, match="no rows"):
            look_at(tmp_path / "t.csv")


def test_a_day_and_a_month_that_may_be_swapped_are_two_formats():
    assert formats_of(["01/02/2024", "03/04/2024"]) == ["%d/%m/%Y", "%m/%d/%Y"]
    assert formats_of(["01/02/2024", "13/04/2024"]) == ["%d/%m/%Y"]
    assert formats_of(["2024-02-30"]) == formats_of([]) == formats_of(["12345678"]) == []


LONG = "".join(f'{place};"first\nsecond, third"\n' for place in range(30))


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("a;b\n" + LONG, {"delimiter": ";"}),
        ('"last, first",age\n' + '"Doe, Jo",3\n' * 20, {}),
        ("a,b\n" + "".join(f'"x\ny {place}, z",{place}\n' for place in range(40)), {}),
        ("first name\tlast name\n" + "Jo Ann\tvan Dyk\n" * 9, {"delimiter": "\t"}),
    ],
)
def test_a_dialect_without_faults_wins_over_one_with_more_records(text, declared):
    assert likely_dialect(text.encode()).document() == declared
