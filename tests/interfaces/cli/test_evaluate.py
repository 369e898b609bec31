"""``privity evaluate`` and ``privity simulate --evaluate`` as their user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privity.common import formats
from privity.common.errors import PrivityError
from privity.common.exit_codes import Exit, exit_code
from privity.interfaces.cli.main import app
from tests.harness.command import privity
from tests.harness.ledgers import declared
from tests.harness.tables import people, write_people

pytestmark = pytest.mark.process

NOT_FOR_RELEASE = "Not for release"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of 900 rows, with 600 rows beside it that had no part."""
    folder = tmp_path_factory.mktemp("evaluation")
    table, schema = write_people(folder, 900)
    people(600, seed=5).to_csv(folder / "control.csv", index=False)
    given = ("--data", table, "--schema", schema, "--population", "people", "--ledger", folder / "ledger")
    declared(folder / "ledger").close()
    done = privity("synthesize", *given, "--epsilon", "3", "--out", folder / "release")
    assert done.returncode == 0, done.stderr
    return folder / "release"


@pytest.mark.long
def test_a_release_is_judged_from_its_folder_alone(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # To compile the attacks' search takes longer than a few attacks: test_attacks.py does it.
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    folder = release.parent
    given = ("--real", folder / "people.csv", "--release", release, "--control", folder / "control.csv")
    options = ("--target", "ward=north", "--target", "score", "--drop", "cost", "--attacks", "20")
    files = ("--json", folder / "evaluation.json", "--html", folder / "evaluation.html", "--pictures", folder / "drawn")
    done = privity("evaluate", *given, *options, *files)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(NOT_FOR_RELEASE)
    for name in ("evaluation.json", "evaluation.html"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    document = json.loads((folder / "evaluation.json").read_text())
    formats.require(document, "evaluation", "evaluation.json")
    assert document["private"] is False
    assert document["notice"].startswith(NOT_FOR_RELEASE)
    (judged,) = document["tables"]
    assert (judged["name"], judged["rows"]) == ("release", 900)
    assert judged["release"] == json.loads((release / "run.json").read_text())["run"]
    assert document["rows"] == {"real": 900, "compared": 900, "control": 600, "test": 600}
    assert [(one["target"], one["dropped"]) for one in document["predictions"]] == [
        ("ward=north", ["cost"]),
        ("score", ["cost"]),
    ]
    page = (folder / "evaluation.html").read_text()
    assert page.index("NOT FOR RELEASE") < page.index("<h2")
    assert {one["kind"] for one in judged["attacks"]["made"]} >= {"linkability", "inference"}
    assert {file.suffix for file in (folder / "drawn").iterdir()} == {".svg", ".png"}
    again = privity("evaluate", *given, *files)
    assert (again.returncode, "pictures:" in again.stderr) == (Exit.INPUT, True)


def test_releases_and_other_tables_stand_side_by_side(release: Path, tmp_path: Path) -> None:
    """A release made with other bins is judged by the same ruler."""
    folder = release.parent
    rows = people(900, seed=3)
    rows["cost"] = 0
    rows.to_csv(tmp_path / "rival.csv", index=False)
    other = json.loads((folder / "people.schema.json").read_text())
    other["fields"][0]["bins"] = 9
    (tmp_path / "other.json").write_text(json.dumps(other))
    given = ("--data", folder / "people.csv", "--schema", tmp_path / "other.json", "--population", "people")
    costs = ("--ledger", folder / "ledger", "--epsilon", "3", "--out", tmp_path / "other")
    assert privity("synthesize", *given, *costs).returncode == 0
    named = ("--release", release, "--release", tmp_path / "other", "--synthetic", tmp_path / "rival.csv")
    out = ("--quick", "--json", tmp_path / "e.json")
    done = privity("evaluate", "--real", folder / "people.csv", *named, *out)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "e.json").read_text())
    assert document["quick"] is True
    assert [table["name"] for table in document["tables"]] == ["release", "other", "rival.csv"]
    assert [table["name"] for table in document["beside"]] == ["only sampling", "no structure"]
    assert [bool(table["release"]) for table in document["tables"]] == [True, True, False]
    refused = document["verdicts"][2]["in_words"][0]
    assert refused.startswith("Do not use cost: of cost, 0 % of the real values are 0, of the synthetic ones 100 %")
    assert "Do not use cost" in " ".join(done.stdout.split())


def refused(*arguments: str | Path) -> str:
    """What ``privity evaluate`` says is wrong with its input."""
    error = CliRunner().invoke(app, ["evaluate", *map(str, arguments)]).exception
    assert isinstance(error, PrivityError), error
    assert exit_code(error) == Exit.INPUT
    return error.message


def test_every_fault_is_told_at_once(release: Path, tmp_path: Path) -> None:
    folder = release.parent
    (tmp_path / "few.csv").write_text("age,ward,smoker,score,cost\n20,north,true,1,5\n")
    (tmp_path / "wrong.csv").write_text("age,ward,smoker,score,cost\n20,east,true,1,5\n")
    (tmp_path / "empty.csv").write_text("age,ward,smoker,score,cost\n")
    schema = folder / "people.schema.json"
    tables = (
        "--real",
        tmp_path / "empty.csv",
        "--synthetic",
        tmp_path / "wrong.csv",
        "--control",
        tmp_path / "few.csv",
    )
    options = ("--target", "income", "--target", "ward=east", "--target", "smoker=true,false", "--drop", "size")
    message = refused(*tables, "--schema", schema, *options, "--attacks", "0")
    for fault in ("no-rows", "east", "income", "--drop", "size", "no-question", "no-attacks"):
        assert fault in message, fault
    tables = ("--real", folder / "people.csv", "--release", release, "--control", tmp_path / "few.csv")
    message = refused(*tables)
    assert "--control: [too-few-rows] 1 rows are too few for 500 attacks" in message


def test_tables_that_cannot_be_compared_are_named_with_their_columns(release: Path, tmp_path: Path) -> None:
    folder = release.parent
    rows = people(40)
    bad = {
        "extra": rows.assign(more=1),
        "missing": rows.drop(columns="ward"),
        "text": rows.assign(age="old"),
        "changed": rows.assign(score=rows["score"] + 0.5),
        "empty": rows.iloc[:0],
    }
    said = {"extra": "'more': not declared", "missing": "'ward': declared, but no such column", "empty": "no rows",
            "text": "age: [out-of-domain]", "changed": "score: [out-of-domain]"}  # fmt: skip
    for name, frame in bad.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    named = [one for name in bad for one in ("--synthetic", tmp_path / f"{name}.csv")]
    message = refused("--real", folder / "people.csv", "--schema", folder / "people.schema.json", *named)
    for name, words in said.items():
        assert f"{name}.csv" in message
        assert words in message, words
    rows.iloc[:1].to_csv(tmp_path / "one.csv", index=False)
    message = refused("--real", tmp_path / "one.csv", "--release", release)
    assert "--real: [too-few-rows] one row has no distribution" in message
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.astype({"age": float}).assign(key=range(40)).to_parquet(tmp_path / "typed.parquet")
    given = ("--schema", folder / "people.schema.json", "--quick")
    done = privity("evaluate", "--real", tmp_path / "typed.parquet", "--synthetic", tmp_path / "rows.csv", *given)
    assert done.returncode == 0, "18.0 is the number 18, and columns that no release has are left alone"


def test_an_altered_release_and_another_schema_are_refused(release: Path, tmp_path: Path) -> None:
    folder = release.parent
    other = json.loads((folder / "people.schema.json").read_text())
    other["fields"][0] = {"name": "age", "type": "string", "categories": ["18", "19"]}
    (tmp_path / "other.json").write_text(json.dumps(other))
    given = ("--real", folder / "people.csv", "--release", release)
    message = refused(*given, "--schema", tmp_path / "other.json")
    assert "other-schema" in message
    altered = tmp_path / "release"
    altered.mkdir()
    for file in release.iterdir():
        (altered / file.name).write_bytes(file.read_bytes())
    with (altered / "synthetic.csv").open("a") as rows:
        rows.write("20,north,true,1,5\n")
    message = refused("--real", folder / "people.csv", "--release", altered)
    assert "synthetic.csv" in message
    for tables in (("--synthetic", "x.csv"), ()):
        refused("--real", folder / "people.csv", *tables)


@pytest.mark.long
def test_a_simulation_is_judged_beside_each_party(tmp_path: Path) -> None:
    table, schema = write_people(tmp_path, 700)
    given = ("--data", table, "--schema", schema, "--epsilon", "2", "--secure-sum", "masks", "--parties", "2")
    places = ("--out", tmp_path / "release", "--evaluate", tmp_path / "judged")
    done = privity("simulate", *given, *places, "--split", "by:age", "--rows", "640")
    assert done.returncode == 0, done.stderr
    assert "not for release" in done.stdout
    assert (tmp_path / "judged").stat().st_mode & 0o777 == 0o700
    for name in ("evaluation.json", "evaluation.html"):
        assert (tmp_path / "judged" / name).stat().st_mode & 0o777 == 0o600
    document = json.loads((tmp_path / "judged" / "evaluation.json").read_text())
    formats.require(document, "evaluation", "evaluation.json")
    assert "One machine saw the rows of all parties" in document["notice"]
    assert [(one["party"], one["rows"]) for one in document["parties"]] == [("party-1", 320), ("party-2", 320)]
    joint = document["tables"][0]["distances"][0]["largest"]
    assert all(one["distances"][0]["largest"] > joint for one in document["parties"]), "each has half of the ages"
    assert [one["section"] for one in document["left_out"]] == ["attacks"], "60 rows are too few for control"
    assert "party-2" in (tmp_path / "judged" / "evaluation.html").read_text()
    again = privity("simulate", *given, *places[:1], tmp_path / "new", "--evaluate", tmp_path / "judged")
    assert again.returncode == Exit.INPUT
    assert "evaluate:" in again.stderr
