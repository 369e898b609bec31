"""The folder of a release: read back as it was written, and every file that is missing or altered is named."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.exit_codes import Exit
from privity.common.release.release_contents import RELEASE_FILES
from privity.common.release.release_folder import read_release, verify_release
from privity.common.release.report import report_page
from privity.common.release.report.report_page import write_with_report
from tests.harness.command import here, privity
from tests.harness.ledgers import declared
from tests.harness.releases import release_of
from tests.harness.tables import FIELDS, people, write_people

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    table, schema = write_people(folder, 300)
    declared(folder / "ledger.sqlite").close()
    done = privity(
        "synthesize", "--data", table, "--schema", schema,
        "--epsilon", "1", "--population", "people", "--ledger", folder / "ledger.sqlite", "--out", folder / "out",
    )  # fmt: skip
    assert done.returncode == Exit.DONE, done.stderr
    return folder / "out"


@pytest.fixture
def release(made, tmp_path) -> Path:
    copy = tmp_path / "release"
    copy.mkdir()
    for path in made.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    return copy


def test_a_release_is_read_back_with_its_schema(release):
    found = read_release(release)
    assert found.schema == parse_schema({"name": "people", "fields": FIELDS}, "people")
    assert found.run["algorithm"] == "privbayes"
    assert found.privacy["run"] == found.run["run"]
    tables = found.tables()
    written = json.loads((release / "marginals.json").read_text())
    assert [table.counts.ravel().tolist() for _, table in tables] == [t["counts"] for t in written["tables"]]
    assert [str(table.law.scale) for _, table in tables] == [t["scale"] for t in written["tables"]]
    assert Fraction(written["noise_variables"]) == 1


def test_every_missing_and_altered_file_is_named_at_once(release):
    (release / "privacy.json").unlink()
    (release / "synthetic.csv").write_bytes((release / "synthetic.csv").read_bytes()[:-1])
    with (release / "model.json").open("a") as file:
        file.write(" ")
    with pytest.raises(ProblemsFound) as found:
        verify_release(release)
    rules = {Path(problem.file).name: problem.rule for problem in found.value.problems}
    assert rules == {"privacy.json": "missing", "synthetic.csv": "altered", "model.json": "altered"}


@pytest.mark.parametrize("name", sorted(set(RELEASE_FILES) - {"run.json"}))
def test_a_file_that_run_json_does_not_name_is_no_part_of_it(release, name):
    document = json.loads((release / "run.json").read_text())
    del document["files"][name]
    (release / "run.json").write_text(json.dumps(document))
    with pytest.raises(ProblemsFound) as found:
        verify_release(release)
    assert [(Path(p.file).name, p.rule) for p in found.value.problems] == [(name, "not-named")]


def test_a_name_that_leads_out_of_the_folder_is_not_followed(release):
    document = json.loads((release / "run.json").read_text())
    document["files"]["../elsewhere"] = "0" * 64
    (release / "run.json").write_text(json.dumps(document))
    with pytest.raises(ProblemsFound, match="no name of a file"):
        verify_release(release)


def test_a_folder_without_run_json_is_no_release(release):
    (release / "run.json").unlink()
    with pytest.raises(PrivityError, match=r"run\.json"):
        verify_release(release)


def test_the_command_makes_the_same_report_and_writes_over_nothing(release, tmp_path):
    # In this process, which orders sets otherwise than the one that wrote the release.
    done = here(tmp_path, f"privity report {release} --out again.html")
    assert done.returncode == Exit.DONE, done.stderr
    assert (tmp_path / "again.html").read_bytes() == (release / "report.html").read_bytes()
    (tmp_path / "again.html").write_text("mine")
    assert privity("report", release, "--out", tmp_path / "again.html").returncode == Exit.INPUT
    assert (tmp_path / "again.html").read_text() == "mine"
    (release / "marginals.json").write_text("{}")
    done = privity("report", release, "--out", tmp_path / "other.html")
    assert "marginals.json" in done.stderr
    assert not (tmp_path / "other.html").exists()


def test_a_page_that_cannot_be_drawn_loses_nothing(tmp_path, monkeypatch):
    def broken(*_arguments):
        raise ZeroDivisionError("as a fault in a drawing")

    schema = parse_schema({"name": "people", "fields": FIELDS}, "people")
    content, synthetic = release_of(tmp_path, "one-way", people(200), schema)
    monkeypatch.setattr(report_page, "report_page", broken)
    write_with_report(tmp_path / "release", content, synthetic)
    verify_release(tmp_path / "release")
    assert "could not be drawn (ZeroDivisionError)" in (tmp_path / "release" / "report.html").read_text()
    monkeypatch.undo()
    assert "How good is it?" in report_page.report_of(tmp_path / "release")
