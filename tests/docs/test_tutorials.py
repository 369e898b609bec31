"""The tutorials run as they stand."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from privity.common.release.release_folder import verify_release
from tests.harness.command import run_in, run_script, shown_commands
from tests.harness.places import ROOT

TUTORIALS = ROOT / "docs" / "tutorials"


BLOCK = re.compile(r"^```(python|text|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.process
def test_the_tutorial_of_one_owner_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    printed, compared = "", 0
    for language, block in BLOCK.findall((TUTORIALS / "one_owner.md").read_text(encoding="utf-8")):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block, "one_owner.md", "exec"), names)
            printed = out.getvalue()
        elif language == "text":
            assert printed == block
            compared += 1
        else:
            for command in shown_commands(f"```console\n{block}```"):
                _, *arguments = shlex.split(command)
                printed = run_in(tmp_path, *arguments)
    assert compared > 3
    real, synthetic = names["table"], names["synthetic"]
    shares = [rows["health"].value_counts(normalize=True) for rows in (real, synthetic)]
    assert (shares[0] - shares[1]).abs().max() < 0.02
    assert names["means"]["synthetic"]["fair"] > names["means"]["synthetic"]["excellent"] + 1
    assert len(pd.read_csv("synthetic.csv")) == len(real)
    assert names["ledger"].spent == 1, "one fit, from which everything comes"
    verify_release(tmp_path / "release")
    assert (tmp_path / "release" / "report.html").exists()


@pytest.mark.process
def test_the_tutorial_of_three_hospitals_runs_as_written(tmp_path: Path) -> None:
    page = (TUTORIALS / "three_hospitals.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "prepare.py").write_text(script, encoding="utf-8")
    run_script(tmp_path / "prepare.py")
    printed = {}
    for command in shown_commands(page):
        name, *arguments = command.split()
        assert name == "privity"
        printed[command] = run_in(tmp_path, *arguments)
    together, alone = (text for command, text in printed.items() if " plan " in command)
    assert error_of_pairs(alone) > 2 * error_of_pairs(together)
    verify_release(tmp_path / "joint")
    assert list(pd.read_csv(tmp_path / "joint" / "synthetic.csv")) == ["visits", "deductible", "health"]
    assert (tmp_path / "joint" / "report.html").exists()


def error_of_pairs(plan: str) -> float:
    """The error that noise makes in the pair tables, by the forecast that a command printed."""
    (line,) = [
        line for line in plan.splitlines() if line.startswith("pair tables") and not line.rstrip().endswith("cells")
    ][:1]
    return float(line.split()[-1])
