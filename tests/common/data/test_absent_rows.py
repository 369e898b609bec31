"""Absent rows in schemas and coded tables: a code of their own that no text has and nobody is ever told."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable, decode, write_csv
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_reading import encode, read_table
from privity.common.errors import ProblemsFound
from privity.common.release.evaluation.marginal_distance import marginal_distances

FIELDS = [
    {
        "name": "work",
        "type": "string",
        "categories": ["a", "b", "c", "(absent)"],
        "taxonomy": {"x": ["a", "b"], "y": ["c", "(absent)"]},
        "missingValues": ["NA"],
    },
    {"name": "age", "type": "integer", "edges": [0, 1, 2, 3, 4, 5, 6, 7, 8], "missingValues": [""]},
    {"name": "member", "type": "boolean"},
    {"name": "weight", "type": "number", "edges": [0.5, 1, 2, 3], "outOfDomain": "edge"},
    {"name": "ward", "type": "string", "categories": ["n", "s"], "outOfDomain": "other", "other": "s"},
]


def schema_of(absent: object = True) -> Schema:
    return parse_schema({"name": "visits", "absentRows": absent, "fields": copy.deepcopy(FIELDS)}, "s")


def rows_of(schema: Schema, count: int, seed: int = 0) -> CodedTable:
    generator = np.random.default_rng(seed)
    return CodedTable(schema, tuple(generator.integers(0, a.present, count) for a in schema.attributes))


def test_the_last_code_of_every_attribute_is_that_of_absent_rows():
    schema, plain = schema_of(), schema_of(False)
    assert schema.absent_rows
    assert not plain.absent_rows
    assert [a.size for a in schema.attributes] == [a.size + 1 for a in plain.attributes] == [6, 10, 3, 4, 3]
    assert [a.values for a in schema.attributes] == [a.values for a in plain.attributes]
    assert [a.missing_code for a in schema.attributes] == [4, 8, None, None, None]
    assert [a.absent_code for a in schema.attributes] == [5, 9, 2, 3, 2]
    assert [a.absent_code for a in plain.attributes] == [None] * 5
    assert [a.labels[-1] for a in schema.attributes] == ["((absent))", *["(absent)"] * 4]
    assert schema.attributes[0].labels[-2] == "(missing)"
    assert all(len(set(a.labels)) == a.size for a in schema.attributes)


@given(st.text(max_size=12) | st.sampled_from(["(absent)", "((absent))", "", "NA", "9", "-1", "nan", "true", "2"]))
def test_no_text_is_read_as_an_absent_row(text):
    assert all(attribute.code_of(text) != attribute.absent_code for attribute in schema_of().attributes)


def test_generalisations_keep_absent_rows_apart_from_missing_values_and_from_values():
    schema = schema_of()
    assert schema.attributes[0].levels == ((0, 0, 1, 1, 2, 3),)
    derived = schema.derived
    _, first, second = derived.levels(1)
    assert derived.derive(first, np.arange(10)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 5]
    assert derived.derive(second, np.arange(10)).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 3]
    assert [derived.domain[level] for level in (first, second)] == [6, 4]


def test_the_key_is_written_again_and_enters_the_digest_only_when_true():
    schema, plain = schema_of(), schema_of(False)
    without = parse_schema({"name": "visits", "fields": FIELDS}, "s")
    assert plain == without
    assert plain.digest == without.digest != schema.digest
    assert "absentRows" not in plain.table_schema()
    assert parse_schema(json.loads(json.dumps(schema.table_schema())), "s") == schema
    assert schema.over(["age", "work"]).absent_rows


def test_a_schema_without_absent_rows_keeps_the_digest_it_had_before_there_were_any():
    assert schema_of(False).digest == "86d161695b98cae4f6c968398a8b456208a1e200b4de75fc7149772ac9260f07"


@pytest.mark.parametrize("value", ["true", 1, None, []])
def test_the_key_is_true_or_false(value):
    with pytest.raises(ProblemsFound, match="absentRows"):
        schema_of(value)


def test_a_row_is_absent_as_a_whole_so_all_attributes_have_the_code_or_none():
    one, *others = schema_of().attributes
    with pytest.raises(ValueError, match="absent as a whole"):
        Schema("s", (replace(one, absent=False), *others))


def test_absent_rows_are_appended_and_found():
    schema = schema_of()
    table = rows_of(schema, 7).with_absent(3)
    assert table.rows == 10
    assert table.absent().tolist() == [[False] * 7 + [True] * 3] * 5
    assert table.with_absent(0).rows == 10
    assert not rows_of(schema_of(False), 4).absent().any()
    with pytest.raises(ValueError, match="declares no absent rows"):
        rows_of(schema_of(False), 4).with_absent(1)
    with pytest.raises(ValueError, match="at least 0"):
        table.with_absent(-1)


def test_an_absent_row_is_never_written():
    table = rows_of(schema_of(), 7)
    partly = CodedTable(table.schema, (*table.columns[:4], np.full(7, 2)))
    for rows in (table.with_absent(1), partly):
        with pytest.raises(ValueError, match="no values"):
            decode(rows, np.random.default_rng(0))


def test_rows_are_written_read_and_compared_as_under_any_schema(tmp_path):
    schema = schema_of()
    table = rows_of(schema, 300)
    frame = decode(table, np.random.default_rng(1))
    again = encode(frame, schema, "frame")
    assert all((a == b).all() for a, b in zip(table.columns, again.columns, strict=True))
    write_csv(frame, tmp_path / "synthetic.csv")
    distances = marginal_distances(table, read_table(tmp_path / "synthetic.csv", schema))
    assert set(distances.values()) == {0.0}
