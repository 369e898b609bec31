"""Totals and labels of a table: rows that disagree are counted alike in every source, and a release has none."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from privity.common.exit_codes import Exit
from tests.harness.ledgers import declared
from tests.harness.tables import FIELDS, people
from tests.interfaces.cli.test_release import digested, privity

TOTAL = {"name": "points", "type": "integer", "sum": ["age", "score"]}
LABEL = {"name": "place", "type": "string", "lookup": {
    "field": "ward", "values": {"north": "Nordstadt", "south": "Südstadt", "west": "Weststadt"},
}}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("follow")
    rows = people(600)
    rows["points"] = rows["age"] + rows["score"]
    rows["place"] = rows["ward"].map(LABEL["lookup"]["values"])
    rows.loc[:4, "points"] = 1
    rows.loc[:2, "place"] = "elsewhere"
    rows.to_csv(folder / "people.csv", index=False)
    rows.to_parquet(folder / "people.parquet", index=False)
    (folder / "schema.json").write_text(json.dumps({"fields": [*FIELDS, TOTAL, LABEL]}))
    return folder


@pytest.mark.parametrize("data", ["people.csv", "people.parquet"])
def test_rows_that_disagree_are_told_on_the_owners_screen(folder, data):
    done = privity("schema", "check", folder / "schema.json", "--data", folder / data)
    assert done.returncode == Exit.DONE, done.stderr
    assert "Column points: another value than follows in 5 rows." in done.stdout
    assert "Column place: another value than follows in 3 rows." in done.stdout
    assert "private" in done.stdout


def test_totals_are_read_by_the_marks_of_the_dialect_with_their_units(tmp_path):
    marks = {"type": "number", "edges": [0, 1000, 5000], "decimals": 2, "bareNumber": False}
    fields = [{"name": name, **marks} for name in ("own", "fund")]
    total = {"name": "all", "type": "number", "sum": ["own", "fund"]}
    dialect = {"delimiter": ";", "decimalChar": ",", "groupChar": "."}
    (tmp_path / "s.json").write_text(json.dumps({"fields": [*fields, total], "dialect": dialect}))
    (tmp_path / "t.csv").write_text(
        "own;fund;all\n1.000,50 EUR;20,25 EUR;1.020,75 EUR\n1,00 EUR;2,00 EUR;4,00 EUR\n0,10 EUR;0 EUR;0,10 EUR\n"
    )
    done = privity("schema", "check", tmp_path / "s.json", "--data", tmp_path / "t.csv")
    assert "Column all: another value than follows in 1 rows." in done.stdout, done.stdout + done.stderr


def test_a_table_without_the_columns_is_released_with_them_and_verify_looks_at_them(folder):
    rows = pd.read_csv(folder / "people.csv").drop(columns=["points", "place"])
    rows.to_csv(folder / "without.csv", index=False)
    checked = privity("schema", "check", folder / "schema.json", "--data", folder / "without.csv")
    assert checked.returncode == Exit.DONE
    assert "Column" not in checked.stdout
    declared(folder / "ledger").close()
    done = privity(
        "synthesize", "--data", folder / "without.csv", "--schema", folder / "schema.json", "--epsilon", "2",
        "--population", "people", "--ledger", folder / "ledger", "--out", folder / "release",
    )  # fmt: skip
    assert done.returncode == Exit.DONE, done.stderr
    made = pd.read_csv(folder / "release" / "synthetic.csv")
    assert (made["points"] == made["age"] + made["score"]).all()
    assert (made["place"] == made["ward"].map(LABEL["lookup"]["values"])).all()
    assert privity("verify", folder / "release").returncode == Exit.DONE
    made.loc[0, "points"] += 1
    made.to_csv(folder / "release" / "synthetic.csv", index=False)
    digested(folder / "release", "synthetic.csv")
    done = privity("verify", folder / "release")
    assert done.returncode == Exit.INPUT
    assert "[rule-broken] 1 rows have another points than follows from age, score." in done.stderr
