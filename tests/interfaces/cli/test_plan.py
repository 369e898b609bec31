"""``privity plan`` as anybody with a schema runs it: no curator, no rows, every fault at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privity.common.exit_codes import Exit
from tests.harness.command import privity
from tests.harness.tables import write_people

pytestmark = pytest.mark.process


@pytest.fixture(name="schema")
def schema_file(tmp_path: Path) -> Path:
    return write_people(tmp_path, 50)[1]


def test_the_cost_for_one_owner_and_for_several(schema: Path) -> None:
    alone = privity("plan", "--schema", schema, "--epsilon", "1", "--rows", "500", "--json")
    document = json.loads(alone.stdout)
    assert (document["request"]["tolerate"], document["party_rows"]) == (0, {"party 1": 500})
    assert (document["total"]["epsilon"], document["total"]["bytes"]) == ("1", 0)
    several = privity("plan", "--schema", schema, "--epsilon", "1", "--rows", "500", "--parties", "3", "--json")
    document = json.loads(several.stdout)
    assert (document["request"]["tolerate"], list(document["party_rows"].values())) == (1, [167, 167, 166])
    assert document["total"]["bytes"] > 0


def test_what_will_be_modelled_together_and_what_would_fit(tmp_path: Path) -> None:
    wide = tmp_path / "wide.json"
    fields = [{"name": f"q{n}", "type": "integer", "categories": [1, 2, 3, 4, 5]} for n in range(117)]
    wide.write_text(json.dumps({"fields": fields}))
    asked = ("plan", "--schema", wide, "--rows", "2265", "--epsilon", "1", "--delta", "1e-6")
    told = json.loads(privity(*asked, "--json").stdout)["together"]
    assert told["attributes"] == 117
    assert 60 < told["alone"] < 110
    shown = privity(*asked).stdout
    assert f"About {117 - told['alone']} of 117 attributes can be modelled together at epsilon 1" in shown
    assert f"no more than {told['fitting']} of them" in shown
    assert json.loads(privity(*asked, "--algorithm", "one-way", "--json").stdout)["together"] is None


def test_accuracy_in_words_as_json_and_as_a_page(tmp_path: Path, schema: Path) -> None:
    small = ("plan", "--schema", schema, "--accuracy", "--rows", "2000")
    small = (*small, "--epsilons", "0.5,5", "--algorithms", "one-way,jtree")
    done = privity(*small, "--parties", "2", "--plot", tmp_path / "a.html")
    assert done.returncode == 0, done.stderr
    assert "nothing real was read" in done.stdout
    assert "about" in done.stderr
    assert (tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")
    done = privity(*small, "--json", "--plot", tmp_path / "a.svg", "--parties", "2,1", "--epsilon", "1")
    document = json.loads(done.stdout)
    found = document["accuracy"]["estimates"]
    assert [e["epsilon"] for e in found] == ["1/2", "1", "5"] * 4, "the run's own epsilon among them"
    assert document["accuracy"]["shape"]["rows"] == 2000
    assert document["total"]["epsilon"] == "1"
    for e in found:
        assert e["noise"]["expected"] + e["model"]["expected"] == pytest.approx(e["error"]["expected"], abs=2e-5)
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_every_fault_is_named_and_nothing_is_made(tmp_path: Path, schema: Path) -> None:
    done = privity(
        "plan", "--schema", schema, "--accuracy", "--epsilons", "a,0.1,-2", "--algorithms", "x,jtree",
        "--tolerate", "1", "--parties", "0,z", "--dependence", "huge", "--rows", "5,7",
        "--plot", tmp_path / "a.png",
    )  # fmt: skip
    assert done.returncode == Exit.INPUT
    for said in (
        "--epsilons: [bad-option] 'a' is not a positive number",
        "'-2' is not a positive number",
        "'x' is no algorithm",
        "1 colluding parties of 1",
        "'0' is not offered",
        "'z' is not offered",
        "'huge' is unknown",
        "'5,7' for 1 parties",
        "ends in .html or .svg",
    ):
        assert said in done.stderr
    assert not (tmp_path / "a.png").exists()


def test_a_pair_that_is_too_large_is_named(tmp_path: Path) -> None:
    wide = [{"name": n, "type": "integer", "bins": 4000, "constraints": {"minimum": 0, "maximum": 9999}} for n in "ab"]
    (tmp_path / "wide.json").write_text(json.dumps({"fields": wide}))
    done = privity("plan", "--schema", tmp_path / "wide.json", "--accuracy")
    assert done.returncode == Exit.INPUT
    assert "'a' and 'b' have 16,000,000 cells together" in done.stderr


def test_domains_that_are_yet_to_be_discovered(tmp_path: Path) -> None:
    """What their discovery costs; what a table would cost with the largest that may be found; no accuracy of it."""
    fields = [{"name": name, "type": "integer", "domain": "discover"} for name in "ab"]
    (tmp_path / "open.json").write_text(json.dumps({"fields": fields}))
    asked = ("plan", "--schema", tmp_path / "open.json", "--rows", "20000", "--epsilon", "1")
    done = privity(*asked, "--parties", "3", "--algorithm", "discover", "--json")
    document = json.loads(done.stdout)
    assert (document["total"]["epsilon"], document["undiscovered"]) == ("1", ["a", "b"])
    assert document["total"]["cells"] > 50_000
    done = privity(*asked, "--parties", "3", "--algorithm", "aim")
    assert "a, b are yet to be discovered" in done.stdout
    assert "Run the algorithm discover first" in done.stdout
    alone = privity(*asked, "--algorithm", "aim")
    assert "up to 0.25 is for domains of numbers" in alone.stdout
    done = privity(*asked, "--parties", "3", "--accuracy")
    assert done.returncode == Exit.INPUT
    assert "--accuracy needs them" in done.stderr
    assert done.stderr.count("[bad-option]") == 1
    small = (*asked[:-1], "0.0001", "--parties", "3", "--algorithm", "discover")
    assert "would be below the noise" in privity(*small).stderr


def test_without_an_epsilon_or_accuracy_there_is_nothing_to_plan(schema: Path) -> None:
    done = privity("plan", "--schema", schema)
    assert done.returncode == Exit.INPUT
    assert "ask for --accuracy" in done.stderr


def test_which_fit_there_will_be_and_a_choice_that_an_algorithm_does_not_have(schema: Path) -> None:
    small = ("plan", "--schema", schema, "--epsilon", "1", "--rows", "2000")
    done = privity(*small, "--algorithm", "privbayes", "--inference", "pgm")
    assert "fit: a graphical model of all tables (pgm): about" in " ".join(done.stdout.split())
    done = privity(*small, "--algorithm", "mst", "--settings", '{"inference": "pgm"}', "--json")
    document = json.loads(done.stdout)
    assert document["inference"]["method"] == "pgm"
    assert document["inference"]["bytes"] > 0
    for more, said in (
        (("--algorithm", "copula", "--inference", "pgm"), "copula offers no choice of a fit"),
        (
            ("--algorithm", "mst", "--settings", '{"inference": "pgm"}', "--inference", "tables"),
            "it is 'tables', and 'pgm' in the settings",
        ),
    ):
        done = privity(*small, *more)
        assert done.returncode == Exit.INPUT
        assert said in " ".join(done.stderr.split())
