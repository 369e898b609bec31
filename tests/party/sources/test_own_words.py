"""A table in its owner's words reads alike from every source, and as a brute-force mapping of its texts says."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_map_file import load_table_map
from privity.common.data.table_reading import encode
from privity.common.errors import Catalogue, PrivityError, RowProblemsFound
from privity.party.sources.address import parse_address
from privity.party.sources.broken_rules import broken_rows
from privity.party.sources.frame_rows import open_frame
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import load_table, open_rows
from privity.party.sources.sql_queries import Slots
from tests.harness import postgresql
from tests.harness.long import long_but
from tests.harness.stores import Row, put

pytestmark = pytest.mark.external

ODD = {"outOfDomain": "other"}
FIELDS: list[dict[str, Any]] = [
    {"name": "sex", "type": "string", "categories": ["female", "male", "unknown"], **ODD, "other": "unknown",
     "missingValues": ["", "8532x"]},
    {"name": "smoker", "type": "boolean", "missingValues": [""]},
    {"name": "ward", "type": "string", "categories": ["1", "2", "none"], **ODD, "other": "none"},
    {"name": "weight", "type": "number", "edges": [0, 45.359237, 68.0388555, 90.7, 300],
     "constraints": {"minimum": 0, "maximum": 300}, "outOfDomain": "edge", "missingValues": ["", "-9"]},
    {"name": "height", "type": "number", "edges": [1, 1.5, 1.7, 2.5], "decimals": 2,
     "constraints": {"minimum": 1, "maximum": 2.5}, "outOfDomain": "edge", "missingValues": [""]},
    {"name": "celsius", "type": "integer", "bins": 5, "constraints": {"minimum": -5, "maximum": 40},
     "outOfDomain": "edge", "missingValues": ["", "-9"]},
    {"name": "months", "type": "integer", "categories": [0, 12, 24, 36], **ODD, "other": 36},
    {"name": "admitted", "type": "date", "edges": ["2020-01-01", "2020-07-01", "2021-01-01", "2022-01-01"],
     "constraints": {"minimum": "2020-01-01", "maximum": "2022-01-01"}, "outOfDomain": "edge", "missingValues": [""]},
    {"name": "month", "type": "integer", "compute": {"from": "left", "part": "month", "type": "date"},
     "categories": list(range(1, 13)), "missingValues": [""]},
    {"name": "chapter", "type": "string", **ODD, "other": "rest", "categories": ["heart", "lung", "rest"],
     "compute": {"from": "icd", "groups": {"heart": ["I20"], "lung": ["J4", "J5"]}}},
    {"name": "age", "type": "integer", "bins": 4, "constraints": {"minimum": 0, "maximum": 100}, "missingValues": [""],
     "outOfDomain": "edge"},
]  # fmt: skip
SCHEMA = parse_schema({"fields": FIELDS}, "s")
MAP: list[dict[str, Any]] = [
    {"name": "sex", "column": "gender_concept_id", "codes": {"8507": "male", "8532": "female"},
     "missingValues": ["0"]},
    {"name": "smoker", "column": "Raucher", "codes": {"J": "true", "N": "false", "-9": "false"},
     "missingValues": ["?"]},
    {"name": "ward", "column": "height", "codes": {"2": "1", "1": "2"}},
    {"name": "weight", "column": "lb", "factor": 0.45359237, "missingValues": ["999"]},
    {"name": "height", "column": "cm", "factor": 0.01, "missingValues": ["k.A."]},
    {"name": "celsius", "column": "f", "factor": 0.5555555555555556, "offset": -17.7777777777777778},
    {"name": "months", "column": "years", "factor": 12},
    {"name": "admitted", "column": "aufnahme", "format": "%d.%m.%Y", "missingValues": ["31.12.9999"]},
    {"name": "left", "column": "entlassung", "format": "%d.%m.%Y"},
    {"name": "icd", "column": "diag", "codes": {"41": "I20", "42": "J4", "43": "J5"}},
    {"name": "age", "column": "alter", "missingValues": ["-1"]},
]  # fmt: skip
FORMS = long_but(
    ["csv", "parquet", "duckdb", "sqlite"], ["csv", "parquet", "arrow", "duckdb", "sqlite", "postgresql", "spark"]
)
VALUES: dict[str, list[Any]] = {
    "gender_concept_id": [8507, 8532, 0, 8521, 1, None],
    "Raucher": ["J", "N", "j", "?", "-9", "true", None],
    "height": ["1", "2", "3", "01", None],
    "lb": [-9, 0, 99, 100, 101, 149, 150, 151, 199, 200, 661, 662, 999, None],
    "cm": ["149.5", "149.4", "150", "169.49", "169.5", "k.A.", "99", "250.5", "251", "", None],
    "f": [-50, 14, 15, 16, 31, 32, 33, 103, 104, 105, -9, 16, None],
    "years": [0, 1, 2, 3, 4, None],
    "aufnahme": ["31.12.2019", "01.01.2020", "30.06.2020", "01.07.2020", "31.12.9999", "02.01.2022", None],
    "entlassung": ["01.02.2020", "02.01.2021", "31.12.2021", None],
    "diag": [41, 42, 43, 44, None],
    "alter": [-1, 0, 24, 25, 100, 101, None],
    "kept_out": ["a", None],
}


def by_hand(row: Row) -> list[int | None]:
    """Codes of a row's texts by what the map says, worked out anew."""
    codes = []
    for attribute in SCHEMA.attributes:
        word = attribute.name if attribute.compute is None else attribute.compute.source
        said = next(entry for entry in MAP if entry["name"] == word)
        value = row[said["column"]]
        text = "" if value is None else str(value)
        listed = said.get("codes", {})
        if text in said.get("missingValues", []) or (text in attribute.missing_texts and text not in listed):
            codes.append(attribute.missing_code)
            continue
        if listed:
            text = listed.get(text, "beyond every domain")
        elif "factor" in said and text:
            found = Fraction(text) * Fraction(str(said["factor"])) + Fraction(str(said.get("offset", 0)))
            if attribute.type == "integer":
                found = Fraction((found + Fraction(1, 2)).__floor__())
            codes.append(_bin(attribute.name, found))
            continue
        elif "format" in said and text:
            text = datetime.strptime(text, said["format"]).date().isoformat()
        if attribute.name == "month" and text:
            text = str(int(text[5:7]))
        if attribute.name == "chapter":
            text = {"I20": "heart", "J4": "lung", "J5": "lung"}.get(text, "rest")
        codes.append(attribute.code_of(text))
    return codes


def _bin(name: str, number: Fraction) -> int | None:
    """The code of a number, by a walk over the edges."""
    attribute = SCHEMA.attributes[SCHEMA.index(name)]
    if attribute.categories:
        return attribute.categories.index(number) if number in attribute.categories else attribute.code_outside
    if attribute.decimals is not None:
        number = Fraction((number * 100 + Fraction(1, 2)).__floor__(), 100)
    inside = [place for place, edge in enumerate(attribute.edges[:-1]) if edge <= number]
    return inside[-1] if inside else 0


def mapped(folder: Path, entries: list[dict[str, Any]] | None = None, left_out: Any = ("kept_out",)) -> Path:
    """The file of the map."""
    document = {"format_version": 1, "fields": MAP if entries is None else entries, "leaveOut": list(left_out)}
    (folder / "map.json").write_text(json.dumps(document))
    return folder / "map.json"


def in_words(folder: Path, schema: Schema = SCHEMA) -> Schema:
    return replace(schema, table_map=load_table_map(mapped(folder), schema))


ROWS = st.lists(st.tuples(*map(st.sampled_from, VALUES.values())), min_size=1).map(
    lambda rows: [dict(zip(VALUES, row, strict=True)) for row in rows]
)


def every_value() -> list[Row]:
    """Rows in which each value occurs, and no column is empty."""
    most = max(map(len, VALUES.values()))
    return [{name: some[place % len(some)] for name, some in VALUES.items()} for place in range(most)]


@pytest.mark.parametrize("form", FORMS)
def test_mapped_rows_are_those_of_a_mapping_by_hand(form: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server: postgresql.Server | None = request.getfixturevalue("server") if form == "postgresql" else None
    if form == "spark":
        request.getfixturevalue("spark")

    @settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(more=ROWS)
    def read(more: list[Row]) -> None:
        rows = [*every_value(), *more]
        rows = [row for row in rows if None not in by_hand(row)]
        address = parse_address(put(form, tmp_path / form, rows, server), table_map=mapped(tmp_path))
        table = load_table(address, SCHEMA)
        assert sorted(zip(*(column.tolist() for column in table.columns), strict=True)) == sorted(
            tuple(by_hand(row)) for row in rows
        )

    read()


@pytest.mark.parametrize("form", ["csv", "parquet", "duckdb", "sqlite"])
def test_what_the_map_does_not_list_is_outside_the_domain(form: str, tmp_path: Path) -> None:
    rows = [{**every_value()[0], "Raucher": text} for text in ("J", "true")]
    address = parse_address(put(form, tmp_path / form, rows), table_map=mapped(tmp_path))
    with pytest.raises(RowProblemsFound) as found:
        open_rows(address, SCHEMA)
    (problem,) = found.value.problems
    assert (problem.field, problem.rule) == ("smoker", "out-of-domain")
    assert "true" in problem.message
    assert "map.json" in problem.remedy


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_a_frame_reads_as_a_file_does(tmp_path: Path, rows: list[Row]) -> None:
    rows = [row for row in [*every_value(), *rows] if None not in by_hand(row)]
    schema = in_words(tmp_path)
    for dtype in (object, None):
        frame = pd.DataFrame(rows, dtype=dtype)
        table = open_frame(frame, schema, None).table
        assert list(zip(*(column.tolist() for column in table.columns), strict=True)) == [
            tuple(by_hand(row)) for row in rows
        ]


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(st.one_of(st.none(), st.floats(-1e3, 1e3), st.sampled_from([100.0, 150.0, 0.1, 1e15])), min_size=1),
    codes=st.lists(st.sampled_from([8507.0, 8532.0, 0.0, 1.5, float("inf"), None]), min_size=1),
)
def test_doubles_have_the_codes_of_their_decimals(
    tmp_path: Path, values: list[float | None], codes: list[float | None]
) -> None:
    names = ["sex", "weight", "celsius"]
    schema = SCHEMA.over(names)
    entries = [entry for entry in MAP if entry["name"] in names]
    rows = [
        {"gender_concept_id": codes[place % len(codes)], "lb": value, "f": value}
        for place, value in enumerate([*values, 1.5])
    ]
    rows.append({"gender_concept_id": 8507.0, "lb": 1.0, "f": 1.0})
    file = mapped(tmp_path, entries, [])
    tables = [load_table(parse_address(put("parquet", tmp_path / "p", rows), table_map=file), schema)]
    tables.append(encode(pd.DataFrame(rows), replace(schema, table_map=load_table_map(file, schema)), "t"))
    expected = []
    for row in rows:
        sex = {8507.0: 1, 8532.0: 0, 0.0: 3, None: 3}.get(row["gender_concept_id"], 2)
        found = [sex]
        for name, factor, offset, missing in (
            ("weight", "0.45359237", "0", (-9, 999)), ("celsius", "0.5555555555555556", "-17.7777777777777778", (-9,)),
        ):  # fmt: skip
            value = row["lb"]
            if value is None or value in missing:
                found.append(schema.attributes[schema.index(name)].values)
                continue
            number = Fraction(Decimal(repr(value))) * Fraction(factor) + Fraction(offset)
            if name == "celsius":
                number = Fraction((number + Fraction(1, 2)).__floor__())
            found.append(_bin(name, number))
        expected.append(tuple(found))
    for table in tables:
        assert sorted(zip(*(column.tolist() for column in table.columns), strict=True)) == sorted(expected)


def test_a_changed_map_is_another_state_of_the_rows(tmp_path: Path) -> None:
    rows = [row for row in every_value() if None not in by_hand(row)]
    text = put("csv", tmp_path / "csv", rows)

    def digest(entries: list[dict[str, Any]]) -> str:
        address = parse_address(text, table_map=mapped(tmp_path, entries))
        return open_rows(address, SCHEMA, Access(Hold.MEMORY, 1 << 28)).rows.digest

    before = digest(MAP)
    swapped = [{**entry, "codes": {"2": "2", "1": "1"}} if entry["name"] == "ward" else entry for entry in MAP]
    assert digest(MAP) == before
    assert digest(swapped) != before


def test_rules_are_looked_at_in_the_schemas_words(tmp_path: Path) -> None:
    document = {
        "fields": [
            {"name": "a", "type": "integer", "bins": 10, "constraints": {"minimum": 0, "maximum": 200}},
            {"name": "b", "type": "integer", "bins": 10, "constraints": {"minimum": 0, "maximum": 200}},
        ],
        "rowConstraints": ["a <= b"],
    }
    schema = parse_schema(document, "s")
    entries = [{"name": "a", "column": "b", "factor": 12}, {"name": "b", "column": "a"}]
    rows = [{"b": 1, "a": 12}, {"b": 2, "a": 23}, {"b": 3, "a": 37}]
    for form in ("csv", "duckdb"):
        address = parse_address(put(form, tmp_path / form, rows), table_map=mapped(tmp_path, entries, []))
        assert broken_rows(address, schema, 1 << 28) == {"Rule a <= b": 1}


def test_a_map_leaves_no_trace_in_the_schema(tmp_path: Path) -> None:
    schema = in_words(tmp_path)
    assert schema.digest == SCHEMA.digest
    assert schema.table_schema() == SCHEMA.table_schema()
    assert schema.released == SCHEMA.released


@pytest.mark.parametrize("form", ["csv", "duckdb", "parquet"])
def test_open_texts_are_those_that_codes_stand_for(form: str, tmp_path: Path) -> None:
    field = {"name": "town", "type": "string", "domain": "discover", "other": "elsewhere", "missingValues": [""]}
    schema = parse_schema({"fields": [field]}, "s")
    entry = {"name": "town", "column": "gemeinde", "codes": {"1": "Bern", "2": "Chur", "2.5": "Thun"}}
    numbers = [1, 2, 3, None, 1] if form != "parquet" else [1.0, 2.0, 3.0, None, 1.0]
    address = parse_address(
        put(form, tmp_path / form, [{"gemeinde": number} for number in numbers]),
        table_map=mapped(tmp_path, [entry], []),
    )
    assert dict(open_rows(address, schema).rows.texts("town")) == {"Bern": 2, "Chur": 1}


@pytest.mark.parametrize("form", ["csv", "duckdb"])
def test_persons_keep_the_owners_names(form: str, tmp_path: Path) -> None:
    fields = [{"name": "visit", "type": "string", "categories": ["first", "second"]}]
    schema = parse_schema({"fields": fields, "absentRows": True}, "s")
    entry = {"name": "visit", "column": "kind", "codes": {"1": "first", "2": "second"}}
    rows = [{"patient": p, "visit": v, "kind": k} for p, v, k in ((1, 1, 1), (1, 2, 2), (1, 3, 2), (2, 9, 2))]
    address = parse_address(put(form, tmp_path / form, rows), table_map=mapped(tmp_path, [entry], ["patient", "visit"]))
    access = Access(Hold.MEMORY, 1 << 28, Slots("patient", "visit", 2))
    counts = open_rows(address, schema, access).rows.count([(0,)])
    assert counts.tolist() == [1, 2, 1]


def test_a_map_that_is_not_there_is_one_of_a_source(tmp_path: Path) -> None:
    address = parse_address(put("csv", tmp_path / "csv", every_value()), table_map=tmp_path / "none.json")
    with pytest.raises(PrivityError) as found:
        open_rows(address, SCHEMA)
    assert found.value.kind is Catalogue.SOURCE_UNREACHABLE
