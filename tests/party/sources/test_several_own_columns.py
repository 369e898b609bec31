"""What is computed of several columns of an owner's own names is what is worked out by hand, in every source."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privity.common.data.computed_columns import columns_as_declared
from privity.common.data.schema import parse_schema
from privity.common.data.table_map_file import load_table_map
from privity.common.data.table_reading import encode, read_table
from privity.common.errors import RowProblemsFound
from privity.party.sources.address import parse_address
from privity.party.sources.broken_rules import broken_rows
from privity.party.sources.held_rows import Access
from privity.party.sources.open_rows import load_table, open_rows
from privity.party.sources.sql_queries import Slots
from tests.harness import postgresql
from tests.harness.long import long_but
from tests.harness.stores import Row, put

pytestmark = pytest.mark.external

EDGES = [-8, -5, 0, 1, 5, 1000]
BINS = {"type": "integer", "edges": EDGES, "outOfDomain": "edge", "missingValues": ["", "-9"]}
FIELDS: list[dict[str, Any]] = [
    {"name": "admission", "type": "date", "edges": ["2020-01-01", "2020-01-03", "2021-01-01"], "outOfDomain": "edge",
     "constraints": {"minimum": "2020-01-01", "maximum": "2021-01-01"}, "missingValues": [""]},
    {"name": "stay", **BINS, "compute": {"from": "discharge", "less": "admission", "type": "date"}},
    {"name": "gain", **BINS, "compute": {"from": "after", "less": "before"}},
    {"name": "place", "type": "string", "categories": ["a | 1", "b | 1", "rest"], "outOfDomain": "other",
     "other": "rest", "missingValues": [""], "compute": {"from": "ward", "with": ["floor"]}},
]  # fmt: skip
SCHEMA = parse_schema({"fields": FIELDS, "rowConstraints": ["stay <= gain"]}, "s")
MAP = [
    {"name": "admission", "column": "aufnahme", "format": "%d.%m.%Y"},
    {"name": "discharge", "column": "entlassung", "format": "%d.%m.%Y"},
    {"name": "after", "column": "before"},
    {"name": "before", "column": "after"},
    {"name": "ward", "column": "stay"},
]
"""Some of the owner's names are those of other columns of the schema."""

DAYS = [date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 6), date(2020, 12, 31), None]
VALUES: dict[str, list[Any]] = {
    "aufnahme": DAYS, "entlassung": DAYS, "before": [-9, 0, 4, 5, 900, None], "after": [-9, 0, 1, 7, None],
    "stay": ["a", "b", "c", None], "floor": [1, 2, None],
}  # fmt: skip
ROWS = st.lists(st.tuples(*map(st.sampled_from, VALUES.values())), max_size=8).map(
    lambda rows: [dict(zip(VALUES, row, strict=True)) for row in rows]
)
FORMS = long_but(["csv", "parquet", "duckdb"], ["csv", "parquet", "arrow", "duckdb", "postgresql"])


def every_value() -> list[Row]:
    most = max(map(len, VALUES.values()))
    return [{name: some[place % len(some)] for name, some in VALUES.items()} for place in range(most)]


def mapped(folder: Path) -> Path:
    (folder / "map.json").write_text(json.dumps({"format_version": 1, "fields": MAP}))
    return folder / "map.json"


def gaps(row: Row) -> list[int | None]:
    """The two differences of a row, by hand."""
    left, came, after, before = (row[name] for name in ("entlassung", "aufnahme", "before", "after"))
    stay = None if left is None or came is None else (left - came).days
    return [stay, None if {after, before} & {None, -9} else after - before]


def by_hand(row: Row) -> tuple[int, ...]:
    came = row["aufnahme"]
    codes = [2 if came is None else int(came >= date(2020, 1, 3))]
    codes += [5 if gap is None else min(max(sum(gap >= edge for edge in EDGES) - 1, 0), 4) for gap in gaps(row)]
    both = row["stay"], row["floor"]
    return (*codes, 3 if None in both else {("a", 1): 0, ("b", 1): 1}.get(both, 2))


def breaks(row: Row) -> bool:
    stay, gain = gaps(row)
    return stay is not None and gain is not None and stay > gain


def written(rows: list[Row]) -> list[Row]:
    """The rows as texts of the owner's."""
    return [
        {name: value.strftime("%d.%m.%Y") if isinstance(value, date) else value for name, value in row.items()}
        for row in rows
    ]


def codes_of(table: Any) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in table.columns), strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_several_columns_read_by_a_map_as_by_hand(form: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server: postgresql.Server | None = request.getfixturevalue("server") if form == "postgresql" else None

    @settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(more=ROWS)
    def read(more: list[Row]) -> None:
        rows = [*every_value(), *more]
        text = put(form, tmp_path / form, written(rows) if form == "csv" else rows, server)
        address = parse_address(text, table_map=mapped(tmp_path))
        assert sorted(codes_of(load_table(address, SCHEMA))) == sorted(map(by_hand, rows))
        assert broken_rows(address, SCHEMA, 1 << 28) == {"Rule stay <= gain": sum(map(breaks, rows))}

    read()


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(more=ROWS)
def test_a_frame_of_several_own_columns_reads_as_by_hand(more: list[Row], tmp_path: Path) -> None:
    rows = [*every_value(), *more]
    schema = replace(SCHEMA, table_map=load_table_map(mapped(tmp_path), SCHEMA))
    for some in (rows, written(rows)):
        frame = pd.DataFrame(some, dtype=object)
        assert codes_of(encode(frame, schema, "t")) == [by_hand(row) for row in rows]
        found = columns_as_declared(schema, {name: list(frame[name].map(str)) for name in frame.columns})
        assert {*found} >= {*SCHEMA.names}


def test_rows_of_a_person_that_count_are_read_by_the_map(tmp_path: Path) -> None:
    rows = [{**row, "who": place % 3, "nth": place} for place, row in enumerate(every_value())]
    schema = parse_schema({"fields": FIELDS, "absentRows": True}, "s")
    for form in ("csv", "duckdb"):
        text = put(form, tmp_path / form, written(rows) if form == "csv" else rows)
        access = Access(memory=1 << 28, slots=Slots("who", "nth", 1))
        counts = open_rows(parse_address(text, table_map=mapped(tmp_path)), schema, access).rows.count([(1,), (3,)])
        first = [by_hand(row) for row in rows[:3]]
        expected = [[sum(codes[place] == code for codes in first) for code in range(size)]
                    for place, size in ((1, schema.domain[1]), (3, schema.domain[3]))]  # fmt: skip
        assert counts.tolist() == [*expected[0], *expected[1]]


def test_what_is_no_date_of_the_owners_form_is_outside_the_domain(tmp_path: Path) -> None:
    rows = [{**written(every_value())[0], "entlassung": "2020-01-05"}]
    schema = replace(SCHEMA, table_map=load_table_map(mapped(tmp_path), SCHEMA))
    with pytest.raises(RowProblemsFound, match="2020-01-05"):
        read_table(put("csv", tmp_path / "csv", rows), schema)


@pytest.mark.parametrize("form", ["csv", "duckdb"])
def test_a_column_that_the_map_names_and_the_table_lacks_is_told_with_the_map(form: str, tmp_path: Path) -> None:
    rows = [{name: value for name, value in row.items() if name != "after"} for row in every_value()]
    text = put(form, tmp_path / form, written(rows) if form == "csv" else rows)
    with pytest.raises(RowProblemsFound, match="no such column") as found:
        load_table(parse_address(text, table_map=mapped(tmp_path)), SCHEMA)
    (problem,) = (one for one in found.value.problems if one.rule == "missing-column")
    assert "after" in problem.field + problem.message
    assert "map.json" in problem.remedy
