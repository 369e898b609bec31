"""Real tables by the documented path alone: what becomes of each, and how good a release is.

A table is drafted, every field of the draft is declared public, the draft is checked against the rows, a population is
declared, and the rows are synthesized, by the commands as they stand and at one epsilon and delta. The first command
that fails is the outcome, with its words. A release is held against the rows: each number that both have.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Record, Table, Values, grid, values_of
from benchmarks.experiments.discovered_ends import DELTA, EPSILON, apart, right_bars, share_of
from benchmarks.experiments.report import privity, review
from benchmarks.methods.packaged_tables import ENDS, FILES, OTHER_FILES, packaged
from benchmarks.methods.seeded_discovery import points
from privity.common.data.schema import load_schema
from privity.common.release.report.overview import overview_of

DRAFTED, KNOWN = "as drafted", "with the ends that a person gives"
"""What becomes of the numbers that the draft says so few rows would not tell."""

WARNINGS = "Warning", "- ", "Algorithm:"
"""How lines begin that tell of no refusal."""

MEASURES = "beyond", "invented", "ks"


def measure(point: Point, _seed: int, data: Data) -> Values:
    rows, started = packaged(point["data"], data), time.perf_counter()
    of_table = {"rows": len(rows), "columns": len(rows.columns)}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        table, schema, out = folder / "table.csv", folder / "schema.json", folder / "release"
        rows.to_csv(table, index=False)
        try:
            path(table, schema, out, ENDS[point["data"]] if point["ends"] == KNOWN else ())
        except subprocess.CalledProcessError as error:
            return {**of_table, "outcome": refusal(error), "seconds": time.perf_counter() - started}
        seconds, left = time.perf_counter() - started, len(rows.columns) - len(load_schema(out / "schema.json").names)
        return {**of_table, "outcome": "release", "seconds": seconds, "left out": left, **held_against(table, out)}


def path(table: Path, schema: Path, out: Path, ends: Sequence[str] = ()) -> None:
    """Make a release, with the ledger beside it.

    Args:
        ends: what a person gives of numbers, as ``schema review`` takes it.

    Raises:
        subprocess.CalledProcessError: of the first command that fails.
    """
    state = out.parent / "state"
    privity("schema", "draft", table, "--out", schema, state=state)
    open_ = {attribute.name for attribute in load_schema(schema).attributes if attribute.discover}
    if given := [word for each in ends if each.partition("=")[0] in open_ for word in ("--bins", each)]:
        privity("schema", "review", schema, *given, state=state)
    privity(*review(schema), state=state)
    privity("schema", "check", schema, "--data", table, state=state)
    total = ("--total-epsilon", EPSILON, "--total-delta", DELTA)
    privity("population", "declare", "benchmark", *total, state=state)
    budget = ("--epsilon", EPSILON, "--delta", DELTA, "--population", "benchmark")
    privity("synthesize", "--data", table, "--schema", schema, "--out", out, *budget, state=state)


def refusal(error: subprocess.CalledProcessError) -> str:
    """Which command failed, and its words."""
    lines = [line for line in error.stderr.decode().splitlines() if line and not line.startswith(WARNINGS)]
    command = " ".join(str(one) for one in error.cmd[3:5] if not str(one).startswith("-"))
    # A bar would end the cell of a table.
    return f"`{command}`: {' '.join(lines).replace('|', '/')}"


def held_against(table: Path, out: Path) -> Values:
    """How the numbers of a release lie beside those of the rows, and how many of their error bars hold."""
    whole, schema = overview_of(out), load_schema(out / "schema.json")
    real, made = (pd.read_csv(file, dtype=str, keep_default_na=False) for file in (table, out / "synthetic.csv"))
    found: list[Values] = []
    right: list[bool] = []
    numbers = [attribute for attribute in schema.attributes if attribute.edges and attribute.point is not None]
    for attribute in numbers:
        before, after = (points(schema, attribute.name, texts[attribute.name].tolist()) for texts in (real, made))
        right += right_bars(whole, schema.index(attribute.name), before)
        before, after = before[~np.isnan(before)], after[~np.isnan(after)]
        found += [apart(before, after)] if len(after) else []
    means = {key: float(np.mean([one[key] for one in found])) for key in MEASURES} if found else {}
    return {"numbers": len(numbers), "bars": len(right), "held": sum(right), **means}


def points_of(quick: bool) -> list[Point]:
    drafted = grid(data="gss" if quick else (*FILES, *OTHER_FILES), ends=DRAFTED)
    return [*drafted, *grid(data="gss" if quick else tuple(ENDS), ends=KNOWN)]


def broken(records: Sequence[Record]) -> list[str]:
    """What falls short of the bars, over all releases of a size."""
    released = [record for record in records if record["outcome"] == "release"]
    found = []
    for least, most, beyond, ks in SIZES:
        of_size = [record for record in released if least <= record["rows"] < most]
        for key, bound in (("beyond", beyond), ("ks", ks)):
            values = values_of(of_size, key)
            if values and np.mean(values) > bound:
                found.append(f"{key}, from {least:,} rows on: {np.mean(values):.4f}, not {bound:g} or less")
    bars, held = (sum(values_of(released, key)) for key in ("bars", "held"))
    if held < HOLD * bars:
        found.append(f"error bars that hold: {held / bars:.1%}, not {HOLD:.0%}")
    return found


SIZES = ((0, 2_000, 0.05, 0.10), (2_000, 20_000, 0.02, 0.05), (20_000, 10**9, 0.005, 0.02))
"""From so many rows, below so many: the largest mean share of rows beyond the synthetic range, and the largest KS."""

HOLD = 0.93
"""Of all published error bars."""


def shown(ends: str) -> Table:
    return Table(
        ends,
        ("data",),
        {
            "rows": "rows:0", "columns": "columns:0", "outcome": "outcome", "seconds": "seconds:0",
            "left out": "left out:0", "numbers": "numbers:0", "rows beyond": "beyond:4", "invented": "invented:4",
            "KS": "ks:4", "bars that hold": share_of("held", "bars"),
        },
        where={"ends": ends},
    )  # fmt: skip


EXPERIMENT = Experiment(
    title="What becomes of real tables by the documented path",
    points=points_of,
    measure=measure,
    shows=(shown(DRAFTED), shown(KNOWN)),
    tables=(),
    code=("common/synthesis", "common/data", "common/privacy"),
    alone=lambda _: True,
    broken=broken,
)
