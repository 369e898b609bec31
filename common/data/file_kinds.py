"""What a file is by its first bytes, whatever its name says."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

PARQUET, ARROW, DUCKDB = "a Parquet file", "an Arrow file", "a DuckDB database"
"""What other readers than that of CSV read."""

JSON_LINES = "JSON lines"
"""Read as CSV is."""

WORKBOOK, OLD_WORKBOOK = "an Excel workbook", "an Excel workbook of the old form (.xls)"
STATA, SPSS, SAS, SAS_TRANSPORT = "a Stata file", "an SPSS file", "a SAS file", "a SAS transport file"
"""Read cell by cell, with an extra."""

LONGEST_LINE = 1 << 20
FIRST = 1024
"""Bytes that are looked at."""

CONVERT = "save it as CSV or Parquet by the program that wrote it"
IN_PANDAS = "read it in Python, each column as it is, and give the table itself or save it as Parquet: pandas."
UNPACK = "unpack it, and name the table that is in it"

SAS7BDAT = bytes.fromhex("000000000000000000000000c2ea8160b31411cfbd92080009c7318c181f1011")
BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"PAR1", PARQUET, ""),
    (b"PARE", "an encrypted Parquet file", "decrypt it"),
    (b"ARROW1\0\0", ARROW, ""),
    (b"FEA1", "a Feather file of version 1", f"{IN_PANDAS}read_feather"),
    (b"SQLite format 3\0", "an SQLite database", "name a table of it: sqlite:///path/file.db#table"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLD_WORKBOOK, CONVERT),
    (b"<stata_dta>", STATA, f"{IN_PANDAS}read_stata"),
    (b"$FL2@(#)", SPSS, f"{IN_PANDAS}read_spss"),
    (b"$FL3@(#)", SPSS, f"{IN_PANDAS}read_spss"),
    (SAS7BDAT, SAS, f"{IN_PANDAS}read_sas"),
    (b"HEADER RECORD*******LIB", SAS_TRANSPORT, f"{IN_PANDAS}read_sas"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", f"{IN_PANDAS}read_hdf"),
    (b"Obj\x01", "an Avro file", CONVERT),
    (b"RDX2\n", "an R data file", CONVERT),
    (b"RDX3\n", "an R data file", CONVERT),
    (b"X\n\0\0\0", "an R data file", CONVERT),
    (b"%PDF-", "a PDF document", CONVERT),
    (b"\x1f\x8b", "a gzip file", "give it a name that ends in .csv.gz if it holds CSV"),
    (b"BZh", "a bzip2 file", UNPACK),
    (b"\xfd7zXZ\0", "an xz file", UNPACK),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
)  # fmt: skip
"""How files of other kinds than text begin; what they are, and what to do."""

PATTERNS = (
    (rb".{8}DUCK", DUCKDB, "name a table of it: file.duckdb#table"),
    (rb"ORC[\x00-\x08]", "an ORC file", f"{IN_PANDAS}read_orc"),
    (rb"[\x69-\x73][\x01\x02]\x01\x00", STATA, f"{IN_PANDAS}read_stata"),
    (rb".{257}ustar", "a tar archive", UNPACK),
    (rb"(\xef\xbb\xbf)?\s*\{\s*\"[^\"]*\"\s*:", "JSON", f"{IN_PANDAS}read_json(FILE, lines=True, dtype=False)"),
    (rb"(\xef\xbb\xbf)?\s*\[\s*[\[{]", "JSON", f"{IN_PANDAS}read_json(FILE, dtype=False)"),
)
IN_ARCHIVES = (
    ("xl/workbook.xml", WORKBOOK, "save the sheet as CSV (UTF-8)"),
    ("xl/workbook.bin", "a binary Excel workbook (.xlsb)", "save it as .xlsx"),
    ("content.xml", "a spreadsheet of OpenDocument", "save the sheet as CSV (UTF-8)"),
    ("word/document.xml", "a Word document", CONVERT),
)
"""How the name of a member of a ZIP file begins."""


def kind_of_file(path: Path | str) -> tuple[str, str]:
    """What a file is that is no text of rows, and what to do; two empty texts of any other, and of what is no file."""
    if not Path(path).is_file():  # what comes through a pipe can be read once only
        return "", ""
    opener: Any = gzip.open if str(path).lower().endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            begins: bytes = file.read(FIRST)
    except (OSError, EOFError, zlib.error):  # whoever reads it says so
        return "", ""
    if begins.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _archive(path)
    if begins.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and is_json_lines(path, opener):
        return JSON_LINES, ""
    found = next((each[1:] for each in BEGINNINGS if begins.startswith(each[0])), None)
    return found or next((each[1:] for each in PATTERNS if re.match(each[0], begins, re.DOTALL)), ("", ""))


def is_json_lines(path: Path | str, opener: Any) -> bool:
    """Whether the first line is a JSON object."""
    with opener(path, "rb") as file:
        line = file.readline(LONGEST_LINE)
    try:
        return isinstance(json.loads(line.decode("utf-8-sig")), dict)
    except (ValueError, RecursionError):
        return False


def _archive(path: Path | str) -> tuple[str, str]:
    """What a ZIP file is by the names of its members."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        names = []
    of_office = (each[1:] for each in IN_ARCHIVES if any(name.startswith(each[0]) for name in names))
    return next(of_office, ("a ZIP archive", UNPACK))
