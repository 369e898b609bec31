"""The Gaussian copula's paper: its errors and times, and how accurate the other algorithms are.

The paper's table is Adult's train file, whose last attribute, the class, is left out for the errors; on adult the
algorithms are compared. Large tables are made on the way; the largest needs 12 GB and half an hour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Picture, Point, Record, Table, Values, chosen, grid, values_of
from benchmarks.methods.conjunctions import CURVE_POINTS, PARTS, WAYS
from benchmarks.methods.copula_large import cost, sizes_of
from benchmarks.methods.copula_outputs import DELTA, THRESHOLDS, errors
from benchmarks.methods.learning import synthesize
from benchmarks.methods.own_process import fit_and_sample, in_own_process
from benchmarks.plots import Panel
from privity.common.data.coded_table import CodedTable
from privity.common.release.evaluation.marginal_distance import marginal_distances

TABLE_2 = (
    "dpc", f"dpc{THRESHOLDS}", "dpc, advanced", f"dpc, advanced{THRESHOLDS}", "Lap", "cop",
    f"cop{THRESHOLDS}", "cop-ID", f"cop-1{THRESHOLDS}", "no-cor",
)  # fmt: skip
"""In the order of the paper. cop-1 has no winner worth the name: its variables are all the same."""

EPSILONS = ("1/4", "1/2", "1", "2", "5")
"""Of Figure 6, in the paper .25 to 5."""

RIVALS = ("copula", "copula, delta 2^-30", "privbayes", "jtree", "one-way")
PAPER = {"5240260 25x26,24": "2.5 h", "5000000 2x1000": "6 h", "5000000 2x2000": "19 h"}
"""Tables of the paper's sizes, rows and sizes of attributes, and its hours."""

BY_ROWS = tuple(f"{rows} 25x26,24" for rows in (500_000, 1_000_000, 2_000_000, 4_000_000))
BY_ATTRIBUTES = tuple(f"1000000 2x{attributes}" for attributes in (125, 250, 500, 1000))
WITHOUT_NOISE = ("cop", f"cop{THRESHOLDS}", "cop-ID", f"cop-1{THRESHOLDS}", "no-cor")
WITH_NOISE = ("cop", "dpc", f"dpc{THRESHOLDS}", f"dpc, advanced{THRESHOLDS}", "Lap")
REACH = {1: 500, 2: 200, 3: 200}
"""Largest error in a panel: a few answers are farther off."""


@cache
def without_class(data: Data) -> CodedTable:
    table = data.table("adult_train")
    names = table.schema.names[:-1]
    return CodedTable(table.schema.over(names), table.columns[:-1])


def measure(point: Point, seed: int, data: Data) -> Values:
    match point["kind"]:
        case "errors":
            return errors(without_class(data), point["output"], Fraction(point["epsilon"]), seed)
        case "distance":
            return distance(data.table("adult"), point["algorithm"], seed)
        case "table":
            return in_own_process(cost_of_file, data)
    rows, sizes = point["size"].split()
    return {**in_own_process(cost, int(rows), sizes_of(sizes)), "paper": PAPER.get(point["size"], "-")}


def cost_of_file(data: Data) -> Values:
    return {**fit_and_sample(data.table("adult_train"), "copula", "1", {})[1], "paper": "6 min 47 s"}


def distance(table: CodedTable, what: str, seed: int) -> Values:
    """Mean and largest total variation distance of the 1- and 2-way marginals of a sample of as many rows."""
    name, _, delta = what.partition(", delta")
    point = {"epsilon": "1", "delta": DELTA if delta else 0}
    synthetic, _ = synthesize(table, point, name, {}, np.random.default_rng(seed))
    return marginal_distances(table, synthetic, ways=(1, 2))


def points(quick: bool) -> list[Point]:
    if quick:
        found = grid(kind="errors", output=("dpc", "cop", "Lap"), epsilon="1")
        return found + grid(kind="distance", algorithm=("copula", "one-way")) + grid(kind="made", size="2000 3x4,2")
    found = grid(kind="errors", output=TABLE_2, epsilon="1", seeds=5)
    found += grid(kind="errors", output="dpc", epsilon=EPSILONS, seeds=5)
    found += grid(kind="distance", algorithm=RIVALS, seeds=10)
    return [*found, {"kind": "table"}, *grid(kind="made", size=(*PAPER, *BY_ROWS, *BY_ATTRIBUTES))]


def table_2(ways: int) -> Table:
    cells = {f"{part} % {name}": f"{ways}/{part}/{kind}" for part in PARTS for name, kind in
             (("mean", "mean"), ("largest", "max"))}  # fmt: skip
    digits = dict.fromkeys(cells, 0) | {head: 1 for head in cells if head.endswith("mean") and ways > 1}
    shown = {head: mean_of(key, digits[head]) for head, key in cells.items()}
    return Table(f"errors of {ways}-way answers", ("output",), shown, where={"kind": "errors", "epsilon": "1"})


def mean_of(measure_: str, digits: int) -> Callable[[Sequence[Record]], str]:
    def cell(records: Sequence[Record]) -> str:
        found = values_of(records, measure_)
        return f"{np.mean(found):.{digits}f}" if found else "-"

    return cell


def curves(ways: int, outputs: tuple[str, ...], epsilons: tuple[str, ...], records: Sequence[Record]) -> Panel:
    """Cumulative distributions of errors, the mean over runs of each quantile."""
    shares = np.linspace(0, 1, CURVE_POINTS).tolist()
    lines = {}
    for output in outputs:
        for epsilon in epsilons:
            found = values_of(records, f"{ways}/curve", kind="errors", output=output, epsilon=epsilon)
            if found:
                name = output if len(epsilons) == 1 else f"epsilon {epsilon}"
                errors_ = np.mean(found, axis=0).tolist()
                lines[name] = {error: [share] for error, share in zip(errors_, shares, strict=True)}
    title = f"{ways}-way answers"
    return Panel(title, "absolute error", "part of the answers", lines, smooth=True, x_limit=REACH[ways])


def figure(name: str, outputs: tuple[str, ...], ways: tuple[int, ...], epsilons: tuple[str, ...] = ("1",)) -> Picture:
    return Picture(name, [partial(curves, w, outputs, epsilons) for w in ways])


def growth(sizes: tuple[str, ...], by: str, records: Sequence[Record]) -> Panel:
    """Seconds over rows or attributes, on two logarithmic axes."""
    here = chosen(records, {"kind": "made", "size": sizes})
    shown = {"counted": "count", "learned": "fit", "sampled": "sample"}
    lines = {name: {float(r[by]): [r[key]] for r in here} for name, key in shown.items()} if here else {}
    return Panel(f"by {by}", by, "seconds", lines, log_y=True)


EXPERIMENT = Experiment(
    title="The Gaussian copula: errors, pictures and times of its paper, and the other algorithms beside it",
    points=points,
    measure=measure,
    shows=(
        *(table_2(ways) for ways in WAYS),
        Table(
            "time and memory",
            ("kind", "size"),
            {
                "rows": "rows:0", "attributes": "attributes:0", "normal variables": "columns:0",
                "counted, s": "count:0", "learned, s": "fit:1", "sampled, s": "sample:1",
                "learned and sampled, s": "both:1", "peak, GB": "peak:2", "promised, GB": "promised:2",
                "the paper": "paper",
            },
            where={"kind": ("table", "made")},
        ),
        Table(
            "beside the other algorithms",
            ("algorithm",),
            {"1-way, mean": "tvd1", "1-way, largest": "tvd1_max", "2-way, mean": "tvd2", "2-way, largest": "tvd2_max"},
            where={"kind": "distance"},
            digits=4,
        ),
    ),
    tables=("adult_train", "adult"),
    pictures=(
        figure("figure_4", WITH_NOISE, (1, 2)),
        figure("figure_2", WITHOUT_NOISE, (1, 2)),
        figure("figure_5", WITH_NOISE, (3,)),
        figure("figure_6", ("dpc",), (1, 2), EPSILONS),
        Picture("growth", [partial(growth, BY_ROWS, "rows"), partial(growth, BY_ATTRIBUTES, "attributes")]),
    ),
    code=(*CODE, "common/data/marginal_counter.py", *(f"benchmarks/methods/{name}.py" for name in
          ("copula_large", "copula_outputs", "conjunctions"))),
    alone=lambda point: point["kind"] in ("table", "made"),
)  # fmt: skip
