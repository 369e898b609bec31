"""docs/benchmarks/copula.md and its pictures, from the results."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.cache import Results
from benchmarks.copula.measure import Sources
from benchmarks.copula.outputs import THRESHOLDS
from benchmarks.copula.points import (
    BY_ATTRIBUTES,
    BY_ROWS,
    COST,
    DISTANCE,
    EPSILONS,
    ERRORS,
    PAPER,
    RIVALS,
    TABLE_2,
    Plan,
    Point,
)
from benchmarks.copula.queries import CURVE_POINTS, PARTS, WAYS, conjunctions
from benchmarks.datasets import load
from benchmarks.markdown import not_measured, spread, table
from benchmarks.plots import Curves, Line, Panel, draw

FOLDER = "copula"

PUBLISHED = {
    1: {"dpc": (92, 389, 107, 482, 106, 773), "Lap": (85, 353, 99, 505, 105, 741)},
    2: {"dpc": (18, 184, 29, 504, 38, 4788), "Lap": (58, 317, 72, 536, 78, 1246)},
    3: {"dpc": (12, 120, 20, 408, 28, 6148), "Lap": (102, 591, 128, 1002, 138, 2508)},
}
"""Table 2 of the paper for Adult: mean and largest error of 95, 99 and 100 % of the answers."""

WORDS = {1: "one-way", 2: "two-way", 3: "three-way"}
NO_NOISE = ("cop", "cop" + THRESHOLDS, "cop-ID", "cop-1" + THRESHOLDS, "no-cor")
WITH_NOISE = ("cop", "dpc", "dpc" + THRESHOLDS, "dpc, advanced" + THRESHOLDS, "Lap")
REACH = {("2", 1): 250, ("2", 2): 200, ("4", 1): 500, ("4", 2): 200, ("5", 3): 200, ("6", 1): 500, ("6", 2): 200}
"""Largest error in a panel: a few answers are farther off."""

INTRODUCTION = """# The Gaussian copula

The evaluation of Asghar, Ding, Rakotoarivelo, Mrabet, Kaafar, "Differentially Private Release of High-Dimensional
Datasets using the Gaussian Copula" (2019), and Privity's copula beside its other algorithms. What differs from the
paper is in [../algorithms/copula.md](../algorithms/copula.md).

```
{command}
```

The table of the errors is Adult's train file without the class: {attributes} attributes, {columns} categories (the
paper's coding has 194), {rows:,} rows. Delta is 2^-30. All noise is for what a release truly costs: epsilon 1, where
the paper's own costs 4.29 (its Lemma 2 counts the cells of a pair of categories as if no other moved).
"""

TABLE_TEXT = """
## Errors (Table 2)

Positive conjunctions of one, two and three categories of different attributes ({queries}): the absolute error of each
answer, sorted, with the mean and the largest of the first 95, 99 and 100 %. Means over {seeds} runs.

- **dpc**: this copula at (1, 2^-30) with discrete Gaussian noise; **pld** and **advanced** with Laplace noise under
  those compositions. **Lap**: Laplace noise on each answer, at the paper's parts of epsilon.
- **cop**: no noise. **cop-ID**: no correlations. **cop-1**: all correlations 1. **no-cor**: products of shares.
- **own thresholds**: the paper's decoding, in which a row may have several categories of an attribute, or none.
"""

FIGURES_TEXT = """
## Distributions of the errors (Figures 2, 4, 5 and 6)

Figure 2: without noise, what the copula and its decoding cost.

![Errors without noise](copula/figure_2.svg)

Figure 4: with noise, one- and two-way answers.

![Errors with noise](copula/figure_4.svg)

Figure 5: three-way answers.

![Three-way errors](copula/figure_5.svg)

Figure 6: dpc at epsilon 1/4 to 5.

![Errors by epsilon](copula/figure_6.svg)

Figure 3 is about the paper's table of hospital ratings, which is not at hand: declined.
"""

COST_TEXT = """
## Time and memory

Each table in a process of its own, on two virtual cores. Made tables have columns of which each follows an earlier one
in a third of the rows; sampled rows are made in parts and dropped. "Counted" is all pair tables once; "learned" counts
them again, adds noise and fits. The promised memory is what is said beforehand, plus the table and Python itself. No
peak shows below .53 GB, what the process had that started the others.
"""

GROWTH_TEXT = """
Cost grows with rows linearly, with attributes quadratically (binary attributes, a million rows; a fit has parts that
grow faster, the eigenvectors, and sampling a part that grows more slowly).

![Growth](copula/growth.svg)
"""

RIVALS_TEXT = """
## Beside the other algorithms

Total variation distance of 1- and 2-way marginals from the table's, {name}, {rows:,} rows, one party, epsilon 1, mean
and largest over all marginals. All but the second are pure; the second may spend delta 2^-30.
"""


def document(results: Results[Point], sources: Sources, plan: Plan, command: str) -> str:
    paper = sources.conjunctions
    domain = paper.schema.domain
    lines = [
        INTRODUCTION.format(command=command, attributes=len(domain), columns=sum(domain), rows=paper.rows),
        TABLE_TEXT.format(
            queries=" / ".join(f"{conjunctions(domain, ways):,}" for ways in WAYS), seeds=plan.errors
        ).rstrip(),
    ]
    for ways in WAYS:
        lines += ["", f"**{WORDS[ways].capitalize()}**"]
        lines += table(
            ["output", *(f"{part} % {kind}" for part in PARTS for kind in ("mean", "largest"))],
            [*_published(ways), *_errors(results, ways)],
        )
    lines += [FIGURES_TEXT.rstrip(), COST_TEXT.rstrip()]
    lines += _costs(results)
    lines += [GROWTH_TEXT.rstrip()]
    lines += [RIVALS_TEXT.format(name=sources.compared.name, rows=_rows(sources)).rstrip(), *_rivals(results)]
    lines += not_measured(results.failed)
    return "\n".join(lines) + "\n"


def _rows(sources: Sources) -> int:
    return load(sources.compared.data, sources.compared.schema_file).rows


def _published(ways: int) -> list[list[str]]:
    return [[f"{name} of the paper", *map(str, numbers)] for name, numbers in PUBLISHED[ways].items()]


def _errors(results: Results[Point], ways: int) -> list[list[str]]:
    rows = []
    for what in TABLE_2:
        found = [values for values in results.seeds(Point(ERRORS, what)) if f"{ways}/100/max" in values]
        if not found:
            continue
        row = [what]
        for part in PARTS:
            for kind, digits in (("mean", 0 if ways == 1 else 1), ("max", 0)):
                row.append(f"{statistics.mean(values[f'{ways}/{part}/{kind}'] for values in found):.{digits}f}")
        rows.append(row)
    return rows


def _costs(results: Results[Point]) -> list[str]:
    rows = []
    if found := results.seeds(Point(COST, "table")):
        (v,) = found
        rows.append(
            ["the paper's table, class included", f"{v['rows']:,}", str(v["attributes"]), "-", "-", f"{v['fit']:.1f}",
             f"{v['sample']:.1f}", f"{v['fit'] + v['sample']:.1f}", f"{v['peak']:.2f}", "-", "6 min 47 s"]
        )  # fmt: skip
    for what, hours in PAPER.items():
        for v in results.seeds(Point(COST, what)):
            both = v["fit"] + v["sample"]
            seconds = [f"{x:.0f}" for x in (v["count"], v["fit"], v["sample"], both)]
            size = [f"{v['rows']:,}", str(v["attributes"]), f"{v['columns']:,}"]
            rows.append(["made", *size, *seconds, f"{v['peak']:.2f}", f"{v['promised']:.2f}", hours])
    head = ["table", "rows", "attributes", "normal variables", "counted, s", "learned, s", "sampled, s",
            "learned and sampled, s", "peak, GB", "promised, GB", "the paper"]  # fmt: skip
    return table(head, rows)


def _rivals(results: Results[Point]) -> list[str]:
    measures = ("tvd1", "tvd1_max", "tvd2", "tvd2_max")
    rows = [
        [what, *(spread(results.values(Point(DISTANCE, what), measure), 4) for measure in measures)]
        for what in RIVALS
        if results.seeds(Point(DISTANCE, what))
    ]
    return table(["algorithm", "1-way, mean", "1-way, largest", "2-way, mean", "2-way, largest"], rows)


def draw_all(results: Results[Point], folder: Path) -> None:
    """Every picture for which there are results."""
    without, noisy = ({name: Point(ERRORS, name) for name in names} for names in (NO_NOISE, WITH_NOISE))
    draw([_curves(results, "2", ways, without) for ways in (1, 2)], folder / "figure_2.svg")
    draw([_curves(results, "4", ways, noisy) for ways in (1, 2)], folder / "figure_4.svg")
    draw([_curves(results, "5", 3, noisy)], folder / "figure_5.svg")
    by_epsilon = {f"epsilon {epsilon}": Point(ERRORS, "dpc", epsilon) for epsilon in EPSILONS}
    draw([_curves(results, "6", ways, by_epsilon) for ways in (1, 2)], folder / "figure_6.svg")
    draw([_growth(results, BY_ROWS, "rows"), _growth(results, BY_ATTRIBUTES, "attributes")], folder / "growth.svg")


def _curves(results: Results[Point], figure: str, ways: int, points: dict[str, Point]) -> Curves:
    """Cumulative distributions, the mean over runs of each quantile."""
    shares = np.linspace(0, 1, CURVE_POINTS).tolist()
    lines = {}
    for name, point in points.items():
        curves = [values[f"{ways}/curve"] for values in results.seeds(point) if f"{ways}/curve" in values]
        if curves:
            lines[name] = np.mean(curves, axis=0).tolist(), shares
    return Curves(f"{WORDS[ways]} answers", "absolute error", "part of the answers", lines, REACH[figure, ways])


def _growth(results: Results[Point], sizes: Sequence[str], kind: str) -> Panel:
    """Seconds over rows or attributes, on two logarithmic axes; a dotted line of slope 1 or 2 is what is claimed."""
    found = [v for size in sizes for v in results.seeds(Point(COST, size))]
    x = [float(v[kind]) for v in found]
    lines = {
        name: Line(x, [[v[key]] for v in found])
        for name, key in (("counted", "count"), ("learned", "fit"), ("sampled", "sample"))
    }
    if found:
        power = 1 if kind == "rows" else 2
        lines[f"power {power}"] = Line(x, [[found[0]["count"] * (at / x[0]) ** power] for at in x], dashed=True)
    return Panel(f"by {kind}", kind, "seconds", lines, log_y=True)
