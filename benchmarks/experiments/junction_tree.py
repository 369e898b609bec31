"""JTree and PrivHD beside PrivBayes and the papers' rivals, and the methods of OptimalMerging on random graphs.

``k-way`` is the L2 error of random marginals, ``distance`` that of all 2- and 3-way ones, ``tasks`` classifiers trained
on the sample, ``classifier`` a rival of these, ``grid`` PrivHD's, ``cost`` a process of its own, ``merging`` a random
graph for each seed. Seeds decide splits, marginals and the sampling; noise has none.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import (
    CODE,
    Experiment,
    Picture,
    Point,
    Record,
    Table,
    Text,
    Values,
    chosen,
    grid,
    markdown,
)
from benchmarks.methods import private_classifiers
from benchmarks.methods.classification_tasks import TASKS
from benchmarks.methods.clique_merging import GOLDENS, compare, random_chordal
from benchmarks.methods.learning import errors_of, synthesize
from benchmarks.methods.market_baskets import NAME as BASKETS
from benchmarks.methods.market_baskets import make_baskets
from benchmarks.methods.own_process import fit_and_sample, in_own_process
from benchmarks.methods.priview import PriView
from benchmarks.methods.table_distances import distances, l2, shares_of, variation
from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import Marginal
from privity.common.release.evaluation.classifier_utility import hold_out
from privity.common.release.evaluation.marginal_distance import marginal_distances

COMPARED = ("jtree", "privhd", "privbayes")
ONE_WAY, PRIVIEW = "one-way", "PriView"
SVM, SVM_SINGLE, REAL_ROWS = "PrivateSVM", "PrivateSVM, one task", "real rows"
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "jtree, cliques apart": ("jtree", {"clusters": "apart"}),
    "privhd, always a filter": ("privhd", {"filter": "always"}),
    "privhd, no filter": ("privhd", {"filter": "never"}),
}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {**{name: (name, {}) for name in (*COMPARED, ONE_WAY)}, **OPTIONS}
SIZES, GRID_SIZES = (4, 6, 8), (2, 3, 5, 6)
"""Attributes of the marginals of the k-way error in the JTree paper, and of PrivHD's experiments."""

WHOLE_SIZES = (2, 3)
"""Sizes of which all marginals are taken; of larger ones so many at random."""

RANDOM_MARGINALS = 200
TASK_EPSILONS = ("0.2", "0.5", "0.8", "1")
GRID_EPSILONS = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
BINARY, GENERAL, WIDE = "nltcs", "adult", "diabetes130"


def measure(point: Point, seed: int, data: Data) -> Values | list[Values]:
    if point["kind"] == "merging":
        return compare(*random_chordal(seed))
    if point["kind"] == "cost":
        return in_own_process(cost, data, point["data"], point["method"], point["epsilon"])
    table = baskets(point["rows"]) if point["data"] == BASKETS else data.table(point["data"])
    generator = np.random.default_rng(seed)
    if point["kind"] == "k-way":
        return k_way(table, point, generator)
    if point["kind"] == "classifier":
        return rival_of_classifiers(*hold_out(table, generator), point)
    if point["kind"] == "tasks":
        train, test = hold_out(table, generator)
        synthetic, _ = synthesize(train, point, *METHODS[point["method"]], generator)
        return errors_of(synthetic, test, TASKS[point["data"]])
    synthetic, _ = synthesize(table, point, *METHODS[point["method"]], generator)
    return grid_of(table, synthetic, generator) if point["kind"] == "grid" else distances(table, synthetic)


@cache
def baskets(rows: int) -> CodedTable:
    return make_baskets(rows)


def cost(data: Data, name: str, method: str, epsilon: str) -> Values:
    return fit_and_sample(data.table(name), method, epsilon, {})[1]


def k_way(table: CodedTable, point: Point, generator: np.random.Generator) -> list[Values]:
    """Mean L2 error of random marginals of each size, as shares of the rows."""
    wanted = {size: random_marginals(len(table.columns), size, generator) for size in SIZES}
    if point["method"] == PRIVIEW:
        views = PriView(table, Fraction(point["epsilon"]))
        errors = {k: [l2(dense_shares(table, m), views.marginal(m)) for m in some] for k, some in wanted.items()}
    else:
        synthetic, _ = synthesize(table, point, *METHODS[point["method"]], generator)
        errors = {k: [l2(*shares_of(table, synthetic, m)) for m in some] for k, some in wanted.items()}
    return [{"k": k, "l2": float(np.mean(found))} for k, found in errors.items()]


def grid_of(table: CodedTable, synthetic: CodedTable, generator: np.random.Generator) -> Values:
    """Mean total variation distance for each size of PrivHD's experiments."""
    whole = marginal_distances(table, synthetic, ways=WHOLE_SIZES)
    values: Values = {f"mean{k}": whole[f"tvd{k}"] for k in WHOLE_SIZES}
    for k in GRID_SIZES:
        if k not in WHOLE_SIZES:
            wanted = random_marginals(len(table.columns), k, generator)
            values[f"mean{k}"] = float(np.mean([variation(*shares_of(table, synthetic, m)) for m in wanted]))
    return values


def random_marginals(attributes: int, size: int, generator: np.random.Generator) -> list[Marginal]:
    return [tuple(sorted(generator.choice(attributes, size, replace=False).tolist())) for _ in range(RANDOM_MARGINALS)]


def dense_shares(table: CodedTable, marginal: Marginal) -> np.ndarray:
    """Shares in all cells of a marginal of binary attributes, one axis each."""
    cells = np.zeros(table.rows, dtype=np.int64)
    for a in marginal:
        cells = 2 * cells + table.columns[a]
    return np.bincount(cells, minlength=2 ** len(marginal)).reshape((2,) * len(marginal)) / table.rows


def rival_of_classifiers(train: CodedTable, test: CodedTable, point: Point) -> list[Values]:
    """The error of each task; a method for one task at a time divides epsilon among the tasks."""
    tasks = TASKS[point["data"]]
    if point["method"] == REAL_ROWS:
        return errors_of(train, test, tasks)
    share = float(Fraction(point["epsilon"]) / (len(tasks) if point["method"] == SVM else 1))
    return [{"task": t.name, "error": private_classifiers.private_svm(train, test, t, share)} for t in tasks]


def points(quick: bool) -> list[Point]:
    if quick:
        found = grid(kind="k-way", data=BASKETS, rows=500, method=("jtree", PRIVIEW), epsilon="1", parties=1)
        found += grid(kind=("distance", "tasks", "grid"), data=GENERAL, method="privhd", epsilon="1", parties=3)
        return [*found, *grid(kind="classifier", data=GENERAL, method=SVM, epsilon="1"), {"kind": "merging"}]
    found = []
    for data in ({"data": BINARY}, {"data": BASKETS, "rows": 88_162}):
        epsilons = ("0.1", "1")
        found += grid(kind="k-way", **data, method=COMPARED, epsilon=epsilons, parties=(1, 3), seeds=5)
        found += grid(kind="k-way", **data, method=(ONE_WAY, PRIVIEW), epsilon=epsilons, parties=1, seeds=5)
    several = {"data": GENERAL, "epsilon": TASK_EPSILONS, "parties": (1, 3)}
    found += grid(kind="distance", method=COMPARED, **several, seeds=5)
    # For the comparison with PrivBayes.
    found += grid(kind="distance", method=COMPARED, data=GENERAL, epsilon="1", parties=(1, 3), seeds=30)
    found += grid(kind="distance", method=(*OPTIONS, ONE_WAY), data=GENERAL, epsilon=TASK_EPSILONS, parties=1, seeds=5)
    found += grid(kind="tasks", method=COMPARED, **several, seeds=3)
    found += grid(kind="classifier", data=GENERAL, method=(SVM, SVM_SINGLE), epsilon=TASK_EPSILONS, seeds=3)
    found += grid(kind="classifier", data=GENERAL, method=REAL_ROWS, epsilon="-", seeds=3)
    found += grid(
        kind="grid", data=(BINARY, GENERAL), method=(*COMPARED, ONE_WAY), epsilon=GRID_EPSILONS, parties=1, seeds=3
    )
    found += grid(kind="cost", data=WIDE, method=COMPARED, epsilon=("0.1", "1"))
    return [*found, {"kind": "merging", "seeds": 100}]


def goldens(_records: Sequence[Record]) -> list[str]:
    """Total variance of all cliques' tables, times epsilon squared, by method; no run is needed."""
    rows = []
    for name, (cliques, domain) in GOLDENS.items():
        found = compare(cliques, domain)
        cells = (found.get(method) for method in ("apart", "greedy", "cccp", "exact"))
        rows.append([name, str(found["cliques"]), *("-" if cell is None else f"{cell:,}" for cell in cells)])
    return markdown(["graph", "cliques", "apart", "greedy", "programme", "exact"], rows)


def merging(records: Sequence[Record]) -> list[str]:
    """The methods on random graphs, by the number of cliques."""
    rows = []
    for low, high in ((2, 5), (6, 9), (10, 12), (13, 16)):
        found = chosen(records, {"kind": "merging", "cliques": tuple(range(low, high + 1))})
        if not found:
            continue
        exact = [v for v in found if "exact" in v]
        better = [v["greedy"] / v["cccp"] - 1 for v in found]
        best = sum(v["greedy"] == min(v["cccp"], v.get("exact", v["cccp"])) for v in found)
        seconds = [
            f"{statistics.mean(v[f'{method} seconds'] for v in some):.3f}" if some else "-"
            for method, some in (("greedy", found), ("cccp", found), ("exact", exact))
        ]
        apart = f"{statistics.mean(v['apart'] / v['greedy'] for v in found):.2f}"
        finds = f"{sum(v['cccp'] == v['exact'] for v in exact)} of {len(exact)}" if exact else "-"
        by = f"{statistics.mean(better):.1%} ({max(better):.0%})"
        rows.append([f"{low}-{high}", str(len(found)), apart, str(best), by, finds, *seconds])
    head = ["cliques", "graphs", "apart / greedy", "greedy is best", "programme better by, mean (most)",
            "programme finds exact", "greedy, s", "programme, s", "exact, s"]  # fmt: skip
    return markdown(head, rows) if rows else []


def by_epsilon(name: str, data: str, kind: str, methods: tuple[str, ...], show: str) -> Table:
    where = {"kind": kind, "data": data, "method": methods}
    return Table(f"{data}: {name}", ("method", "parties"), show, columns="epsilon", where=where, digits=4)


DISTANCES = [by_epsilon(f"{way}-way marginals", GENERAL, "distance", (*COMPARED, ONE_WAY), f"mean{way}")
             for way in (2, 3)]  # fmt: skip
EXPERIMENT = Experiment(
    title="Junction trees: JTree and PrivHD beside PrivBayes and the papers' rivals",
    points=points,
    measure=measure,
    shows=(
        Table(
            "target", ("method",),
            {"mean 2-way": "mean2", "largest 2-way": "largest2", "mean 3-way": "mean3"},
            where={"kind": "distance", "data": GENERAL, "method": COMPARED, "epsilon": "1", "parties": 1}, digits=4,
        ),
        *(Table(f"{data}: k-way marginals", ("epsilon", "method", "parties"), "l2", columns="k",
                where={"kind": "k-way", "data": data}, digits=4) for data in (BINARY, BASKETS)),
        *DISTANCES,
        *(by_epsilon(f"choices, {way}-way marginals", GENERAL, "distance", (*COMPARED[:2], *OPTIONS), f"mean{way}")
          for way in (2, 3)),
        Table(f"{GENERAL}: classifiers", ("task", "method", "parties"), "error", columns="epsilon",
              where={"kind": ("tasks", "classifier")}, digits=4),
        *(by_epsilon(f"PrivHD's grid, {k}-way marginals", data, "grid", (*COMPARED, ONE_WAY), f"mean{k}")
          for data in (BINARY, GENERAL) for k in GRID_SIZES),
        Text("clusters: known graphs", goldens),
        Text("clusters: random graphs", merging),
        Table(
            "seconds and memory", ("method", "epsilon"),
            {
                "fit, s": "fit:2", "sample, s": "sample:2", "both, s": "both:2", "processor, s": "cpu:1",
                "peak, GB": "peak:2",
            },
            where={"kind": "cost"},
        ),
    ),
    tables=(BINARY, GENERAL, WIDE),
    pictures=(Picture("distances", DISTANCES),),
    code=(*CODE, "common/release/evaluation/classifier_utility.py", *(f"benchmarks/methods/{name}.py" for name in (
        "classification_tasks", "private_classifiers", "priview", "market_baskets"))),
    alone=lambda point: point["kind"] in ("cost", "merging"),
)  # fmt: skip
