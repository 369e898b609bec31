"""A run of an algorithm, as the experiments make it: in one process, or by ``privity simulate``."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import Data, split_table
from benchmarks.experiment import Values
from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.assessment.simulation.simulated_run import Simulation, simulate
from privity.common.data.coded_table import CodedTable
from privity.common.data.table_reading import read_table
from privity.common.protocol.session import Session
from privity.common.release.evaluation.classifier_utility import Task, misclassification
from privity.common.runs.run_request import request_document
from privity.common.synthesis import algorithms
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models import Model
from privity.common.wire.v1.privity_pb2 import RunEvent

PATIENCE = 300.0
"""Seconds of a party's silence: many processes share few cores."""


def session_over(
    table: CodedTable,
    point: Mapping[str, Any],
    algorithm: str,
    settings: Mapping[str, Any],
    generator: np.random.Generator,
) -> Session:
    """Over the parties and the split of the point (one party, and at random if it has none), for its budget."""
    parts = split_table(table, point.get("parties", 1), point.get("split", "random"), generator)
    epsilon, delta = Fraction(point["epsilon"]), Fraction(point.get("delta", 0))
    return InProcessBackend(parts, ALGORITHMS[algorithm].budget(settings, epsilon, delta)).session()


def learn(session: Session, algorithm: str, settings: Mapping[str, Any]) -> Model:
    """``privity.common.synthesis.algorithms.learn``, to its end."""
    return asyncio.run(algorithms.learn(session, algorithm, settings))


def synthesize(
    table: CodedTable,
    point: Mapping[str, Any],
    algorithm: str,
    settings: Mapping[str, Any],
    generator: np.random.Generator,
) -> tuple[CodedTable, float]:
    """A synthetic table of as many rows, learned by production releases in one process, and the seconds of learning.

    The generator decides the split of the rows and the sampling; noise has no seed.
    """
    session = session_over(table, point, algorithm, settings, generator)
    started = time.perf_counter()
    model = learn(session, algorithm, settings)
    seconds = time.perf_counter() - started
    return model.sample(table.rows, generator), round(seconds, 3)


def errors_of(synthetic: CodedTable, test: CodedTable, tasks: tuple[Task, ...]) -> list[Values]:
    """Misclassification of the test rows by classifiers that are trained on the synthetic ones, by task."""
    return [{"task": task.name, "error": misclassification(synthetic, test, task)} for task in tasks]


def simulated(
    data: Data,
    name: str,
    point: Mapping[str, Any],
    algorithm: str,
    settings: Mapping[str, Any],
    seed: int,
    see: Callable[[RunEvent], None] = lambda _event: None,
) -> tuple[CodedTable, dict[str, Any], float]:
    """A run by real processes: its synthetic table, run.json, and the seconds from start to release."""
    file, schema = data.files(name)
    asked = {key: point[key] for key in ("epsilon", "key_bits")}
    with tempfile.TemporaryDirectory() as scratch:
        task = Simulation(
            request=request_document({**asked, "algorithm": algorithm, "settings": settings}), data=str(file),
            schema=schema, parties=point["parties"], out=Path(scratch) / "release", split="random", rows=None,
            patience=PATIENCE, seed=seed,
        )  # fmt: skip
        started = time.perf_counter()
        release = simulate(task, see)
        seconds = time.perf_counter() - started
        run = json.loads((release / "run.json").read_text(encoding="utf-8"))
        return read_table(release / "synthetic.csv", data.schema(name)), run, seconds


def party_bytes(run: Mapping[str, Any]) -> dict[str, int]:
    """Bytes of each party over all phases, both ways, by what run.json says."""
    total: dict[str, int] = {}
    for parties in run["bytes"].values():
        for party, count in parties.items():
            total[party] = total.get(party, 0) + count
    return total
