"""Whether intervals hold the truth: of what was measured, implied and extrapolated, beside naive ones.

A table is the population. A run draws its rows from it, with replacement, and releases them by default settings; the
questions are fixed by rule before anything is released. The truth is that of the coded population.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Point, Record, Table, Text, Values, markdown
from benchmarks.methods.analyst_queries import OfRows, answers, declared_analyses, questions
from benchmarks.methods.learning import learn, session_over
from privity.common.errors import PrivityError
from privity.common.release.queries.answer import Answer
from privity.common.release.queries.estimator import Estimator
from privity.common.release.queries.evidence import Evidence
from privity.common.release.queries.support import EXTRAPOLATED, IMPLIED, MEASURED
from privity.common.runs.automatic_choice import choose
from privity.common.runs.carried_runs import check_carried

DELTA = "1e-9"
RUNS = 20

SETTINGS = (
    ("adult", 1, "1", 5000, "random"),
    ("adult", 3, "1", 50000, "random"),
    ("adult", 1, "3", 50000, "random"),
    ("adult", 3, "0.3", 50000, "random"),
    ("adult", 3, "1", 50000, "by:age"),
    ("nltcs", 3, "1", 5000, "random"),
    ("nltcs", 1, "0.3", 50000, "random"),
    ("nltcs", 1, "3", 5000, "random"),
    ("diabetes130", 1, "1", 50000, "random"),
    ("diabetes130", 3, "3", 5000, "random"),
    ("cps_taxunits", 1, "0.3", 5000, "random"),
    ("cps_taxunits", 3, "1", 50000, "random"),
)
"""Data, parties, epsilon, rows, split: each of two values of each but the data, in as few settings as show them all."""

TUNED = "adult", "nltcs"
"""On these the method was built; the others are only reported."""

DECLARED = "declared"
KINDS = MEASURED, DECLARED, IMPLIED, EXTRAPOLATED
SHORT = 0.8
"""Coverage below which a question of a setting falls short."""


def measure(point: Point, seed: int, data: Data) -> Values:
    population, generator = data.table(point["data"]), np.random.default_rng([seed, int(point["rows"])])
    declared, of_all = declared_analyses(population), OfRows(population)
    asked = [*questions(population), *declared]
    truth = [answers(of_all, question) for question in asked]
    table = population.take(generator.integers(0, population.rows, int(point["rows"])))
    budget = Fraction(point["epsilon"]), Fraction(DELTA)
    settings: dict[str, Any] = {"analyses": [formula for _, (formula,), _ in declared]}
    try:
        chosen = choose(table.schema, [table.rows], 0, *budget, settings)
        check_carried(chosen.algorithm, settings, table.schema, [table.rows], 0, *budget)
    except PrivityError:
        settings, asked = {}, asked[: -len(declared)]
        chosen = choose(table.schema, [table.rows], 0, *budget)
    session = session_over(table, {**point, "delta": DELTA}, chosen.algorithm, settings, generator)
    model = learn(session, chosen.algorithm, settings)
    evidence = Evidence(model, list(session.record.measured), session.noise_variables, chosen.algorithm, session.rows)
    estimator = Estimator(evidence)
    started = time.perf_counter()
    told = [answers(estimator, question) for question in asked]
    seconds = time.perf_counter() - started
    naive = [answers(OfRows(model.sample(table.rows, generator)), question) for question in asked]
    real = [answers(OfRows(table), question) for question in asked]
    found = []
    for place, true in enumerate(truth[: len(asked)]):
        known = DECLARED if settings and place >= len(asked) - len(declared) else None
        for part, wanted in enumerate(true or ()):
            if wanted.value is None:
                continue
            here, plain, best = (_part(each[place], part) for each in (told, naive, real))
            found.append({
                "question": f"{place}.{part}", "kind": known or (None if here is None else here.support.kind),
                "r2": None if here is None else round(here.support.r2, 4), "answer": _judged(here, wanted.value),
                "naive": _judged(plain, wanted.value), "real": _judged(best, wanted.value),
                "as supported": _as_supported(here, wanted.value), "model": _model_error(here),
            })  # fmt: skip
    return {"algorithm": chosen.algorithm, "seconds": round(seconds, 2), "answers": found}


def _part(found: list[Answer] | None, part: int) -> Answer | None:
    return found[part] if found is not None and part < len(found) else None


def _judged(found: Answer | None, truth: float) -> list[float] | None:
    """Whether the interval holds the truth, and its width; None where nothing is told."""
    if found is None or found.value is None or not np.isfinite([found.low, found.high]).all():
        return None
    within = found.low - 1e-9 * abs(truth) <= truth <= found.high + 1e-9 * abs(truth)
    return [float(within), float(found.high - found.low)]


def _as_supported(found: Answer | None, truth: float) -> bool | None:
    """Whether it would hold the truth without the error of the model."""
    if found is None or found.value is None or not np.isfinite(found.standard_error):
        return None
    reach = 1.96 * float(np.hypot(found.errors["sampling"], found.errors["noise"]))
    return bool(abs(found.value - truth) <= reach)


def _model_error(found: Answer | None) -> float | None:
    """Standard error of the model beside that of sampling and noise."""
    if found is None or not np.isfinite(found.standard_error):
        return None
    beside = float(np.hypot(found.errors["sampling"], found.errors["noise"]))
    return round(found.errors["model"] / beside, 3) if beside else None


def points(quick: bool) -> list[Point]:
    keys = "data", "parties", "epsilon", "rows", "split"
    found = [dict(zip(keys, setting, strict=True)) for setting in SETTINGS]
    return [{**found[5], "seeds": 1, "rows": 2000}] if quick else [{**each, "seeds": RUNS} for each in found]


def covered(kind: str, whose: str, records: Sequence[Record]) -> str:
    """Coverage of a kind with its 95 % interval over runs, the answers, and the median width beside real rows."""
    runs, widths = [], []
    for record in records:
        some = [each for each in record["answers"] if each["kind"] == kind and each[whose] is not None]
        if some:
            runs.append((sum(each[whose][0] for each in some), len(some)))
            widths += [each[whose][1] / each["real"][1] for each in some if each["real"] and each["real"][1]]
    if not runs:
        return "-"
    held, asked = np.array(runs).T
    rate = held.sum() / asked.sum()
    # Answers of one run are not independent: the run is the unit.
    apart = held - rate * asked
    error = 1.96 * np.sqrt((apart**2).sum() * len(runs) / max(1, len(runs) - 1)) / asked.sum()
    width = f", {np.median(widths):.1f}" if widths else ""
    return f"{rate:.1%} ± {error:.1%} of {int(asked.sum())}{width}"


def warned(records: Sequence[Record]) -> str:
    """How many questions that fall short if they are taken for supported are extrapolated; and of the others."""
    cells: dict[tuple[str, str], list[tuple[bool, float]]] = defaultdict(list)
    for record in records:
        setting = "/".join(str(record[key]) for key in ("data", "parties", "epsilon", "rows", "split"))
        for each in record["answers"]:
            if each["as supported"] is not None:
                cells[setting, each["question"]].append((each["kind"] == EXTRAPOLATED, each["as supported"]))
    short, others = [], []
    for some in cells.values():
        told, held = (float(np.mean(values)) for values in zip(*some, strict=True))
        (short if held < SHORT else others).append(told)
    parts = [f"{np.mean(some):.0%} of {len(some)}" if some else "-" for some in (short, others)]
    return " / ".join(parts)


SHOWN: dict[str, str | Callable[[Sequence[Record]], str]] = {
    **{kind: partial(covered, kind, "answer") for kind in KINDS},
    "naive, measured": partial(covered, MEASURED, "naive"),
    "naive, extrapolated": partial(covered, EXTRAPOLATED, "naive"),
    "real rows": partial(covered, MEASURED, "real"),
    "seconds": "seconds:1",
}  # fmt: skip


def pooled(records: Sequence[Record]) -> list[str]:
    """All settings of the data that the method was built on, and of the others."""
    groups: dict[str, list[Any]] = {"built on": [], "only reported": [], "all": list(records)}
    for record in records:
        groups["built on" if record["data"] in TUNED else "only reported"].append(record)
    rows = [
        [name, *(covered(kind, "answer", some) for kind in KINDS), warned(some)]
        for name, some in groups.items()
        if some
    ]
    return markdown(["data", *KINDS, "warned of those short / of the others"], rows)


SETTING = ("data", "parties", "epsilon", "rows", "split")

EXPERIMENT = Experiment(
    title="Coverage of 95 % intervals",
    points=points,
    measure=measure,
    shows=[Text("pooled", pooled), Table("by setting", (*SETTING, "algorithm"), SHOWN)],
    tables=("adult", "nltcs", "diabetes130", "cps_taxunits"),
    code=(*CODE, "common/release/queries", "benchmarks/methods/analyst_queries.py"),
)
