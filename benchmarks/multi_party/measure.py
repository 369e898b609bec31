"""One point of the sweep over parties, measured once: distances, classification, views, or a real run."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import Dataset, load, split_table
from benchmarks.multi_party.points import MAJORITY, REAL_ROWS, TASKS, VARIANTS, VIEWS, Point
from privity.common.data.coded_table import CodedTable, Column
from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import read_table
from privity.common.release.evaluation.classifier_utility import hold_out, majority_error, misclassification
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.learning.covering_design import optimal_design
from privity.deploy.planning.in_process_session import InProcessSession
from privity.deploy.simulation.phase_times import PhaseTimes
from privity.deploy.simulation.simulated_run import Simulation, simulate

PATIENCE = 300.0  # seconds of a party's silence; many processes share few cores


def measure(dataset: Dataset, point: Point, seed: int, key_bits: int) -> dict[str, Any]:
    """What the point shows for one seed, ready for JSON."""
    table = load(dataset.data, dataset.schema_file)
    if point.kind == "real":
        return measure_real(dataset, table, point, seed, key_bits)
    generator = np.random.default_rng(seed)
    if point.kind == "svm":
        return measure_svm(table, point, generator)
    if point.kind == "views":
        return measure_views(table, point)
    synthetic, seconds = learn(table, point, generator)
    return {**distances(table, synthetic), "seconds": seconds}


def distances(real: CodedTable, synthetic: CodedTable) -> dict[str, float]:
    found = marginal_distances(real, synthetic, ways=(2, 3))
    return {"mean2": found["tvd2"], "largest2": found["tvd2_max"], "mean3": found.get("tvd3", float("nan"))}


def learn(table: CodedTable, point: Point, generator: np.random.Generator) -> tuple[CodedTable, float]:
    """A synthetic table of equal size, learned over the point's parties, and the seconds of learning."""
    epsilon = Fraction(point.epsilon)
    algorithm, settings = VARIANTS[point.variant]
    session = InProcessSession(split_table(table, point.parties, point.split, generator), epsilon)
    started = time.perf_counter()
    model = asyncio.run(ALGORITHMS[algorithm].learn(session, epsilon, settings))
    seconds = time.perf_counter() - started
    return model.sample(table.rows, generator), round(seconds, 3)


def measure_svm(table: CodedTable, point: Point, generator: np.random.Generator) -> dict[str, float]:
    """Task -> misclassification of held-out real rows; for the real rows also that of the majority."""
    train, test = hold_out(table, generator)
    tasks = TASKS[point.data]
    if point.variant == REAL_ROWS:
        found = {f"{task.name}, {MAJORITY}": majority_error(test, task) for task in tasks}
    else:
        found = {}
        train, _ = learn(train, point, generator)
    return {**found, **{task.name: misclassification(train, test, task) for task in tasks}}


def measure_views(table: CodedTable, point: Point) -> dict[str, Any]:
    """Mean distance between the noisy pair tables inside released views and the true ones; K = 1, no model."""
    if VIEWS[point.variant]:
        table = in_bits(table)
    pairs = list(combinations(range(len(table.schema.attributes)), 2))
    design = optimal_design(table.schema.domain)
    views = list(design.views) if point.variant.startswith("covering") else pairs
    epsilon = Fraction(point.epsilon)
    opened = asyncio.run(InProcessSession([table], epsilon).measure("views", views, epsilon))
    noisy = {pair: counts for view in opened for pair, counts in pair_counts(view)}
    found = [_pair_distance(table, pair, noisy[pair]) for pair in pairs]
    kind = design.kind if point.variant.startswith("covering") else "pairs"
    return {"mean2": float(np.mean(found)), "largest2": max(found), "tables": len(views), "shape": kind}


def pair_counts(view: NoisyTable) -> list[tuple[tuple[int, int], np.ndarray]]:
    """Every pair of the view's attributes with its table, added up from the view's cells."""
    places = range(len(view.attributes))
    return [
        ((view.attributes[a], view.attributes[b]), view.counts.sum(axis=tuple(p for p in places if p not in (a, b))))
        for a, b in combinations(places, 2)
    ]


def _pair_distance(table: CodedTable, pair: tuple[int, int], noisy: np.ndarray) -> float:
    """Total variation distance of the pair's true table, once negative cells are 0 and the rest adds up to 1."""
    first, second = (table.columns[place].astype(np.int64) for place in pair)
    true = np.bincount(first * noisy.shape[1] + second, minlength=noisy.size) / table.rows
    kept = np.maximum(noisy.ravel(), 0).astype(float)
    total = kept.sum()
    shares = kept / total if total else np.full(kept.size, 1 / kept.size)
    return float(np.abs(true - shares).sum() / 2)


def in_bits(table: CodedTable) -> CodedTable:
    """The table with every attribute written as the bits of its code, highest first."""
    fields: list[dict[str, Any]] = []
    columns: list[Column] = []
    for attribute, column in zip(table.schema.attributes, table.columns, strict=True):
        for bit in reversed(range(max(1, (attribute.size - 1).bit_length()))):
            fields.append({"name": f"{attribute.name} bit {bit}", "type": "integer", "categories": [0, 1]})
            columns.append(((column >> bit) & 1).astype(np.uint8))
    return CodedTable(parse_schema({"name": table.schema.name, "fields": fields}, "bits"), tuple(columns))


def measure_real(dataset: Dataset, table: CodedTable, point: Point, seed: int, key_bits: int) -> dict[str, Any]:
    """A run by ``privity simulate``: the same measures, what run.json says of bytes and rounds, and seconds."""
    algorithm, settings = VARIANTS[point.variant]
    with tempfile.TemporaryDirectory() as scratch:
        task = Simulation(
            data=str(dataset.data),
            schema=dataset.schema_file,
            parties=point.parties,
            algorithm=algorithm,
            settings=settings,
            epsilon=Fraction(point.epsilon),
            out=Path(scratch) / "release",
            split=point.split,
            rows=None,
            key_bits=key_bits,
            tolerate=1,
            patience=PATIENCE,
            seed=seed,
        )
        times = PhaseTimes()
        started = time.perf_counter()
        release = simulate(task, lambda event: times.enter(event.phase))
        seconds = time.perf_counter() - started
        run = json.loads((release / "run.json").read_text(encoding="utf-8"))
        synthetic = read_table(release / "synthetic.csv", table.schema)
    kept = {key: run[key] for key in ("bytes", "rounds", "cells", "unpacked_bytes", "key_bits")}
    by_phase = {phase: round(value, 3) for phase, value in times.seconds.items()}
    return {**distances(table, synthetic), "seconds": round(seconds, 2), "run": kept | {"seconds": by_phase}}
