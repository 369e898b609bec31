"""Which results of the sweep over PrivBayes stand side by side."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.series import DISTANCE, ERROR, Series
from benchmarks.single_party.baselines import BASELINES
from benchmarks.single_party.points import (
    BETAS,
    BY_BETA,
    BY_THETA,
    DEFAULT,
    ENCODINGS,
    ERM,
    ERM_SINGLE,
    MAJORITY,
    ONE_WAY,
    REAL_ROWS,
    SCORES,
    SOURCES,
    THETAS,
    WAYS,
    Plan,
    Point,
)
from benchmarks.utility import TASKS


def _over_epsilons(
    title: str, y_label: str, plan: Plan, kind: str, data: str, methods: Mapping[str, str], measure: str
) -> Series[Point]:
    """``methods``: name in the table -> method."""
    rows = {name: [(Point(kind, data, m, e), measure) for e in plan.epsilons] for name, m in methods.items()}
    return Series(f"{data}: {title}", "epsilon", y_label, plan.epsilons, rows)


def _with_real_rows(series: Series[Point], data: str, task: str) -> Series[Point]:
    real = {REAL_ROWS: (Point("classifier", data, REAL_ROWS, "-"), task)}
    return Series(series.title, series.x_label, series.y_label, series.x, series.rows, real)


def _task(data: str, place: int = 0) -> str:
    return TASKS[data][place].name


def scores(data: str, plan: Plan) -> list[Series[Point]]:
    """Figure 4."""
    methods = {name: f"score {name}" for name in SCORES}
    return [
        _over_epsilons("information of the network", "bits", plan, "whole", data, methods, "information"),
        _over_epsilons("mean 3-way distance, beta .3", DISTANCE, plan, "whole", data, methods, "mean3"),
    ]


def encodings(data: str, plan: Plan) -> list[Series[Point]]:
    """Figures 5 and 7: one model of the training rows for both."""
    methods = {"hierarchical-R": DEFAULT, **{name: name for name in ENCODINGS}}
    found = [
        _over_epsilons(f"{way}-way marginals", DISTANCE, plan, "held out", data, methods, f"mean{way}")
        for way in WAYS[False]
    ]
    for task in TASKS[data]:
        errors = _over_epsilons(f"SVM, {task.name}", ERROR, plan, "held out", data, methods, task.name)
        found.append(_with_real_rows(errors, data, task.name))
    return found


def parameters(data: str, plan: Plan, *, binary: bool) -> list[Series[Point]]:
    """Figures 9 and 10."""
    found = []
    way = WAYS[binary][-1]
    for name, values, methods in (("beta", BETAS, BY_BETA), ("theta", THETAS, BY_THETA)):
        for measure, title, label in (
            (f"mean{way}", f"{way}-way marginals", DISTANCE),
            (_task(data), f"SVM, {_task(data)}", ERROR),
        ):
            rows = {
                f"eps {e}": [(Point("held out", data, m, e), measure) for m in methods] for e in plan.parameter_epsilons
            }
            found.append(Series(f"{data}: {title}", name, label, values, rows))
    return found


def sources(data: str, plan: Plan, *, binary: bool) -> list[Series[Point]]:
    """Figure 11."""
    methods = {DEFAULT: DEFAULT, **{name: name for name in SOURCES}}
    found = [
        _over_epsilons(f"{way}-way marginals", DISTANCE, plan, "held out", data, methods, f"mean{way}")
        for way in WAYS[binary]
    ]
    for task in TASKS[data]:
        errors = _over_epsilons(f"SVM, {task.name}", ERROR, plan, "held out", data, methods, task.name)
        found.append(_with_real_rows(errors, data, task.name))
    return found


def marginals(data: str, plan: Plan, *, binary: bool) -> list[Series[Point]]:
    """Figures 12 and 14."""
    found = []
    for way in WAYS[binary]:
        rows = {m: [(Point("whole", data, m, e), f"mean{way}") for e in plan.epsilons] for m in (DEFAULT, ONE_WAY)}
        rows |= {b: [(Point("marginals", data, b, e, way), "mean") for e in plan.epsilons] for b in BASELINES}
        found.append(Series(f"{data}: {way}-way marginals", "epsilon", DISTANCE, plan.epsilons, rows))
    return found


def classifiers(data: str, plan: Plan) -> list[Series[Point]]:
    """Figures 16 and 18."""
    found = []
    for task in TASKS[data]:
        rows = {DEFAULT: [(Point("held out", data, DEFAULT, e), task.name) for e in plan.epsilons]}
        for method in (ERM, ERM_SINGLE, MAJORITY):
            rows[method] = [(Point("classifier", data, method, e), task.name) for e in plan.epsilons]
        plain = Series(f"{data}: SVM, {task.name}", "epsilon", ERROR, plan.epsilons, rows)
        found.append(_with_real_rows(plain, data, task.name))
    return found


def all_series(data: str, plan: Plan, *, binary: bool) -> dict[str, list[Series[Point]]]:
    """Key of a section -> its series; encodings need attributes that are not binary."""
    found = {"scores": scores(data, plan)}
    if not binary:
        found["encodings"] = encodings(data, plan)
    return found | {
        "parameters": parameters(data, plan, binary=binary),
        "sources": sources(data, plan, binary=binary),
        "marginals": marginals(data, plan, binary=binary),
        "classifiers": classifiers(data, plan),
    }
