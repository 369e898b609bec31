"""Workbooks and files of Stata, SPSS and SAS: each cell is read alone, as the same value in CSV is."""

from __future__ import annotations

import csv
import gzip
import sys
from datetime import date, datetime, time, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privity.common.data import workbooks
from privity.common.data.csv_reading import csv_batches
from privity.common.data.dialect import COMMON
from privity.common.data.frame_values import text_of
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import read_table
from privity.common.errors import PrivityError, RowProblemsFound
from privity.party.sources.address import parse_address
from privity.party.sources.drafted_tables import looked_at_source
from privity.party.sources.held_rows import Access
from privity.party.sources.open_rows import open_rows
from privity.party.sources.sql_queries import Slots
from tests.harness.workbook import EMPTY_TEXT, ERROR, FORMATTED, FORMULA, NOT_COMPUTED, Raw, write_workbook

pytest.importorskip("python_calamine", reason="the extra files is not installed")
pyreadstat = pytest.importorskip("pyreadstat", reason="the extra files is not installed")

MISSING = {"missingValues": [""]}
FIELDS = [
    {"name": "n", "type": "integer", "edges": [-5, 0, 1, 7, 100], **MISSING},
    {"name": "x", "type": "number", "edges": [-5, 0, 0.1, 0.7, 100], **MISSING},
    {"name": "s", "type": "string", "categories": ["a", "b c", "1", "é"], **MISSING},
    {"name": "d", "type": "date", "edges": ["1900-03-01", "2024-02-29", "2024-03-01", "2100-01-01"], **MISSING},
    {"name": "t", "type": "datetime", "edges": ["1900-03-01T00:00:00", "2024-02-29T12:30:00", "2100-01-01T00:00:00"],
     "format": "%Y-%m-%d %H:%M:%S", **MISSING},
]  # fmt: skip
NAMES = [str(field["name"]) for field in FIELDS]
SCHEMA = parse_schema({"fields": FIELDS}, "schema.json")
DAYS = st.dates(date(1900, 3, 1), date(2099, 12, 31))
TIMES = st.datetimes(datetime(1900, 3, 1), datetime(2099, 12, 31)).map(lambda t: t.replace(microsecond=0))
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-5, 99),
        st.none() | st.sampled_from([0.1, 0.7, 1.0, -0.0, 99.5, 1e-7]) | st.floats(-5, 99),
        st.none() | st.sampled_from(["a", "b c", "1", "é"]),
        st.none() | DAYS,
        st.none() | TIMES,
    ).filter(lambda row: any(value is not None for value in row)),
    min_size=1,
    max_size=6,
)
QUICK = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def codes(path, schema=SCHEMA):
    return [tuple(row) for row in zip(*(column.tolist() for column in read_table(path, schema).columns), strict=True)]


def cells(path, dialect=COMMON):
    return [
        row for batch in csv_batches(path, dialect) for row in (batch.names, *zip(*batch.columns, strict=True)) if row
    ]


def as_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([NAMES, *[["" if v is None else v for v in row] for row in rows]])
    return path


def as_xlsx(path, rows):
    return write_workbook(path, [NAMES, *rows])


def as_statistics(path, rows):
    """Dates and times as numbers in the format of their program."""
    stata = path.suffix == ".dta"
    origin, day, second = (datetime(1960, 1, 1), 1, 1000) if stata else (datetime(1582, 10, 14), 86400, 1)
    frame = pd.DataFrame(rows, columns=NAMES, dtype=object)
    for name, unit, length in (("d", day, 86400), ("t", second, 1)):
        points = [None if v is None else pd.Timestamp(v).to_pydatetime() - origin for v in frame[name]]
        frame[name] = [np.nan if p is None else p.total_seconds() / length * unit for p in points]
    frame = frame.astype({"n": float, "x": float, "d": float, "t": float})
    frame["s"] = [value or "" for value in frame["s"]]
    if stata:
        pyreadstat.write_dta(frame, str(path), variable_format={"d": "%td", "t": "%tc"})
    else:
        pyreadstat.write_sav(frame, str(path), variable_format={"d": "DATE11", "t": "DATETIME20"})
    return path


@pytest.mark.parametrize(("name", "write"), [("t.xlsx", as_xlsx), ("t.dta", as_statistics), ("t.sav", as_statistics)])
@QUICK
@given(rows=ROWS)
def test_values_have_the_codes_of_csv_in_a_table_and_alone(tmp_path, name, write, rows):
    expected = codes(as_csv(tmp_path / "t.csv", rows))
    assert codes(write(tmp_path / name, rows)) == expected
    assert [code for row in rows for code in codes(write(tmp_path / name, [row]))] == expected


ANY = (
    st.none()
    | st.integers(-9, 120)
    | st.floats(-9, 120)
    | st.booleans()
    | DAYS
    | TIMES
    | st.times().map(lambda t: t.replace(microsecond=0))
    | st.sampled_from(["a", "7", "2024-02-29", " ", ERROR, FORMULA, EMPTY_TEXT, FORMATTED])
)
EMPTY = (None, ERROR, EMPTY_TEXT, FORMATTED)


@QUICK
@given(rows=st.lists(st.lists(ANY, min_size=5, max_size=7), min_size=1, max_size=6))
def test_a_row_of_any_cells_is_read_as_it_is_alone(tmp_path, rows):
    """What stands beside the table is not read, and a row without a value in it is none."""
    kept = [row for row in rows if any(value not in EMPTY for value in row[:5])]
    path = tmp_path / "t.xlsx"
    alone = [value for row in kept for value in cells(write_workbook(path, [NAMES, row]))[1:]]
    assert cells(write_workbook(path, [NAMES, *rows, ["a"]]))[1:-1] == alone
    assert len(alone) == len(kept)


def test_a_cell_is_what_it_holds(tmp_path):
    row = [1, 2**53 + 2, 0.1, True, date(2024, 2, 29), datetime(2024, 2, 29, 12, 30), time(1, 2, 3),
           timedelta(hours=30), ERROR, FORMULA, EMPTY_TEXT, FORMATTED, " é\n", "007"]  # fmt: skip
    expected = ["1", "9007199254740994", "0.1", "True", "2024-02-29 00:00:00", "2024-02-29 12:30:00", "01:02:03",
                "P1DT6H", "", "2", "", "", " é\n", "007"]  # fmt: skip
    for of_1904 in (False, True):
        path = write_workbook(tmp_path / "t.xlsx", [[f"c{n}" for n in range(len(row))], row], of_1904=of_1904)
        header, found = cells(path)
        assert header == [f"c{n}" for n in range(len(row))]
        assert list(map(text_of, found)) == expected


def test_a_header_is_the_texts_of_its_cells(tmp_path):
    path = write_workbook(tmp_path / "t.xlsx", [[2020, date(2024, 1, 2), 1.5], [1, 2, 3]])
    assert cells(path)[0] == ["2020", "2024-01-02 00:00:00", "1.5"]
    for header, rule in ((["a", "a"], "duplicate-column"), (["a", None, "b"], "unnamed-column")):
        with pytest.raises(RowProblemsFound) as raised:
            cells(write_workbook(path, [header, [1, 2, 3]]))
        assert [problem.rule for problem in raised.value.problems] == [rule]


@pytest.mark.parametrize("left", [0, 2])
def test_a_table_below_its_title_and_beside_the_edge_is_drafted_and_read(tmp_path, left):
    rows = [[n % 50, f"Ward {n % 3}", date(2024, 1, 1 + n % 28), n % 4 == 0 or None] for n in range(200)]
    title = [["Visits"], [], ["age", "ward", "day", "seen"]]
    path = write_workbook(tmp_path / "t.xlsx", [*title, *rows[:50], [], *rows[50:], [None] * 9 + ["note"]], left=left)
    with looked_at_source(str(path)) as looked:
        assert looked.look.rows == 200
        draft = looked.drafted().document
    assert draft["dialect"] == {"skipRows": 2}
    assert [field["type"] for field in draft["fields"]] == ["integer", "string", "date", "boolean"]
    assert read_table(path, parse_schema(draft, "draft")).rows == 200
    with pytest.raises(RowProblemsFound, match=r"The header is in line 3: declare .*skipRows.: 2"):
        read_table(path, parse_schema({**draft, "dialect": {}}, "draft"))


def test_names_that_are_there_twice_are_drafted_by_their_places(tmp_path):
    path = write_workbook(tmp_path / "t.xlsx", [["a", "a"], *[[n % 5, f"w{n % 3}"] for n in range(100)]])
    with looked_at_source(str(path)) as looked:
        draft = looked.drafted().document
    assert draft["dialect"] == {"header": False, "skipRows": 1}
    assert read_table(path, parse_schema(draft, "draft")).rows == 100


def test_the_only_sheet_that_is_visible_is_read_or_the_one_that_is_declared(tmp_path):
    sheets = {"Empty": [], "Visits": [["a"], [1]], "Codes": [["b"], [2]]}
    path = write_workbook(tmp_path / "t.xlsx", sheets, hidden=["Codes"])
    assert list(cells(path)[0]) == ["a"]
    assert list(cells(path, COMMON.changed({"sheet": "Codes"}))[0]) == ["b"]
    write_workbook(path, sheets)
    with pytest.raises(PrivityError, match=r"Visits, Codes all hold something: declare one, .*Visits"):
        cells(path)
    with pytest.raises(PrivityError, match="no sheet is called Visit: there are Empty, Visits, Codes"):
        cells(path, COMMON.changed({"sheet": "Visit"}))
    with pytest.raises(PrivityError, match="a sheet of a workbook is declared"):
        parse_address(f"{path}#Visits")
    with pytest.raises(PrivityError, match="no visible sheet holds anything"):
        cells(write_workbook(path, []))


def test_what_cannot_be_read_is_refused_with_what_to_do(tmp_path, monkeypatch):
    path = write_workbook(tmp_path / "t.xlsx", [["a"], [NOT_COMPUTED]])
    with pytest.raises(PrivityError, match="formula in A2 has no stored value: open the workbook"):
        cells(path)
    long = Raw('<c r="PLACE" s="4"><v>1e300</v></c>')
    with pytest.raises(PrivityError, match=r"no workbook that can be read \(days="):
        cells(write_workbook(path, [["a"], [long]]))
    far = Raw('<c r="XFD1048576"><v>1</v></c>')
    with pytest.raises(PrivityError, match="reaches to row 1048576, column 16384: delete"):
        cells(write_workbook(path, [["a"], [1, far]]))
    unplaced = [Raw(f"{'<c><v>1</v></c>' * 40}")]
    monkeypatch.setattr(workbooks, "MOST_CELLS", 100)
    with pytest.raises(PrivityError, match="reaches to row"):
        cells(write_workbook(path, [["a"], unplaced, unplaced]))
    monkeypatch.setattr(workbooks, "MOST_BYTES", 2000)
    with pytest.raises(PrivityError, match="unpacked it has more than"):
        cells(write_workbook(path, [["a"], ["x" * 3000]]))
    path.write_bytes(path.read_bytes()[:-100] + bytes(100))
    with pytest.raises(PrivityError):
        cells(path)
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(PrivityError, match="no workbook that can be read"):
        cells(path)
    path.write_bytes(b"<stata_dta><header>")
    with pytest.raises(PrivityError, match="a Stata file that cannot be read"):
        cells(path)
    (tmp_path / "t.dta.gz").write_bytes(gzip.compress(b"<stata_dta><header>"))
    with pytest.raises(PrivityError, match="a Stata file packed by gzip: unpack it"):
        cells(tmp_path / "t.dta.gz")


@pytest.mark.parametrize("library", ["python_calamine", "pyreadstat"])
def test_without_the_extra_it_is_named(tmp_path, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    path = tmp_path / "t.bin"
    if library == "pyreadstat":
        path.write_bytes(b"$FL2@(#) IBM SPSS")
    else:
        write_workbook(path, [["a"], [1]])
    with pytest.raises(PrivityError, match=r"it is an .*: install what reads it, pip install 'privity\[files\]', or"):
        cells(path)


def test_a_value_with_a_label_is_its_label(tmp_path):
    frame = pd.DataFrame({"sex": [1.0, 2.0, 3.0, np.nan], "x": np.array([0.1, 0.7, 2.5, 16777217], dtype="float32")})
    labels = {"sex": {1: "male", 2: "female", 9: "other"}}
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_value_labels=labels)
    assert [text_of(row[0]) for row in cells(tmp_path / "t.sav")[1:]] == ["male", "female", "3", ""]
    frame.to_stata(tmp_path / "t.dta", write_index=False)
    assert [text_of(row[1]) for row in cells(tmp_path / "t.dta")[1:]] == ["0.1", "0.7", "2.5", "16777216"]


def test_a_number_is_a_date_by_the_format_of_its_variable(tmp_path):
    frame = pd.DataFrame({"d": [1e10, 1e14], "t": [3600.5, 90000.0], "x": [1e10, 1.0]})
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_format={"d": "EDATE10", "t": "TIME8", "x": "F10.0"})
    assert [list(map(text_of, row)) for row in cells(tmp_path / "t.sav")[1:]] == [
        ["1899-09-02", "01:00:00.500000", "10000000000"],
        ["100000000000000", "P1DT1H", "1"],
    ]
    times = frame.assign(t=[3600000.0, 1.0])[["t"]]
    pyreadstat.write_dta(times, str(tmp_path / "t.dta"), variable_format={"t": "%tcHH:MM:SS"})
    assert [text_of(row[0]) for row in cells(tmp_path / "t.dta")[1:]] == ["01:00:00", "00:00:00.001000"]
    pyreadstat.write_xport(frame.assign(d=[0.0, 366.0]), str(tmp_path / "t.xpt"), variable_format={"d": "YYMMDD10"})
    assert [text_of(row[0]) for row in cells(tmp_path / "t.xpt")[1:]] == ["1960-01-01", "1961-01-01"]


@pytest.mark.parametrize("kind", ["sav", "dta", "xport"])
def test_dates_that_another_program_wrote_are_the_same(tmp_path, kind):
    days = [date(2024, 2, 29), None, date(1900, 1, 1)]
    times = [datetime(2024, 2, 29, 12, 30, 1), None, datetime(1970, 1, 1)]
    frame = pd.DataFrame({"d": days, "t": times}, dtype=object)
    getattr(pyreadstat, f"write_{kind}")(frame, str(tmp_path / "t"))
    assert [list(map(text_of, row)) for row in cells(tmp_path / "t")[1:]] == [
        ["2024-02-29", "2024-02-29 12:30:01"],
        ["", ""],
        ["1900-01-01", "1970-01-01 00:00:00"],
    ]


def test_a_file_of_stata_has_the_numbers_of_its_csv():
    folder = Path(statsmodels.__file__).parent / "datasets" / "macrodata"
    names, *rows = cells(folder / "macrodata.csv")
    fields = [{"name": name, "type": "number", "edges": [-20, 0.1, 29.15, 2710.349, 1e6]} for name in names]
    schema = parse_schema({"fields": fields}, "schema.json")
    assert codes(folder / "macrodata.dta", schema) == codes(folder / "macrodata.csv", schema)
    assert [[float(text_of(value)) for value in row] for row in cells(folder / "macrodata.dta")[1:]] == [
        list(map(float, row)) for row in rows
    ]


def test_a_workbook_of_the_old_form_is_read():
    found = Path(statsmodels.__file__).parent / "datasets" / "macrodata" / "src" / "macrodata.xls"
    path = found / found.name if found.is_dir() else found
    with pytest.raises(PrivityError, match="its sheets README, Monthly, Quarterly all hold something"):
        cells(path)
    header, first, *_ = cells(path, COMMON.changed({"sheet": "Quarterly"}))
    assert header == ["DATE", "DPIC96", "FGCEC96", "GDPC96", "GPDIC96", "PCECC96"]
    assert list(map(text_of, first)) == ["1947-01-01 00:00:00", "1218.6", "223.682", "1772.204", "189.365", "1131.5"]


def test_rows_of_a_person_are_found_by_their_cells(tmp_path):
    rows = [[1 + n // 3, datetime(2024, 1, 1 + n), "ab"[n % 2]] for n in range(12)]
    write_workbook(tmp_path / "t.xlsx", [["who", "seen", "v"], *rows[::-1]])
    fields = [{"name": "v", "type": "string", "categories": ["a", "b"]}]
    document = {"fields": fields, "absentRows": True, "extraColumns": "ignore"}
    access = Access(memory=1 << 20, slots=Slots("who", "seen", 1))
    opened = open_rows(parse_address(str(tmp_path / "t.xlsx")), parse_schema(document, "schema.json"), access)
    assert opened.rows.count([(0,)]).tolist() == [2, 2, 0]


def test_many_rows_are_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("privity.common.data.statistics_files.CELLS_AT_ONCE", 7)
    for count in (6, 7, 8):
        frame = pd.DataFrame({"n": np.arange(count, dtype=float)})
        pyreadstat.write_dta(frame, str(tmp_path / "t.dta"))
        assert [text_of(row[0]) for row in cells(tmp_path / "t.dta")[1:]] == [str(n) for n in range(count)]


def test_a_pattern_of_such_files_is_one_table(tmp_path):
    for name in ("a.xlsx", "b.xlsx"):
        write_workbook(tmp_path / name, [["a"], [1]])
    address = parse_address(str(tmp_path / "*.xlsx"))
    assert len(address.files) == 2
    assert not address.holds_texts
