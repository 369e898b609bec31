"""The page on R runs as written, where R is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privity import AIM, declare_population

PAGE = Path(__file__).parents[2] / "docs" / "reading_in_r.md"
FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 89}, "bins": 12},
    {"name": "ward", "type": "string", "categories": ["north", "south"], "missingValues": [""]},
    {"name": "ill", "type": "string", "categories": ["no", "yes"]},
    {"name": "seen", "type": "date", "edges": ["2024-01-01", "2024-07-01", "2025-01-01"]},
]


@pytest.mark.long
@pytest.mark.process
@pytest.mark.skipif(
    shutil.which("Rscript") is None, reason="R is not installed: r-base-core r-cran-survey r-cran-jsonlite"
)
def test_the_page_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(3)
    age = draw.integers(18, 90, 3000)
    ill = np.where(draw.random(3000) < age / 150, "yes", "no")
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 365, 3000), "D")
    table = pd.DataFrame({"age": age, "ward": draw.choice(["north", "south"], 3000), "ill": ill, "seen": seen})
    table.loc[::17, "ward"] = None
    declare_population("patients", total_epsilon=2)
    AIM(2, population="patients", analyses=["ill ~ age + ward"]).fit(table, {"fields": FIELDS}, out="release")
    code = "\n".join(re.findall(r"^```r\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    Path("page.R").write_text(code, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["Rscript", "page.R"], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True, timeout=200
    )
    for told in ("Factor w/ 2 levels", 'Date, format: "2024', "ward[south]", "illyes"):
        assert told in done.stdout, done.stdout
