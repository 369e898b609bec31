"""A release under a discovered schema says what both cost, wherever it is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privity as face
from privity.common.exit_codes import Exit
from tests.harness.command import privity

pytestmark = pytest.mark.process

TOLD = "epsilon 2 and delta 1e-07 for the schema, discovered in patients of the north"
CITY = {"name": "city", "type": "string", "domain": "discover"}
WARD = {"name": "ward", "type": "string", "categories": ["a", "b"]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cities that were discovered by one fit, and two releases under the schema that it gave."""
    folder = tmp_path_factory.mktemp("place")
    generator = np.random.default_rng(2)
    rows = pd.DataFrame({"city": generator.choice(["Bern", "Chur"], 2000), "ward": generator.choice(["a", "b"], 2000)})
    rows.to_csv(folder / "rows.csv", index=False)
    (folder / "open.json").write_text(json.dumps({"fields": [CITY, WARD]}))
    face.declare_population("patients of the north", total_epsilon="9", total_delta="0.001")
    people = ("--population", "patients of the north", "--data", folder / "rows.csv")
    asked = ("--schema", folder / "open.json", "--epsilon", "2", "--delta", "1e-7", "--out", folder / "known.json")
    found = privity("schema", "discover", *people, *asked)
    assert found.returncode == Exit.DONE, found.stderr
    for name, epsilon in [("first", "0.1"), ("second", "0.2")]:
        asked = ("--schema", folder / "known.json", "--epsilon", epsilon, "--out", folder / name)
        made = privity("synthesize", *people, *asked, "--algorithm", "one-way")
        assert made.returncode == Exit.DONE, made.stderr
        assert TOLD in made.stdout.replace("\n", " ")
    return folder


def altered(folder: Path, name: str, into: Path, change: object) -> Path:
    """A copy of a release in which a file was changed, with its digest in run.json set to that of the new one."""
    import hashlib

    shutil.copytree(folder, into)
    document = json.loads((into / name).read_text())
    change(document)  # type: ignore[operator]
    (into / name).write_text(json.dumps(document))
    run = json.loads((into / "run.json").read_text())
    run["files"][name] = hashlib.sha256((into / name).read_bytes()).hexdigest()
    (into / "run.json").write_text(json.dumps(run))
    return into


def test_the_statement_adds_what_the_schema_cost(place: Path) -> None:
    (discovery,) = json.loads((place / "known.json").read_text())["discoveries"]
    assert (discovery["population"], discovery["epsilon"], discovery["delta"]) == (
        "patients of the north", "2", "1/10000000",
    )  # fmt: skip
    for name, epsilon in [("first", "21/10"), ("second", "11/5")]:
        statement = json.loads((place / name / "privacy.json").read_text())
        assert statement["schema"]["discoveries"] == [discovery]
        (public,) = statement["observers"]
        assert (public["epsilon"], public["delta"], public["guarantee"]) == (epsilon, "1/10000000", "approximate")
        assert json.loads((place / name / "schema.json").read_text())["discoveries"] == [discovery]


def test_the_report_the_terminal_and_python_say_it_too(place: Path) -> None:
    assert TOLD in (place / "first" / "report.html").read_text()
    assert TOLD in " ".join(privity("show", place / "first").stdout.split())
    release = face.Release(place / "first")
    assert (release.statement.epsilon, release.statement.delta) == (
        face.Release(place / "first").statement.epsilon,
        release.statement.delta,
    )
    assert float(release.statement.epsilon) == 2.1
    assert TOLD in repr(release.statement)
    assert "discovered in patients of the north, at epsilon 2 and delta 1e-7" in repr(face.Schema(place / "known.json"))


def test_a_release_that_tells_less_than_its_schema_is_found(place: Path, tmp_path: Path) -> None:
    def without(document: dict) -> None:
        document["schema"]["discoveries"] = []
        for observer in document["observers"]:
            observer |= {"epsilon": "1/10", "delta": "0", "guarantee": "pure"}

    forged = altered(place / "first", "privacy.json", tmp_path / "forged", without)
    checked = privity("verify", forged)
    assert checked.returncode == Exit.INPUT
    assert "its discoveries are not those that schema.json names" in checked.stderr + checked.stdout
    assert privity("verify", place / "first").returncode == Exit.DONE


def test_a_model_that_is_saved_and_a_schema_that_is_edited_keep_it(place: Path, tmp_path: Path) -> None:
    schema = face.Schema(place / "known.json")
    schema["city"].name = "town"
    schema.save(tmp_path / "renamed.json")
    again = face.Schema(tmp_path / "renamed.json")
    assert again.table_schema()["discoveries"][0]["attributes"] == ["town"]
    assert "discoveries" not in again.over(["ward"]).table_schema()
    fitted = face.OneWay("0.1", population="patients of the north").fit(place / "rows.csv", place / "known.json")
    assert (
        fitted.schema_.table_schema()["discoveries"] == face.Schema(place / "known.json").table_schema()["discoveries"]
    )
