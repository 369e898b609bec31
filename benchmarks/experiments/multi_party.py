"""DP-SUBN over epsilons, numbers of parties and ways to split the rows, beside the other algorithms.

Parties stand in one process, where what is revealed has the law that it has over the network; ``real`` points are runs
by real processes. ``svm`` trains a classifier on the synthetic table of 80 % of the rows; ``views`` is the release of
views alone. Seeds decide the split of the rows and the sampling; noise has none.
"""

from __future__ import annotations

import asyncio
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Picture, Point, Table, Values, bounds, duels, grid, over_one_party
from benchmarks.methods.classification_tasks import DEGREES
from benchmarks.methods.learning import party_bytes, simulated, synthesize
from benchmarks.methods.table_distances import distances, variation
from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable, Column
from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import parse_schema
from privity.common.privacy.run_budget import PureBudget
from privity.common.release.evaluation.classifier_utility import Task, hold_out, majority_error, misclassification
from privity.common.synthesis.learning.covering_design import optimal_design

COMPARED: dict[str, tuple[str, dict[str, Any]]] = {
    "dp-subn": ("dp-subn", {}),
    "independent": ("independent", {}),
    "dp-ccbn": ("dp-ccbn", {}),
    "privbayes": ("privbayes", {}),
    "plain tree": ("dp-subn", {"degree": 1, "edges": "all", "frontier_theta": "1000"}),
    "one-way": ("one-way", {}),
}
"""Name in the tables -> algorithm of the registry and settings; run over every epsilon and K."""

BITS = {"attributes": "binary"}
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "frontier useful": ("dp-subn", {"frontier": "useful"}),
    "frontier always, final": ("dp-subn", {"frontier": "always", "schedule": "final"}),
    "frontier always, back-loaded": ("dp-subn", {"frontier": "always", "schedule": "back-loaded"}),
    "frontier always, uniform": ("dp-subn", {"frontier": "always", "schedule": "uniform"}),
    "frontier always, views covering": ("dp-subn", {"frontier": "always", "views": "covering"}),
    "frontier always, views pairs": ("dp-subn", {"frontier": "always", "views": "pairs"}),
    "attributes native": ("dp-subn", {"attributes": "native"}),
    "quotas rows": ("dp-subn", {"quotas": "rows"}),
    "quotas balanced": ("dp-subn", {"quotas": "balanced"}),
}
"""Choices within DP-SUBN, run at K = 3 over every epsilon and at a few more K."""

IN_BITS: dict[str, tuple[str, dict[str, Any]]] = {
    "attributes binary": ("dp-subn", BITS),
    "bits, frontier always, views covering": ("dp-subn", {**BITS, "frontier": "always", "views": "covering"}),
    "bits, frontier always, views pairs": ("dp-subn", {**BITS, "frontier": "always", "views": "pairs"}),
}
"""Minutes for a run on adult, so one seed and few epsilons."""

VARIANTS = {**COMPARED, **OPTIONS, **IN_BITS}
VIEWS = {"covering design": False, "all pairs": False, "covering design, bits": True, "all pairs, bits": True}
"""Name -> whether attributes are written as bits first."""

EPSILONS, PARTIES = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6"), (1, 2, 3, 5, 10, 25)
MIDDLE, CURVE = 3, "1"
"""Parties where only epsilon varies, and epsilon of the curve over parties."""

REAL_ROWS = "real rows"
SORT_BY = {"adult": "income", "nltcs": "getting about outside"}
LARGE_SHARE = "sizes:.8,.1,.1"
TASKS: dict[str, tuple[Task, ...]] = {
    "adult": (
        Task("post-secondary degree", "education", DEGREES, ("education-num",)),
        Task("income > 50K", "income", (">50K",)),
    ),
    "nltcs": (
        Task("getting about outside", "getting about outside", (1,)),
        Task("managing money", "managing money", (1,)),
    ),
}
"""The paper has the two of adult and no other data set."""

REAL = (
    ("dp-subn", "0.2", 3), ("dp-subn", "0.8", 3), ("dp-subn", "0.8", 2), ("dp-subn", "0.8", 5), ("dp-subn", "0.8", 10),
    ("frontier always, final", "0.8", 3), ("frontier always, final", "0.8", 10), ("frontier always, uniform", "0.8", 3),
    ("dp-ccbn", "0.8", 3), ("independent", "0.8", 3), ("one-way", "0.8", 3),
)  # fmt: skip
"""(variant, epsilon, K) of the runs by real processes."""


def measure(point: Point, seed: int, data: Data) -> Values | list[Values]:
    table, generator = data.table(point["data"]), np.random.default_rng(seed)
    match point["kind"]:
        case "real":
            return real(point, seed, data)
        case "views":
            return views(table, point)
        case "svm":
            return classified(table, point, generator)
    synthetic, seconds = synthesize(table, point, *VARIANTS[point["variant"]], generator)
    return {**distances(table, synthetic), "seconds": seconds}


def classified(table: CodedTable, point: Point, generator: np.random.Generator) -> list[Values]:
    """Misclassification of held-out real rows by task; for the real rows also that of the most frequent answer."""
    train, test = hold_out(table, generator)
    if point["variant"] != REAL_ROWS:
        train, _ = synthesize(train, point, *VARIANTS[point["variant"]], generator)
    return [
        {"task": task.name, "error": misclassification(train, test, task), "majority": majority_error(test, task)}
        for task in TASKS[point["data"]]
    ]


def views(table: CodedTable, point: Point) -> Values:
    """Mean distance between the noisy pair tables inside released views and the true ones; K = 1, no model."""
    if VIEWS[point["variant"]]:
        table = in_bits(table)
    pairs = list(combinations(range(len(table.schema.attributes)), 2))
    covering = point["variant"].startswith("covering")
    design = optimal_design(table.schema.domain)
    released = list(design.views) if covering else pairs
    budget = PureBudget(Fraction(point["epsilon"]))
    measured = asyncio.run(InProcessBackend([table], budget).session().measure("views", released, budget.whole))
    noisy = {pair: counts for view in measured for pair, counts in pair_counts(view)}
    found = [pair_distance(table, pair, noisy[pair]) for pair in pairs]
    return {"mean2": float(np.mean(found)), "tables": f"{len(released)} ({design.kind if covering else 'pairs'})"}


def pair_counts(view: NoisyTable) -> list[tuple[tuple[int, int], np.ndarray]]:
    """Every pair of the view's attributes with its table, added up from the view's cells."""
    places = range(len(view.attributes))
    return [
        ((view.attributes[a], view.attributes[b]), view.counts.sum(axis=tuple(p for p in places if p not in (a, b))))
        for a, b in combinations(places, 2)
    ]


def pair_distance(table: CodedTable, pair: tuple[int, int], noisy: np.ndarray) -> float:
    """Total variation distance of the pair's true table, once negative cells are 0 and the rest adds up to 1."""
    first, second = (table.columns[place].astype(np.int64) for place in pair)
    true = np.bincount(first * noisy.shape[1] + second, minlength=noisy.size) / table.rows
    kept = np.maximum(noisy.ravel(), 0).astype(float)
    total = kept.sum()
    return variation(true, kept / total if total else np.full(kept.size, 1 / kept.size))


def in_bits(table: CodedTable) -> CodedTable:
    """The table with every attribute written as the bits of its code, highest first."""
    fields: list[dict[str, Any]] = []
    columns: list[Column] = []
    for attribute, column in zip(table.schema.attributes, table.columns, strict=True):
        for bit in reversed(range(max(1, (attribute.size - 1).bit_length()))):
            fields.append({"name": f"{attribute.name} bit {bit}", "type": "integer", "categories": [0, 1]})
            columns.append(((column >> bit) & 1).astype(np.uint8))
    return CodedTable(parse_schema({"name": table.schema.name, "fields": fields}, "bits"), tuple(columns))


def real(point: Point, seed: int, data: Data) -> Values:
    """A run by ``privity simulate``: distances, what run.json says of bytes and rounds, and seconds."""
    synthetic, run, seconds = simulated(data, point["data"], point, *VARIANTS[point["variant"]], seed)
    return {**distances(data.table(point["data"]), synthetic), "seconds": seconds, **traffic(run)}


def traffic(run: dict[str, Any]) -> Values:
    """Kilobytes of the party that moved most, beside those of the paper's protocol: one ciphertext a cell, unpacked."""
    total = party_bytes(run)
    unpacked = sum(run["unpacked_bytes"].values())
    summed = [phase for phase, cells in run["unpacked_bytes"].items() if cells]
    in_sums = max(sum(run["bytes"][phase].get(party, 0) for phase in summed) for party in total)
    found = {"kB": max(total.values()) / 1000, "all kB": sum(total.values()) / 1000, "unpacked kB": unpacked / 1000,
             "rounds": sum(run["rounds"].values())}  # fmt: skip
    if unpacked:
        found |= {"fewer": unpacked / max(total.values()), "fewer in sums": unpacked / in_sums}
    return found


def points(quick: bool) -> list[Point]:
    plain: dict[str, Any] = {"split": "random"}
    if quick:
        found = grid(
            kind="distance", data="nltcs", variant=("dp-subn", "one-way"), epsilon=CURVE, parties=(1, 3), **plain
        )
        found += grid(kind="svm", data="nltcs", variant="dp-ccbn", epsilon="0.2", parties=2, **plain)
        found += grid(kind="views", data="nltcs", variant="covering design", epsilon="0.2")
        return found + grid(
            kind="real", data="nltcs", variant="one-way", epsilon="0.8", parties=2, key_bits=2048, **plain
        )
    found = []
    for data in ("adult", "nltcs"):
        of: dict[str, Any] = {"kind": "distance", "data": data, **plain}
        found += grid(**of, variant=tuple(COMPARED), epsilon=EPSILONS, parties=PARTIES, seeds=3)
        found += grid(**of, variant=tuple(COMPARED), epsilon=CURVE, parties=PARTIES, seeds=5)
        found += grid(**of, variant=tuple(COMPARED), epsilon="5", parties=MIDDLE, seeds=3)
        found += grid(**of, variant=tuple(OPTIONS), epsilon=EPSILONS, parties=MIDDLE, seeds=3)
        found += grid(**of, variant=tuple(OPTIONS), epsilon="0.8", parties=(2, 10), seeds=3)
        skewed = {"split": (f"by:{SORT_BY[data]}", LARGE_SHARE)}
        uneven = (*COMPARED, "quotas rows", "quotas balanced")
        found += grid(**{**of, **skewed}, variant=uneven, epsilon=EPSILONS, parties=MIDDLE, seeds=3)
        of = {"kind": "svm", "data": data, **plain}
        found += grid(**of, variant=tuple(COMPARED), epsilon=EPSILONS, parties=(2, MIDDLE), seeds=3)
        found += grid(**of, variant=tuple(COMPARED), epsilon="0.2", parties=PARTIES, seeds=3)
        found += grid(**of, variant=REAL_ROWS, epsilon="-", parties="-", seeds=3)
        shown = tuple(name for name, bits in VIEWS.items() if data == "adult" or not bits)
        found += grid(kind="views", data=data, variant=shown, epsilon=EPSILONS, seeds=3)
        for variant, epsilon, parties in REAL:
            seeds = 3 if parties <= 5 else 1
            of = {"kind": "real", "data": data, "key_bits": 3072, **plain}
            found.append({**of, "variant": variant, "epsilon": epsilon, "parties": parties, "seeds": seeds})
    of = {"kind": "distance", "data": "adult", **plain}
    return found + grid(**of, variant=tuple(IN_BITS), epsilon=("0.2", "0.8"), parties=MIDDLE)


WHOLE: dict[str, Any] = {"kind": "distance", "split": "random", "variant": tuple(COMPARED)}
TARGETS = (
    ("mean2", "0.2", 0.088), ("mean2", "1", 0.062), ("mean2", "5", 0.042), ("largest2", "0.4", 0.30),
    ("largest2", "0.8", 0.30), ("largest2", "1", 0.22), ("largest2", "1.6", 0.22), ("largest2", "5", 0.22),
)  # fmt: skip
"""On adult, three parties: the measure, epsilon, and how much it may be at most."""

PARTY_BOUNDS = {2: 0.40, 3: 0.20, 5: 0.10, 10: 0.10, 25: 0.10}
"""K -> by which part the mean 2-way distance may exceed that of one party."""

MEASURES = {"mean2": "mean 2-way distance", "mean3": "mean 3-way distance", "largest2": "largest 2-way distance"}


def by_epsilon(data: str, measure_: str) -> Table:
    where = {"kind": "distance", "data": data, "split": "random", "parties": MIDDLE, "variant": tuple(COMPARED)}
    name = f"{data}: {MEASURES[measure_]} over epsilon, K = {MIDDLE}"
    return Table(name, ("variant",), measure_, columns="epsilon", where=where)


def by_parties(data: str, measure_: str, epsilon: str) -> Table:
    where = {"kind": "distance", "data": data, "split": "random", "epsilon": epsilon, "variant": tuple(COMPARED)}
    name = f"{data}: {MEASURES[measure_]} over parties, epsilon {epsilon}"
    return Table(name, ("variant",), measure_, columns="parties", where=where)


def whole_grid(data: str) -> Table:
    return Table(
        f"{data}: whole grid", ("variant", "parties"), "mean2", columns="epsilon", where={**WHOLE, "data": data}
    )


def tables_of(data: str) -> list[Table]:
    where: dict[str, Any]
    found = [by_epsilon(data, measure_) for measure_ in MEASURES]
    found += [by_parties(data, measure_, epsilon) for measure_ in MEASURES for epsilon in ("0.2", CURVE)]
    for parties in (2, MIDDLE):
        where = {"kind": "svm", "data": data, "parties": (parties, "-")}
        name = f"{data}: misclassification over epsilon, K = {parties}"
        found.append(Table(name, ("task", "variant"), "error", columns="epsilon", where=where))
    where = {"kind": "svm", "data": data, "epsilon": "0.2"}
    name = f"{data}: misclassification over parties, epsilon 0.2"
    found.append(Table(name, ("task", "variant"), "error", columns="parties", where=where))
    found.append(Table(f"{data}: majority", ("task",), "majority", where={"data": data, "variant": REAL_ROWS}))
    for measure_ in ("mean2", "largest2"):
        of: dict[str, Any] = {"kind": "distance", "data": data, "parties": MIDDLE}
        inside = ("dp-subn", *OPTIONS, *IN_BITS)
        where = {**of, "split": "random", "variant": inside}
        name = f"{data}: {MEASURES[measure_]} of the choices within DP-SUBN"
        found.append(Table(name, ("variant",), measure_, columns="epsilon", where=where))
        name = f"{data}: {MEASURES[measure_]} by split of the rows"
        found.append(Table(name, ("variant", "split"), measure_, columns="epsilon", where=of))
    return [*found, whole_grid(data)]


EXPERIMENT = Experiment(
    title="DP-SUBN over epsilons, numbers of parties and ways to split the rows",
    points=points,
    measure=measure,
    shows=(
        bounds("targets", [({**WHOLE, "data": "adult", "variant": "dp-subn", "epsilon": epsilon, "parties": MIDDLE},
                            measure_, bound) for measure_, epsilon, bound in TARGETS]),
        *(over_one_party(f"{data}: above one party", {**WHOLE, "data": data, "epsilon": CURVE}, "variant", PARTY_BOUNDS)
          for data in ("adult", "nltcs")),
        *(duels(f"{data}: DP-SUBN against the others", whole_grid(data), "variant", "dp-subn")
          for data in ("adult", "nltcs")),
        *(table for data in ("adult", "nltcs") for table in tables_of(data)),
        Table("views", ("data", "variant", "tables"), "mean2", columns="epsilon", where={"kind": "views"}),
        Table(
            "real processes", ("data", "variant", "epsilon", "parties"),
            {
                "mean 2-way distance": "mean2:4", "kB, worst party": "kB:0", "kB, all parties": "all kB:0",
                "kB unpacked, a party": "unpacked kB:0", "times fewer": "fewer:0",
                "times fewer, secure sums alone": "fewer in sums:0", "rounds": "rounds:0", "seconds": "seconds:1",
            },
            where={"kind": "real"},
        ),
        Table("seconds of learning", ("data", "variant"), "seconds", columns="parties",
              where={"kind": "distance", "epsilon": "0.8", "split": "random", "variant": tuple(COMPARED)}, digits=2),
    ),
    tables=("adult", "nltcs"),
    pictures=(
        Picture("parties", [by_parties(data, "mean2", CURVE) for data in ("adult", "nltcs")], x_label="parties K"),
        Picture("epsilons", [by_epsilon(data, "mean2") for data in ("adult", "nltcs")]),
    ),
    code=(*CODE, "common/release/evaluation/classifier_utility.py"),
    alone=lambda point: point["kind"] == "real",
)  # fmt: skip
