"""So few rows that domains are below the noise: a person declares ends and bins, and a release follows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from privity.common.data.schema import load_schema
from privity.common.exit_codes import Exit
from privity.common.release.release_folder import verify_release
from privity.interfaces.cli import schema as commands
from privity.interfaces.cli.main import app
from tests.harness.command import privity

pytestmark = pytest.mark.process

BINS = ("age=0,120,10", "weight=0,250,10", "admitted=2020-01-01,2025-12-31,10")


def few_rows(folder: Path, rows: int = 300) -> Path:
    generator = np.random.default_rng(5)
    age = np.clip(generator.normal(48, 18, rows), 18, 95).round().astype(int)
    frame = pd.DataFrame(
        {
            "age": age,
            "ward": np.where(age > 60, "medicine", generator.choice(["ENT", "medicine", "surgery"], rows)),
            "weight": generator.normal(75, 14, rows).round(1),
            "smoker": generator.random(rows) < 0.3,
            "admitted": pd.Timestamp("2023-01-01") + pd.to_timedelta(generator.integers(0, 365, rows), unit="D"),
        }
    )
    frame.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def test_three_hundred_rows_end_in_a_release_by_the_documented_path(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    table, schema, out = few_rows(tmp_path), tmp_path / "table.schema.json", tmp_path / "release"
    told = privity("schema", "draft", table, "--out", schema).stderr
    assert (
        "age, weight, admitted: 300 rows are too few to discover their domains at epsilon 1 and delta 0.000001." in told
    )
    command = f"privity schema review {schema} " + " ".join(
        f"--bins {name}=SMALLEST,LARGEST,10" for name in ("age", "weight", "admitted")
    )
    assert command in told
    assert "too few to discover" in privity("schema", "check", schema, "--data", table).stderr
    given = [word for text in BINS for word in ("--bins", text)]
    assert privity("schema", "review", schema, *given).returncode == Exit.DONE
    assert len(load_schema(schema).undeclared) == 5, "bins say nothing of the rest of a field"
    assert privity("schema", "review", schema, *load_schema(schema).names).returncode == Exit.DONE
    checked = privity("schema", "check", schema, "--data", table)
    assert (checked.returncode, checked.stderr) == (Exit.DONE, "")
    assert privity("population", "declare", "people", "--total-epsilon", "1", "--total-delta", "1e-6").returncode == 0
    asked = ("--epsilon", "1", "--delta", "1e-6", "--population", "people", "--out", out)
    done = privity("synthesize", "--data", table, "--schema", schema, *asked)
    assert done.returncode == Exit.DONE, done.stderr
    verify_release(out)
    made = pd.read_csv(out / "synthetic.csv")
    assert made["age"].between(0, 120).all()
    assert made["admitted"].between("2020-01-01", "2025-12-31").all()


def test_a_draft_asks_in_a_terminal_and_goes_on_with_bins(tmp_path: Path, monkeypatch) -> None:
    table, schema = few_rows(tmp_path), tmp_path / "table.schema.json"
    monkeypatch.setattr(commands, "can_ask", lambda: True)
    answers = "\n120 0\n0 250\n2020-01-01 2025-12-31 6\n"
    told = CliRunner().invoke(app, ["schema", "draft", str(table), "--out", str(schema)], input=answers).output
    assert "age: smallest and largest possible value" in told
    assert "is not below" in told
    age, _, weight, _, admitted = json.loads(schema.read_text())["fields"]
    assert age["domain"] == "discover"
    assert (weight["bins"], weight["constraints"]) == (10, {"minimum": 0, "maximum": 250})
    assert (admitted["bins"], admitted["constraints"]) == (6, {"minimum": "2020-01-01", "maximum": "2025-12-31"})
    assert "--bins age=SMALLEST,LARGEST,10" in told, "what was left open would be refused"


def test_a_review_takes_bins_for_what_is_no_draft_and_again(tmp_path: Path) -> None:
    table, schema = few_rows(tmp_path), tmp_path / "table.schema.json"
    assert privity("schema", "draft", table, "--out", schema).returncode == Exit.DONE
    assert privity("schema", "review", schema, *load_schema(schema).names).returncode == Exit.DONE
    for bins in (10, 12):
        assert privity("schema", "review", schema, "--bins", f"age=0,120,{bins}").returncode == Exit.DONE
        assert json.loads(schema.read_text())["fields"][0]["bins"] == bins
    for wrong in ("age=0,10", "height=0,10,5", "age=10,0,5", "age=0,10,half", "ward=a,b,2"):
        assert privity("schema", "review", schema, "--bins", wrong).returncode == Exit.INPUT, wrong
