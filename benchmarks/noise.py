"""The samplers of noise measured beside OpenDP's: shares, discrete Laplace, a choice, discrete Gaussian.

    python -m benchmarks.noise --out docs/benchmarks

Everything runs in this one process on one core, with the operating system's randomness. A figure is the
median of five runs. OpenDP is not a dependency: without it its lines say so.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from importlib import metadata
from pathlib import Path

import numpy as np

from privity.common.privacy.budget import PureEpsilon, Zcdp
from privity.common.privacy.discrete_laplace import geometric
from privity.common.privacy.entropy import SystemEntropy, uniform_below
from privity.common.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, NoisyMax, SharedDiscreteLaplace
from privity.common.privacy.neighbouring_relation import Relation
from privity.common.privacy.score_r import r_sensitivity
from privity.common.privacy.sensitivity import Norm, contingency_tables, scores

try:
    import opendp.prelude as dp
except ImportError:
    dp = None

ENTROPY = SystemEntropy()
RUNS = 5
DRAWS = 1_000_000
CANDIDATES = 100_000
ROWS = 45_222
TABLES = 105
RELATION = Relation.REPLACE_ONE
EPSILON = Fraction(1, 10)  # of one choice

CHOICE = """**Choice: our own samplers, and noisy max with geometric noise for selection.** They take the exact rational
scale (OpenDP takes a float, which may lie below it), offer shares, which OpenDP does not, and draw everything before
a row is looked at. Noisy max with one-sided noise is permute-and-flip, never worse in expected score than the
exponential mechanism, whose exact sampling by rejection draws while it knows the scores, so that its time tells
about them (the last two of our lines).
"""


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


def seconds(work: Callable[[], object]) -> str:
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return f"{statistics.median(times):.3f} ({min(times):.3f} to {max(times):.3f})"


def beside(make: Callable[[], Callable[[], object]]) -> str:
    return seconds(make()) if dp else "OpenDP is not installed"


def opendp_noise(kind: str, scale: float) -> Callable[[], object]:
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "laplace":
        release = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    else:
        release = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)
    zeros = [0] * DRAWS
    return lambda: release(zeros)


def opendp_choice(values: np.ndarray, scale: float) -> Callable[[], object]:
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    release = dp.m.make_noisy_max(domain, dp.linf_distance(T="i64"), dp.max_divergence(), scale=scale)
    listed = values.tolist()
    return lambda: release(listed)


def measure() -> list[tuple[str, str]]:
    """Every line of the table: what, and its seconds."""
    laplace = DiscreteLaplace.calibrated(contingency_tables(TABLES, RELATION), PureEpsilon(1, RELATION))
    shared = SharedDiscreteLaplace(laplace.scale, parties=3, tolerate=1)
    gauss = DiscreteGaussian.calibrated(
        contingency_tables(TABLES, RELATION, Norm.L2), Zcdp(Fraction(14913, 10**6), RELATION)
    )
    chosen = NoisyMax(scores(r_sensitivity(ROWS, 8, 8), RELATION), EPSILON)
    # Made-up scores over twelve scales; nothing here is data.
    values = np.random.default_rng(1).integers(0, 12 * int(chosen.scale), CANDIDATES)
    peaked = np.append(np.zeros(CANDIDATES - 1, dtype=np.int64), 30 * int(chosen.scale))
    listed = values.tolist()
    million, many = f"{DRAWS:,}", f"{CANDIDATES:,}"
    deviation = float(gauss.sigma_squared) ** 0.5
    lines = [
        (f"{million} shares, scale {laplace.scale}, q = {shared.quota}", lambda: shared.sample(DRAWS, ENTROPY)),
        (f"{million} discrete Laplace, scale {laplace.scale}", lambda: laplace.sample(DRAWS, ENTROPY)),
        (f"{million} discrete Gaussian, sigma {deviation:.1f}", lambda: gauss.sample(DRAWS, ENTROPY)),
        (
            f"a choice among {many}, noisy max with geometric noise",
            lambda: chosen.choose(listed, chosen.sample(CANDIDATES, ENTROPY)),
        ),
        (
            f"a choice among {many}, exact exponential mechanism by rejection, scores spread evenly",
            lambda: exponential_mechanism(values, chosen.scale),
        ),
        (
            f"a choice among {many}, exact exponential mechanism by rejection, one far ahead",
            lambda: exponential_mechanism(peaked, chosen.scale),
        ),
    ]
    others = [
        (
            f"{million} discrete Laplace, OpenDP `make_laplace` on i64",
            lambda: opendp_noise("laplace", float(laplace.scale)),
        ),
        (
            f"{million} discrete Gaussian, OpenDP `make_gaussian` on i64",
            lambda: opendp_noise("gaussian", deviation),
        ),
        (f"a choice among {many}, OpenDP `make_noisy_max`", lambda: opendp_choice(values, float(chosen.scale))),
    ]
    table = []
    for name, work in lines:
        table.append((name, seconds(work)))
        print(*table[-1], sep=": ", flush=True)
    for name, make in others:
        table.append((name, beside(make)))
        print(*table[-1], sep=": ", flush=True)
    return table


def report(table: list[tuple[str, str]]) -> str:
    version = metadata.version("opendp") if dp else "not installed"
    lines = [
        "# Samplers of noise",
        "",
        f"Seconds on one core: the median (least to greatest) of {RUNS} runs in one process. OpenDP: {version}.",
        f"Noise for {TABLES} tables at epsilon 1 (Laplace) and at rho 0.014913 (Gaussian, which is epsilon 1 at",
        f"delta 2^-30). The choice has the score R of {ROWS:,} rows at epsilon {float(EPSILON):g}.",
        "",
        "```",
        "python -m benchmarks.noise --out docs/benchmarks",
        "```",
        "",
        "| what | seconds |",
        "|---|---|",
        *(f"| {name} | {figure} |" for name, figure in table),
        "",
        CHOICE,
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of noise.md")
    options = parser.parse_args()
    if dp:
        dp.enable_features("contrib")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    text = report(measure())
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "noise.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
