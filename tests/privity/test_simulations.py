"""``privity.simulate``: the real protocol, by processes over TLS, from a table in memory."""

from __future__ import annotations

import asyncio
import gc
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from privity import Release, Schema, simulate
from privity.assessment.simulation.simulated_run import Simulation, share_out
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import encode
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.runs.run_request import request_document
from tests.harness.tables import FIELDS, people, write_people

SCHEMA = {"name": "people", "fields": FIELDS}
QUICK = {"epsilon": 1.0, "secure_sum": "masks", "progress": False}


@pytest.mark.long
@pytest.mark.process
def test_a_run_in_a_cell_of_a_notebook(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The tables in memory are those of docs/python_releases.md."""
    table, schema = write_people(tmp_path, 400)
    asked = {"algorithm": "privbayes", "theta": 3.5, "rows": 300, "seed": 4, "evaluation_epsilon": 0.25}

    async def cell() -> Release:
        return simulate(table, schema, parties=2, out=tmp_path / "release", **QUICK | {"progress": True}, **asked)

    release = asyncio.run(cell())
    assert "epsilon spent 1, " in capfd.readouterr().err, "phases are told on standard error"
    assert len(release.rows) == 300
    assert (release.run["algorithm"], release.run["settings"]["theta"]) == ("privbayes", "3.5")
    assert (release.statement.epsilon, len(release.statement.parties)) == (1, 2)
    assert "This was a simulation: one machine saw all rows." in release.statement.sentences
    assert release.scores is not None
    assert Release(tmp_path / "release").rows.equals(release.rows)
    del release
    gc.collect()
    assert (tmp_path / "release").is_dir()


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [
        ("table", {"table": [1, 2]}),
        ("schema", {"schema": 3}),
        ("epsilon", {"epsilon": 0}),
        ("delta", {"delta": "much"}),
        ("parties", {"parties": 1}),
        ("parties", {"parties": "3"}),
        ("algorithm", {"algorithm": "amm"}),
        ("settings", {"theta": 3}),
        ("rows", {"rows": 10**6}),
        ("rows", {"rows": True}),
        ("split", {"split": "bar"}),
        ("seed", {"seed": -1}),
        ("tolerate", {"tolerate": 3}),
        ("secure_sum", {"secure_sum": "magic"}),
        ("key_bits", {"secure_sum": "paillier", "key_bits": 100}),
        ("exponents", {"exponents": "long"}),
        ("patience", {"patience": "long"}),
        ("evaluation_target", {"evaluation_targets": ["age"]}),
        ("evaluation_epsilon", {"evaluation_epsilon": "x"}),
        ("out", {"out": "."}),
    ],
)
def test_what_cannot_be_is_named_before_a_process_starts(argument: str, wrong: dict[str, object]) -> None:
    with pytest.raises(PrivityError) as refused:
        simulate(**{"table": people(60), "schema": SCHEMA, **QUICK, **wrong})
    assert refused.value.message.startswith(f"{argument}: "), refused.value
    assert refused.value.remedy
    assert not re.search(r"(?<!\S)--", str(refused.value)), "options are for the command line"


def test_rows_that_do_not_fit_are_named() -> None:
    table = people(60)
    for wrong, said in (
        (table.drop(columns="age"), "missing-column"),
        (table.assign(age=200), "out-of-domain"),
        (pd.concat([table, table[["age"]]], axis=1), "duplicate"),
        (table.iloc[:0], "no rows"),
    ):
        with pytest.raises(ProblemsFound, match=said):
            simulate(wrong, SCHEMA, **QUICK)
    with pytest.raises(ProblemsFound, match="there is no such setting"):
        simulate(table, SCHEMA, **QUICK, algorithm="one-way", theta=3)
    with pytest.raises(PrivityError, match="read off the rows"):
        simulate(
            table,
            Schema({**SCHEMA, "fields": [{**each, "readOffRows": "undeclared"} for each in SCHEMA["fields"]]}),
            **QUICK,
        )


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_parties_get_the_values_of_a_table_in_its_own_words(form: str, tmp_path: Path) -> None:
    document = {
        "fields": [
            {"name": "sex", "type": "string", "categories": ["female", "male"]},
            {"name": "weight", "type": "number", "edges": [0, 50, 100, 200], "missingValues": [""]},
        ]
    }
    own = {
        "format_version": 1,
        "fields": [
            {"name": "sex", "column": "gender", "codes": {"8532": "female", "8507": "male"}},
            {"name": "weight", "column": "weight_lb", "factor": 0.45359237, "missingValues": ["-1"]},
        ],
        "leaveOut": ["person"],
    }
    schema = parse_schema(document, "schema")
    (tmp_path / "map.json").write_text(json.dumps(own))
    frame = pd.DataFrame({"gender": [8532, 8507] * 6, "weight_lb": [100, 200, -1, 300] * 3, "person": range(12)})
    if form == "csv":
        frame.to_csv(tmp_path / "t.csv", index=False)
    else:
        frame.to_parquet(tmp_path / "t.parquet")
    task = Simulation(
        request=request_document({"epsilon": 1, "algorithm": "one-way"}), data=str(tmp_path / f"t.{form}"),
        schema=schema, parties=2, out=tmp_path, split="random", rows=None, patience=60.0, seed=3,
        table_map=tmp_path / "map.json",
    )  # fmt: skip
    shared = encode(pd.concat(share_out(task, schema)[0]).sort_index(), schema, "t")
    assert shared.column(0).tolist() == [0, 1] * 6
    assert shared.column(1).tolist() == [0, 1, 3, 2] * 3


def test_parties_get_the_values_of_a_frame_and_their_codes(tmp_path: Path) -> None:
    """Whatever types pandas has for them; a value's own text stays where it has the value's code."""
    fields = [
        {"name": "ward", "type": "string", "categories": ["1", "2"], "missingValues": ["none"]},
        {"name": "smoker", "type": "boolean", "missingValues": [""]},
        {"name": "old", "type": "integer", "categories": [0, 1]},
        {"name": "cost", "type": "number", "edges": [0, 10, 1000], "outOfDomain": "edge"},
        {"name": "town", "type": "string", "categories": ["a", "o"], "outOfDomain": "other", "other": "o"},
        {"name": 7, "type": "string", "categories": ["x", "y"]},
    ]
    document = json.loads(json.dumps({"fields": [{**field, "name": str(field["name"])} for field in fields]}))
    schema = parse_schema(document, "schema")
    frame = pd.DataFrame(
        {
            "ward": [1.0, 2.0, None, 1.0] * 5,
            "smoker": [True, False, None, True] * 5,
            "old": [True, False, False, True] * 5,
            "cost": [0.1, 999.99, 5000.0, 10.0] * 5,
            "town": ["a", "b", None, "o"] * 5,
            7: "x",
        }
    )
    task = Simulation(
        request=request_document({"epsilon": 1, "algorithm": "one-way"}), data=frame, schema=schema, parties=4,
        out=tmp_path, split="random", rows=None, patience=60.0, seed=3,
    )  # fmt: skip
    parts, rest = share_out(task, schema)
    assert len(rest) == 0
    shared = pd.concat(parts).sort_index()
    assert all(type(value) is str for value in shared.to_numpy().ravel())
    for ours, theirs in zip(encode(frame, schema, "a").columns, encode(shared, schema, "b").columns, strict=True):
        assert ours.tolist() == theirs.tolist()
    assert shared["cost"].tolist()[:4] == ["0.1", "999.99", "5000", "10"]
    assert shared["ward"].tolist()[:3] == ["1", "2", "none"]
