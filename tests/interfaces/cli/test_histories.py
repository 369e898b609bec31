"""Commands on persons and their events: checked, released, sampled; each refusal names what to give."""

import json

import pytest

from privity.common.exit_codes import Exit
from tests.harness.command import privity
from tests.harness.histories import HOSPITAL, tables


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hospital.json").write_text(json.dumps(HOSPITAL))
    data = tables(900)
    for name, frame in data.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


@pytest.mark.process
def test_from_two_files_to_a_sample(folder):
    state = {"XDG_STATE_HOME": str(folder / "state")}
    both = ("--data", "patients.csv", "--events", "admissions.csv")

    def run(*arguments, expect=Exit.OK):
        return privity(*arguments, cwd=folder, env=state, expect=expect)

    with (folder / "admissions.csv").open("a") as file:
        file.write("99999,nobody,2016-01-01,other,True,2016-01-02\n")
    told = run("schema", "check", "hospital.json", *both).stdout
    assert "1 events of nobody in the table of persons: not read." in told
    run("population", "declare", "people", "--total-epsilon", "20", "--total-delta", "1e-6")
    asked = ("--schema", "hospital.json", "--population", "people", "--epsilon", "8", "--delta", "1e-9")
    refused = run("synthesize", "--data", "patients.csv", *asked, "--out", "release", expect=Exit.INPUT)
    assert "no table of events is given" in refused.stderr
    made = run("synthesize", *both, *asked, "--out", "release")
    assert "8" in made.stdout
    assert "3 of 3 row constraints" in run("verify", "release").stdout
    sampled = ("sample", "release", "--rows", "50", "--out", "persons.csv")
    assert "--events FILE" in run(*sampled, expect=Exit.INPUT).stderr
    run(*sampled, "--events", "events.csv", "--where", "sex=f")
    lines = (folder / "persons.csv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("patient,sex,born", 51)
    assert all(line.split(",")[1] == "f" for line in lines[1:])
    assert (
        "are not compared here yet"
        in run("evaluate", "--release", "release", "--real", "patients.csv", expect=Exit.INPUT).stderr
    )
