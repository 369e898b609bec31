"""One point of the comparison, measured once: a production session over K parties, and what its table is good for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from benchmarks.accuracy.distances import distances
from benchmarks.accuracy.methods import METHODS
from benchmarks.accuracy.peers import MEASURES, Programs, measure_peer, peer_key
from benchmarks.accuracy.points import MAJORITY, REAL_ROWS, Point
from benchmarks.accuracy.wire import MeteredSession, wire_bytes
from benchmarks.cache import CODE, ROOT, Cache, Results, Values, attempt, code_digest
from benchmarks.datasets import Dataset, load, split_table
from benchmarks.sweep import Work, collect
from benchmarks.utility import TASKS
from privity.common.data.coded_table import CodedTable
from privity.common.release.evaluation.classifier_utility import hold_out, majority_error, misclassification
from privity.common.synthesis.algorithms import ALGORITHMS

PLACES = (
    *CODE, "common/release/evaluation/classifier_utility.py", "benchmarks/utility.py",
    "benchmarks/accuracy/wire.py", "benchmarks/accuracy/distances.py",
)  # fmt: skip
"""What decides our results besides the point."""


def digest() -> str:
    return code_digest(places=[place for place in PLACES if (ROOT / place).exists()])


def measure(dataset: Dataset, point: Point, seed: int, programs: Programs) -> Values:
    """What the point shows for one seed, ready for JSON."""
    if point.of_peer:
        return measure_peer(dataset, point, seed, programs)
    table = load(dataset.data, dataset.schema_file)
    generator = np.random.default_rng(seed)
    if point.kind == "whole":
        synthetic, values = learn(table, point, generator)
        return {**values, **distances(table, synthetic)}
    train, test = hold_out(table, generator)
    tasks = TASKS[point.data]
    if point.method == REAL_ROWS:
        values = {f"{task.name}, {MAJORITY}": majority_error(test, task) for task in tasks}
        return {**values, **{task.name: misclassification(train, test, task) for task in tasks}}
    synthetic, values = learn(train, point, generator)
    return {**values, **{task.name: misclassification(synthetic, test, task) for task in tasks}}


def learn(table: CodedTable, point: Point, generator: np.random.Generator) -> tuple[CodedTable, Values]:
    """A synthetic table of as many rows, learned over the point's parties; its seconds and bytes.

    The generator decides the split of the rows and the sampling; noise has no seed.
    """
    method, epsilon, delta = METHODS[point.method], Fraction(point.epsilon), Fraction(point.delta)
    algorithm = ALGORITHMS[method.algorithm]
    session = MeteredSession(
        split_table(table, point.parties, point.split, generator),
        epsilon,
        delta=delta,
        rho_budget=algorithm.rho_budget(method.settings, epsilon, delta),
    )
    started = time.perf_counter()
    model = asyncio.run(algorithm.learn(session, epsilon, method.settings))
    learned = time.perf_counter()
    synthetic = model.sample(table.rows, generator)
    sampled = time.perf_counter()
    seconds = {"seconds": round(learned - started, 2), "sampling": round(sampled - learned, 2)}
    return synthetic, {**seconds, **wire_bytes(session)}


def cache_key(dataset: Dataset, point: Point, seed: int) -> Mapping[str, Any]:
    """Everything that a result depends on, the code excepted: settings count, not their name."""
    if point.of_peer:
        return peer_key(dataset, point, seed)
    method: Any = asdict(METHODS[point.method]) if point.method in METHODS else point.method
    return {
        "kind": point.kind, "data": point.data, "digest": dataset.digest, "method": method, "epsilon": point.epsilon,
        "delta": point.delta, "parties": point.parties, "split": point.split, "seed": seed,
    }  # fmt: skip


def run_all(
    datasets: Mapping[str, Dataset],
    points: Mapping[Point, int],
    ours: Cache,
    peers: Cache,
    programs: Programs,
    say: Callable[[str], None],
    *,
    only_cached: bool = False,
) -> Results[Point]:
    """Measure, one after another, every point and seed that the caches do not hold."""

    def measured(left: Sequence[Work[Point]]) -> Iterator[tuple[Work[Point], Values | str]]:
        # A seed of every point before the next seed, peers last: what was cut off shows all points.
        for point, seed in sorted(left, key=lambda work: (work[0].of_peer, work[1])):
            yield (point, seed), attempt(partial(measure, datasets[point.data], point, seed, programs))

    return collect(
        points,
        lambda point: peers if point.of_peer else ours,
        lambda point, seed: cache_key(datasets[point.data], point, seed),
        measured,
        say,
        only_cached=only_cached,
        always=lambda point: point.of_peer,
    )


PEER_CODE = f"measures {MEASURES}"
"""In the place of a digest in the cache of the peers: their versions stand in their keys."""
