"""What the tries say of a constant: mean ratios over tables, and which value they support."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.budgets.constants import REFERENCE, Change, Constants
from benchmarks.budgets.measure import Tried
from benchmarks.markdown import standard_error

SPLIT = ("tables", "tables power", "one_way", "one_way power")
SHARED = ("handicap", "draws", "prior", "ridge")


@dataclass(frozen=True)
class Constant:
    """One thing to choose.

    Attributes:
        name: as in ``Change``.
        pure: whose runs count; None for those of both ways of adding up.
    """

    name: str
    pure: bool | None

    @property
    def title(self) -> str:
        return self.name if self.pure is None else f"{self.name}, {'pure' if self.pure else 'with a delta'}"

    def concerns(self, tried: Tried) -> bool:
        return tried.change.name == self.name and self.pure in (None, tried.block.delta == "0")

    def value(self, change: Change | None) -> float:
        """The constant's own number under a change; of a power the power."""
        reference = REFERENCE[self.pure is not False]
        constants: Constants = reference if change is None else change.of(reference)
        field, _, power = self.name.partition(" ")
        value = getattr(constants, field)
        return float(value.power if power else getattr(value, "at_one", value))


CONSTANTS = [Constant(name, pure) for pure in (True, False) for name in SPLIT] + [Constant(n, None) for n in SHARED]


@dataclass(frozen=True)
class Mean:
    """Of the logarithms of ratios over tables.

    Attributes:
        error: standard error, from the spread over tables.
    """

    log: float
    error: float
    tables: int

    @classmethod
    def of(cls, tried: Iterable[Tried]) -> Mean | None:
        """Each table weighs the same, however many budgets were tried on it; None of nothing."""
        logs: dict[str, list[float]] = {}
        for one in tried:
            logs.setdefault(one.block.ground, []).append(math.log(one.ratio))
        means = [statistics.fmean(values) for values in logs.values()]
        return cls(statistics.fmean(means), standard_error(means), len(means)) if means else None

    def __str__(self) -> str:
        if self.tables == 1:
            return f"{math.exp(self.log):.3f}"
        return f"{math.exp(self.log):.3f} +- {self.error:.3f}"

    @property
    def ratios(self) -> list[float]:
        """One standard error below, in the middle, and above."""
        return [math.exp(self.log + by * self.error) for by in (-1, 0, 1)]


def by_change(constant: Constant, tried: Sequence[Tried]) -> dict[Change, list[Tried]]:
    """The constant's tries, in the order of its values."""
    found: dict[Change, list[Tried]] = {}
    for one in tried:
        if constant.concerns(one):
            found.setdefault(one.change, []).append(one)
    return {change: found[change] for change in sorted(found, key=constant.value)}


def chosen(constant: Constant, tried: Sequence[Tried]) -> Change | None:
    """Of the values within a standard error of the best the nearest to the old one; none if that is the old one."""
    means = {change: Mean.of(some) for change, some in by_change(constant, tried).items()}
    known = {change: mean for change, mean in means.items() if mean is not None}
    best = min(known.values(), key=lambda mean: mean.log, default=None)
    if best is None or best.log + best.error >= 0:
        return None
    near = [change for change, mean in known.items() if mean.log <= best.log + best.error]
    return min(near, key=lambda change: abs(change.by if "power" in change.name else math.log(change.by)))
