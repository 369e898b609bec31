"""What the sweeps share: their options, their command as the documents show it, the loop over points and seeds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

from benchmarks.cache import Cache, Point, Progress, Results, Values
from privity.deploy.planning.worker_processes import worker_processes

Work = tuple[Point, int]


def make_parser(package: str, description: str | None) -> argparse.ArgumentParser:
    """Options of ``python -m benchmarks.<package>``."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--schema", type=Path, nargs="+", required=True, help="one for each table")
    parser.add_argument("--out", type=Path, required=True, help=f"folder of {package}.md")
    parser.add_argument("--cache", type=Path, help="file of JSON lines with the results so far")
    parser.add_argument("--any-code", action="store_true", help="take results of other versions of the code too")
    parser.add_argument("--seeds", type=int, help="runs of a point")
    parser.add_argument("--quick", action="store_true", help="a few points only")
    parser.add_argument("--only-cached", action="store_true", help="measure nothing, write what the cache holds")
    return parser


def read_options(parser: argparse.ArgumentParser, arguments: list[str] | None) -> argparse.Namespace:
    """The options, with as many schemas as tables."""
    options = parser.parse_args(arguments)
    if len(options.data) != len(options.schema):
        parser.error("as many schemas as tables are needed")
    return options


def command_of(package: str, options: argparse.Namespace) -> str:
    """The command as the document shows it: without folders of this machine."""
    data, schemas = (" ".join(path.name for path in paths) for paths in (options.data, options.schema))
    words = [f"python -m benchmarks.{package} --data {data} --schema {schemas}", "--out docs/benchmarks"]
    words += [f"--seeds {options.seeds}"] if options.seeds else []
    words += ["--quick"] if options.quick else []
    words += ["--any-code"] if options.any_code else []
    return " ".join(words)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def collect(
    points: Mapping[Point, int],
    cache_of: Callable[[Point], Cache],
    key_of: Callable[[Point, int], Mapping[str, Any]],
    measure_all: Callable[[Sequence[Work[Point]]], Iterator[tuple[Work[Point], Values | str]]],
    say: Callable[[str], None],
    *,
    only_cached: bool = False,
    always: Callable[[Point], bool] = lambda _: False,
) -> Results[Point]:
    """The results of every point and seed; what its cache does not hold is measured and kept there.

    Args:
        measure_all: gives the values of each point and seed, or why there are none, in any order.
        always: whether a point is worth a line of its own.
    """
    results: Results[Point] = Results()
    left: list[Work[Point]] = []
    for point, seeds in points.items():
        for seed in range(1, seeds + 1):
            known = cache_of(point).get(key_of(point, seed))
            if known is None:
                left.append((point, seed))
            else:
                results.add(point, seed, known)
    total = sum(points.values())
    say(f"{total - len(left)} / {total} in the cache")
    if only_cached:
        return results
    progress = Progress(len(left), say)
    for work, values in measure_all(left):
        point, seed = work
        if isinstance(values, str):
            results.failed[work] = values
        else:
            cache_of(point).put(key_of(point, seed), values)
            results.add(point, seed, values)
        progress.step(work, values, always=always(point))
    return results


def in_processes(
    left: Sequence[Work[Point]],
    attempt: Callable[[Point, int], Values | str],
    processes: int,
    alone: Callable[[Point], bool],
) -> Iterator[tuple[Work[Point], Values | str]]:
    """The values of each point and seed, some at a time; those that want to be alone come last, in this process.

    Args:
        attempt: can be pickled.
    """
    last = [work for work in left if alone(work[0])]
    many = [work for work in left if not alone(work[0])]
    if processes > 1 and many:
        with worker_processes(processes) as pool:
            futures = {pool.submit(attempt, *work): work for work in many}
            for future in as_completed(futures):
                yield futures[future], future.result()
        many = []
    for work in many + last:
        yield work, attempt(*work)
