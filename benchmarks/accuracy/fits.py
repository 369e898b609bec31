"""Both fits of each algorithm side by side: what the choice of a default goes by."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from benchmarks.accuracy.methods import FITS, fit_name
from benchmarks.accuracy.points import Plan, Point
from benchmarks.cache import Results
from benchmarks.markdown import NONE, table
from privity.common.synthesis.inference.fit_choice import PGM, TABLES


def fits_table(results: Results[Point], data: str, plan: Plan, guarantee: str) -> list[str]:
    """Both fits of each algorithm side by side, by K and epsilon; nothing if there is no result."""
    rows = []
    for name in dict.fromkeys(method.algorithm for method in FITS.values()):
        for k in plan.fit_parties:
            pairs = [_both_fits(results, data, name, epsilon, guarantee, k) for epsilon in plan.fit_epsilons]
            known = [pair for pair in pairs if pair is not None]
            if known:
                change = statistics.fmean(math.log(pair.change) for pair in known)
                rows.append([name, str(k), *(str(pair or NONE) for pair in pairs), _percent(math.exp(change))])
    head = ["algorithm", "K", *(f"eps {e}" for e in plan.fit_epsilons), "mean change"]
    return table(head, rows) if rows else []


@dataclass(frozen=True)
class _BothFits:
    """Mean 2-way distance and seconds, of the light fit and of a graphical model."""

    distances: tuple[float, float]
    seconds: tuple[float, float]

    @property
    def change(self) -> float:
        return self.distances[1] / self.distances[0]

    def __str__(self) -> str:
        (light, whole), (sooner, later) = self.distances, self.seconds
        return f"{light:.4f} -> {whole:.4f} ({_percent(self.change)}), {sooner:.1f} -> {later:.1f} s"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f} %"


def _both_fits(
    results: Results[Point], data: str, algorithm: str, epsilon: str, guarantee: str, parties: int
) -> _BothFits | None:
    def means(measure: str) -> list[float]:
        names = (fit_name(algorithm, fit) for fit in (TABLES, PGM))
        found = (results.values(Point("whole", data, m, epsilon, guarantee, parties), measure) for m in names)
        return [statistics.mean(values) for values in found if values]

    match means("mean2"), means("seconds"):
        case [light, whole], [sooner, later]:
            return _BothFits((light, whole), (sooner, later))
    return None
