"""Commands on persons and their events: checked, released, sampled; each refusal names what to give."""

import json

import pytest

from privity.common.exit_codes import Exit
from tests.harness.command import privity, run_in
from tests.harness.histories import HOSPITAL, tables


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "hospital.json").write_text(json.dumps(HOSPITAL))
    for name, frame in tables(900).items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


@pytest.mark.process
def test_from_two_files_to_a_sample(folder):
    both = ("--data", "patients.csv", "--events", "admissions.csv")

    def refused(*arguments):
        done = privity(*arguments, cwd=folder)
        assert done.returncode == Exit.INPUT, done.stderr
        return " ".join(done.stderr.split())

    with (folder / "admissions.csv").open("a") as file:
        file.write("99999,nobody,2016-01-01,other,True,2016-01-02\n")
    told = run_in(folder, "schema", "check", "hospital.json", *both)
    assert "1 events of nobody in the table of persons: not read." in told
    run_in(folder, "population", "declare", "people", "--total-epsilon", "20", "--total-delta", "1e-6")
    asked = ("--schema", "hospital.json", "--population", "people", "--epsilon", "8", "--delta", "1e-9")
    alone = refused("synthesize", "--data", "patients.csv", *asked, "--out", "release")
    assert "no table of events is given" in alone
    run_in(folder, "synthesize", *both, *asked, "--out", "release")
    assert "3 of 3 row constraints" in run_in(folder, "verify", "release")
    sampled = ("sample", "release", "--rows", "50", "--out", "persons.csv")
    assert "--events FILE" in refused(*sampled)
    run_in(folder, *sampled, "--events", "events.csv", "--where", "sex=f")
    lines = (folder / "persons.csv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("patient,sex,born", 51)
    assert all(line.split(",")[1] == "f" for line in lines[1:])
    assert "are not compared here yet" in refused("evaluate", "--release", "release", "--real", "patients.csv")
