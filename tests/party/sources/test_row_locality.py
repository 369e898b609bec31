"""Row locality: what becomes of a row depends on this row, or on the rows of its person, and on declared things only.

The guarantee of a release is about one replaced, added or removed row. It holds only if no other row is then read,
coded, ordered or refused in another way. So each test codes a table, and each row (each person's rows) as a table of
its own:

- the coded rows of the table are the union of those of its rows, and
- the table is refused if and only if some row alone is refused.

``pytest tests/party/sources/test_row_locality.py -s`` prints how many cases were visited, by source.
``-m "not long"`` takes seconds, and ``-m long`` visits more, Spark too.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privity import OneWay
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_reading import encode
from privity.common.errors import PrivityError, RowProblemsFound
from privity.party.sources import person_slots
from privity.party.sources.address import parse_address
from privity.party.sources.coded_batches import StoreBatches
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import connect, known_texts, open_rows
from privity.party.sources.rows import InMemory
from privity.party.sources.sql_queries import Questions, Slots
from tests.harness import ledgers
from tests.harness.column_readers import column_as_text, ranks_by_all
from tests.harness.long import long_but, thinned

pytestmark = pytest.mark.external

MEMORY = 1 << 28
Coded = Counter[tuple[int, ...]] | None
"""The coded rows; None if the table is refused."""

VISITED: Counter[str] = Counter()
"""Cases by source: a case is one attribute, one value and one way in which the table changes by it."""


@pytest.fixture(scope="session", autouse=True)
def visited() -> Iterator[None]:
    yield
    print(f"\nRow locality: {sum(VISITED.values())} cases: {dict(VISITED)}")


# Declared domains.

NFC, NFD = "\u00e9", "e\u0301"
TEXTS = [
    "1", "1a", "01", "1.0", "1e0", " 1", "1 ", "", "NULL", "nan", "NaN", "None", "inf", "-inf", "-0", "0", "+1", "a",
    "a\0x", "1\0", "\ufeff", NFC, NFD, "9" * 30, "9" * 500, 'say "1"', "it's", "1;2", "a,b", "=cmd|' /C calc'!A0",
    "29/02/2024", "1/1/0001", "12:30", "2024-02-29T12:30:00Z", "2024-02-29 12:30:00", "PT1S", "2024-02-30",
    "\uff11", "\u0661", "true", "True", "TRUE", "2024-02-29", "new\nline", "\u2028", "\U0001f600", "\\N", "A", "-9",
    "-9.0",
]  # fmt: skip
OTHER = {"outOfDomain": "other"}
FIELDS: dict[str, dict[str, Any]] = {
    "string": {"type": "string", "categories": ["a", "1", NFC, "True", "2024-02-29"]},
    "string, other": {"type": "string", "categories": ["a", "1", "1.0", "", "True", "o"], **OTHER, "other": "o"},
    "string, missing": {"type": "string", "categories": ["a", "1", NFD, "o"], "missingValues": ["", "NULL", "nan"],
                        **OTHER, "other": "o"},
    "boolean": {"type": "boolean"},
    "boolean, missing": {"type": "boolean", "missingValues": ["", "nan", "a"]},
    "integer": {"type": "integer", "categories": [0, 1, 2, 2**53 + 1]},
    "integer, other": {"type": "integer", "categories": [0, 1, 2, -(2**63)], **OTHER, "other": 2},
    "integer, small": {"type": "integer", "categories": [0, 1, 2, -9], **OTHER, "other": 2},
    "integer, edge": {"type": "integer", "edges": [-3, 0, 1, 9], "outOfDomain": "edge",
                      "missingValues": ["", "-9", "x"]},
    "number, missing": {"type": "number", "categories": [0.5, 1, 1.5], "missingValues": ["nan", "inf", "-9.0"],
                        **OTHER, "other": 1.5},
    "number, edge": {"type": "number", "edges": [0, 0.1, 1, 2], "outOfDomain": "edge"},
    "number, rounded": {"type": "number", "edges": [0, 0.1, 1, 2], "decimals": 2, "missingValues": [""]},
    "number": {"type": "number", "edges": [-1, 0, 0.1, 1, 2], "missingValues": [""]},
    "date": {"type": "date", "edges": ["2024-02-01", "2024-02-29", "2024-04-01"], "missingValues": ["nan"]},
    "date, edge": {"type": "date", "format": "%d/%m/%Y", "edges": ["2024-02-01", "2024-02-29", "2024-03-01"],
                   "outOfDomain": "edge", "missingValues": ["", "1/1/0001"]},
    "moment": {"type": "datetime", "edges": ["2024-02-29", "2024-02-29T12:30:00", "2024-03-01"], "outOfDomain": "edge",
               "missingValues": [""]},
    "moment, zone": {"type": "datetime", "timezone": "Europe/Vienna", "outOfDomain": "edge", "missingValues": [""],
                     "edges": ["2024-02-28T00:00:00Z", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"]},
    "clock": {"type": "time", "edges": ["00:00:00", "12:30:00", "23:59:59"], "outOfDomain": "edge"},
    "length": {"type": "duration", "edges": ["-P1D", "PT0S", "PT1S", "P1D"], "decimals": 6, "missingValues": [""]},
    "month": {"type": "integer", "compute": {"from": "month of", "part": "month", "type": "date"}},
    "log": {"type": "number", "edges": [-1, 0, 0.5, 2], "decimals": 1, "compute": {"from": "log of", "log": 10},
            "outOfDomain": "edge", "missingValues": ["", "-9"]},
    "prefix": {"type": "string", "categories": ["a", "1", NFC, "o"], "compute": {"from": "prefix of", "prefix": 1},
               **OTHER, "other": "o"},
}  # fmt: skip
COMPUTED = {name: field["compute"]["from"] for name, field in FIELDS.items() if "compute" in field}
"""The columns of which some are computed."""
SOME_FIELDS = ["string, other", "boolean, missing", "integer, edge", "integer, other", "number, missing"]


def schema_of(fields: dict[str, dict[str, Any]], *, absent: bool = False) -> Schema:
    declared = [{"name": name, **field} for name, field in fields.items()]
    return parse_schema({"absentRows": absent, "fields": declared}, "s")


def counted(columns: Sequence[np.ndarray]) -> Counter[tuple[int, ...]]:
    return Counter(zip(*(column.tolist() for column in columns), strict=True))


def coded(code: Callable[[], CodedTable]) -> Coded:
    try:
        return counted(code().columns)
    except (RowProblemsFound, PrivityError):
        return None


def union(parts: Sequence[Coded]) -> Coded:
    whole: Counter[tuple[int, ...]] = Counter()
    for part in parts:
        if part is None:
            return None
        whole += part
    return whole


def changes(base: Sequence[Any], hostile: Any) -> dict[str, list[Any]]:
    """A table after one row was added, replaced or removed; the hostile row is the one, or it stays."""
    return {
        "added": [*base, hostile],
        "added first": [hostile, *base],
        "replaced": [*base[:1], hostile, *base[2:]],
        "removed": [hostile, *base[2:]],
    }


def holds(
    code: Callable[[Sequence[Any]], Coded], base: Sequence[Any], others: Sequence[Any], name: str, attributes: int = 1
) -> None:
    """The property for all changes by each of the other rows."""
    alone = [code([row]) for row in base]
    for hostile in others:
        single = code([hostile])
        parts = dict(zip(map(id, [*base, hostile]), [*alone, single], strict=True))
        for change, rows in changes(base, hostile).items():
            assert code(rows) == union([parts[id(row)] for row in rows]), (change, hostile)
            VISITED[name] += attributes


# DataFrames.

MOMENT = datetime(2024, 2, 29, 12, 30, 0, 500000)
NUMBERS: list[Any] = [
    1, 0, -9, 2, 2**53 + 1, 2**62, 10**400, True, False, 1.0, 1.5, -0.0, 0.1, float("inf"), -float("inf"), float("nan"),
    None, pd.NA, np.float32(0.1), np.int8(1), np.uint64(2**64 - 1), np.float16(0.5), np.True_, Decimal("1"),
    Decimal("1.50"), Decimal("-0"), Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), Decimal("1E+999999"),
]  # fmt: skip
VALUES: list[Any] = [
    *NUMBERS, "a", "1", "nan", "", NFC, NFD, "a\0x", "\ud800", np.str_("a"), pd.NaT, date(2024, 2, 29), MOMENT,
    pd.Timestamp(MOMENT), pd.Timestamp("2024-02-29"), pd.Timestamp("2024-02-29 00:00:00.000000001"),
    np.datetime64("2024-02-29"), np.datetime64("NaT"), MOMENT.replace(tzinfo=UTC), b"1", [1], (1,), 1j, {"a": 1},
    pd.Timedelta(1), np.timedelta64(1, "s"), pd.Interval(0, 1), pd.Period("2024"), MOMENT.time(), object,
]  # fmt: skip
BASES: list[list[Any]] = [
    [1, 2, 1],
    [True, False, True],
    ["a", "1", "a"],
    [1.5, 0.5, 1.0],
    [pd.Timestamp("2024-02-29")] * 3,
]


def inferred(values: Sequence[Any]) -> pd.Series:
    """A column of the type that pandas chooses, from all of its values."""
    try:
        return pd.Series(list(values))
    except UnicodeEncodeError:  # half of a surrogate pair
        return pd.Series(list(values), dtype=object)


def refusing(convert: Callable[[pd.Series], pd.Series]) -> Callable[[Sequence[Any]], pd.Series | None]:
    def converted(values: Sequence[Any]) -> pd.Series | None:
        try:
            return convert(inferred(values))
        except Exception:  # pandas cannot hold these values so: there is no table
            return None

    return converted


def categorical(column: pd.Series) -> pd.Series:
    """As categories; pandas takes True for 1 among them, which docs/python.md tells the owner of."""
    booleans = [isinstance(value, bool | np.bool_) for value in column.tolist()]
    if any(booleans) and not all(booleans):
        raise TypeError
    return column.astype("category")


FRAMES: dict[str, Callable[[Sequence[Any]], pd.Series | None]] = {
    "inferred": refusing(lambda column: column),
    "object": refusing(lambda column: column.astype(object)),
    "nullable": refusing(lambda column: column.convert_dtypes()),
    "Arrow": refusing(lambda column: column.convert_dtypes(dtype_backend="pyarrow")),
    "categorical": refusing(lambda column: categorical(column)),
    "Sparse": refusing(lambda column: column.astype(pd.SparseDtype(column.dtype))),
}


def frame_code(kind: str, field: str) -> Callable[[Sequence[Any]], Coded]:
    schema = schema_of({field: FIELDS[field]})
    name = COMPUTED.get(field, field)
    known: dict[int, Coded] = {}

    def code(values: Sequence[Any]) -> Coded:
        # A row alone has the type that its own value gives it: the strongest form.
        if len(values) == 1:
            if id(values[0]) not in known:
                known[id(values[0])] = coded(lambda: encode(pd.DataFrame({name: inferred(values)}), schema, "t"))
            return known[id(values[0])]
        column = FRAMES[kind](values)
        if column is None:
            return union([code([value]) for value in values])
        return coded(lambda: encode(pd.DataFrame({name: column}), schema, "t"))

    return code


LONG = [False, pytest.param(True, marks=pytest.mark.long)]


@pytest.mark.parametrize("more", LONG)
@pytest.mark.parametrize(("field", "kind"), thinned(itertools.product(FIELDS, FRAMES), 5))
def test_a_value_of_a_frame_counts_the_same_in_any_company(kind: str, field: str, more: bool) -> None:
    code = frame_code(kind, field)
    for base in BASES if more else BASES[:2] if kind == "inferred" else BASES[:1]:
        holds(code, base, VALUES if more or kind == "inferred" else VALUES[::3], f"DataFrame, {kind}")


TYPED: dict[str, list[Any]] = {
    "int8": [1, 0, -9], "uint64": [1, 2**64 - 1], "int64": [1, 2**53 + 1], "bool": [True, False],
    "float64": [1.0, 1.5, np.nan, -0.0, np.inf, 2.0**53], "float32": [0.1, 1.0, np.nan], "Int64": [1, None, 2**53 + 1],
    "Float64": [1.0, None, 0.1], "boolean": [True, None, False], "string[python]": ["a", None, "1", "nan"],
    "string[pyarrow]": ["a", None, "1", "a\0x"], "str": ["a", None, "", "1.0"],
    "int64[pyarrow]": [1, None], "double[pyarrow]": [1.0, None, 0.1], "bool[pyarrow]": [True, None],
    "date32[day][pyarrow]": [date(2024, 2, 29), None], "timestamp[us][pyarrow]": [MOMENT, None],
    "datetime64[s]": [MOMENT, None], "datetime64[ms]": [MOMENT, None], "datetime64[us]": [MOMENT, None],
    "datetime64[ns]": [MOMENT, None, date(2024, 2, 29)], "datetime64[ns, UTC]": [MOMENT, None],
    "timedelta64[ns]": [pd.Timedelta(1), None], "complex128": [1, 2], "period[D]": [pd.Period("2024-02-29", "D"), None],
    "Sparse[float]": [0.0, 1.0, np.nan], "Sparse[int]": [0, 1], "float16": [0.5, 1.0, np.nan],
}  # fmt: skip


@pytest.mark.parametrize("dtype", list(TYPED))
def test_a_value_of_a_declared_type_counts_the_same_in_any_company(dtype: str) -> None:
    values = TYPED[dtype]
    for field in SOME_FIELDS:
        schema = schema_of({field: FIELDS[field]})

        def code(rows: Sequence[Any], field: str = field, schema: Schema = schema) -> Coded:
            return coded(lambda: encode(pd.DataFrame({field: pd.Series(list(rows), dtype=dtype)}), schema, "t"))

        holds(code, [values[0]] * 3, values, "DataFrame, declared type")


def arrow_frame(kind: pa.DataType, values: Sequence[int]) -> pd.DataFrame:
    """A column of Arrow that holds these numbers as this type, whatever Python can make of them."""
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pd.DataFrame({"x": pd.Series(pd.array(pa.array(values, width).cast(kind), dtype=pd.ArrowDtype(kind)))})


class Raising(int):
    def __float__(self) -> float:
        raise ValueError


class EmptyZone(tzinfo):
    """A time zone that counts as false."""

    def __len__(self) -> int:
        return 0

    def utcoffset(self, moment: datetime | None) -> timedelta:
        return timedelta(0)


ODD_UTF8 = pa.Array.from_buffers(
    pa.string(), 3, [None, pa.py_buffer(np.array([0, 1, 2, 3], np.int32).tobytes()), pa.py_buffer(b"a\xff1")]
)


@pytest.mark.parametrize(
    ("frame", "row"),
    [
        (arrow_frame(pa.date32(), [1, 2**30, 2]), 2),
        (arrow_frame(pa.duration("s"), [2**62]), 1),
        (pd.DataFrame({"x": pd.Series(pd.array(ODD_UTF8, dtype=pd.ArrowDtype(pa.string())))}), 2),
        (pd.DataFrame({"x": pd.Series([1, Raising(1), "a"], dtype=object)}), 2),
        (pd.DataFrame({"x": pd.Series(["a", datetime(2024, 2, 29, tzinfo=EmptyZone())], dtype=object)}), 2),
    ],
    ids=["date", "duration", "text", "number", "zone"],
)
def test_a_value_that_cannot_be_read_is_the_fault_of_its_row(frame: pd.DataFrame, row: int) -> None:
    schema = schema_of({"x": FIELDS["string, other"]})
    with pytest.raises(RowProblemsFound) as found:
        encode(frame, schema, "t")
    assert [problem.rule for problem in found.value.problems] == ["value-type"]
    assert f"(row {row})" in str(found.value)
    rest = frame.drop(index=row - 1)
    parts = [coded(lambda place=place: encode(rest.iloc[[place]], schema, "t")) for place in range(len(rest))]
    assert coded(lambda: encode(rest, schema, "t")) == union(parts) if len(rest) else rest.empty


def test_a_time_of_arrow_beyond_the_calendar_of_python_is_read() -> None:
    schema = schema_of({"x": {"type": "string", "categories": ["20000-01-01 00:00:00", "1970-01-01 00:00:01"]}})
    far = int(np.datetime64("20000-01-01", "s").astype(int))
    frame = arrow_frame(pa.timestamp("s"), [far, 1])
    assert encode(frame, schema, "t").column(0).tolist() == [0, 1]
    assert encode(frame.astype("datetime64[s]"), schema, "t").column(0).tolist() == [0, 1]


def test_the_text_of_a_value_is_the_documented_one() -> None:
    """docs/python.md, "What a value's code is"."""
    expected = {
        "1": [1, 1.0, np.float32(1), np.int8(1), Decimal("1"), Decimal("1.00"), "1"],
        "0": [0, -0.0, Decimal("-0.0")],
        "9007199254740993": [Decimal(2**53 + 1), str(2**53 + 1)],
        "0.1": [0.1, Decimal("0.10")],
        "0.10000000149011612": [np.float32(0.1)],
        "0.1000000000000000055511151231257827": [Decimal("0.1000000000000000055511151231257827")],
        "inf": [np.inf, Decimal("Infinity")],
        "-inf": [-np.inf],
        "True": [True, np.True_],
        "2024-02-29": [date(2024, 2, 29)],
        "2024-02-29 00:00:00": [pd.Timestamp("2024-02-29"), np.datetime64("2024-02-29")],
        "2024-02-29 12:30:00.5": [MOMENT, pd.Timestamp(MOMENT)],
    }
    schema = schema_of({"x": {"type": "string", "categories": list(expected), "missingValues": ["gone"]}})
    for place, values in enumerate(expected.values()):
        for value in values:
            frame = pd.DataFrame({"x": inferred([value])})
            assert encode(frame, schema, "t").column(0).tolist() == [place], value
    for rounded in (2**53 + 1, 2.0**53, 10**400, np.uint64(2**64 - 1)):
        for column in (inferred([rounded]), inferred([rounded]).convert_dtypes()):
            with pytest.raises(RowProblemsFound, match="as texts"):
                encode(pd.DataFrame({"x": column}), schema, "t")
    missing = [None, np.nan, pd.NA, pd.NaT, Decimal("NaN")]
    assert encode(pd.DataFrame({"x": inferred(missing)}), schema, "t").column(0).tolist() == [len(expected)] * 5
    assert encode(pd.DataFrame({"x": ["gone"]}), schema, "t").column(0).tolist() == [len(expected)]


def test_all_faults_of_a_frame_are_told_at_once() -> None:
    schema = schema_of(dict.fromkeys(("zone", "blob", "far", "lost", "twice"), FIELDS["number"]))
    frame = pd.DataFrame(
        {
            "zone": pd.to_datetime(["2024-02-29"], utc=True), "blob": [b"secret"], "far": [np.inf], "lost": ["lost"],
            "twice": [1], "extra": [1],
        }
    )  # fmt: skip
    with pytest.raises(RowProblemsFound) as found:
        encode(frame, schema, "t")
    said = {(problem.field, problem.rule): problem.message for problem in found.value.problems}
    assert set(said) == {
        ("header", "extra-column"), ("zone", "value-type"), ("blob", "value-type"), ("far", "out-of-domain"),
        ("lost", "out-of-domain"),
    }  # fmt: skip
    assert "a time with a zone, '2024-02-29 00:00:00Z' (row 1)" in said["zone", "value-type"]
    assert "bytes (row 1)" in said["blob", "value-type"]
    assert "'inf' (row 1)" in said["far", "out-of-domain"]
    with pytest.raises(RowProblemsFound, match="duplicate-column"):
        encode(pd.DataFrame([[1] * 6], columns=[*schema.names, "twice"]), schema, "t")


@pytest.mark.parametrize("examples", [15, pytest.param(3000, marks=pytest.mark.long)])
def test_any_values_of_a_frame(examples: int) -> None:
    numbers = st.one_of(st.integers(-(2**65), 2**65), st.floats(), st.booleans(), st.none())
    values = st.one_of(st.sampled_from(VALUES), numbers, st.text(max_size=3), st.datetimes(), st.decimals())

    @settings(max_examples=examples, database=None)
    @given(rows=st.lists(values, min_size=2, max_size=6), kind=st.sampled_from(list(FRAMES)))
    def check(rows: list[Any], kind: str) -> None:
        for field in FIELDS:
            code = frame_code(kind, field)
            assert code(rows) == union([code([value]) for value in rows])
            VISITED["DataFrame, any values"] += 1

    check()


# Bytes of CSV files.

RECORDS = [
    *(text.encode() for text in TEXTS if not {*text} & {"\n", ",", '"'}), b'"1"', b'"a,b"', b'"say ""1"""', b'"a\nb"',
    b'"a\r\nb"', b'"a\rb"', b"\xff", b"a\xc3", b"\xed\xa0\x80", b"1,2", b"", b",", b'"a"b', b'a"b', b"1\xef\xbb\xbf",
    b"x" * 131_073, b"\t1", b"'1'",
]  # fmt: skip
WRAPS: dict[str, Callable[[Sequence[bytes]], tuple[str, bytes]]] = {
    "LF": lambda lines: ("t.csv", b"\n".join([*lines, b""])),
    "CR LF, byte-order mark": lambda lines: ("t.csv", b"\xef\xbb\xbf" + b"\r\n".join([*lines, b""])),
    "CR": lambda lines: ("t.csv", b"\r".join([*lines, b""])),
    "gzip": lambda lines: ("t.csv.gz", gzip.compress(b"\n".join([*lines, b""]), 1, mtime=0)),
}


def csv_code(folder: Path, wrap: str, field: str) -> Callable[[Sequence[bytes]], Coded]:
    schema = schema_of({field: FIELDS[field]})
    header = f'"{COMPUTED.get(field, field)}"'.encode()

    def code(records: Sequence[bytes]) -> Coded:
        name, content = WRAPS[wrap]([header, *records])
        (folder / name).write_bytes(content)
        return coded(lambda: table_of(str(folder / name), schema))

    return code


def table_of(address: str, schema: Schema, slots: Slots | None = None) -> CodedTable:
    rows = open_rows(parse_address(address), schema, Access(Hold.MEMORY, MEMORY, slots)).rows
    assert isinstance(rows, InMemory)
    return rows.table


@pytest.mark.parametrize(
    ("field", "wrap"),
    thinned(
        itertools.product(["string, other", "boolean, missing", "integer, edge", "number", "date, edge", "log"], WRAPS),
        5,
    ),
)
def test_a_record_of_a_csv_file_is_read_the_same_in_any_company(wrap: str, field: str, tmp_path: Path) -> None:
    records = RECORDS if wrap == "LF" else RECORDS[::2]
    holds(csv_code(tmp_path, wrap, field), [b"1", b"0", b'"1"'], records, f"CSV, {wrap}")


@pytest.mark.parametrize("at_once", [1, 3])
def test_where_batches_end_and_what_is_remembered_decides_nothing(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privity.common.data.csv_reading.CELLS_AT_ONCE", at_once)
    monkeypatch.setattr("privity.common.data.table_reading.MOST_TEXTS", at_once)
    monkeypatch.setattr("privity.common.data.table_reading.MOST_FAULTS", 1)
    for field in ("string, other", "integer, edge"):
        holds(csv_code(tmp_path, "LF", field), [b"1", b"0", b'"1"'], RECORDS[1::2], "CSV, small batches")


def test_a_file_without_rows_among_others_is_no_fault(tmp_path: Path) -> None:
    schema = schema_of({"x": FIELDS["string, other"]})
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("x\n")
    assert table_of(str(tmp_path), schema).rows == 1
    (tmp_path / "a.csv").write_text("x\n")
    with pytest.raises(RowProblemsFound, match="no-rows"):
        table_of(str(tmp_path), schema)


# Stores: columns of every type, all rows as codes, one beyond an attribute's last for what is outside its domain.

DAY = date(2024, 2, 29)
INTEGERS = [1, 0, 2, -9, 2**53 + 1, 2**63 - 1, -(2**63), None]
DOUBLES = [1.0, 0.1, -0.0, 1.5, float("nan"), float("inf"), -float("inf"), 2.0**53, 1e300, None]
PRICES = [Decimal("1"), Decimal("0.100"), Decimal("-9"), None]
KINDS: dict[str, tuple[Any, str, str, list[Any], list[str]]] = {
    "text": (pa.string(), "text", "TEXT", [*TEXTS, None], SOME_FIELDS),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), "char(8)", "TEXT COLLATE NOCASE", [*TEXTS, None],
                   ["string, missing"]),
    "integer": (pa.int64(), "bigint", "BIGINT", INTEGERS, ["string, other", "boolean", *SOME_FIELDS[2:]]),
    "double": (pa.float64(), "double precision", "", DOUBLES,
               ["integer, small", "integer, edge", "number, missing", "number"]),
    "single": (pa.float32(), "real", "", [*DOUBLES[:-2], None], ["number, missing", "number, edge"]),
    "decimal": (pa.decimal128(9, 3), "numeric(9,3)", "DECIMAL(9,3)", PRICES, ["integer, other", "number"]),
    "boolean": (pa.bool_(), "boolean", "BOOLEAN", [True, False, None], ["boolean, missing", "string, other"]),
    "date": (pa.date32(), "date", "DATE COLLATE RTRIM", [DAY, date(1, 1, 1), None], ["string, other"]),
    "day": (pa.date32(), "date", "", [DAY, date(1, 1, 1), date(9999, 12, 31), None], ["date", "date, edge"]),
    "time": (pa.timestamp("us"), "timestamp", "TIMESTAMP", [MOMENT, datetime(2024, 2, 29), None], ["string, other"]),
    "moment": (pa.timestamp("us"), "timestamp", "", [MOMENT, datetime(2024, 2, 29), None], ["moment", "date"]),
    "instant": (pa.timestamp("us", "UTC"), "timestamptz", "", [MOMENT.replace(tzinfo=UTC), None], ["moment, zone"]),
    "clock": (pa.time64("us"), "time", "", [time(0), time(12, 30), time(23, 59, 59, 999_999), None], ["clock"]),
}  # fmt: skip
"""By name: the type in Arrow, PostgreSQL and SQLite, the values, and the attributes that columns of it are tried as.

SQLite's doubles are refused, whatever the rows.
"""

Row = dict[str, Any]
STORES = [
    "parquet",
    pytest.param("s3", marks=[pytest.mark.process, pytest.mark.long]),
    "arrow",
    "duckdb",
    "sqlite",
    "postgresql",
    pytest.param("spark", marks=pytest.mark.long),
]


def columns_of(form: str) -> dict[str, tuple[str, str]]:
    """By the attribute's name: the kind of its column, and its field."""
    used = {kind: about for kind, about in KINDS.items() if form != "sqlite" or about[2]}
    if form == "spark":  # which knows no time of day, and whose dates and times are refused: text is read
        used = {kind: about for kind, about in used.items() if kind not in ("clock", "moment", "instant")}
    return {f"{kind} as {field}": (kind, field) for kind, about in used.items() for field in about[4]}


def row_of(form: str, number: int) -> Row:
    """A row with the value of this number in each column, over again where there are fewer."""
    values = {}
    for name, (kind, _) in columns_of(form).items():
        of_kind = KINDS[kind][3]
        if form == "postgresql":  # no text there holds a NUL; and char(8) is cut to size by whoever inserts
            of_kind = [value.replace("\0", "\1") if isinstance(value, str) else value for value in of_kind]
            of_kind = [value[:8] if isinstance(value, str) and kind == "dictionary" else value for value in of_kind]
        values[name] = of_kind[number % len(of_kind)]
    return values


def put(form: str, folder: Path, rows: Sequence[Row], types: dict[str, str], server: Any = None) -> str:
    """Write the rows to a store; gives the address.

    Args:
        types: the kind of each column, of ``KINDS``.
    """
    names = list(types)
    if form in ("sqlite", "postgresql"):
        sql = {name: KINDS[kind][1 if form == "postgresql" else 2] for name, kind in types.items()}
        declared = ", ".join(f'"{name}" {kind}' for name, kind in sql.items())
        values = [[row[name] for name in names] for row in rows]
        if form == "sqlite":  # which binds no decimals
            values = [[str(value) if isinstance(value, Decimal) else value for value in row] for row in values]
        if form == "postgresql":
            with psycopg.connect(server.owner) as pg:
                pg.execute(f"DROP TABLE IF EXISTS t; CREATE TABLE t ({declared})".encode())
                pg.cursor().executemany(f"INSERT INTO t VALUES ({', '.join(['%s'] * len(names))})".encode(), values)
            return str(server.url("t"))
        with contextlib.closing(sqlite3.connect(folder / "rows.db")) as lite, lite:
            lite.execute("PRAGMA synchronous = OFF")
            lite.execute("DROP TABLE IF EXISTS t")
            lite.execute(f"CREATE TABLE t ({declared})")
            lite.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", values)
        return f"sqlite:///{folder}/rows.db#t"
    table = pa.table({name: pa.array([row[name] for row in rows], KINDS[kind][0]) for name, kind in types.items()})
    if form == "s3":
        server.put("rows.parquet", table)
        return str(server.address("rows.parquet"))
    if form in ("parquet", "spark"):
        pq.write_table(table, folder / "rows.parquet")
        return str(folder / "rows.parquet") if form == "parquet" else f"pyspark://#{folder}/rows.parquet"
    if form == "arrow":
        pyarrow.feather.write_feather(table, folder / "rows.feather")
        return str(folder / "rows.feather")
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM given")
    return f"duckdb://{folder}/rows.duckdb#t"


def store_codes(address: str, schema: Schema) -> Counter[tuple[int, ...]]:
    """All rows of a store as codes, those outside a domain too."""
    store = connect(parse_address(address), MEMORY)
    try:
        batches = StoreBatches(store, Questions(store, schema, known_texts(store, schema, None), None), schema)
        found: Counter[tuple[int, ...]] = Counter()
        for columns in batches.read(range(len(schema.attributes))):
            found += counted(columns)
        return found
    finally:
        store.close()


@pytest.mark.parametrize("more", LONG)
@pytest.mark.parametrize("form", long_but(["parquet", "sqlite", "postgresql"], STORES))
def test_a_row_of_a_store_is_coded_the_same_in_any_company(
    form: str, more: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = server_of(form, request)
    columns = columns_of(form)
    schema = schema_of({name: FIELDS[field] for name, (_, field) in columns.items()})
    types = {name: kind for name, (kind, _) in columns.items()}

    def code(rows: Sequence[Row]) -> Coded:
        return store_codes(put(form, tmp_path, rows, types, server), schema)

    rows = [row_of(form, number) for number in range(len(TEXTS) + 1)]
    chunks = [rows[start::5] for start in range(5)]
    assert code(rows) == union([code(chunk) for chunk in chunks])
    VISITED[form] += len(chunks) * len(columns)
    holds(code, rows[:3], rows[3 :: 4 if more else 30], form, len(columns))


# SQLite: a column may hold values of any type, and the declared type is all that is known of it.

MIXED = ["1", 1, 1.0, "a", "A", "a ", " 1", "1.0", 0.1, "0.1", b"1", b"\xff", None, "", "zz", "2024-02-29",
         "2024-02-29 ", 2024, "inf", 9e999, -9, "-9", True, "\0", 2**63 - 1]  # fmt: skip


def sqlite_code(
    folder: Path, field: dict[str, Any], column: str, view: str = "SELECT x FROM t0"
) -> Callable[[Sequence[Any]], Coded]:
    schema = schema_of({"x": field})

    def code(values: Sequence[Any]) -> Coded:
        with contextlib.closing(sqlite3.connect(folder / "rows.db")) as lite, lite:
            lite.execute("PRAGMA synchronous = OFF")
            lite.execute("DROP TABLE IF EXISTS t0")
            lite.execute("DROP VIEW IF EXISTS t")
            lite.execute(f"CREATE TABLE t0 ({column})")
            lite.executemany("INSERT INTO t0 VALUES (?)", [[value] for value in values])
            lite.execute(f"CREATE VIEW t AS {view}")
        return coded(lambda: table_of(f"sqlite:///{folder}/rows.db#t", schema))

    return code


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("x TEXT COLLATE NOCASE", "string, missing"),
        pytest.param("x INTEGER COLLATE RTRIM", "string, other", marks=pytest.mark.long),
        ("x INTEGER", "integer, edge"),
        ("x DECIMAL(9,3)", "number"),
        pytest.param("x DECIMAL(9,3)", "integer, other", marks=pytest.mark.long),
        pytest.param("x BOOLEAN", "boolean, missing", marks=pytest.mark.long),
        pytest.param("x DATE COLLATE RTRIM", "string, other", marks=pytest.mark.long),
        pytest.param("x TIMESTAMP COLLATE NOCASE", "string, other", marks=pytest.mark.long),
    ],
)
def test_a_value_of_any_type_in_a_column_of_sqlite_counts_the_same_in_any_company(
    column: str, field: str, tmp_path: Path
) -> None:
    code = sqlite_code(tmp_path, FIELDS[field], column)
    holds(code, ["1", 0, "1"], MIXED[::2], "sqlite, any values")


@pytest.mark.parametrize(
    ("column", "view"),
    [
        ("x", "SELECT x FROM t0"),
        ("x TEXT", "SELECT x || '' AS x FROM t0"),
        ("x TEXT", "SELECT CAST(x AS TEXT) AS x FROM t0"),
        ("x INTEGER", "SELECT MAX(x, 0) AS x FROM t0"),
        ("x DOUBLE", "SELECT x FROM t0"),
        ("x REAL", "SELECT x FROM t0"),
    ],
)
def test_a_column_of_sqlite_whose_type_is_not_known_is_refused_whatever_the_first_row_holds(
    column: str, view: str, tmp_path: Path
) -> None:
    for field in ("string, other", "integer, edge"):
        code = sqlite_code(tmp_path, FIELDS[field], column, view)
        for first in (1, "1", 1.0, b"1", None):
            assert code([first, "1", 1]) is None, (first, field)
            VISITED["sqlite, first rows"] += 1


@pytest.mark.parametrize("collation", ["BINARY", "RTRIM", "NOCASE"])
@pytest.mark.parametrize("kind", ["INTEGER", "DATE", "TEXT"])
def test_texts_of_persons_in_sqlite_are_told_apart_whatever_the_collation(
    kind: str, collation: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.db"
    with contextlib.closing(sqlite3.connect(path)) as lite, lite:
        lite.execute(f"CREATE TABLE t (who {kind} COLLATE {collation}, visit {kind} COLLATE {collation}, x TEXT)")
        rows = [("p", "1", "a"), ("P", "2", "b"), ("p ", "3", "c"), ("q", "v ", "d"), ("q", "v", "e"), ("q", "V", "f")]
        lite.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    found = coded(lambda: table_of(f"sqlite:///{path}#t", MARKS, Slots("who", "visit", 1)))
    assert found == Counter({(0,): 1, (1,): 1, (2,): 1, (5,): 1})


def server_of(form: str, request: pytest.FixtureRequest) -> Any:
    if form == "spark":
        request.getfixturevalue("spark")
    server = {"postgresql": "server", "s3": "objects"}.get(form)
    return None if server is None else request.getfixturevalue(server)


OPENED = ["csv", "parquet", "duckdb", "sqlite", "postgresql"]


@pytest.mark.parametrize("more", LONG)
@pytest.mark.parametrize("form", OPENED)
def test_a_table_is_refused_if_and_only_if_a_row_alone_is(
    form: str, more: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = server_of(form, request)
    hostile = [text for text in TEXTS if "\0" not in text or form != "postgresql"][1 :: 8 if more else 99]
    for field in FIELDS if more else ["integer, edge"]:
        schema = schema_of({"x": FIELDS[field]})

        def code(texts: Sequence[str], schema: Schema = schema) -> Coded:
            if form == "csv":
                address = str(write_csv(tmp_path / "t.csv", [("x",), *((text,) for text in texts)]))
            else:
                address = put(form, tmp_path, [{"x": text} for text in texts], {"x": "text"}, server)
            return coded(lambda: table_of(address, schema))

        holds(code, ["1"] * 3, hostile, f"{form}, opened")


def write_csv(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    path.write_bytes(text.getvalue().encode())
    return path


# Persons with several rows.

MARKS = schema_of({"x": {"type": "string", "categories": list("abcdef")}}, absent=True)
ORDERS = ["9", "10", "1a", "01", "1", "1.0", "+1", "-1", "-0", "0", "00", " 1", "", NFC, NFD, "\ufeff", "a", "A",
          "a\0x", "9" * 30, "9" * 401, "9" * 5000, "\uff11", "\u0661", "nan", "1e0", "1_0", "2024-02-29"]  # fmt: skip
Person = list[tuple[str, str, str]]
"""Rows: the person's key, the place in the order, the value."""


def person(key: str, *orders: str) -> Person:
    return [(key, order, mark) for order, mark in zip(orders, "abcdef", strict=False)]


def persons_code(form: str, folder: Path, most: int, server: Any = None) -> Callable[[Sequence[Person]], Coded]:
    def code(persons: Sequence[Person]) -> Coded:
        rows = [row for rows in persons for row in rows]
        rows.sort(key=lambda row: row[2])  # one person's rows do not stand together
        if form == "csv":
            address = str(write_csv(folder / "t.csv", [("who", "visit", "x"), *rows]))
        else:
            types = dict.fromkeys(("who", "visit", "x"), "text")
            address = put(form, folder, [dict(zip(types, row, strict=True)) for row in rows], types, server)
        return coded(lambda: table_of(address, MARKS, Slots("who", "visit", most)))

    return code


@pytest.mark.parametrize("most", [1, 2])
def test_which_rows_of_a_person_count_depends_on_that_person_alone(most: int, tmp_path: Path) -> None:
    base = [person("p", "9", "10", "11"), person("q", "b", "10", "9"), person("r", "01", "1", "2")]
    others = [person(key, *orders) for key in ("s", "a\0x") for orders in itertools.pairwise(ORDERS)]
    others += [person("s", order, order) for order in ORDERS] + [person("", "1")]
    holds(persons_code("csv", tmp_path, most), base, others, "CSV, persons")


@pytest.mark.parametrize("more", LONG)
@pytest.mark.parametrize("form", long_but(["duckdb", "sqlite", "postgresql"], STORES))
def test_which_rows_of_a_person_count_depends_on_that_person_alone_in_a_store(
    form: str, more: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = server_of(form, request)
    orders = [order for order in ORDERS if form != "postgresql" or "\0" not in order]
    base = [person("p", "9", "10", "11"), person("q", "b", "10", "9")]
    others = [person("s", *some) for some in itertools.pairwise(orders)]
    code = persons_code(form, tmp_path, 1, server)
    if more:
        holds(code, base, [*others[::3], *(person("s", order, order) for order in orders[::6])], f"{form}, persons")
        return
    assert code([*base, others[2]]) == union([code([some]) for some in [*base, others[2]]])
    assert code([*base, person("s", "1", "1")]) is None
    VISITED[f"{form}, persons"] += 2


@pytest.mark.parametrize("form", [pytest.param("parquet", marks=pytest.mark.long), "duckdb", "postgresql"])
def test_which_rows_of_a_person_count_by_numbers_depends_on_that_person_alone(
    form: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = server_of(form, request)
    types = {"who": "integer", "visit": "double", "x": "text"}

    def code(persons: Sequence[list[tuple[int, float]]]) -> Coded:
        rows = [
            {"who": who, "visit": visit, "x": mark}
            for rows in persons
            for (who, visit), mark in zip(rows, "abcdef", strict=False)
        ]
        address = put(form, tmp_path, rows, types, server)
        return coded(lambda: table_of(address, MARKS, Slots("who", "visit", 1)))

    base = [[(1, 10.0), (1, 9.0)], [(2**53 + 1, 2.0)]]
    others = [(DOUBLES[4], 0.0), (DOUBLES[5], -0.0), (0.0, -0.0), (-1.5, 1e300)]
    persons = [*base, *([(number, order) for order in orders] for number, orders in enumerate(others, 2**53 + 2))]
    alone = [code([own]) for own in persons]
    assert [own is None for own in alone] == [False] * 4 + [True, False]  # 0.0 and -0.0 are one place
    assert code(persons) is None
    assert code([*persons[:4], persons[5]]) == union([*alone[:4], alone[5]])
    VISITED[f"{form}, persons"] += len(persons)


@pytest.mark.parametrize("examples", [60, pytest.param(3000, marks=pytest.mark.long)])
def test_any_orders_of_any_persons(examples: int, tmp_path: Path) -> None:
    texts = st.one_of(
        st.sampled_from(ORDERS), st.integers(-20, 20).map(str), st.text(st.characters(codec="utf-8"), max_size=2)
    )

    @settings(max_examples=examples, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(orders=st.lists(st.lists(texts, min_size=1, max_size=4), min_size=2, max_size=4), most=st.integers(1, 3))
    def check(orders: list[list[str]], most: int) -> None:
        persons = [person(f"p{place}", *own) for place, own in enumerate(orders)]
        code = persons_code("csv", tmp_path, most)
        assert code(persons) == union([code([own]) for own in persons])
        VISITED["CSV, any persons"] += 1

    check()


# What a user sees: the two breaks that a review found, and that the tests above find them.


def released(rows: Any, schema: Schema) -> list[list[int]]:
    """1-way tables with next to no noise."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.sqlite"
        ledgers.declared(ledger).close()
        model = OneWay("100", population="people", ledger=ledger).fit(rows, schema)
    return [table.counts.tolist() for _, table in model.record_.measured]


def test_one_text_in_the_order_of_a_file_does_not_choose_other_rows_of_everybody(tmp_path: Path) -> None:
    schema = schema_of({"x": {"type": "string", "categories": ["A", "B"]}}, absent=True)
    rows = [(f"p{p}", order, value) for p in range(100) for order, value in (("9", "A"), ("10", "B"))]
    for last in ("1", "1a"):
        path = write_csv(tmp_path / "t.csv", [("person", "visit", "x"), *rows, ("q", last, "A")])
        slots = Slots("person", "visit", 1)
        opened = open_rows(parse_address(str(path)), schema, Access(Hold.MEMORY, MEMORY, slots)).rows
        assert opened.count([(0,)]).tolist() == [101, 0, 0]
        assert released(opened, schema) == [[101, 0, 0]]


def test_one_missing_value_of_a_frame_does_not_recode_its_column() -> None:
    categories = {"type": "string", "categories": ["1", "2", "other"], **OTHER, "other": "other"}
    schema = schema_of({"x": categories})
    for last, expected in ((2, [50, 51, 0]), (None, [50, 50, 1]), ("two", [50, 50, 1]), (2.0, [50, 51, 0])):
        assert released(pd.DataFrame({"x": [1] * 50 + [2] * 50 + [last]}), schema) == [expected]
    with_missing = schema_of({"x": {**categories, "missingValues": [""]}})
    assert released(pd.DataFrame({"x": [1] * 50 + [2] * 50 + [None]}), with_missing) == [[50, 50, 0, 1]]


def test_one_number_of_a_file_does_not_recode_nan(tmp_path: Path) -> None:
    """DuckDB concludes from the least and greatest value of a Parquet file, which leave NaN out."""
    schema = schema_of({"x": {**FIELDS["number, edge"], "missingValues": ["nan"]}})
    for number, code in ((None, 3), (1.0, 2), (0.0, 0)):
        values = [float("nan"), *([] if number is None else [number])]
        address = put("parquet", tmp_path, [{"x": value} for value in values], {"x": "double"})
        assert counted(table_of(address, schema).columns) == Counter([(3,), (code,)][: len(values)])


def test_the_property_fails_where_an_order_is_decided_by_all_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_slots, "_ranks", ranks_by_all)
    with pytest.raises(AssertionError):
        test_which_rows_of_a_person_count_depends_on_that_person_alone(1, tmp_path)


def test_the_property_fails_where_a_column_is_written_as_text_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privity.common.data.table_reading.read_column", column_as_text)
    with pytest.raises(AssertionError):
        test_a_value_of_a_frame_counts_the_same_in_any_company("inferred", "string, other", False)


@pytest.mark.parametrize(
    "kind",
    long_but(["BIGINT", "UTINYINT"], ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "UBIGINT"]),
)
def test_integers_of_any_width_are_told_apart_by_division_as_one_by_one(tmp_path, kind):
    """Bins of one width are found by division; no value of the column may be too large for that."""
    ends = {"TINYINT": (-128, 127), "SMALLINT": (-(2**15), 2**15 - 1), "INTEGER": (-(2**31), 2**31 - 1),
            "BIGINT": (-(2**63), 2**63 - 1), "UTINYINT": (0, 255), "UBIGINT": (0, 2**64 - 1)}[kind]  # fmt: skip
    declared = [
        {"name": "a", "type": "integer", "domain": "discover"},
        {"name": "b", "type": "integer", "constraints": {"minimum": -100, "maximum": 120}, "domain": "discover"},
        {"name": "c", "type": "integer", "bins": 120, "constraints": {"minimum": -(2 * 10**9), "maximum": 2 * 10**9},
         "outOfDomain": "edge"},
    ]  # fmt: skip
    schema = parse_schema({"fields": declared}, "s")
    generator = np.random.default_rng(1)
    edges = {int(edge) + step for one in schema.attributes for edge in one.edges[::97] for step in (-1, 0, 1)}
    near = {value for value in edges if ends[0] <= value <= ends[1]}
    drawn = {int(value) for value in generator.uniform(*ends, 300)} | set(range(max(ends[0], -60), 61))
    values = sorted({*near, *ends, *(value for value in drawn if ends[0] <= value <= ends[1])})
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute(f"CREATE TABLE t (a {kind}, b {kind}, c {kind})")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", [(value,) * 3 for value in values])
    found = open_rows(parse_address(f"duckdb:///{tmp_path}/t.duckdb#t"), schema, Access(Hold.MEMORY, 1 << 30)).rows
    for place, attribute in enumerate(schema.attributes):
        expected = np.bincount([attribute.code_of(str(value)) for value in values], minlength=attribute.size)
        np.testing.assert_array_equal(found.count([(place,)]), expected)
