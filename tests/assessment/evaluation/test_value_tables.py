"""Rows with their values: the same from every source, and a fair part of too many."""

import gzip

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.assessment.evaluation import value_tables
from privity.assessment.evaluation.value_tables import no_structure, only_sampling, read_values, values_of_frame
from privity.common.data.attribute import read_number
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import read_table
from privity.common.errors import RowProblemsFound
from privity.party.sources.address import parse_address
from tests.assessment.evaluation.made_tables import RULES, frame, schema, table


def same(one, other):
    assert one.read == other.read
    for mine, theirs in zip(one.coded.columns, other.coded.columns, strict=True):
        assert (mine == theirs).all()
    for mine, theirs in zip(one.numbers, other.numbers, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.process
def test_every_source_gives_the_same_values(tmp_path):
    rows, expected = frame(500), table(500)
    rows.to_csv(tmp_path / "t.csv", index=False)
    rows.to_csv(tmp_path / "t.csv.gz", index=False)
    typed = rows.assign(
        age=rows["age"].astype(int), sick=rows["sick"] == "true", loss=rows["loss"].astype(int),
        pay=pd.to_numeric(rows["pay"], errors="coerce"),
    )  # fmt: skip
    typed.to_parquet(tmp_path / "t.parquet")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.register("rows", typed)
        database.execute("CREATE TABLE t AS SELECT * FROM rows")
    for name in ("t.csv", "t.csv.gz", "t.parquet", "t.duckdb#t"):
        same(read_values(parse_address(str(tmp_path / name)), schema()), expected)
    assert (read_table(tmp_path / "t.csv", schema()).columns[0] == expected.coded.columns[0]).all()


@given(
    st.lists(
        st.from_regex(r"[+-]?([0-9]{1,6}(\.[0-9]{0,4})?|\.[0-9]{1,4})([eE][+-]?[0-9])?", fullmatch=True), min_size=1
    )
)
def test_a_value_is_the_number_that_its_text_is(texts):
    declared = parse_schema({"fields": [{"name": "x", "type": "number", "edges": [-1e16, 0, 1e16]}]}, "s")
    found = values_of_frame(pd.DataFrame({"x": texts}, dtype=object), declared, "rows").numbers[0]
    assert found.tolist() == [float(read_number(text)) for text in texts]


def test_booleans_and_categories_are_numbers_and_missing_values_are_none():
    found = table(300)
    rows = frame(300)
    assert found.numbers[1] is None
    np.testing.assert_array_equal(found.numbers[2], rows["sick"] == "true")
    np.testing.assert_array_equal(np.isnan(found.numbers[3]), rows["pay"] == "NA")
    coded = {"name": "x", "type": "number", "edges": [-900, 0, 9], "missingValues": ["-999", "none", "nan"]}
    texts = pd.DataFrame({"x": ["-999", "none", "nan", "-800", "1"]})
    for rows in (texts, texts.iloc[[0, 2, 3, 4]]):
        numbers = values_of_frame(rows, parse_schema({"fields": [coded]}, "s"), "rows").numbers[0].tolist()
        assert numbers[-2:] == [-800, 1]
        assert all(np.isnan(number) for number in numbers[:-2])
    listed = parse_schema({"fields": [{"name": "x", "type": "integer", "categories": [10, -2, 7]}]}, "s")
    assert values_of_frame(pd.DataFrame({"x": ["7", "10"]}), listed, "rows").numbers[0].tolist() == [7, 10]


@pytest.mark.statistical
def test_of_too_many_rows_each_has_the_same_chance_and_all_are_asked_about_rules(tmp_path, monkeypatch):
    rows = frame(8000)
    rows["age"] = (np.arange(8000) // 100).astype(str)  # sorted: a first part would tell of the young only
    rows.to_csv(tmp_path / "t.csv", index=False)
    address = parse_address(str(tmp_path / "t.csv"))
    whole = read_values(address, schema(RULES))
    found = read_values(address, schema(RULES), 1000)
    assert (whole.rows, whole.read, found.read) == (8000, 8000, 8000)
    assert 850 < found.rows < 1150
    assert found.broken == whole.broken
    assert found.numbers[0].mean() == pytest.approx(whole.numbers[0].mean(), abs=3)
    assert read_values(address, schema(RULES), 1000).numbers[0].tolist() == found.numbers[0].tolist()
    monkeypatch.setattr(value_tables, "MOST_CELLS", 6 * 500)
    assert 400 < read_values(address, schema()).rows < 600
    assert 400 < values_of_frame(rows, schema(), "rows").rows < 600


def test_rules_are_asked_about_values_and_not_about_bins():
    rows = frame(2000)
    age, loss = rows["age"].astype(int), rows["loss"].astype(int)
    broken = ((age < 18) & (rows["sick"] == "true")).mean(), (loss > 4000).mean()
    assert table(2000, rules=RULES).broken == pytest.approx(broken)
    assert table(2000, rules=RULES).over(["age", "loss"]).broken == pytest.approx(broken[1:])


def test_faults_are_told_all_at_once(tmp_path):
    rows = frame(20)
    rows.loc[3, "age"], rows.loc[4, "pay"], rows.loc[5, "ward"] = "old", "much", "east"
    rows.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(RowProblemsFound) as found:
        read_values(parse_address(str(tmp_path / "t.csv")), schema())
    assert [problem.field for problem in found.value.problems] == ["age", "ward", "pay"]
    rows.iloc[:0].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(RowProblemsFound, match="no rows"):
        read_values(parse_address(str(tmp_path / "t.csv")), schema())
    with gzip.open(tmp_path / "short.csv.gz", "wb") as packed:
        packed.write(b"age\n1\n")
    with pytest.raises(RowProblemsFound, match="declared, but no such column"):
        read_values(parse_address(str(tmp_path / "short.csv.gz")), schema())


def test_tables_beside_keep_columns_or_rows():
    real = table(400)
    shuffled, drawn = no_structure(real), only_sampling(real, 50)
    for mine, theirs in zip(real.coded.columns, shuffled.coded.columns, strict=True):
        assert (np.sort(mine) == np.sort(theirs)).all()
    assert shuffled.numbers[0].astype(int).tolist() != real.numbers[0].astype(int).tolist()
    ages = dict(zip(shuffled.numbers[0].tolist(), shuffled.coded.columns[0].tolist(), strict=True))
    assert all(age // 20 == code for age, code in ages.items()), "codes and numbers are shuffled together"
    assert (drawn.rows, set(drawn.numbers[0]) <= set(real.numbers[0])) == (50, True)
