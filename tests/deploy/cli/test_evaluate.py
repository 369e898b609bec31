"""``privity evaluate`` and ``privity simulate --evaluate`` as their user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privity.common import formats
from privity.common.errors import PrivityError
from privity.common.exit_codes import Exit, exit_code
from privity.deploy.cli.main import app
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


def test_a_release_is_judged_from_its_folder_alone(release: Path) -> None:
    folder = release.parent
    given = ("--real", folder / "people.csv", "--release", release, "--control", folder / "control.csv")
    options = ("--target", "ward=north", "--target", "score", "--drop", "cost", "--attacks", "60")
    files = ("--json", folder / "evaluation.json", "--html", folder / "evaluation.html")
    done = privity("evaluate", *given, *options, *files)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(NOT_FOR_RELEASE)
    for name in ("evaluation.json", "evaluation.html"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    document = json.loads((folder / "evaluation.json").read_text())
    formats.require(document, "evaluation", "evaluation.json")
    assert document["private"] is False
    assert document["notice"].startswith(NOT_FOR_RELEASE)
    assert document["release"] == json.loads((release / "run.json").read_text())["run"]
    assert document["rows"] == {"real": 900, "synthetic": 900, "control": 600}
    tasks = document["utility"]["tasks"]
    assert [(one["attribute"], one["positive"], one["dropped"]) for one in tasks] == [
        ("ward", ["north"], ["cost"]),
        ("score", [], ["cost"]),
    ]
    assert document["utility"]["test"] == "control"
    page = (folder / "evaluation.html").read_text()
    assert page.index("NOT FOR RELEASE") < page.index("<h2")
    assert {one["kind"] for one in document["attacks"]["made"]} >= {"linkability", "inference"}


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


def test_an_altered_release_and_another_schema_are_refused(release: Path, tmp_path: Path) -> None:
    folder = release.parent
    other = json.loads((folder / "people.schema.json").read_text())
    other["fields"][0]["bins"] = 9
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
    for tables in (("--synthetic", "x.csv", "--release", release), ("--synthetic", "x.csv"), ()):
        refused("--real", folder / "people.csv", *tables)


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
    joint = document["distances"][0]["synthetic"]["largest"]
    assert all(one["distances"][0]["largest"] > joint for one in document["parties"]), "each has half of the ages"
    assert [one["section"] for one in document["left_out"]] == ["attacks"], "60 rows are too few for control"
    assert "party-2" in (tmp_path / "judged" / "evaluation.html").read_text()
    again = privity("simulate", *given, *places[:1], tmp_path / "new", "--evaluate", tmp_path / "judged")
    assert again.returncode == Exit.INPUT
    assert "evaluate:" in again.stderr
