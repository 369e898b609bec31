"""One owner alone: ``privity synthesize`` from files to a release, with tables and schemas of odd shapes."""

from __future__ import annotations

import json
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privity.common.exit_codes import Exit
from privity.common.privacy.ledger import Ledger
from tests.harness.command import privity
from tests.harness.ledgers import declared
from tests.harness.tables import write_people

pytestmark = pytest.mark.process


def synthesize(folder: Path, table: Path, schema: Path, *more: str, expect: int = 0, rows_per_person: int = 1):
    declared(folder / "ledger", rows=rows_per_person).close()
    given = (
        "--data",
        table,
        "--schema",
        schema,
        "--out",
        folder / "release",
        "--ledger",
        folder / "ledger",
        "--population",
        "people",
    )
    done = privity("synthesize", *map(str, given), *more)
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done


@pytest.mark.parametrize("algorithm", ["privbayes", "dp-subn"])
def test_an_epsilon_too_small_for_any_table_models_every_attribute_alone_and_says_so(tmp_path: Path, algorithm: str):
    table, schema = write_people(tmp_path, 60)
    done = synthesize(tmp_path, table, schema, "--algorithm", algorithm, "--epsilon", "0.01")
    said = [line for line in done.stdout.splitlines() if "modelled alone" in line]
    assert len(said) == 2
    assert "at epsilon 0.01 and 60 rows" in said[0], "before anything is spent"
    assert "The algorithm mst would model all of them together" in done.stdout.split("Release written")[0]
    alone = said[1:]
    model = json.loads((tmp_path / "release" / "model.json").read_text())
    if algorithm == "privbayes":
        assert all(len(clique["attributes"]) == 1 for clique in model["cliques"])
        assert alone[0].startswith("Every attribute is modelled alone")
    assert len(pd.read_csv(tmp_path / "release" / "synthetic.csv")) == 60


def test_what_is_alone_by_design_is_not_remarked_upon(tmp_path: Path):
    table, schema = write_people(tmp_path, 60)
    done = synthesize(tmp_path, table, schema, "--algorithm", "one-way", "--epsilon", "1")
    assert "modelled alone" not in done.stdout


def test_more_rows_than_a_release_can_have_are_refused_before_anything_is_charged(tmp_path: Path):
    table, schema = write_people(tmp_path, 60)
    done = synthesize(tmp_path, table, schema, "--epsilon", "1", "--rows", "10000000000", expect=Exit.INPUT)
    assert "rows: 10000000000 rows, and a release of " in done.stderr
    with closing(Ledger(tmp_path / "ledger", "people")) as ledger:
        assert ledger.spent() == 0


def test_a_table_of_places_is_charged_for_people_and_compared_without_absent_rows(tmp_path: Path):
    """The schema declares absent rows. All places are filled, so that nearly all synthetic rows are there."""
    table, schema = write_people(tmp_path, 600)
    keyed = tmp_path / "keyed.csv"
    pd.read_csv(table, dtype=str).assign(patient=np.arange(600) // 3, visit=range(600)).to_csv(keyed, index=False)
    schema.write_text(json.dumps({**json.loads(schema.read_text()), "absentRows": True}))
    places = ("--person", "patient", "--order", "visit")
    given = ("--algorithm", "dp-subn", "--epsilon", "2", *places)
    done = synthesize(tmp_path, keyed, schema, *given, rows_per_person=3)
    assert "epsilon 6 now, 6 of 1000 in all" in done.stdout
    assert "Privacy loss of a person: epsilon 6, delta 0. Of a single row: epsilon 2, delta 0." in done.stdout
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    assert statement["rows_per_person"] == 3
    (owner,) = statement["parties"]
    assert (owner["epsilon_per_row"], owner["epsilon_per_person"], owner["delta_per_person"]) == ("2", "6", "0")
    assert [observer["epsilon"] for observer in statement["observers"]] == ["6"]
    assert "more than e^6 times" in statement["in_words"][0]
    report = (tmp_path / "release" / "report.html").read_text()
    assert "epsilon 6 for a person; epsilon 2 for a single row" in report
    assert "seconds" not in json.loads((tmp_path / "release" / "run.json").read_text())
    assert any("how many rows a person has is protected too" in line for line in statement["in_words"])
    synthetic = tmp_path / "release" / "synthetic.csv"
    assert 500 < len(pd.read_csv(synthetic)) <= 600
    assert len(pd.read_csv(synthetic)) == json.loads((tmp_path / "release" / "run.json").read_text())["rows"]
    compared = privity("evaluate", "--real", str(table), "--synthetic", str(synthetic), "--schema", str(schema))
    assert compared.returncode == 0, compared.stderr


def test_an_unbalanced_taxonomy(tmp_path: Path):
    """One leaf hangs from the root, others lie three levels deep; parents may be any of its levels."""
    generator = np.random.default_rng(1)
    job = generator.choice(list("abcdefgh"), 3000)
    member = np.isin(job, list("abcd")) ^ (generator.random(3000) < 0.05)
    pay = np.where(np.isin(job, list("abcdefg")), 1, 0)
    pd.DataFrame({"job": job, "member": member, "pay": pay}).to_csv(tmp_path / "jobs.csv", index=False)
    deep = {"left": {"ab": ["a", "b"], "cd": {"c": ["c"], "d": ["d"]}}, "right": ["e", "f", "g"]}
    fields = [
        {"name": "job", "type": "string", "categories": list("abcdefgh"), "taxonomy": {"most": deep, "h": ["h"]}},
        {"name": "member", "type": "boolean"},
        {"name": "pay", "type": "integer", "categories": [0, 1]},
    ]
    (tmp_path / "jobs.json").write_text(json.dumps({"fields": fields}))
    settings = '{"encoding": "hierarchical", "first_attribute": "job"}'
    synthesize(tmp_path, tmp_path / "jobs.csv", tmp_path / "jobs.json", "--epsilon", "8",
               "--algorithm", "privbayes", "--settings", settings)  # fmt: skip
    release = pd.read_csv(tmp_path / "release" / "synthetic.csv")
    real = pd.read_csv(tmp_path / "jobs.csv")
    assert set(release["job"]) <= set("abcdefgh")
    for code in "ah":
        assert abs(release[release["job"] == code]["member"].mean() - real[real["job"] == code]["member"].mean()) < 0.2


def test_a_taxonomy_that_does_not_cover_the_categories_is_refused_with_what_is_missing(tmp_path: Path):
    fields = [{"name": "job", "type": "string", "categories": ["a", "b", "c"], "taxonomy": {"ab": ["a", "b"]}}]
    (tmp_path / "jobs.json").write_text(json.dumps({"fields": fields}))
    (tmp_path / "jobs.csv").write_text("job\na\n")
    done = synthesize(
        tmp_path,
        tmp_path / "jobs.csv",
        tmp_path / "jobs.json",
        "--algorithm",
        "privbayes",
        "--epsilon",
        "1",
        expect=Exit.INPUT,
    )
    assert "taxonomy" in done.stderr
    assert "'c'" in done.stderr
    assert not (tmp_path / "release").exists()


@pytest.mark.long
def test_an_attribute_with_one_value_and_forty_others(tmp_path: Path):
    """One value is no domain for a category, but may be all that the rows of a larger domain have."""
    generator = np.random.default_rng(2)
    columns = {f"x{place}": generator.integers(0, 2, 400) for place in range(40)}
    pd.DataFrame({"ward": ["north"] * 400, **columns}).to_csv(tmp_path / "wide.csv", index=False)
    fields = [{"name": "ward", "type": "string", "categories": ["north", "south"]}]
    fields += [{"name": name, "type": "integer", "categories": [0, 1]} for name in columns]
    (tmp_path / "wide.json").write_text(json.dumps({"fields": fields}))
    synthesize(tmp_path, tmp_path / "wide.csv", tmp_path / "wide.json", "--algorithm", "privbayes", "--epsilon", "50")
    release = pd.read_csv(tmp_path / "release" / "synthetic.csv")
    assert release.shape == (400, 41)
    assert (release["ward"] == "north").mean() > 0.5


def test_a_delta_is_in_the_statement_and_the_ledger(tmp_path: Path):
    table, schema = write_people(tmp_path, 200)
    delta = "1/1073741824"
    done = synthesize(tmp_path, table, schema, "--algorithm", "copula", "--epsilon", "1", "--delta", delta)
    assert "Delta: 9.31323e-10 now, 9.31323e-10 in all." in done.stdout
    with closing(Ledger(tmp_path / "ledger", "people")) as ledger:
        assert (ledger.spent(), ledger.spent_delta()) == (1, Fraction(delta))
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    (public,) = statement["observers"]
    assert (public["guarantee"], public["epsilon"], public["delta"]) == ("approximate", "1", delta)
    assert "discrete Gaussian" in statement["mechanisms"][0]
    assert json.loads((tmp_path / "release" / "run.json").read_text())["delta"] == delta


def test_a_fit_that_cannot_be_is_replaced_and_the_command_says_so(tmp_path: Path):
    table, schema = write_people(tmp_path, 300)
    bits = ("--algorithm", "privbayes", "--epsilon", "1", "--settings", '{"encoding": "binary"}', "--inference", "pgm")
    done = synthesize(tmp_path, table, schema, *bits)
    said = [line for line in done.stdout.splitlines() if "a graphical model was asked for, but" in line]
    assert len(said) == 1
    fitted = json.loads((tmp_path / "release" / "marginals.json").read_text())["inference"]
    assert (fitted["method"], fitted["asked"]) == ("tables", "pgm")
    assert fitted["reason"] in said[0]
    assert said[0] in (tmp_path / "release" / "report.html").read_text()


@pytest.mark.parametrize("algorithm", ["aim", "mst"])
def test_tables_that_a_model_explains_worst(tmp_path: Path, algorithm: str):
    table, schema = write_people(tmp_path, 2000)
    more = ("--inference", "pgm") if algorithm == "mst" else ()
    done = synthesize(
        tmp_path, table, schema, "--algorithm", algorithm, "--epsilon", "2", "--delta", "0.0000001", *more
    )
    assert "was asked for" not in done.stdout
    assert json.loads((tmp_path / "release" / "marginals.json").read_text())["inference"]["method"] == "pgm"
    assert len(pd.read_csv(tmp_path / "release" / "synthetic.csv")) == 2000
