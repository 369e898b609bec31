"""One point of the sweep over junction trees, measured once, and the sweep itself."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import classifiers
from benchmarks.cache import CODE, Cache, Results, Values, attempt, code_digest
from benchmarks.cost import in_own_process
from benchmarks.datasets import Dataset, load, split_table
from benchmarks.junction_tree.baskets import NAME as BASKETS
from benchmarks.junction_tree.baskets import make_baskets
from benchmarks.junction_tree.merging import compare, random_chordal
from benchmarks.junction_tree.points import (
    GRAPHS,
    GRID_SIZES,
    METHODS,
    PRIVIEW,
    REAL_ROWS,
    SIZES,
    SVM,
    Point,
)
from benchmarks.junction_tree.priview import PriView
from benchmarks.sweep import Work, collect, in_processes
from benchmarks.utility import TASKS
from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import Marginal
from privity.common.release.evaluation.classifier_utility import hold_out, misclassification
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.deploy.planning.in_process_session import InProcessSession

PLACES = (
    *CODE,
    "common/release/evaluation/classifier_utility.py",
    *(f"benchmarks/{f}.py" for f in ("utility", "classifiers", "junction_tree/priview", "junction_tree/baskets")),
)
RANDOM_MARGINALS = 200
TIMED = ("cost", "merging")
"""Kinds of points that are measured last and one at a time."""
WHOLE_SIZES = (2, 3)
"""Sizes of which all marginals are taken; of larger ones ``RANDOM_MARGINALS``."""


@dataclass(frozen=True)
class Source:
    """Where the rows of a name come from: a file, or a model of this package."""

    name: str
    dataset: Dataset | None = None

    @property
    def digest(self) -> str:
        return self.dataset.digest if self.dataset else "made"

    @property
    def files(self) -> tuple[Path, Path]:
        if self.dataset is None:
            raise ValueError(f"{self.name} is not in a file")
        return self.dataset.data, self.dataset.schema_file

    def table(self) -> CodedTable:
        return load(*self.files) if self.dataset else _baskets()


@cache
def _baskets() -> CodedTable:
    return make_baskets()


def sources_of(datasets: Sequence[Dataset]) -> dict[str, Source]:
    """The given tables, the made one, and the random graphs."""
    made = [Source(BASKETS), Source(GRAPHS)]
    return {source.name: source for source in (*(Source(dataset.name, dataset) for dataset in datasets), *made)}


def measure(source: Source, point: Point, seed: int) -> Values:
    """What the point shows for one seed, ready for JSON."""
    if point.kind == "merging":
        return compare(*random_chordal(seed))
    if point.kind == "cost":
        data, schema = source.files
        arguments = ["--data", str(data), "--schema", str(schema), "--algorithm", point.method]
        return in_own_process("benchmarks.junction_tree.cost", [*arguments, "--epsilon", point.epsilon])
    table = source.table()
    generator = np.random.default_rng(seed)
    if point.kind == "k-way":
        return measure_k_way(table, point, generator)
    if point.kind in ("tasks", "classifier"):
        train, test = hold_out(table, generator)
        if point.kind == "classifier":
            return measure_classifier(train, test, point)
        synthetic, values = learn(train, point, generator)
        return values | {task.name: misclassification(synthetic, test, task) for task in TASKS[point.data]}
    synthetic, values = learn(table, point, generator)
    if point.kind == "grid":
        return values | measure_grid(table, synthetic, generator)
    found = marginal_distances(table, synthetic, ways=WHOLE_SIZES)
    return values | {"mean2": found["tvd2"], "largest2": found["tvd2_max"], "mean3": found["tvd3"]}


def learn(table: CodedTable, point: Point, generator: np.random.Generator) -> tuple[CodedTable, Values]:
    """A synthetic table of equal size, learned over the point's parties, and the seconds of learning."""
    epsilon = Fraction(point.epsilon)
    algorithm, settings = METHODS[point.method]
    session = InProcessSession(split_table(table, point.parties, "random", generator), epsilon)
    started = time.perf_counter()
    model = asyncio.run(ALGORITHMS[algorithm].learn(session, epsilon, settings))
    seconds = time.perf_counter() - started
    return model.sample(table.rows, generator), {"seconds": round(seconds, 3)}


def measure_k_way(table: CodedTable, point: Point, generator: np.random.Generator) -> Values:
    """Mean L2 error of random marginals of each size, as shares of the rows."""
    chosen = {size: random_marginals(len(table.columns), size, generator) for size in SIZES}
    if point.method == PRIVIEW:
        started = time.perf_counter()
        views = PriView(table, Fraction(point.epsilon))
        values: Values = {"seconds": round(time.perf_counter() - started, 3)}
        errors = {k: [l2(dense_shares(table, m), views.marginal(m)) for m in some] for k, some in chosen.items()}
    else:
        synthetic, values = learn(table, point, generator)
        errors = {k: [l2(*shares_of(table, synthetic, m)) for m in some] for k, some in chosen.items()}
    return values | {f"l2-{k}": float(np.mean(found)) for k, found in errors.items()}


def measure_grid(table: CodedTable, synthetic: CodedTable, generator: np.random.Generator) -> Values:
    """Mean total variation distance for each size of PrivHD's experiments."""
    whole = marginal_distances(table, synthetic, ways=WHOLE_SIZES)
    values: Values = {f"mean{k}": whole[f"tvd{k}"] for k in WHOLE_SIZES}
    for k in GRID_SIZES:
        if k not in WHOLE_SIZES:
            chosen = random_marginals(len(table.columns), k, generator)
            values[f"mean{k}"] = float(np.mean([variation(*shares_of(table, synthetic, m)) for m in chosen]))
    return values


def random_marginals(attributes: int, size: int, generator: np.random.Generator) -> list[Marginal]:
    return [tuple(sorted(generator.choice(attributes, size, replace=False).tolist())) for _ in range(RANDOM_MARGINALS)]


def shares_of(real: CodedTable, synthetic: CodedTable, marginal: Marginal) -> tuple[np.ndarray, np.ndarray]:
    """Shares of both tables, shape (cells,); of more cells than rows only those in which either table has one."""
    cells = np.zeros(real.rows + synthetic.rows, dtype=np.int64)
    for a in marginal:
        cells = cells * real.schema.domain[a] + np.concatenate([real.columns[a], synthetic.columns[a]])
    count = math.prod(real.schema.domain[a] for a in marginal)
    if count > cells.size:
        found, cells = np.unique(cells, return_inverse=True)
        count = found.size
    mine, theirs = (np.bincount(part, minlength=count) for part in np.split(cells, [real.rows]))
    return mine / real.rows, theirs / synthetic.rows


def dense_shares(table: CodedTable, marginal: Marginal) -> np.ndarray:
    """Shares in all cells of a marginal of binary attributes, one axis each."""
    cells = np.zeros(table.rows, dtype=np.int64)
    for a in marginal:
        cells = 2 * cells + table.columns[a]
    return np.bincount(cells, minlength=2 ** len(marginal)).reshape((2,) * len(marginal)) / table.rows


def l2(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.sqrt(((first - second) ** 2).sum()))


def variation(first: np.ndarray, second: np.ndarray) -> float:
    """Total variation distance."""
    return float(np.abs(first - second).sum() / 2)


def measure_classifier(train: CodedTable, test: CodedTable, point: Point) -> Values:
    """Task -> error; a method for one task at a time divides epsilon among the tasks."""
    tasks = TASKS[point.data]
    if point.method == REAL_ROWS:
        return {task.name: misclassification(train, test, task) for task in tasks}
    share = float(Fraction(point.epsilon) / (len(tasks) if point.method == SVM else 1))
    return {task.name: classifiers.private_svm(train, test, task, share) for task in tasks}


def cache_key(source: Source, point: Point, seed: int) -> dict[str, Any]:
    """Everything that a result depends on, the code excepted; settings count, not their name."""
    return {
        "kind": point.kind, "data": point.data, "digest": source.digest, "epsilon": point.epsilon,
        "method": METHODS.get(point.method, point.method), "parties": point.parties, "seed": seed,
    }  # fmt: skip


def digest() -> str:
    return code_digest(places=PLACES)


def run_all(
    sources: Mapping[str, Source],
    points: Mapping[Point, int],
    cache: Cache,
    processes: int,
    say: Callable[[str], None],
    *,
    only_cached: bool = False,
) -> Results[Point]:
    """Measure every point and seed that the cache does not hold; timed ones last and one at a time."""

    def key_of(point: Point, seed: int) -> dict[str, Any]:
        return cache_key(sources[point.data], point, seed)

    def measured(left: Sequence[Work[Point]]) -> Iterator[tuple[Work[Point], Values | str]]:
        return in_processes(left, partial(_attempt, sources), processes, lambda p: p.kind in TIMED)

    return collect(
        points, lambda _: cache, key_of, measured, say, only_cached=only_cached, always=lambda p: p.kind == "cost"
    )


def _attempt(sources: Mapping[str, Source], point: Point, seed: int) -> Values | str:
    return attempt(lambda: measure(sources[point.data], point, seed))
