"""Accuracy at equal guarantee: this project's algorithms over numbers of parties, beside other programs.

Parties stand in one process, where what is revealed has the law that it has over the network. ``whole`` is a model of
all rows, ``held out`` one of 80 % of them, with classifiers trained on its sample. Seeds decide the split of the rows,
which rows are held out, and the sampling; noise has none. Points with a ``version`` are other programs': ``--only
version=`` leaves them out. They are installed into the folder of the results; one may take hours.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import (
    CODE,
    NONE,
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
    over_one_party,
    spread,
    standard_errors_apart,
    values_of,
)
from benchmarks.methods.classification_tasks import TASKS
from benchmarks.methods.learning import errors_of, learn, session_over
from benchmarks.methods.peer_programs import python_of, synthesize
from benchmarks.methods.peers import AUTHORS, DELTA, PEERS, PURE, REPLACED, rho_of
from benchmarks.methods.table_distances import distances
from benchmarks.methods.wire_bytes import wire_bytes
from privity.common.data.coded_table import CodedTable
from privity.common.privacy.loss_conversion import converted, rho_within
from privity.common.release.evaluation.classifier_utility import hold_out, majority_error, misclassification
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference.fit_choice import INFERENCES, PGM, TABLES

DATASETS = ("adult", "nltcs", "diabetes130", "cps_taxunits")
GUARANTEES = {DELTA: "(eps, 1e-9)", PURE: "pure eps"}
COMPARED = ("mst", "aim", "dp-subn", "privbayes", "one-way")
"""Run over every epsilon, guarantee and K. The last one has no structure."""

ALL_PAIRS = "all-pairs"
"""Run where it can be: over the 16 binary attributes of nltcs."""

LARGE_MODEL = "aim, 8 MiB model"
REAL_ROWS = "real rows"
SELECTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{name}, {text}": (name, {"selection": value})
    for name in ("mst", "aim")
    for value, text in (("parties", "drawn at the parties"), ("joint", "joint selection"))
}
FITS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{name}, fit {fit}": (name, {"inference": fit})
    for name, algorithm in ALGORITHMS.items()
    if algorithm.infers
    for fit in INFERENCES
}
"""Every algorithm that may end in one fit or the other, with both."""

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in (*COMPARED, ALL_PAIRS)}, LARGE_MODEL: ("aim", {"cells": 1 << 20}),
    **SELECTIONS, **FITS,
}  # fmt: skip
UNLIKE = (*SELECTIONS, "dp-subn", "privbayes", "one-way")
"""What is run over parties that are unlike each other."""

EPSILONS, PARTIES = ("0.1", "0.2", "0.4", "0.8", "1", "1.6"), (1, 2, 3, 5, 10, 25)
CURVE = "1"
"""Epsilon of the tables over parties."""

SKEWED = {
    "adult": ("by:age", "dirichlet:income:0.1", "dirichlet:income:1"),
    "nltcs": ("by:telephoning", "dirichlet:getting about outside:0.1", "dirichlet:getting about outside:1"),
}
TARGETS = (
    *((DELTA, 60, *target) for target in (("0.1", 0.070), ("0.4", 0.042), ("1", 0.034), ("1.6", 0.030))),
    *((DELTA, None, *target) for target in (("0.1", 0.066), ("0.4", 0.037), ("1", 0.026), ("1.6", 0.0185))),
    *((PURE, None, *target) for target in (("0.1", 0.10), ("0.4", 0.055), ("1", 0.040), ("1.6", 0.035))),
)
"""Mean 2-way distance on adult, one party: guarantee, seconds at most, epsilon, bound."""

PARTY_BOUNDS = {2: 0.40, 3: 0.20, 5: 0.10, 10: 0.10, 25: 0.10}
"""K -> by which part the mean 2-way distance may exceed that of one party."""

CLOSE = 2.0
"""Standard errors within which two means are told apart by chance."""


def measure(point: Point, seed: int, data: Data) -> Values | list[Values]:
    table, generator = data.table(point["data"]), np.random.default_rng(seed)
    make = partial(of_peer, data=data) if point["method"] in PEERS else learned
    if point["kind"] == "whole":
        synthetic, values = make(table, point, generator)
        return {**values, **distances(table, synthetic)}
    train, test = hold_out(table, generator)
    tasks = TASKS[point["data"]]
    if point["method"] == REAL_ROWS:
        errors = (
            {"error": misclassification(train, test, task), "majority": majority_error(test, task)} for task in tasks
        )
        return [{"task": task.name, **values} for task, values in zip(tasks, errors, strict=True)]
    synthetic, _ = make(train, point, generator)
    return errors_of(synthetic, test, tasks)


def learned(table: CodedTable, point: Point, generator: np.random.Generator) -> tuple[CodedTable, Values]:
    """A synthetic table of as many rows, learned over the point's parties; its seconds and bytes."""
    method = METHODS[point["method"]]
    session = session_over(table, point, *method, generator)
    started = time.perf_counter()
    model = learn(session, *method)
    seconds = time.perf_counter() - started
    return model.sample(table.rows, generator), {"seconds": round(seconds, 2), **wire_bytes(session)}


def of_peer(table: CodedTable, point: Point, _generator: np.random.Generator, data: Data) -> tuple[CodedTable, Values]:
    peer = PEERS[point["method"]]
    python = python_of(peer.environment, data.scratch / "environments")
    synthetic, said = synthesize(peer.program, python, table, job_of(point))
    more = {"model2": said["model2"]} if "model2" in said else {}
    return synthetic, {"seconds": round(said["fit"], 2), **more}


def job_of(point: Point) -> dict[str, Any]:
    """What ``peer_run.py`` is told, the table excepted."""
    peer = PEERS[point["method"]]
    job = {"epsilon": point["epsilon"], "replaced": point["counted"] == REPLACED}
    rho = rho_of(peer, point["epsilon"], point["counted"])
    return (
        job | ({} if rho is None else {"rho": rho}) | ({} if peer.megabytes is None else {"megabytes": peer.megabytes})
    )


def as_their_count(epsilon: str) -> str:
    """The epsilon of a replaced row at which tables have the noise that costs ``epsilon`` for one row more or less.

    Twice the rho, converted, and rounded down to four places.
    """
    delta = Fraction(DELTA)
    return f"{int(converted(2 * rho_within(Fraction(epsilon), delta), delta) * 10**4) / 10**4:g}"


def points(quick: bool) -> list[Point]:
    plain = {"split": "random", "counted": REPLACED}
    if quick:
        found = grid(
            kind="whole", data="nltcs", method=("mst", "one-way"), epsilon="1", delta=DELTA, parties=(1, 3), **plain
        )
        found += grid(kind="whole", data="nltcs", method="mst, joint selection", epsilon="1", delta=DELTA, parties=3,
                      split="by:telephoning", counted=REPLACED)  # fmt: skip
        return found + grid(
            kind="held out", data="nltcs", method="one-way", epsilon="1", delta=DELTA, parties=1, **plain
        )
    both = {"delta": (DELTA, PURE), "seeds": 5, **plain}
    found = grid(kind="whole", data=DATASETS, method=COMPARED, epsilon=EPSILONS, parties=PARTIES, **both)
    together = {"kind": "whole", "data": "nltcs", "method": ALL_PAIRS, "parties": (1, 3, 10), "seeds": 3}
    found += grid(**together, epsilon=("0.1", "0.4", "1"), delta=(DELTA, PURE), **plain)
    found += grid(**together, epsilon="1", delta=DELTA, split="by:telephoning", counted=REPLACED)
    fitted = {"method": tuple(FITS), "epsilon": ("0.1", "0.4", "1.6"), "parties": (1, 3)}
    found += grid(kind="whole", data=DATASETS, **fitted, **both)
    whole = {"kind": "whole", "delta": DELTA, "seeds": 5}
    targets = ("0.1", "0.4", "1", "1.6")
    found += grid(**whole, data="adult", method=LARGE_MODEL, epsilon=targets, parties=1, **plain)
    found += grid(**whole, data="adult", method="aim", epsilon=tuple(map(as_their_count, targets)), parties=1, **plain)
    for data, splits in SKEWED.items():
        found += grid(**whole, data=data, method=UNLIKE, epsilon=("0.2", "1"), parties=(3, 10),
                      split=("random", *splits), counted=REPLACED)  # fmt: skip
        held = {"kind": "held out", "data": data, "seeds": 5, **plain}
        found += grid(**held, method=COMPARED, epsilon=EPSILONS, delta=DELTA, parties=(1, 3))
        found += grid(**held, method=REAL_ROWS, epsilon="-", delta="-", parties="-")
    return found + [point for data in DATASETS for name in PEERS for point in points_of_peer(data, name)]


def points_of_peer(data: str, name: str) -> list[Point]:
    peer = PEERS[name]
    of = {"data": data, "method": name, "delta": peer.delta, "parties": 1, "split": "random", "version": peer.version}
    found = []
    for counted in peer.counted:
        epsilons = ("0.1", "0.4", "1", "1.6") if counted == peer.counted[0] else ("1",)
        found += grid(kind="whole", epsilon=epsilons, counted=counted, **of)
    if data in SKEWED and REPLACED in peer.counted:
        found += grid(kind="held out", epsilon="1", counted=REPLACED, **of)
    return found


@dataclass(frozen=True)
class Best:
    """The method of least mean 2-way distance, and the values of its runs."""

    method: str
    values: Sequence[float]
    seconds: float

    @property
    def mean(self) -> float:
        return statistics.mean(self.values)

    def __str__(self) -> str:
        return f"{self.method}, {spread(self.values, 4)}"


def best(records: Sequence[Record], methods: Sequence[str], most_seconds: float | None = None) -> Best | None:
    """Of a peer the distance of its model before any row is sampled, where that is known."""
    found = []
    for method in methods:
        here = chosen(records, {"method": method})
        values = values_of(here, "model2") or values_of(here, "mean2")
        if values:
            seconds = statistics.mean(values_of(here, "seconds"))
            if most_seconds is None or seconds <= most_seconds:
                found.append(Best(method, values, seconds))
    return min(found, key=lambda one: one.mean, default=None)


def one_party(records: Sequence[Record], **where: Any) -> list[Record]:
    return chosen(records, {"kind": "whole", "parties": 1, "split": "random", "counted": REPLACED, **where})


def winners(records: Sequence[Record]) -> list[str]:
    """Best of ours beside the best peer at the same guarantee, one party; by table, guarantee and epsilon."""
    rows = []
    for point in grid(data=DATASETS, delta=(DELTA, PURE), epsilon=EPSILONS):
        here = one_party(records, **point)
        mine, theirs = best(here, (*COMPARED, ALL_PAIRS)), best(here, tuple(PEERS))
        if mine or theirs:
            flat = spread(values_of(here, "mean2", method="one-way"), 4)
            cells = [str(one or "not measured") for one in (mine, theirs)]
            rows.append(
                [point["data"], GUARANTEES[point["delta"]], point["epsilon"], *cells, ahead(mine, theirs), flat]
            )
    head = ["table", "guarantee", "eps", "best of ours", "best peer, replaced row", "ahead", "1-way tables alone"]
    return markdown(head, rows) if rows else []


def ahead(mine: Best | None, theirs: Best | None) -> str:
    """Who has the lesser mean, and whether chance may tell otherwise."""
    if mine is None or theirs is None:
        return NONE
    who, part = "ours", 1 - mine.mean / theirs.mean
    if part < 0:
        who, part = "**the peer**", 1 - theirs.mean / mine.mean
    apart = standard_errors_apart(mine.values, theirs.values)
    unsure = ", within chance" if apart is not None and abs(apart) < CLOSE else ""
    return f"{who}, by {100 * part:.0f} %{unsure}"


def targets(records: Sequence[Record]) -> list[str]:
    """Those of one party on adult, beside the best of ours."""
    rows = []
    for delta, seconds, epsilon, bound in TARGETS:
        methods = COMPARED if seconds or delta == PURE else (*COMPARED, LARGE_MODEL)
        found = best(one_party(records, data="adult", delta=delta, epsilon=epsilon), methods, seconds)
        allowed = f"by default, within {seconds} s" if seconds else "" if delta == PURE else "with more time"
        row = [GUARANTEES[delta], allowed, epsilon, f"{bound:g}"]
        if found:
            rows.append([*row, str(found), f"{found.seconds:.0f}", "yes" if found.mean <= bound else "**no**"])
    head = ["guarantee", "time", "eps", "at most", "best of ours", "seconds", "met"]
    return markdown(head, rows) if rows else []


def fits(records: Sequence[Record]) -> list[str]:
    """Both fits of each algorithm: mean 2-way distance and seconds, first of the light fit, then of a model of all."""
    rows = []
    for point in grid(data=DATASETS, delta=(DELTA, PURE), name=tuple(dict.fromkeys(n for n, _ in FITS.values())),
                      parties=(1, 3)):  # fmt: skip
        cells, changes = [], []
        for epsilon in ("0.1", "0.4", "1.6"):
            where = {key: point[key] for key in ("data", "delta", "parties")}
            both = [
                chosen(records, {**where, "method": f"{point['name']}, fit {fit}", "epsilon": epsilon})
                for fit in (TABLES, PGM)
            ]
            if not all(both):
                cells.append(NONE)
                continue
            (light, whole), (sooner, later) = (
                [statistics.mean(values_of(some, key)) for some in both] for key in ("mean2", "seconds")
            )
            changes.append(math.log(whole / light))
            cells.append(f"{light:.4f} -> {whole:.4f} ({whole / light - 1:+.0%}), {sooner:.1f} -> {later:.1f} s")
        if changes:
            change = f"{math.exp(statistics.fmean(changes)) - 1:+.0%}"
            rows.append(
                [point["data"], GUARANTEES[point["delta"]], point["name"], str(point["parties"]), *cells, change]
            )
    head = ["table", "guarantee", "algorithm", "K", "eps 0.1", "eps 0.4", "eps 1.6", "mean change"]
    return markdown(head, rows) if rows else []


def at_their_count(records: Sequence[Record]) -> list[str]:
    """What the lighter count of others buys: a run of ours whose tables have as much noise as one at their epsilon."""
    rows = []
    for _, _, epsilon, bound in TARGETS[:4]:
        ours = as_their_count(epsilon)
        values = values_of(one_party(records, data="adult", delta=DELTA, epsilon=ours, method="aim"), "mean2")
        if values:
            rows.append([epsilon, ours, spread(values, 4), f"{bound:g}"])
    return markdown(["their eps", "eps of a replaced row", "aim", "target"], rows) if rows else []


MEASURES = {"mean2": "mean 2-way distance", "mean3": "mean 3-way distance", "largest2": "largest 2-way distance"}
OURS_AND_PEERS = (*COMPARED, LARGE_MODEL, *PEERS)
ONE = {"kind": "whole", "parties": 1, "split": "random", "counted": REPLACED, "epsilon": EPSILONS,
       "method": OURS_AND_PEERS}  # fmt: skip


def over_epsilons(data: str, delta: str, show: str, name: str, digits: int = 3) -> Table:
    where = {**ONE, "data": data, "delta": delta}
    return Table(
        f"{data}: {name}, {GUARANTEES[delta]}", ("method",), show, columns="epsilon", where=where, digits=digits
    )


def over_parties(data: str, delta: str, measure_: str) -> Table:
    where = {"kind": "whole", "data": data, "delta": delta, "epsilon": CURVE, "split": "random", "method": COMPARED}
    name = f"{data}: {MEASURES[measure_]} over parties, eps {CURVE}, {GUARANTEES[delta]}"
    return Table(name, ("method",), measure_, columns="parties", where=where)


def tables_of(data: str) -> list[Table]:
    found, where = [], dict[str, Any]()
    for delta in (DELTA, PURE):
        found += [over_epsilons(data, delta, measure_, name) for measure_, name in MEASURES.items()]
        found.append(over_epsilons(data, delta, "seconds", "seconds of learning", 1))
        found += [over_parties(data, delta, measure_) for measure_ in MEASURES]
    found.append(over_epsilons(data, DELTA, "model2", "mean 2-way distance of models, before sampling"))
    where = {"kind": "whole", "data": data, "counted": AUTHORS}
    found.append(Table(f"{data}: {AUTHORS}", ("method",), "mean2", columns="epsilon", where=where))
    where = {"kind": "whole", "data": data, "delta": DELTA, "split": "random", "method": COMPARED}
    name = f"{data}: mean 2-way distance by parties and epsilon"
    found.append(Table(name, ("method", "epsilon"), "mean2", columns="parties", where=where))
    shown = {"a party sends": "sent_paillier", "the curator relays": "relayed_paillier", "under masks": "sent_masks"}
    where = {**where, "epsilon": CURVE, "parties": PARTIES[1:]}
    found.append(Table(f"{data}: bytes over the wire", ("method", "parties"), shown, where=where, digits=0))
    if data in SKEWED:
        where = {"kind": "whole", "data": data, "method": UNLIKE, "delta": DELTA, "parties": (3, 10),
                 "epsilon": ("0.2", "1")}  # fmt: skip
        for measure_ in ("mean2", "largest2"):
            rows = ("parties", "epsilon", "method")
            found.append(Table(f"{data}: {MEASURES[measure_]} by split", rows, measure_, columns="split", where=where))
        where = {"kind": "held out", "data": data}
        found.append(
            Table(f"{data}: classification", ("task", "parties", "method"), "error", columns="epsilon", where=where)
        )
    return found


EXPERIMENT = Experiment(
    title="Accuracy at equal guarantee: over numbers of parties, and beside other programs",
    points=points,
    measure=measure,
    shows=(
        Text("winners", winners),
        Text("targets", targets),
        Text("their count", at_their_count),
        over_one_party(
            "party targets",
            {"kind": "whole", "data": "adult", "delta": DELTA, "epsilon": CURVE, "split": "random", "method": COMPARED},
            "method", PARTY_BOUNDS,
        ),
        *(table for data in DATASETS for table in tables_of(data)),
        Text("fits", fits),
    ),
    tables=DATASETS,
    pictures=(
        Picture("epsilons", [over_epsilons("adult", delta, "mean2", "mean 2-way distance") for delta in GUARANTEES]),
        Picture("parties", [over_parties("adult", delta, "mean2") for delta in GUARANTEES], x_label="parties K"),
    ),
    code=(*CODE, "common/release/evaluation/classifier_utility.py", *(f"benchmarks/methods/{name}.py" for name in (
        "classification_tasks", "wire_bytes", "table_distances"))),
)  # fmt: skip
