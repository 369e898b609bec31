"""``privity evaluate``: seconds and memory, and the figures of releases on raw values.

Releases are one owner's, by ``aim`` and ``mst`` at epsilon 1 and delta 1e-9, of 80 % of the rows, with a schema drafted
from them. ``wide`` is an invented table of 120 columns; the table beside it is drawn from its rows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values, grid
from benchmarks.experiments.report import privity, review
from privity.common.data.table_reading import read_rows

TRAINED = 0.8
DELTA = "0.000000001"
SUMMARY = ("ks", "mean_error", "zero_error", "category_distance", "pair_distance", "pair_distance_deciles")


def invented(folder: Path) -> tuple[Path, Path]:
    """A table of 20,000 rows and 120 columns: heavy tails, categories, and decimals of which some are missing."""
    generator, rows = np.random.default_rng(1), 20_000
    common = generator.normal(size=(rows, 10))
    columns: dict[str, np.ndarray] = {}
    for place in range(120):
        values = 0.7 * common[:, place % 10] + generator.normal(size=rows)
        if place % 3 == 0:
            columns[f"amount{place}"] = np.exp(7 + values).astype(int)
        elif place % 3 == 1:
            columns[f"kind{place}"] = np.char.add("v", np.searchsorted([-1, -0.3, 0.2, 0.9], values).astype(str))
        else:
            columns[f"level{place}"] = np.where(generator.random(rows) < 0.1, "", values.round(2).astype(str))
    frame = pd.DataFrame(columns)
    real, beside = folder / "wide.csv", folder / "beside.csv"
    frame.to_csv(real, index=False)
    frame.iloc[generator.integers(0, rows, rows)].to_csv(beside, index=False)
    return real, beside


def independent(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    """Figures that the command has too, of whole tables, made of the files with pandas and scipy alone."""
    numbers = [name for name in real if pd.api.types.is_numeric_dtype(real[name])]
    others = [name for name in real if name not in numbers]
    cut = {}
    for name in real:
        edges = np.unique(np.quantile(real[name].dropna(), np.arange(1, 10) / 10)) if name in numbers else None
        cut[name] = [
            one[name].fillna("missing") if edges is None
            else np.where(one[name].isna(), -1, np.searchsorted(edges, one[name], side="right"))
            for one in (real, made)
        ]  # fmt: skip

    def variation(*names: str) -> float:
        shares = [
            pd.DataFrame({name: cut[name][side] for name in names}).value_counts(normalize=True) for side in (0, 1)
        ]
        return float(shares[0].sub(shares[1], fill_value=0).abs().sum()) / 2

    found = {
        "ks": [ks_2samp(real[name].dropna(), made[name].dropna(), method="asymp").statistic for name in numbers],
        "zero_error": [abs((real[name] == 0).mean() - (made[name] == 0).mean()) for name in numbers],
        "mean_error": [abs(real[name].mean() - made[name].mean()) / real[name].std(ddof=0) for name in numbers],
        "category_distance": [variation(name) for name in others],
        "pair_distance_deciles": [variation(*pair) for pair in combinations(real, 2)],
    }
    return {key: float(np.mean(values)) for key, values in found.items() if values}


def measure(point: Point, seed: int, data: Data) -> Values:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if point["data"] == "wide":
            real, beside = invented(folder)
            given = ["--synthetic", beside]
        else:
            rows = read_rows(data.files(point["data"])[0])
            kept = np.random.default_rng(seed).permutation(len(rows))[: round(TRAINED * len(rows))]
            real, given = folder / "train.csv", ["--release", folder / "release"]
            rows.iloc[kept].to_csv(real, index=False)
        schema, state = folder / "schema.json", folder / "state"
        privity("schema", "draft", real, "--out", schema, state=state)
        privity(*review(schema), state=state)
        if point["data"] != "wide":
            privity("population", "declare", "b", "--total-epsilon", "1", "--total-delta", DELTA, state=state)
            budget = ("--epsilon", "1", "--delta", DELTA, "--population", "b", "--algorithm", point["method"])
            made = ("--data", real, "--schema", schema, "--out", folder / "release")
            privity("synthesize", *made, *budget, state=state)
        files = ["--json", folder / "e.json"] + (["--html", folder / "e.html"] if point["page"] else [])
        quick = ["--quick"] if point["mode"] == "quick" else []
        command = [sys.executable, "-m", "privity.interfaces.cli.main", "evaluate", "--real", real, *given]
        started = time.perf_counter()
        process = subprocess.Popen([*command, "--schema", schema, *files, *quick], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise ValueError("privity evaluate failed")
        seconds = time.perf_counter() - started
        document = json.loads((folder / "e.json").read_text(encoding="utf-8"))
        found = document["tables"][0]["summary"]
        apart = 0.0
        if point["page"]:
            again = independent(pd.read_csv(real), pd.read_csv(folder / "release" / "synthetic.csv"))
            apart = max(abs(found[key] - value) for key, value in again.items())
    refused = [one["name"] for one in document["verdicts"][0]["columns"] if one["grade"] == "do not use"]
    figures = {key: found[key] for key in SUMMARY if found[key] is not None}
    return {
        "rows": document["rows"]["real"],
        "columns": len(document["tables"][0]["columns"]),
        "seconds": seconds,
        "MiB": used.ru_maxrss / 1024,
        "refused": len(refused),
        "apart": apart,
        **figures,
    }


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(data="adult", method="aim", mode="quick", page=False)
    of_releases = grid(data=("adult", "cps_taxunits"), method=("aim", "mst"), mode="whole", page=True)
    first = grid(data=("adult", "cps_taxunits"), method="aim", mode="quick", page=False)
    return [*of_releases, *first, *grid(data="wide", method="sampling", mode=("whole", "quick"), page=False)]


EXPERIMENT = Experiment(
    title="Evaluation on raw values: how long it takes, and what it finds",
    points=points,
    measure=measure,
    shows=(
        Table(
            "time and memory",
            ("data", "method", "mode", "page"),
            {"rows": "rows:0", "columns": "columns:0", "seconds": "seconds:1", "MiB": "MiB:0"},
        ),
        Table(
            "figures of releases",
            ("data", "method"),
            {
                "KS": "ks:3", "zeros": "zero_error:3", "categories": "category_distance:3", "pairs": "pair_distance:3",
                "pairs by deciles": "pair_distance_deciles:3", "variables not to be used": "refused:0",
                "largest difference from an independent script": "apart:6",
            },
            where={"mode": "whole", "method": ("aim", "mst")},
        ),
    ),
    tables=("adult", "cps_taxunits"),
    code=("assessment/evaluation", "common/release/evaluation", "common/data"),
    alone=lambda _: True,
)  # fmt: skip
