"""Persons and their events: how far synthetic histories are from invented ones of a known law.

A floor is a fresh sample of the law: what sampling alone changes.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Point, Table, Values, grid
from benchmarks.methods.invented_histories import history_schema, invented
from benchmarks.methods.learning import learn, session_over
from privity.assessment.evaluation.history_comparison import compare_histories
from privity.common.data.history_steps import Coded, in_order
from privity.common.release.drawn_histories import with_events
from privity.common.release.synthetic_histories import PersonsOf
from privity.common.release.synthetic_rows import synthesise_release

PERSONS = 20_000
DELTA = "1e-9"
FLOOR = "floor"
OTHER_SEED = 1_000


def measure(point: Point, seed: int, _data: Data) -> Values:
    schema = history_schema()
    history = schema.history
    assert history is not None
    real = invented(point["persons"], 1, schema)
    if point["method"] == FLOOR:
        other = invented(point["persons"], OTHER_SEED + seed, schema).histories
        return compare_histories(history, real.histories, other)
    started = time.perf_counter()
    session = session_over(real.steps, point, point["method"], {}, np.random.default_rng(seed))
    model = learn(session, point["method"], {})
    learned = time.perf_counter()
    persons = synthesise_release(PersonsOf(model), point["persons"], seed)
    happened = with_events(model, persons.table, persons.frame, np.random.default_rng([seed, 3]))
    ended = time.perf_counter()
    about = persons.table.columns[: len(history.persons.attributes)]
    made = Coded(about, np.arange(persons.table.rows))
    other, _ = in_order(history, made, Coded(happened.table.columns, happened.owners), happened.order)
    return {
        **compare_histories(history, real.histories, other),
        "learning": round(learned - started, 1), "drawing": round(ended - learned, 1), "ended": happened.ended,
    }  # fmt: skip


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(persons=2_000, method="aim", delta=DELTA, epsilon="3", parties=1, split="random", seeds=1)
    some = {"persons": PERSONS, "delta": DELTA, "epsilon": ("3", "1"), "seeds": 3}
    return [
        *grid(persons=PERSONS, method=FLOOR, delta="0", epsilon="0", parties=1, split="random", seeds=3),
        *grid(**some, method=("aim", "all-pairs", "jtree", "privbayes", "dp-subn"), parties=1, split="random"),
        *grid(**some, method="aim", parties=3, split="random"),
    ]


EXPERIMENT = Experiment(
    title="Persons and their events",
    points=points,
    measure=measure,
    shows=[
        Table(
            "histories",
            ("method", "parties", "epsilon"),
            {
                "number": "number:3", "transition": "transition:3", "cross": "cross transition:3",
                "two steps": "two steps:3", "gap": "gap:3", "total KS": "total:3", "mean KS": "mean:3",
                "spread KS": "spread:3", "age and n, total, mean": "correlation:3", "detection": "detection:3",
                "learning, s": "learning:0", "drawing, s": "drawing:0",
            },
        ),
        Table(
            "events of histories",
            ("method", "parties", "epsilon"),
            {
                "event": "event:3", "first": "first event:3", "last": "last event:3", "within": "within event:3",
                "person and number": "person and number:3", "person and event": "person and event:3",
                "first and last": "first and last:3",
            },
        ),
    ],
    tables=(),
    code=(*CODE, "benchmarks/experiments/histories.py"),
)  # fmt: skip
