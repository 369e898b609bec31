"""Attributes that are computed of another column, and columns that are not read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable, decode
from privity.common.data.frame_values import code_in_source, code_of
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_reading import encode, read_table
from privity.common.data.unread_columns import with_unread
from privity.common.data.written_values import as_arrow, as_pandas, as_texts
from privity.common.errors import ProblemsFound, RowProblemsFound


def schema_of(*fields: dict, **keys: object) -> Schema:
    return parse_schema({"fields": list(fields), **keys}, "s")


def part(name: str, **compute: object) -> dict:
    return {"name": name, "type": "integer", "compute": {"from": "when", "part": name, **compute}}


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)))
def test_parts_are_those_of_the_calendar(moment):
    week = {"week": moment.isocalendar().week, "weekday": moment.isoweekday(), "quarter": (moment.month + 2) // 3}
    names = ["month", "day", "hour", "minute", *week]
    schema = schema_of(*(part(name, type="datetime") for name in names))
    frame = pd.DataFrame({"when": [moment.isoformat(), moment.isoformat(" ")]})
    for name, attribute, column in zip(names, schema.attributes, encode(frame, schema, "t").columns, strict=True):
        wanted = week.get(name, getattr(moment, name, None))
        assert {attribute.categories[code] for code in column.tolist()} == {wanted}, name


@given(st.datetimes(datetime(1970, 1, 1), datetime(2030, 1, 1)))
def test_parts_of_a_time_with_a_zone_are_those_in_this_zone(moment):
    there = moment.replace(tzinfo=UTC)
    schema = schema_of(
        part("hour", type="datetime", timezone="+05:30"), {**part("day", type="datetime", timezone="UTC")}
    )
    table = encode(pd.DataFrame({"when": [there.isoformat()]}), schema, "t")
    assert table.column(0).tolist() == [(there + timedelta(hours=5.5)).hour]
    assert table.column(1).tolist() == [there.day - 1]


@given(st.decimals(0, 10**7, allow_nan=False, places=6), st.sampled_from([2, 10]))
def test_a_bin_of_logarithms_holds_the_numbers_whose_logarithm_lies_in_it(number, base):
    edges = [-3, 0, 1, 2.5, 7]
    declared = {"name": "x", "type": "number", "edges": edges, "outOfDomain": "edge"}
    (attribute,) = schema_of({**declared, "compute": {"from": "y", "log": base}}).attributes
    exact = Fraction(number)
    expected = 0
    for code, edge in enumerate(edges[:-1]):
        # Twice the edge is whole: a comparison of squares is exact.
        if exact > 0 and exact**2 >= Fraction(base) ** int(2 * edge):
            expected = code
    assert code_in_source(attribute, str(number)) == expected


def test_a_field_says_how_its_column_is_read_for_parts_too():
    dates = {"name": "when", "type": "date", "format": "%d.%m.%Y", "edges": ["2024-01-01", "2024-07-01", "2025-01-01"]}
    table = encode(pd.DataFrame({"when": ["29.02.2024", "01.12.2024"]}), schema_of(dates, part("month")), "t")
    assert [column.tolist() for column in table.columns] == [[0, 1], [1, 11]]


def test_prefixes_and_groups_are_looked_up_by_the_text_alone():
    groups = {"heart": ["I2", "I5"], "lung": ["J4"]}
    other = {"outOfDomain": "other", "other": "rest"}
    schema = schema_of(
        {"name": "chapter", "type": "string", "categories": ["I", "rest"], **other, "missingValues": ["", "I99"],
         "compute": {"from": "icd", "prefix": 1}},
        {"name": "group", "type": "string", "categories": ["heart", "lung", "rest"], **other,
         "compute": {"from": "icd", "prefix": 2, "groups": groups}},
    )  # fmt: skip
    table = encode(pd.DataFrame({"icd": ["I20", "I99", "J45", "Z", "", "I"]}), schema, "t")
    assert [column.tolist() for column in table.columns] == [[0, 2, 1, 1, 2, 0], [0, 2, 1, 2, 2, 2]]


def test_a_table_with_a_column_of_the_attributes_own_name_is_read_there():
    schema = schema_of(part("month", type="date"))
    assert encode(pd.DataFrame({"month": [2, 12]}), schema, "t").column(0).tolist() == [1, 11]
    both = pd.DataFrame({"month": [2], "when": ["2024-12-01"]})
    assert encode(both, schema, "t").column(0).tolist() == [1]
    with pytest.raises(RowProblemsFound, match="'when': declared, but no such column"):
        encode(
            pd.DataFrame({"who": [1]}), schema_of(part("month", type="date"), {"name": "who", "type": "boolean"}), "t"
        )


def test_what_cannot_be_read_is_outside_the_domain_and_named():
    with pytest.raises(RowProblemsFound, match="outside the domain: '2024-02-30'"):
        encode(pd.DataFrame({"when": ["2024-02-30"]}), schema_of(part("month", type="date")), "t")
    with pytest.raises(RowProblemsFound, match="of a type that is not read: '12'"):
        encode(pd.DataFrame({"when": [12]}), schema_of(part("month", type="date")), "t")


def test_the_digest_knows_what_is_computed_and_nothing_that_is_not_read():
    plain = {"name": "month", "type": "integer", "categories": list(range(1, 13)), "categoriesOrdered": True}
    computed = [part("month", type="date"), part("month", type="date", format="%d/%m/%Y")]
    assert len({schema_of(field).digest for field in (plain, *computed)}) == 3
    key = {"name": "key", "type": "string", "generate": "uuid"}
    assert schema_of(key, plain, leaveOut=["name"]).digest == schema_of(plain).digest


@pytest.mark.parametrize(
    ("compute", "kind", "message"),
    [
        ({"from": "when"}, "integer", "does not say what"),
        ({"from": "when", "part": "month", "log": 10}, "integer", "does not say what"),
        ({"from": "when", "part": "month"}, "integer", "no declared type that has parts"),
        ({"from": "when", "part": "hour", "type": "date"}, "integer", "a date has no hour"),
        ({"from": "when", "part": "month", "type": "date", "format": "%d"}, "integer", "lacks the year"),
        ({"from": "when", "part": "month", "type": "date"}, "string", "is of type integer"),
        ({"from": "when", "prefix": 2, "format": "%d"}, "string", "goes with part and less only"),
        ({"from": "when", "groups": {"a": ["x"], "b": ["x"]}}, "string", "'x' is in the groups"),
        ({"from": "when", "log": 10}, "number", "needs bounds"),
    ],
)
def test_what_cannot_be_computed_is_refused(compute, kind, message):
    field = {"name": "x", "type": kind, "compute": compute}
    if kind != "integer":
        field["categories"] = ["a", "b"] if kind == "string" else [1, 2]
    with pytest.raises(ProblemsFound, match=message) as found:
        schema_of(field)
    assert {problem.rule for problem in found.value.problems} & {"compute", "type-mismatch"}


NOTES = {"name": "notes", "type": "string", "empty": True}
UNREAD = [
    {"name": "key", "type": "string", "generate": "uuid"}, {"name": "smoker", "type": "boolean"}, NOTES,
    {"name": "number", "type": "integer", "generate": "number", "title": "No."},
]  # fmt: skip


def test_columns_that_are_not_read_stand_in_their_places():
    schema = schema_of(*UNREAD, leaveOut=["name"])
    assert parse_schema(schema.table_schema(), "again") == schema
    assert schema.names == ("smoker",)
    rows = pd.DataFrame({"smoker": ["true", "false"], "name": ["a", "b"], "key": [b"x", [1]], "notes": [1, 2]})
    table = encode(rows, schema, "t")
    assert table.column(0).tolist() == [1, 0]
    made = [
        with_unread(
            decode(table, np.random.default_rng(0)), schema.attributes, schema.unread, np.random.default_rng(seed)
        )
        for seed in (1, 1, 2)
    ]
    assert list(made[0].columns) == ["key", "smoker", "notes", "number"]
    assert made[0].equals(made[1])
    assert not set(made[0]["key"]) & set(made[2]["key"])
    assert made[0]["number"].tolist() == [1, 2]
    assert as_texts(made[0], schema)["notes"].tolist() == ["", ""]
    assert as_pandas(made[0], schema)["notes"].isna().all()
    arrow = as_arrow(made[0], schema)
    assert [str(field.type) for field in arrow.schema] == ["string", "bool", "string", "int64"]
    assert arrow["notes"].null_count == 2
    assert schema.over(["smoker"]).unread == schema.unread


@pytest.mark.parametrize(
    ("fields", "keys", "message"),
    [
        ([{"name": "x", "type": "integer", "generate": "uuid"}], {}, "is of type string"),
        ([{"name": "x", "type": "string", "generate": "uuid", "empty": True}], {}, "more than one way"),
        ([{"name": "x", "type": "string", "empty": True, "categories": ["a", "b"]}], {}, "'categories' does not go"),
        ([NOTES], {}, "no column of it is read"),
        ([NOTES, {"name": "notes", "type": "boolean"}], {}, "is that of fields"),
        (UNREAD, {"leaveOut": ["notes"]}, "'notes' is a field, too"),
    ],
)
def test_what_is_declared_of_them_must_fit(fields, keys, message):
    with pytest.raises(ProblemsFound, match=message):
        schema_of(*fields, **keys)


def test_a_missing_text_of_a_synthetic_table_is_compared_as_it_stands():
    (attribute,) = schema_of({**part("month", type="date"), "missingValues": ["00"]}).attributes
    assert code_of(attribute, "00") == code_in_source(attribute, "00") == 12


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ({"compute": {"from": "day", "less": "day"}}, "less itself"),
        ({"compute": {"from": "day", "less": "n"}}, "no difference"),
        ({"compute": {"from": "clock", "less": "clock2", "type": "time"}}, "time columns"),
        ({"compute": {"from": "day", "less": "other day"}}, "not declared to be read"),
        ({"compute": {"from": "day", "less": "when"}}, "not declared to be read"),
        ({"compute": {"from": "n", "less": "m", "format": "%Y"}}, "without a type"),
        ({"compute": {"from": "n", "less": "made"}}, "not read of a table"),
        ({"compute": {"from": "n", "less": "gone"}, "missingValues": []}, "mean a missing value"),
        ({"compute": {"from": "day", "less": "x", "type": "date"}, "type": "number"}, "of type integer"),
        ({"compute": {"from": "n", "less": "m"}, "type": "string"}, "is declared"),
        ({"compute": {"from": "n", "with": ["n"]}, "type": "string"}, "beside itself"),
    ],
)
def test_a_difference_that_cannot_be_is_refused(field, named):
    day = {"name": "day", "type": "date", "domain": "discover"}
    number = {"name": "n", "type": "integer", "domain": "discover"}
    others = [
        day, {**day, "name": "other day", "format": "%d.%m.%Y"}, {**day, "name": "when", "type": "datetime"}, number,
        {"name": "made", "type": "integer", "generate": "number"}, {**number, "name": "gone", "missingValues": ["?"]},
    ]  # fmt: skip
    with pytest.raises(ProblemsFound, match=named):
        schema_of(*others, {"name": "gap", "type": "integer", "domain": "discover", **field})


def test_a_difference_is_read_in_the_dialect_of_the_table(tmp_path):
    numbers = {"name": "low", "type": "number", "edges": [0, 5000]}
    gap = {"name": "gap", "type": "number", "edges": [0, 0.5, 1, 2], "compute": {"from": "high", "less": "low"}}
    schema = schema_of(numbers, gap, dialect={"delimiter": ";", "decimalChar": ",", "groupChar": "."})
    (tmp_path / "t.csv").write_text("low;high\n1.234,5;1.235,25\n3;4,99\n")
    assert read_table(tmp_path / "t.csv", schema).column(1).tolist() == [1, 2]


def test_years_of_two_digits_are_those_of_both_columns(tmp_path):
    form = {"type": "date", "format": "%d/%m/%y", "yearsFrom": 1930}
    start = {"name": "start", "edges": ["1930-01-01", "2000-01-01", "2029-12-31"], **form}
    gap = {"name": "stay", "type": "integer", "edges": [0, 3, 4, 99], "compute": {"from": "end", "less": "start"}}
    end = {"name": "end", "sum": ["start", "stay"], **form}
    frame = pd.DataFrame({"start": ["30/12/68", "01/01/30", "01/01/30"], "end": ["02/01/69", "03/01/30", "04/02/30"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for fields in ([start, gap, end], [{**gap, "compute": gap["compute"] | form}]):
        schema = schema_of(*fields)
        for table in (encode(frame, schema, "t"), read_table(tmp_path / "t.csv", schema)):
            assert table.column(len(fields) // 2).tolist() == [1, 0, 2]
        assert parse_schema(schema.table_schema(), "t") == schema
    schema = schema_of(start, gap, end)
    codes = (np.array([0, 0]), np.array([1, 1]))
    drawn = with_unread(
        decode(CodedTable(schema, codes), np.random.default_rng(1)), schema.attributes, schema.unread,
        np.random.default_rng(1),
    )  # fmt: skip
    made = encode(as_texts(drawn, schema), schema_of({**start, "name": "end"}, gap), "t")
    assert made.column(1).tolist() == [1, 1]
    with pytest.raises(ProblemsFound, match="'start' is not declared to be read as 'end' is"):
        schema_of({**start, "yearsFrom": 1950, "edges": ["1950-01-01", "2000-01-01"]}, gap, end)
    with pytest.raises(ProblemsFound, match="the format has no %y"):
        schema_of({**gap, "compute": gap["compute"] | {"type": "date", "yearsFrom": 1930}})
    with pytest.raises(ProblemsFound, match="the format has no %y"):
        schema_of(start, {"name": "stay", "type": "integer", "edges": [0, 3]}, {**end, "format": "%d/%m/%Y"})


def test_the_form_of_a_difference_is_in_the_digest():
    def digest(form):
        gap = {"name": "gap", "type": "integer", "edges": [0, 9], "compute": {"from": "b", "less": "a", "type": "date"}}
        gap["compute"] |= form
        return schema_of(gap).digest

    assert digest({}) != digest({"format": "%d/%m/%Y"}) != digest({"format": "%m/%d/%Y"})
