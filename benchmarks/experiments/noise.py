"""The samplers of noise beside OpenDP's: shares, discrete Laplace, a choice, discrete Gaussian.

Everything runs in one process on one core, with the operating system's randomness. OpenDP is not a dependency: without
it its points are told as not measured.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values, grid, middle_of
from privity.common.privacy.discrete_laplace import geometric
from privity.common.privacy.mechanisms import GaussianNoise, LaplaceNoise, NoisyMax
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.noisy_max import noisy_max_scale
from privity.common.privacy.privacy_loss import ZCDP, PureDP
from privity.common.privacy.random_bits import SystemEntropy, uniform_below
from privity.common.privacy.sensitivity import scores
from privity.common.privacy.structure_scores import r_sensitivity
from privity.common.protocol.round import Tables

ENTROPY = SystemEntropy()
TABLES, ROWS = 105, 45_222
QUERY = Tables(((),) * TABLES)
LAPLACE = LaplaceNoise.calibrated(QUERY, PureDP(Fraction(1), RELATION))
QUOTA = 2
"""Of three parties of which one may tell what it knows."""
GAUSS = GaussianNoise.calibrated(QUERY, ZCDP(Fraction(14913, 10**6), RELATION))
CHOICE, MOVE = NoisyMax(Fraction(1, 10)), scores(r_sensitivity(ROWS, 8, 8), RELATION)
SCALE = noisy_max_scale(MOVE.value, CHOICE.epsilon)


def exponential_mechanism(values: np.ndarray, scale: Fraction) -> int:
    """Exact, by rejection: a uniform candidate is kept if a geometric variable reaches its gap to the best.

    P(G >= gap) = exp(-gap/scale), so P(i) is proportional to exp(values[i]/scale), scale = 2D/epsilon.
    """
    gaps = values.max() - values
    while True:
        tried = uniform_below(values.size, ENTROPY, 4096)
        kept = np.flatnonzero(geometric(scale, tried.size, ENTROPY) >= gaps[tried])
        if kept.size:
            return int(tried[kept[0]])


def spread_evenly(count: int) -> np.ndarray:
    """Made-up scores over twelve scales; nothing here is data."""
    return np.random.default_rng(1).integers(0, 12 * int(SCALE), count)


def one_far_ahead(count: int) -> np.ndarray:
    return np.append(np.zeros(count - 1, dtype=np.int64), 30 * int(SCALE))


def opendp(kind: str, count: int) -> Callable[[], object]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    given = [0] * count
    if kind == "laplace":
        release = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(LAPLACE.scale))
    elif kind == "gaussian":
        release = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=float(GAUSS.scale) ** 0.5)
    else:
        given = spread_evenly(count).tolist()
        metric, divergence = dp.linf_distance(T="i64"), dp.max_divergence()
        release = dp.m.make_noisy_max(domain, metric, divergence, scale=float(SCALE))
    return lambda: release(given)


def noisy_max(count: int) -> Callable[[], object]:
    listed = spread_evenly(count).tolist()
    return lambda: CHOICE.sample(count, MOVE, ENTROPY)(listed)


def by_rejection(values: np.ndarray) -> Callable[[], object]:
    return lambda: exponential_mechanism(values, SCALE)


DRAWS: dict[str, Callable[[int], Callable[[], object]]] = {
    f"shares, scale {LAPLACE.scale}, q = {QUOTA}": lambda n: lambda: LAPLACE.sample([n], QUOTA, ENTROPY),
    f"discrete Laplace, scale {LAPLACE.scale}": lambda n: lambda: LAPLACE.sample([n], 1, ENTROPY),
    f"discrete Gaussian, sigma {float(GAUSS.scale) ** 0.5:.1f}": lambda n: lambda: GAUSS.sample([n], 1, ENTROPY),
    "discrete Laplace, OpenDP `make_laplace` on i64": lambda n: opendp("laplace", n),
    "discrete Gaussian, OpenDP `make_gaussian` on i64": lambda n: opendp("gaussian", n),
}
CHOICES: dict[str, Callable[[int], Callable[[], object]]] = {
    "a choice, noisy max with geometric noise": noisy_max,
    "a choice, exact exponential mechanism by rejection, scores spread evenly": lambda n: by_rejection(
        spread_evenly(n)
    ),
    "a choice, exact exponential mechanism by rejection, one far ahead": lambda n: by_rejection(one_far_ahead(n)),
    "a choice, OpenDP `make_noisy_max`": lambda n: opendp("max", n),
}


def measure(point: Point, _seed: int, _data: Data) -> Values:
    work = {**DRAWS, **CHOICES}[point["what"]](point["of"])
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        started = time.perf_counter()
        work()
        return {"seconds": time.perf_counter() - started}
    finally:
        os.sched_setaffinity(0, cores)


def points(quick: bool) -> list[Point]:
    draws, choices, seeds = (1000, 100, 1) if quick else (1_000_000, 100_000, 5)
    found = grid(what=tuple(DRAWS), of=draws, seeds=seeds) + grid(what=tuple(CHOICES), of=choices, seeds=seeds)
    return [point for point in found if not (quick and "OpenDP" in point["what"])]


EXPERIMENT = Experiment(
    title="The samplers of noise beside OpenDP's",
    points=points,
    measure=measure,
    shows=(Table("seconds", ("of", "what"), {"seconds": middle_of("seconds", 3)}),),
    code=("common/privacy", "benchmarks/experiments/noise.py"),
    alone=lambda _: True,
)
