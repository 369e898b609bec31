"""The sweep over parties, point after point: what the cache does not hold is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from benchmarks import cache
from benchmarks.cache import Cache, Values, attempt
from benchmarks.datasets import Dataset
from benchmarks.multi_party.measure import measure
from benchmarks.multi_party.points import VARIANTS, Point
from benchmarks.sweep import collect, in_processes

Results = cache.Results[Point]


def cache_key(dataset: Dataset, point: Point, seed: int, key_bits: int) -> dict[str, Any]:
    """Everything that a result depends on, the code excepted: settings count, not their name."""
    algorithm, settings = VARIANTS.get(point.variant, (point.variant, {}))
    key = {
        "kind": point.kind, "data": point.data, "digest": dataset.digest, "algorithm": algorithm, "settings": settings,
        "epsilon": point.epsilon, "parties": point.parties, "split": point.split, "seed": seed,
    }  # fmt: skip
    if point.kind == "real":
        key["key_bits"] = key_bits
    return key


def run_all(
    datasets: Mapping[str, Dataset],
    points: Mapping[Point, int],
    cache: Cache,
    key_bits: int,
    processes: int,
    say: Callable[[str], None],
    *,
    only_cached: bool = False,
) -> Results:
    """Measure every point and seed that the cache does not hold; real runs last and one at a time."""

    def is_real(point: Point) -> bool:
        return point.kind == "real"

    return collect(
        points,
        lambda _: cache,
        lambda point, seed: cache_key(datasets[point.data], point, seed, key_bits),
        lambda left: in_processes(left, partial(_attempt, datasets, key_bits), processes, is_real),
        say,
        only_cached=only_cached,
        always=is_real,
    )


def _attempt(datasets: Mapping[str, Dataset], key_bits: int, point: Point, seed: int) -> Values | str:
    return attempt(lambda: measure(datasets[point.data], point, seed, key_bits))
