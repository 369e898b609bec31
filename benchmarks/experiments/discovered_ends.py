"""The ends of discovered numbers: tables of packages by the documented path, and hundreds of discoveries of each.

A *release* is drafted, reviewed, checked, declared and synthesized at epsilon 1 and delta 1e-6; texts that nobody can
list are taken out. What its error bars say of a bin is held against the rows that the bin's label names, and synthetic
values against the real ones.

A *discovery* is the first quarter of such a run, under noise of a seed. Values are drawn from the bins of the real
rows. They are *impossible* if some are negative and no row is, or if some lie farther beyond the rows than half of the
range of these.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import ks_2samp

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Record, Table, Values, grid, values_of
from benchmarks.experiments.report import privity, review
from benchmarks.methods.packaged_tables import FILES, packaged, without_open_texts
from benchmarks.methods.seeded_discovery import codes_of, discovered, points
from privity.common.data.coded_table import CodedTable, decode
from privity.common.data.schema import Schema, load_schema, parse_schema
from privity.common.errors import PrivityError
from privity.common.privacy.run_budget import RhoBudget
from privity.common.release.report.overview import Overview, overview_of

EPSILON, DELTA = "1", "1e-6"
DISCOVERIES = 20
"""Of a table, one after another."""

FAR = 0.5
"""Of the range of the rows: values that are farther out are impossible."""

Floats = npt.NDArray[np.float64]


def prepared(name: str, data: Data, folder: Path) -> tuple[Path, Path, pd.DataFrame, dict[str, Any]]:
    """A table and its drafted schema without the texts that nobody can list, as files and as they are."""
    rows, table, schema = packaged(name, data), folder / "table.csv", folder / "schema.json"
    rows.to_csv(table, index=False)
    privity("schema", "draft", table, "--out", schema, state=folder / "state")
    without_open_texts(table, schema)
    texts = pd.read_csv(table, dtype=str, keep_default_na=False)
    return table, schema, texts, json.loads(schema.read_text(encoding="utf-8"))


def measure(point: Point, seed: int, data: Data) -> Values | list[Values]:
    with tempfile.TemporaryDirectory() as scratch:
        try:
            given = prepared(point["data"], data, Path(scratch))
            return discoveries(*given[2:], seed) if point["of"] == "discovery" else release(*given, Path(scratch))
        except subprocess.CalledProcessError as error:
            said = [line for line in error.stderr.decode().split("\n") if line and not line.startswith("Warning")]
            return {"rows": len(packaged(point["data"], data)), "ended": f"`{error.cmd[3]} {error.cmd[4]}`: {said[0]}"}


def discoveries(texts: pd.DataFrame, draft: dict[str, Any], seed: int) -> list[Values]:
    """What each discovery gives of each number."""
    opened = [one for one in draft["fields"] if one.get("domain") == "discover"]
    schema = parse_schema({"fields": opened}, "s")
    values = tuple(points(schema, one["name"], texts[one["name"]].tolist()) for one in opened)
    budget, measured = RhoBudget(Fraction(EPSILON), Fraction(DELTA)), list[Values]()
    for noise in range(seed * DISCOVERIES, (seed + 1) * DISCOVERIES):
        try:
            found = discovered(schema, values, budget, noise).schema
        except PrivityError as error:
            return [{"rows": len(texts), "ended": str(error).split("\n")[0]}]
        for place, of_all in enumerate(values):
            measured.append({"rows": len(texts), **of_number(found, place, of_all, noise)})
    return measured


def of_number(schema: Schema, place: int, values: Floats, seed: int) -> Values:
    """What a discovery gives of a number."""
    attribute, there = schema.attributes[place], ~np.isnan(values)
    one = CodedTable(Schema("s", (attribute,)), (codes_of(schema, place, values)[there],))
    scale = 10**attribute.places
    drawn = decode(one, np.random.default_rng(seed)).iloc[:, 0].to_numpy(dtype=float) * scale
    assert attribute.measured is not None
    assert attribute.measured.beyond is not None
    low, high = float(attribute.measured.minimum * scale), float(attribute.measured.maximum * scale)
    real, beyond = values[there], attribute.measured.beyond
    share = ((real < low) | (real > high)).sum() / len(values)
    return {"held": float(abs(share - beyond.share) <= beyond.error), **apart(real, drawn)}


def apart(real: Floats, drawn: Floats) -> Values:
    """How synthetic values lie beside real ones."""
    reach = FAR * float(real.max() - real.min())
    far = drawn.max() > real.max() + reach or drawn.min() < real.min() - reach
    return {
        "beyond": float(((real < drawn.min()) | (real > drawn.max())).mean()),
        "invented": float(((drawn < real.min()) | (drawn > real.max())).mean()),
        "impossible": float(far or (drawn.min() < 0 <= real.min())),
        "ks": float(ks_2samp(real, drawn).statistic),
    }


def release(table: Path, schema: Path, texts: pd.DataFrame, draft: dict[str, Any], folder: Path) -> Values:
    """What a release says of its open numbers, and how its rows lie beside the real ones."""
    state, out, started = folder / "state", folder / "release", time.perf_counter()
    budget = ("--epsilon", EPSILON, "--delta", DELTA, "--population", "benchmark")
    privity(*review(schema), state=state)
    privity("schema", "check", schema, "--data", table, state=state)
    total = ("--total-epsilon", EPSILON, "--total-delta", DELTA)
    privity("population", "declare", "benchmark", *total, state=state)
    privity("synthesize", "--data", table, "--schema", schema, "--out", out, *budget, state=state)
    seconds, whole, found = time.perf_counter() - started, overview_of(out), []
    known = load_schema(out / "schema.json")
    made = pd.read_csv(out / "synthetic.csv", dtype=str, keep_default_na=False)
    names = [one["name"] for one in draft["fields"] if one.get("domain") == "discover"]
    bars = held = 0
    for name in names:
        real, drawn = (points(known, name, some[name].tolist()) for some in (texts, made))
        right = right_bars(whole, known.index(name), real)
        bars, held = bars + len(right), held + sum(right)
        real, drawn = real[~np.isnan(real)], drawn[~np.isnan(drawn)]
        found += [apart(real, drawn)] if len(drawn) else []
    means = {key: float(np.mean([one[key] for one in found])) for key in ("beyond", "invented", "ks")}
    return {"rows": len(texts), "numbers": len(names), "bars": bars, "held": held, "seconds": seconds, **means}


def right_bars(whole: Overview, place: int, real: Floats) -> list[bool]:
    """Whether each error bar of an attribute holds the share of the rows that its label names."""
    shown = whole.distributions[place]
    attribute, codes = shown.attribute, codes_of(whole.release.schema, place, real)
    edges, right = attribute.point_edges, []
    for code, share in enumerate(shown.whole.shares):
        of_label = codes == code
        if code < attribute.values and share.label.startswith("["):
            # A label in brackets is of these values alone.
            of_label = (real >= edges[code]) & (real < edges[code + 1])
        if share.noisy is not None:
            right.append(abs(share.noisy - float(of_label.mean())) <= share.half_width)
    return right


def points_of(quick: bool) -> list[Point]:
    if quick:
        return [{**one, "seeds": 2} for one in grid(of="discovery", data="gss")]
    alone = grid(of="discovery", data=tuple(FILES))
    return [*alone, *({**one, "seeds": 3} for one in grid(of="release", data=tuple(FILES)))]


def share_of(measure_: str, whole: str) -> Callable[[Sequence[Record]], str]:
    def text(records: Sequence[Record]) -> str:
        total = sum(values_of(records, whole))
        return f"{sum(values_of(records, measure_)) / total:.1%} of {total:,}" if total else "-"

    return text


def part(measure_: str) -> Callable[[Sequence[Record]], str]:
    def text(records: Sequence[Record]) -> str:
        found = values_of(records, measure_)
        return f"{np.mean(found):.2%} of {len(found):,}" if found else "-"

    return text


EXPERIMENT = Experiment(
    title="The ends of discovered numbers",
    points=points_of,
    measure=measure,
    shows=(
        Table(
            "releases",
            ("data",),
            {
                "rows": "rows:0", "numbers": "numbers:0", "bars that hold": share_of("held", "bars"),
                "rows beyond": "beyond:4", "invented": "invented:4", "KS": "ks:4", "seconds": "seconds:0",
                "refused": "ended",
            },
            where={"of": "release"},
        ),
        Table(
            "discoveries",
            ("data",),
            {
                "rows": "rows:0", "shares beyond that hold": part("held"), "rows beyond": "beyond:4",
                "invented": "invented:4", "impossible": part("impossible"), "KS": "ks:4", "refused": "ended",
            },
            where={"of": "discovery"},
        ),
    ),
    tables=(),
    code=("common/synthesis", "common/data", "common/privacy"),
)  # fmt: skip
