"""A column less another one is the same number in every source: that of subtracting by hand."""

from __future__ import annotations

import csv
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_reading import encode, read_table
from privity.common.errors import ProblemsFound
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import load_table, open_rows
from privity.party.sources.sql_queries import Slots
from tests.harness import postgresql

pytestmark = pytest.mark.external

EPOCH = datetime(1970, 1, 1)
MANY = [-(2**40), -1000, -3, -1, 0, 1, 2, 5, 60, 1000, 86_400, 10**6, 2**40]


def schema_of(kind: str, decimals: int = 0, rule: str = "edge", form: str | None = None) -> Schema:
    compute = {"from": "b", "less": "a"}
    if kind in ("date", "datetime"):
        compute |= {"type": kind} | ({"decimals": decimals} if decimals else {}) | ({"format": form} if form else {})
    gap = {"name": "gap", "type": "number" if kind == "number" else "integer", "missingValues": ["", "NA"]}
    domain = {"edges": MANY, "outOfDomain": rule}
    return parse_schema({"fields": [{**gap, **domain, "compute": compute}]}, "s")


def by_hand(schema: Schema, pairs: list[tuple[Any, Any]], number: Callable[[Any], Fraction | int]) -> list[int]:
    """The codes of differences that are found by going through all bins."""
    (attribute,) = schema.attributes
    found = []
    for a, b in pairs:
        if a is None or b is None:
            found.append(len(MANY) - 1)
            continue
        gap = Fraction(number(b)) - Fraction(number(a))
        found.append(min(max(sum(gap >= edge for edge in MANY) - 1, 0), attribute.values - 1))
    return found


def coded_everywhere(schema: Schema, pairs: list[tuple[Any, Any]], kind: pa.DataType, folder: Path) -> list[list[int]]:
    """The codes that a CSV file, frames of texts, of objects and of Arrow, and a Parquet file give."""
    texts = pd.DataFrame(
        [["" if value is None else str(value).replace(" ", "T") for value in pair] for pair in pairs],
        columns=["a", "b"], dtype=object,
    )  # fmt: skip
    with open(folder / "t.csv", "w", newline="") as file:
        csv.writer(file).writerows([["a", "b"], *texts.to_numpy().tolist()])
    arrow = pa.table({name: pa.array([pair[place] for pair in pairs], kind) for place, name in enumerate("ab")})
    pq.write_table(arrow, folder / "t.parquet")
    objects = pd.DataFrame(
        {name: pd.Series([pair[place] for pair in pairs], dtype=object) for place, name in enumerate("ab")}
    )
    frames = [texts, objects, arrow.to_pandas(), arrow.to_pandas(types_mapper=pd.ArrowDtype)]
    tables = [encode(frame, schema, "t") for frame in frames]
    tables += [read_table(folder / "t.csv", schema), load_table(parse_address(str(folder / "t.parquet")), schema)]
    return [table.column(0).tolist() for table in tables]


def some(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    one = values | st.none()
    return st.lists(st.tuples(one, one), min_size=1, max_size=12)


FEW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(pairs=some(st.dates()))
@FEW
def test_dates_differ_by_days(pairs: list[tuple[Any, Any]], tmp_path: Path) -> None:
    schema = schema_of("date")
    expected = by_hand(schema, pairs, lambda day: day.toordinal())
    assert all(codes == expected for codes in coded_everywhere(schema, pairs, pa.date32(), tmp_path))


@given(
    pairs=some(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))), decimals=st.sampled_from([0, 1, 3, 4, 5, 6]),
    unit=st.sampled_from(["us", "ns"]),
)  # fmt: skip
@FEW
def test_datetimes_differ_by_whole_points(
    pairs: list[tuple[Any, Any]], decimals: int, unit: str, tmp_path: Path
) -> None:
    schema = schema_of("datetime", decimals)
    point = timedelta(microseconds=10 ** (6 - decimals))
    expected = by_hand(schema, pairs, lambda moment: (moment - EPOCH) // point)
    assert all(codes == expected for codes in coded_everywhere(schema, pairs, pa.timestamp(unit), tmp_path))


@given(pairs=some(st.integers(-(2**52), 2**52)))
@FEW
def test_integers_differ_exactly(pairs: list[tuple[Any, Any]], tmp_path: Path) -> None:
    schema = schema_of("integer")
    expected = by_hand(schema, pairs, int)
    assert all(codes == expected for codes in coded_everywhere(schema, pairs, pa.int64(), tmp_path))


@given(pairs=some(st.decimals(-(10**9), 10**9, places=3)))
@FEW
def test_decimals_differ_exactly(pairs: list[tuple[Any, Any]], tmp_path: Path) -> None:
    schema = schema_of("number")
    expected = by_hand(schema, pairs, Fraction)
    assert all(codes == expected for codes in coded_everywhere(schema, pairs, pa.decimal128(18, 3), tmp_path))


def test_a_date_may_stand_as_a_datetime_at_midnight(tmp_path: Path) -> None:
    schema = schema_of("date")
    pairs = [(datetime(2020, 1, 1), datetime(2020, 1, 6)), (None, datetime(2020, 1, 1))]
    pq.write_table(
        pa.table({"a": [pair[0] for pair in pairs], "b": [pair[1] for pair in pairs]}), tmp_path / "t.parquet"
    )
    frame = pq.read_table(tmp_path / "t.parquet").to_pandas()
    stored = load_table(parse_address(str(tmp_path / "t.parquet")), schema)
    assert stored.column(0).tolist() == encode(frame, schema, "t").column(0).tolist() == [7, 12]


@pytest.mark.parametrize("kind", ["timestamp", "date"])
def test_what_is_no_difference_is_outside_the_domain_everywhere(kind: str, tmp_path: Path) -> None:
    schema = schema_of("date")
    noon = datetime(2020, 1, 6, 12) if kind == "timestamp" else "2020-13-01"
    day = datetime(2020, 1, 1) if kind == "timestamp" else "2020-01-01"
    frame = pd.DataFrame({"a": [day, day], "b": [day, noon]})
    with pytest.raises(ProblemsFound, match="outside the domain"):
        encode(frame, schema, "t")
    if kind == "timestamp":
        pq.write_table(pa.table({"a": [day, day], "b": [day, noon]}), tmp_path / "t.parquet")
        with pytest.raises(ProblemsFound, match="outside the domain"):
            load_table(parse_address(str(tmp_path / "t.parquet")), schema)


def test_a_text_that_means_a_missing_value_means_it_in_both_columns_and_not_in_their_difference(
    tmp_path: Path,
) -> None:
    field = {"name": "gap", "type": "integer", "edges": [-5, 0, 5], "missingValues": ["-9", ""],
             "compute": {"from": "b", "less": "a"}, "outOfDomain": "edge"}  # fmt: skip
    schema = parse_schema({"fields": [field]}, "s")
    pairs = [(1, 2), (-9, 1), (1, -9), (10, 1), (None, 3)]
    for codes in coded_everywhere(schema, pairs, pa.int64(), tmp_path):
        assert codes == [1, 2, 2, 0, 2]


@pytest.mark.parametrize(
    ("kind", "columns", "named"),
    [
        ("integer", {"a": [1.5], "b": [2.5]}, "view"),
        ("integer", {"a": ["1"], "b": ["2"]}, "view"),
        ("date", {"a": [date(2020, 1, 1)], "b": ["2020-01-02"]}, "view"),
        ("date", {"a": [date(2020, 1, 1)], "b": [datetime(2020, 1, 2)]}, "view"),
        ("date", {"b": [date(2020, 1, 1)]}, "no such column"),
        ("datetime", {"a": pa.array([EPOCH], pa.timestamp("us", "UTC")), "b": [datetime(2020, 1, 2)]}, "view"),
    ],
)  # fmt: skip
def test_a_store_that_has_no_exact_difference_says_what_to_do(
    kind: str, columns: dict[str, Any], named: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(ProblemsFound, match=named):
        load_table(parse_address(str(tmp_path / "t.parquet")), schema_of(kind))


def test_a_table_that_has_the_difference_itself_is_read_there(tmp_path: Path) -> None:
    schema = schema_of("date")
    frame = pd.DataFrame({"gap": [5, None], "c": 1}).drop(columns="c")
    assert encode(frame, schema, "t").column(0).tolist() == [7, 12]
    (tmp_path / "t.csv").write_text("gap,a,b\n5,x,y\n")
    assert read_table(tmp_path / "t.csv", schema).column(0).tolist() == [7]


def test_a_server_subtracts_as_a_file_is_read(server: postgresql.Server) -> None:
    rng = np.random.default_rng(1)
    moments = [datetime(2000, 1, 1) + timedelta(microseconds=int(n)) for n in rng.integers(0, 10**15, 40)]
    pairs: list[tuple[Any, Any]] = [*zip(moments[:20], moments[20:], strict=True), (None, moments[0])]
    server.execute(
        "DROP TABLE IF EXISTS gaps",
        "CREATE TABLE gaps (a TIMESTAMP, b TIMESTAMP, za TIMESTAMPTZ, zb TIMESTAMPTZ, "
        "da DATE, db DATE, na INT, nb INT)",
    )
    with psycopg.connect(server.owner) as connection:
        for place, (a, b) in enumerate(pairs):
            instants = [None if one is None else one.replace(tzinfo=UTC) for one in (a, b)]
            days = [None if one is None else one.date() for one in (a, b)]
            connection.execute(
                "INSERT INTO gaps VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", [a, b, *instants, *days, place, -(2**31)]
            )
    forms = [
        ("a", "b", {"type": "datetime"}), ("a", "b", {"type": "datetime", "decimals": 5}),
        ("za", "zb", {"type": "datetime", "timezone": "Europe/Vienna", "decimals": 3}), ("da", "db", {"type": "date"}),
        ("na", "nb", {}),
    ]  # fmt: skip
    fields = [
        {"name": f"gap {place}", "type": "integer", "edges": MANY, "missingValues": [""], "outOfDomain": "edge",
         "compute": {"from": b, "less": a, **form}}
        for place, (a, b, form) in enumerate(forms)
    ]  # fmt: skip
    schema = parse_schema({"extraColumns": "ignore", "fields": fields}, "s")
    frame = pd.DataFrame(
        [[a, b, a and a.replace(tzinfo=UTC), b and b.replace(tzinfo=UTC), a and a.date(), b and b.date()]
         for a, b in pairs], columns=["a", "b", "za", "zb", "da", "db"], dtype=object,
    ).assign(na=range(len(pairs)), nb=-(2**31))  # fmt: skip
    expected = encode(frame, schema, "t")
    found = load_table(parse_address(server.url("gaps")), schema)
    assert sorted(zip(*(c.tolist() for c in found.columns), strict=True)) == sorted(
        zip(*(c.tolist() for c in expected.columns), strict=True)
    )
    counted = open_rows(parse_address(server.url("gaps")), schema, Access(hold=Hold.STORE, memory=1 << 28)).rows
    assert counted.count([(0, 4)]).tolist() == np.histogram2d(
        expected.column(0), expected.column(4), bins=[np.arange(size + 1) for size in schema.domain[:1] * 2]
    )[0].astype(int).ravel().tolist()  # fmt: skip


def test_differences_of_the_rows_of_a_person_that_count(tmp_path: Path) -> None:
    days = {"a": [date(2020, 1, 1)] * 3, "b": [date(2020, 1, day) for day in (1, 2, 6)]}
    pq.write_table(pa.table({**days, "who": [1, 1, 1], "nth": [3, 2, 1]}), tmp_path / "t.parquet")
    document = {**schema_of("date").table_schema(), "absentRows": True}
    rows = open_rows(
        parse_address(str(tmp_path / "t.parquet")),
        parse_schema(document, "s"),
        Access(memory=1 << 28, slots=Slots("who", "nth", 2)),
    ).rows
    expected = [0] * (len(MANY) + 1)
    expected[5], expected[7] = 1, 1
    assert rows.count([(0,)]).tolist() == expected
