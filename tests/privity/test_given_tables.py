"""What a fit takes: the same rows, however they are handed over."""

from __future__ import annotations

import asyncio
import pickle
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import privity
from privity import AIM, NotFittedError, OneWay, Schema, declare_population
from privity.common.errors import PrivityError, ProblemsFound
from privity.given import coded_by, given_schema
from privity.party.sources.rows import InMemory
from privity.stubs import stubs

FIELDS = [
    {"name": "age", "type": "integer", "edges": [0, 30, 60, 120], "missingValues": [""]},
    {"name": "ward", "type": "string", "categories": ["north", "<b>south</b>"]},
    {"name": "weight", "type": "number", "edges": [0, 50.5, 70.25, 200]},
    {"name": "smoker", "type": "boolean"},
]
SCHEMA = {"fields": FIELDS}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    declare_population("people", total_epsilon=50, total_delta=1e-3)


def people(rows: int = 40) -> pa.Table:
    draw = np.random.default_rng(1)
    age = [None if place % 7 == 0 else int(a) for place, a in enumerate(draw.integers(0, 100, rows))]
    return pa.table(
        {
            "age": pa.array(age, pa.int32()),
            "ward": pa.array(draw.choice(["north", "<b>south</b>"], rows).tolist()).dictionary_encode(),
            "weight": pa.array(draw.choice([50.5, 70.25, 70.0, 199.99], rows)),
            "smoker": pa.array((draw.random(rows) < 0.5).tolist()),
        }
    )


def in_every_form(folder: Path) -> dict[str, object]:
    table = people()
    relation = duckdb.connect().from_arrow(table)
    relation.write_parquet(str(folder / "t.parquet"))
    pl.from_arrow(table).write_csv(folder / "t.csv")
    return {
        "arrow": table,
        "polars": pl.from_arrow(table),
        "lazy": pl.from_arrow(table).lazy(),
        "duckdb": duckdb.connect().from_arrow(table),
        "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        "parquet": folder / "t.parquet",
        "csv": str(folder / "t.csv"),
        "pandas of Arrow": table.to_pandas(types_mapper=pd.ArrowDtype),
    }


def test_rows_are_the_same_in_every_form(tmp_path):
    schema = given_schema(SCHEMA)
    codes = {}
    for name, table in in_every_form(tmp_path).items():
        rows = coded_by(table)(schema, 1)
        assert isinstance(rows, InMemory), name
        codes[name] = np.stack([column.astype(int) for column in rows.table.columns])
    first = codes.pop("arrow")
    assert {name: bool((found == first).all()) for name, found in codes.items()} == dict.fromkeys(codes, True)


@pytest.mark.parametrize("table", [3, None, [1, 2], {"age": [1]}, np.zeros((2, 2))])
def test_what_is_no_table_is_named(table):
    with pytest.raises(PrivityError, match=r"table: a .* is no table"):
        OneWay(1, population="people").fit(table, SCHEMA)


def test_columns_of_people_go_together_and_are_none_of_rows_that_are_coded(tmp_path):
    people().to_pandas().to_csv(tmp_path / "people.csv", index=False)
    for table in (people(), people().to_pandas(), tmp_path / "people.csv"):
        with pytest.raises(PrivityError, match="person and order go together"):
            OneWay(1, population="people").fit(table, SCHEMA, person="ward")
        with pytest.raises(ProblemsFound, match=r"'patient': \[missing-column\]"):
            OneWay(1, population="people").fit(table, SCHEMA, person="patient", order="age")
    coded = coded_by(people())(given_schema(SCHEMA), 1)
    with pytest.raises(PrivityError, match="person: the rows are coded"):
        OneWay(1, population="people").fit(coded, SCHEMA, person="ward", order="age")


@pytest.mark.parametrize("schema", [3, [1]])
def test_what_is_no_schema_is_named(schema):
    with pytest.raises(PrivityError, match=r"schema: a .* is no schema"):
        OneWay(1, population="people").fit(people(), schema)


def test_a_column_twice_or_missing_is_named_with_the_file_that_is_none():
    frame = people().to_pandas()
    twice = pd.concat([frame, frame[["age"]]], axis=1)
    with pytest.raises(ProblemsFound, match=r"table: header: \[duplicate-column\] 'age'"):
        OneWay(1, population="people").fit(twice, SCHEMA)
    with pytest.raises(ProblemsFound, match=r"table: header: \[missing-column\] 'age'"):
        OneWay(1, population="people").fit(frame.drop(columns="age"), SCHEMA)


def test_numbers_are_exact_however_they_are_given():
    for epsilon in (0.1, "0.1", "1/10", "1e-1", Decimal("0.10"), Fraction(1, 10), np.float64(0.1)):
        assert OneWay(epsilon, population="people").epsilon == Fraction(1, 10)
    model = AIM(1, population="people", delta=1e-9, selecting=0.25, one_way=Fraction(1, 3))
    assert (model.delta, model.settings) == (Fraction(1, 10**9), {"selecting": "0.25", "one_way": "1/3"})
    with pytest.raises(PrivityError, match=r"epsilon: '0.30000000000000004' has too many digits"):
        OneWay(0.1 + 0.2, population="people")


def test_nothing_is_there_before_a_fit_and_everything_after_it():
    model = OneWay(1, population="people")
    for name in ("model_", "schema_", "charged_", "spent_", "population_", "record_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError, match="this OneWay is not fitted"):
        model.sample(3)
    model.fit(people(), SCHEMA)
    assert model.charged_.epsilon == model.spent_.epsilon == 1
    assert model.population_.total_epsilon == 50
    assert model.schema_.names == ("age", "ward", "weight", "smoker")


def test_a_fitted_model_is_pickled_without_the_rows_and_samples_the_same():
    model = AIM(1, delta=1e-9, population="people").fit(people(), SCHEMA)
    again = pickle.loads(pickle.dumps(model))
    assert again.sample(20, seed=3).equals(model.sample(20, seed=3))
    assert again.charged_ == model.charged_
    assert again.fitted.learnt.run == model.fitted.learnt.run
    assert repr(again) == repr(model)


def test_what_a_notebook_shows_is_no_markup():
    model = OneWay(1, population="people & <i>co</i>")
    assert "<i>" not in model._repr_html_()
    assert "people &amp; &lt;i&gt;co&lt;/i&gt;" in model._repr_html_()
    shown = Schema(SCHEMA)._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;south" in shown


def test_it_works_within_a_running_loop_and_in_threads():
    async def within() -> int:
        return len(OneWay(1, population="people").fit(people(), SCHEMA).sample(5))

    assert asyncio.run(within()) == 5
    with ThreadPoolExecutor(4) as pool:
        fits = [pool.submit(OneWay(1, population="people").fit, people(), SCHEMA) for _ in range(4)]
    assert max(fit.result().spent_.epsilon for fit in fits) == 5


def test_names_are_loaded_when_they_are_used_and_each_is_there():
    assert [name for name in privity.__all__ if getattr(privity, name).__name__ != name] == []
    with pytest.raises(AttributeError, match="no attribute 'Aim'"):
        privity.Aim  # noqa: B018


def test_editors_are_told_the_settings_of_each_class():
    file = Path(privity.__file__).with_suffix(".pyi")
    assert file.read_text(encoding="utf-8") == stubs(), "python -m privity.stubs > src/privity/__init__.pyi"
