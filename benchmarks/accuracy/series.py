"""Which results stand side by side: each a table and a panel."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.accuracy.methods import COMPARED, SLOW, UNLIKE
from benchmarks.accuracy.points import (
    AUTHORS,
    CURVE,
    DELTA,
    GUARANTEES,
    MAJORITY,
    PEERS,
    PURE,
    REAL_ROWS,
    REPLACED,
    SVM_PARTIES,
    Plan,
    Point,
)
from benchmarks.series import DISTANCE, ERROR, Series
from benchmarks.utility import TASKS

MEASURES = {"mean2": "mean 2-way distance", "mean3": "mean 3-way distance", "largest2": "largest 2-way distance"}
Rows = dict[str, list[tuple[Point, str]]]


def single(data: str, plan: Plan, guarantee: str, measure: str, *, models: bool = False) -> Series[Point]:
    """One party: ours, and the peers at the same guarantee; their models before sampling too, if it is asked for."""
    rows = {m: Point("whole", data, m, "", guarantee) for m in (*COMPARED, *SLOW)}
    rows |= {
        peer_name(name): Point("whole", data, name, "", guarantee)
        for name, peer in PEERS.items()
        if peer.delta == guarantee and REPLACED in peer.counted
    }
    title = f"{data}: {MEASURES[measure]}, {GUARANTEES[guarantee]}, K = 1"
    lines = over_epsilons(rows, plan, measure)
    if models and measure == "mean2":
        fitted = {f"{name}, its model": point for name, point in rows.items() if point.of_peer}
        lines |= over_epsilons(fitted, plan, "model2")
    return Series(title, "epsilon", DISTANCE, plan.epsilons, lines)


def own_count(data: str, plan: Plan) -> Series[Point]:
    """Peers under the guarantee that their own accountants mean: not comparable with the other tables."""
    rows = {
        peer_name(name): Point("whole", data, name, "", peer.delta, counted=AUTHORS)
        for name, peer in PEERS.items()
        if AUTHORS in peer.counted
    }
    title = f"{data}: {MEASURES['mean2']}, {AUTHORS}"
    return Series(title, "epsilon", DISTANCE, plan.epsilons, over_epsilons(rows, plan, "mean2"))


def over_parties(data: str, plan: Plan, guarantee: str, epsilon: str, measure: str) -> Series[Point]:
    rows: Rows = {
        m: [(Point("whole", data, m, epsilon, guarantee, k), measure) for k in plan.parties] for m in COMPARED
    }
    title = f"{data}: {MEASURES[measure]}, eps {epsilon}, {GUARANTEES[guarantee]}"
    return Series(title, "parties K", DISTANCE, [str(k) for k in plan.parties], rows)


def over_parties_by_epsilon(data: str, plan: Plan, method: str) -> Series[Point]:
    """One method: a row for each epsilon."""
    rows: Rows = {
        f"eps {e}": [(Point("whole", data, method, e, DELTA, k), "mean2") for k in plan.parties] for e in plan.epsilons
    }
    title = f"{data}: {method}, {MEASURES['mean2']}, {GUARANTEES[DELTA]}"
    return Series(title, "parties K", DISTANCE, [str(k) for k in plan.parties], rows)


def skewed(data: str, plan: Plan, epsilon: str, parties: int, measure: str) -> Series[Point]:
    """A column for each way to split the rows."""
    splits = plan.splits(data)
    rows: Rows = {
        m: [(Point("whole", data, m, epsilon, DELTA, parties, split), measure) for split in splits.values()]
        for m in UNLIKE
    }
    title = f"{data}: {MEASURES[measure]}, eps {epsilon}, {GUARANTEES[DELTA]}, K = {parties}"
    return Series(title, "rows split", DISTANCE, list(splits), rows)


def tasks(data: str, plan: Plan) -> list[Series[Point]]:
    """One for each task and K; peers beside one party."""
    found = []
    for task in TASKS.get(data, ()):
        for parties in (k for k in SVM_PARTIES if k in plan.parties):
            rows = {m: Point("held out", data, m, "", DELTA, parties) for m in COMPARED}
            if parties == 1:
                rows |= {
                    peer_name(name): Point("held out", data, name, "", peer.delta)
                    for name, peer in PEERS.items()
                    if REPLACED in peer.counted and peer.delta == DELTA
                }
            real = Point("held out", data, REAL_ROWS, "-")
            levels = {REAL_ROWS: (real, task.name), MAJORITY: (real, f"{task.name}, {MAJORITY}")}
            lines = over_epsilons(rows, plan, task.name)
            title = f"{data}: {task.name}, {GUARANTEES[DELTA]}, K = {parties}"
            found.append(Series(title, "epsilon", ERROR, plan.epsilons, lines, levels))
    return found


def seconds(data: str, plan: Plan, guarantee: str) -> Series[Point]:
    """Seconds of learning; peers without imports and reading."""
    series = single(data, plan, guarantee, "mean2")
    rows = {name: [(point, "seconds") for point, _ in cells] for name, cells in series.rows.items()}
    title = f"{data}: seconds of learning, {GUARANTEES[guarantee]}, K = 1"
    return Series(title, "epsilon", "seconds", plan.epsilons, rows)


def wire(data: str, plan: Plan, measure: str, epsilon: str = CURVE) -> Series[Point]:
    many = [k for k in plan.parties if k > 1]
    rows: Rows = {m: [(Point("whole", data, m, epsilon, DELTA, k), measure) for k in many] for m in COMPARED}
    return Series(f"{data}: {measure}, eps {epsilon}", "parties K", "bytes", [str(k) for k in many], rows)


def over_epsilons(rows: Mapping[str, Point], plan: Plan, measure: str) -> Rows:
    """Each row's point at every epsilon."""
    return {
        name: [
            (Point(p.kind, p.data, p.method, epsilon, p.delta, p.parties, p.split, p.counted), measure)
            for epsilon in plan.epsilons
        ]
        for name, p in rows.items()
    }


def peer_name(name: str) -> str:
    """So that nobody takes a peer's row for one of ours."""
    return f"*{name}*"


def pictures(data: str, plan: Plan) -> dict[str, list[Series[Point]]]:
    """File name without its ending -> panels."""
    found = {
        f"epsilons_{data}": [
            single(data, plan, guarantee, measure)
            for guarantee in (DELTA, PURE)
            for measure in ("mean2", "mean3")
            if guarantee in plan.guarantees
        ],
        f"parties_{data}": [
            over_parties(data, plan, guarantee, CURVE, measure)
            for guarantee in (DELTA, PURE)
            for measure in ("mean2", "mean3")
            if guarantee in plan.guarantees
        ],
    }
    if data in TASKS:
        found[f"tasks_{data}"] = tasks(data, plan)
    return found
