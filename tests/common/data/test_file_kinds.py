"""Files that are no text are known by their first bytes: refused by name where CSV is read."""

from __future__ import annotations

import gzip
import zipfile

import pytest

from privity.common.data.csv_text import open_text
from privity.common.data.dialect import COMMON
from privity.common.data.file_kinds import SAS7BDAT, kind_of_file
from privity.common.data.file_look import look_at
from privity.common.errors import PrivityError

KINDS = [
    (b"PAR1\x15\x04", "a Parquet file"),
    (b"ARROW1\0\0\xff\xff", "an Arrow file"),
    (b"\0" * 8 + b"DUCK@\0", "a DuckDB database"),
    (b"SQLite format 3\0\x10", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "an Excel workbook of the old form"),
    (b"<stata_dta><header>", "a Stata file"),
    (b"s\x02\x01\x00\x05", "a Stata file"),
    (b"$FL2@(#) IBM SPSS", "an SPSS file"),
    (SAS7BDAT + b"\x33", "a SAS file"),
    (b"HEADER RECORD*******LIBRARY HEADER RECORD", "a SAS transport file"),
    (b'{"a": 1,\n "b": "x"}', "JSON"),
    (b'[{"a": 1}]', "JSON"),
    (b"BZh91AY&SY", "a bzip2 file"),
]


@pytest.mark.parametrize(("begins", "kind"), KINDS)
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_file_of_another_kind_is_refused_by_name(tmp_path, begins, kind, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(begins) if name.endswith("gz") else begins)
    for read in (look_at, lambda file: open_text(file, COMMON).__enter__()):
        with pytest.raises(PrivityError, match=f"it is {kind}.*, not CSV: "):
            read(path)


@pytest.mark.parametrize(
    ("member", "kind"),
    [("xl/workbook.xml", "an Excel workbook"), ("content.xml", "a spreadsheet of"), ("t.csv", "a ZIP archive")],
)
def test_a_zip_file_is_known_by_its_members(tmp_path, member, kind):
    with zipfile.ZipFile(tmp_path / "t.csv", "w") as archive:
        archive.writestr(member, "a,b")
    with pytest.raises(PrivityError, match=kind):
        look_at(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "text",
    ["a,b\n1,2\n", "{a},b\n1,2\n", "[1],b\n", "", "ORC,b\n", "PK,b\n", '"{""a"": 1}",b\n', "sex,age\n", "BZ,h\n"],
)
def test_a_text_is_a_text(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    assert kind_of_file(tmp_path / "t.csv") == ("", "")
    (tmp_path / "t.csv").write_text(text, encoding="utf-16")
    assert kind_of_file(tmp_path / "t.csv") == ("", "")
