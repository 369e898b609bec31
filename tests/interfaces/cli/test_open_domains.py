"""From a raw table to a release without anybody knowing a domain: by one owner, and by parties."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from privity.common.data.schema import load_schema
from privity.common.errors import PrivityError
from privity.common.exit_codes import Exit
from privity.common.release.release_folder import verify_release
from privity.common.synthesis.learning.domain_discovery import undiscovered
from privity.interfaces.cli.main import app
from tests.harness.command import privity

pytestmark = pytest.mark.process

OPEN = {
    "fields": [
        {"name": "age", "type": "integer", "domain": "discover"},
        {"name": "loss", "type": "integer", "domain": "discover"},
        {"name": "ward", "type": "string", "categories": ["north", "south"]},
        {"name": "rate", "type": "number", "categories": [0, 0.5, 1]},
    ]
}


def raw(folder: Path, rows: int = 3000) -> Path:
    generator = np.random.default_rng(3)
    age = generator.integers(20, 70, rows)
    loss = np.where(generator.random(rows) < 0.9, 0, generator.integers(1500, 2500, rows))
    ward, rate = np.where(age > 45, "north", "south"), age % 3 / 2
    frame = pd.DataFrame({"age": age, "loss": loss, "ward": ward, "rate": rate})
    frame.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def test_one_owner_with_texts_that_nobody_listed(tmp_path: Path, monkeypatch) -> None:
    """Towns are discovered within the run, names are left out; both are said, and nothing else is to be decided."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    table, schema = raw(tmp_path), tmp_path / "table.schema.json"
    frame = pd.read_csv(table)
    frame["town"] = [
        ("Bern", "Chur")[row % 2] if row % 5 else f"hamlet of {chr(97 + row % 26)}{row}" for row in frame.index
    ]
    frame["name"] = [f"{chr(97 + row % 26)}. of {row // 2}" for row in frame.index]
    frame.to_csv(table, index=False)
    draft = privity("schema", "draft", table, "--out", schema)
    assert "2 of them would be discovered" in draft.stderr
    fields = [field["name"] for field in json.loads(schema.read_text())["fields"]]
    assert fields == ["age", "loss", "ward", "rate", "town"]
    assert privity("schema", "review", schema, *fields).returncode == Exit.DONE
    checked = privity("schema", "check", schema, "--data", table)
    assert "Categories of town are yet to be discovered: that takes a delta" in checked.stdout
    privity("population", "declare", "people", "--total-epsilon", "2", "--total-delta", "0.000001")
    given = (
        "--data",
        table,
        "--schema",
        schema,
        "--epsilon",
        "2",
        "--population",
        "people",
        "--out",
        tmp_path / "release",
    )
    refused = privity("synthesize", *given)
    assert refused.returncode == Exit.INPUT
    assert "takes a delta" in refused.stderr
    done = privity("synthesize", *given, "--delta", "0.000001")
    assert "Texts of town become categories if more than about" in done.stdout
    assert done.returncode == Exit.DONE, done.stderr
    verify_release(tmp_path / "release")
    town = load_schema(tmp_path / "release" / "schema.json").attributes[-1]
    assert town.categories == ("Bern", "Chur", "(other)")


def test_one_owner_from_a_draft_to_a_release(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    table, schema = raw(tmp_path), tmp_path / "table.schema.json"
    assert privity("schema", "draft", table, "--out", schema).returncode == Exit.DONE
    drafted = json.loads(schema.read_text())
    assert [field.get("domain") for field in drafted["fields"]] == ["discover", "discover", None, None]
    assert privity("population", "declare", "people", "--total-epsilon", "9").returncode == Exit.DONE
    given = ("--data", table, "--schema", schema, "--epsilon", "4", "--population", "people")
    refused = privity("synthesize", *given, "--out", tmp_path / "release", "--algorithm", "aim")
    assert refused.returncode == Exit.INPUT
    assert f"privity schema review {schema}" in refused.stderr
    reviewed = privity("schema", "review", schema, *(field["name"] for field in drafted["fields"]))
    assert "age: integer, to be discovered" in reviewed.stdout
    done = privity("synthesize", *given, "--out", tmp_path / "release", "--algorithm", "aim")
    assert done.returncode == Exit.DONE, done.stderr
    verify_release(tmp_path / "release")
    judged = privity("evaluate", "--real", table, "--schema", schema, "--release", tmp_path / "release", "--quick")
    assert judged.returncode == Exit.DONE, "open domains are those that the release found" + judged.stderr
    assert undiscovered(load_schema(tmp_path / "release" / "schema.json")) == []
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    assert statement["phases"][0]["phase"] == "domains"
    made = pd.read_csv(tmp_path / "release" / "synthetic.csv")
    assert abs((made["loss"] == 0).mean() - 0.9) < 0.03
    kept = privity("schema", "discover", *given, "--out", tmp_path / "known.json")
    assert kept.returncode == Exit.DONE, kept.stderr
    assert undiscovered(load_schema(tmp_path / "known.json")) == []
    broke = privity("schema", "discover", *given, "--out", tmp_path / "more.json")
    assert broke.returncode == Exit.BUDGET
    given = ("--data", table, "--schema", tmp_path / "known.json", "--epsilon", "0.1")
    alone = ("--population", "people", "--out", tmp_path / "again")
    for asked in [
        ("schema", "discover", *given, *alone),
        ("synthesize", *given, *alone, "--algorithm", "discover"),
        ("simulate", *given, "--parties", "2", "--algorithm", "discover", "--out", tmp_path / "again"),
        ("plan", *given[2:], "--rows", "3000", "--algorithm", "discover"),
    ]:
        idle = privity(*asked)
        assert idle.returncode == Exit.INPUT, asked
        assert "leaves the domain of no number open" in idle.stderr
        assert "Run another algorithm" in idle.stderr


def test_each_field_of_a_draft_that_is_left_is_asked_about(tmp_path: Path, monkeypatch) -> None:
    table, schema = raw(tmp_path, 300), tmp_path / "table.schema.json"
    pd.read_csv(table).assign(number=range(300)).to_csv(table, index=False)
    assert privity("schema", "draft", table, "--out", schema).returncode == Exit.DONE
    drafted = schema.read_text()

    def asked(answers: str) -> Result:
        return CliRunner().invoke(app, ["schema", "review", str(schema)], input=answers)

    unanswered = asked("")
    assert isinstance(unanswered.exception, PrivityError)
    assert f"privity schema review {schema} age loss ward rate" in str(unanswered.exception)
    assert json.loads(schema.read_text()) == json.loads(drafted)
    told = asked("high\n120 0\n0 120\ny\n\nn\ny\nn\n").stdout
    assert "Left out, and named in the schema as that: number." in told
    assert "Give two" in told
    assert "is not below" in told
    age, loss, ward, rate = json.loads(schema.read_text())["fields"]
    assert (age["constraints"], age["readOffRows"]) == ({"minimum": 0, "maximum": 120}, "data owner")
    assert (ward["readOffRows"], loss["readOffRows"], rate["readOffRows"]) == ("data owner", *["undeclared"] * 2)
    assert "Not declared public yet: loss, rate." in told
    told = asked("\ny\ny\n").stdout
    assert "ward:" not in told
    assert load_schema(schema).undeclared == ()


@pytest.mark.long
def test_parties_discover_in_a_run_of_its_own_whose_release_has_the_schema(tmp_path: Path) -> None:
    table, schema = raw(tmp_path), tmp_path / "open.json"
    schema.write_text(json.dumps(OPEN))
    given = ("--data", table, "--parties", "3", "--secure-sum", "masks")
    refused = privity(
        "simulate", *given, "--schema", schema, "--epsilon", "1", "--algorithm", "aim", "--out", tmp_path / "x"
    )
    assert refused.returncode == Exit.INPUT
    assert "yet to be discovered" in refused.stderr
    asked = ("--schema", schema, "--epsilon", "4", "--algorithm", "discover", "--out", tmp_path / "discovered")
    done = privity("simulate", *given, *asked)
    assert done.returncode == Exit.DONE, done.stderr
    known = tmp_path / "known.json"
    for out in (known, tmp_path / "again.json"):
        told = privity("schema", "discover", "--release", tmp_path / "discovered", "--out", out)
        assert told.returncode == Exit.DONE, told.stderr
    assert known.read_text() == (tmp_path / "again.json").read_text(), "anybody makes the same schema"
    asked = ("--schema", known, "--epsilon", "4", "--algorithm", "one-way", "--out", tmp_path / "release")
    done = privity("simulate", *given, *asked)
    assert done.returncode == Exit.DONE, done.stderr
    made = pd.read_csv(tmp_path / "release" / "synthetic.csv")
    assert abs((made["loss"] == 0).mean() - 0.9) < 0.03
    nothing = privity("schema", "discover", "--release", tmp_path / "release", "--out", tmp_path / "none.json")
    assert nothing.returncode == Exit.INPUT
    assert "it has discovered no domain" in nothing.stderr


def test_a_bin_that_holds_most_rows_is_named_to_the_owner(tmp_path: Path) -> None:
    table, schema = raw(tmp_path), tmp_path / "s.json"
    fields = [dict(field) for field in OPEN["fields"]]
    fields[1] = {"name": "loss", "type": "integer", "edges": [0, 1000, 2500]}
    schema.write_text(json.dumps({"fields": fields}))
    said = privity("schema", "check", schema, "--data", table).stdout
    assert "loss: most rows are in the bin [0, 1000)." in said
    fields[1]["edges"] = [0, 1, 1000, 2500]
    schema.write_text(json.dumps({"fields": fields}))
    assert "most rows" not in privity("schema", "check", schema, "--data", table).stdout
