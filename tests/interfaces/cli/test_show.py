"""``privity show`` and ``privity report --open``: a release in a terminal and in a browser, whole, old or damaged."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from rich.cells import cell_len

from privity.common.data.schema import parse_schema
from privity.common.exit_codes import Exit
from privity.common.release.release_contents import RELEASE_FILES
from privity.common.release.report.report_page import write_with_report
from tests.harness.command import here, privity, wait_until
from tests.harness.releases import release_of
from tests.harness.tables import FIELDS, people


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    schema = parse_schema({"name": "people", "fields": FIELDS}, "people")
    parties = {"north": 100, "south": 120, "west": 80}
    score = {"measure": "total variation distance", "ways": 1, "tables": 5, "sum": 3, "value": 0.031}
    release, synthetic = release_of(folder, "mst", people(300), schema, "3.5", parties=parties, scores=[score])
    write_with_report(folder / "release", release, synthetic)
    return folder


def test_a_release_is_shown_in_lines_of_a_terminal(made: Path) -> None:
    done = here(made, "privity show release")
    assert done.returncode == Exit.DONE, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert "\x1b" not in done.stdout
    headings = [line for line in lines if line and not line.startswith(" ")]
    assert headings[0] == "Synthetic table of people"
    order = ["How good is it?", "What not to use it for", "How well are people protected?", "May it be published?"]
    assert [line for line in headings if line in order] == order
    for words in (
        "A simulation of 3 data owners", "5 attributes: ", "10 pairs: ", "distributions of one attribute are 3.1 % off",
        "epsilon 4 for a person", "right in at most 98.3 of 100", "This was a simulation", "- west, 80 rows",
    ):  # fmt: skip
        assert words in " ".join(done.stdout.split()), words
    for field in FIELDS:
        assert re.search(rf"^{field['name']} +[·▁▂▃▄▅▆▇█]+ .+ ± [0-9.]+ %$", done.stdout, re.MULTILINE)
    assert all(name in done.stdout for name in (*RELEASE_FILES, "scores.json"))


def test_names_that_act_or_are_long_do_nothing_to_the_terminal(tmp_path: Path) -> None:
    names = ["\u2066red", "x" * 200, "病" * 40, "a    b\u202e"]
    fields = [{"name": name, "type": "string", "categories": [*names, "plain"]} for name in names]
    schema = parse_schema({"name": names[1], "fields": fields}, "s")
    frame = pd.DataFrame({name: [*names, "plain"] * 20 for name in names})
    write_with_report(tmp_path / "release", *release_of(tmp_path, "mst", frame, schema, "50", parties={names[0]: 100}))
    done = here(tmp_path, "privity show release")
    assert done.returncode == Exit.DONE, done.stderr
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert max(cell_len(line) for line in done.stdout.splitlines() if "±" in line) <= 80


@pytest.mark.parametrize("command", ["show release", "report release"])
def test_what_is_missing_or_of_a_later_version_is_named(made: Path, tmp_path: Path, command: str) -> None:
    nothing = here(tmp_path, f"privity {command}")
    assert nothing.returncode == Exit.INPUT
    assert "release/run.json: [missing] there is no such file: this is no release." in nothing.stderr
    shutil.copytree(made / "release", tmp_path / "release")
    (tmp_path / "release" / "model.json").unlink()
    (tmp_path / "release" / "synthetic.csv").write_text("cut")
    damaged = here(tmp_path, f"privity {command}")
    assert damaged.returncode == Exit.INPUT
    assert "release/model.json: [missing]" in damaged.stderr
    assert "release/synthetic.csv: [altered]" in damaged.stderr
    run = tmp_path / "release" / "run.json"
    run.write_text(json.dumps(json.loads(run.read_text()) | {"format_version": 99}))
    later = here(tmp_path, f"privity {command}")
    assert later.returncode == Exit.INPUT
    assert "release/run.json: format_version: [format-version] 99 is not 1. Another version of Privity" in later.stderr
    assert not (tmp_path / "report.html").exists()


@pytest.mark.process
def test_the_report_is_opened_in_a_browser_from_a_place_of_its_own(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\ncp "${1#file://}" opened\nmv opened opened.html\n')
    browser.chmod(0o755)
    # A page that lies here is neither opened nor written over.
    (tmp_path / "report.html").write_text("mine")
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = privity("report", made / "release", "--open", cwd=tmp_path)
    assert done.returncode == Exit.DONE, done.stderr
    wait_until((tmp_path / "opened.html").exists, "the browser")
    assert (tmp_path / "opened.html").read_bytes() == (made / "release" / "report.html").read_bytes()
    assert (tmp_path / "report.html").read_text() == "mine"
    monkeypatch.setenv("BROWSER", "/nowhere/browser %s")
    monkeypatch.setenv("PATH", "/nowhere")
    nobody = privity("report", made / "release", "--open", cwd=tmp_path)
    assert "No browser was found here: open the file in one." in nobody.stdout
