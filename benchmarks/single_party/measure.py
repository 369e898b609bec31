"""One point of the sweep over PrivBayes, measured once, and the sweep itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks import classifiers
from benchmarks.cache import CODE, Cache, Results, Values, attempt, code_digest
from benchmarks.datasets import Dataset, load
from benchmarks.single_party import baselines
from benchmarks.single_party.exact import PartlyExactSession
from benchmarks.single_party.points import (
    ERM,
    MAJORITY,
    METHODS,
    REAL_ROWS,
    Method,
    Point,
    is_binary,
)
from benchmarks.sweep import collect
from benchmarks.utility import TASKS
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.release.evaluation.classifier_utility import hold_out, misclassification
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models.bayesian_network import BayesianNetwork
from privity.deploy.planning.in_process_session import InProcessSession

UTILITY_CODE = ("common/release/evaluation/classifier_utility.py", "benchmarks/utility.py")
BASELINE_CODE = ("common/privacy", *UTILITY_CODE, "benchmarks/classifiers.py", "benchmarks/single_party/baselines.py")
MODEL_CODE = (*CODE, *UTILITY_CODE, "benchmarks/single_party/exact.py")
MODELS = ("whole", "held out")


def digest_of(kind: str) -> str:
    """Of the code that decides results of the kind: a new PrivBayes leaves its rivals' results as they are."""
    return _digest(kind in MODELS)


@cache
def _digest(of_models: bool) -> str:
    return code_digest(places=MODEL_CODE if of_models else BASELINE_CODE)


def measure(dataset: Dataset, point: Point, seed: int) -> Values:
    """What the point shows for one seed, ready for JSON."""
    table = load(dataset.data, dataset.schema_file)
    generator = np.random.default_rng(seed)
    if point.kind == "marginals":
        return measure_marginals(table, point)
    if point.kind == "whole":
        return measure_model(table, METHODS[point.method], Fraction(point.epsilon), generator)[1]
    train, test = hold_out(table, generator)
    if point.kind == "classifier":
        return measure_classifier(train, test, point)
    synthetic, values = measure_model(train, METHODS[point.method], Fraction(point.epsilon), generator)
    return values | {task.name: misclassification(synthetic, test, task) for task in TASKS[point.data]}


def measure_model(
    table: CodedTable, method: Method, epsilon: Fraction, generator: np.random.Generator
) -> tuple[CodedTable, Values]:
    """A synthetic table of equal size, with its distances, and what its network tells."""
    session: InProcessSession
    if method.exact_draws or method.exact_tables:
        session = PartlyExactSession(table, epsilon, exact_draws=method.exact_draws, exact_tables=method.exact_tables)
    else:
        session = InProcessSession([table], epsilon)
    started = time.perf_counter()
    model = asyncio.run(ALGORITHMS[method.algorithm].learn(session, epsilon, method.asked))
    seconds = time.perf_counter() - started
    if not isinstance(model, BayesianNetwork):
        raise TypeError("only Bayesian networks are measured")
    synthetic = model.sample(table.rows, generator)
    found = marginal_distances(table, synthetic, ways=(2, 3, 4) if is_binary(table.schema) else (2, 3))
    values: Values = {"seconds": round(seconds, 3), "information": information(table, model.parents)}
    values["edges"] = sum(len(parents) for parents in model.parents.values())
    for key, distance in found.items():
        way = key.removeprefix("tvd").removesuffix("_max")
        values[f"{'largest' if key.endswith('_max') else 'mean'}{way}"] = distance
    return synthetic, values


def information(table: CodedTable, network: Mapping[int, tuple[int, ...]]) -> float:
    """Sum of the mutual information, in bits, between each attribute and its parents on the real rows. Not private."""
    joints = contingency_tables(table, [(x, *parents) for x, parents in sorted(network.items()) if parents])
    return sum(mutual_information(joint.reshape(len(joint), -1)) for joint in joints)


def mutual_information(joint: np.ndarray) -> float:
    """In bits, of a table of counts."""
    shares = joint / joint.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    seen = shares > 0
    return float((shares[seen] * np.log2(shares[seen] / expected[seen])).sum())


def measure_marginals(table: CodedTable, point: Point) -> Values:
    true = _true(table, point.way)
    started = time.perf_counter()
    noisy = baselines.BASELINES[point.method](table, point.way, Fraction(point.epsilon))
    seconds = time.perf_counter() - started
    return {"mean": baselines.mean_distance(true, noisy), "seconds": round(seconds, 3)}


_TRUE: dict[tuple[int, int], tuple[CodedTable, baselines.Tables]] = {}


def _true(table: CodedTable, way: int) -> baselines.Tables:
    """The true tables, kept: they are the same for all rivals."""
    key = id(table), way
    if key not in _TRUE:
        _TRUE[key] = table, baselines.exact(table, way)  # the table too, so that its id stays taken
    return _TRUE[key][1]


def measure_classifier(train: CodedTable, test: CodedTable, point: Point) -> Values:
    """Task -> error; a method for one task at a time divides epsilon among the tasks."""
    tasks = TASKS[point.data]
    if point.method == REAL_ROWS:
        return {task.name: misclassification(train, test, task) for task in tasks}
    epsilon = Fraction(point.epsilon)
    if point.method == MAJORITY:
        return {task.name: classifiers.majority(train, test, task, epsilon / len(tasks)) for task in tasks}
    share = float(epsilon / len(tasks) if point.method == ERM else epsilon)
    return {task.name: classifiers.private_erm(train, test, task, share) for task in tasks}


def cache_key(dataset: Dataset, point: Point, seed: int) -> dict[str, Any]:
    """Everything that a result depends on; settings count, not their name."""
    method: Any = asdict(METHODS[point.method]) if point.method in METHODS else point.method
    return {
        "kind": point.kind, "data": point.data, "digest": dataset.digest, "method": method, "epsilon": point.epsilon,
        "way": point.way, "seed": seed,
    }  # fmt: skip


def run_all(
    datasets: Mapping[str, Dataset],
    points: Mapping[Point, int],
    caches: Mapping[str, Cache],
    say: Callable[[str], None],
    *,
    only_cached: bool = False,
) -> Results[Point]:
    """Measure, one after another, every point and seed that the cache of its kind does not hold."""

    def key_of(point: Point, seed: int) -> dict[str, Any]:
        return cache_key(datasets[point.data], point, seed)

    def measured(left: Sequence[tuple[Point, int]]) -> Iterator[tuple[tuple[Point, int], Values | str]]:
        for point, seed in left:
            # Two points may be one: beta .3 is among the betas and the thetas.
            known = caches[point.kind].get(key_of(point, seed))
            yield (point, seed), known or attempt(partial(measure, datasets[point.data], point, seed))

    return collect(points, lambda point: caches[point.kind], key_of, measured, say, only_cached=only_cached)
