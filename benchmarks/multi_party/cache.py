"""The sweep over parties, point after point: what the cache does not hold is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from benchmarks import cache
from benchmarks.cache import Cache, Values, attempt
from benchmarks.datasets import Dataset
from benchmarks.multi_party.measure import measure
from benchmarks.multi_party.points import VARIANTS, Point
from benchmarks.sweep import collect

Work = tuple[Point, int]
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
    return collect(
        points,
        lambda _: cache,
        lambda point, seed: cache_key(datasets[point.data], point, seed, key_bits),
        lambda left: _measured(datasets, left, key_bits, processes),
        say,
        only_cached=only_cached,
        always=lambda point: point.kind == "real",
    )


def _measured(
    datasets: Mapping[str, Dataset], left: Sequence[Work], key_bits: int, processes: int
) -> Iterator[tuple[Work, Values | str]]:
    here = [work for work in left if work[0].kind == "real"]
    apart = [work for work in left if work[0].kind != "real"]
    if processes > 1 and apart:
        with ProcessPoolExecutor(processes) as pool:
            futures = {pool.submit(_attempt, datasets[work[0].data], *work, key_bits): work for work in apart}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            finally:
                pool.shutdown(cancel_futures=True)  # when cut off, at once and not after all that is queued
        apart = []
    for work in apart + here:
        yield work, _attempt(datasets[work[0].data], *work, key_bits)


def _attempt(dataset: Dataset, point: Point, seed: int, key_bits: int) -> Values | str:
    return attempt(lambda: measure(dataset, point, seed, key_bits))
