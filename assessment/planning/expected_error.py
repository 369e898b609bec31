"""The expected error by epsilon, parties and algorithm, from rehearsals on invented tables; nothing real is read."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from privity.assessment.planning.invented_tables import Profile, shipped_profiles
from privity.assessment.planning.rehearsal import Outcome, Rehearsal, Shape, rehearse_on_stand_in
from privity.assessment.planning.worker_processes import worker_processes
from privity.common.synthesis.algorithms import ALGORITHMS

TYPICAL = "typical"
REPEATS = 3
"""Stand-ins of the profile that is expected; one of each other."""

WORTH_PROCESSES = 10.0
"""Seconds of work from which on other processes are started: each takes a second or two to import what it needs."""

MOST_PROCESSES = 8

MEANING = (
    "error: total variation distance between the released table and the rows, the mean over pairs of attributes;"
    " 0 is the same, 1 is nothing in common."
)
CAVEAT = (
    "These are invented tables of the declared shape; nothing real was read. A real table may depend more or less"
    " than they do, also beyond weak and strong; how far off such figures were on public tables: docs/accuracy.md."
)


@dataclass(frozen=True)
class Grid:
    """What is compared.

    Attributes:
        settings: algorithm -> its settings.
        delta: that those algorithms spend which can.
        parties: numbers of parties.
    """

    epsilons: tuple[Fraction, ...]
    settings: Mapping[str, Mapping[str, Any]]
    delta: Fraction
    parties: tuple[int, ...]

    def tasks(self, profiles: Iterable[str], expected: str) -> list[Rehearsal]:
        """Every rehearsal; the first are one of each algorithm and number of parties: they show how long all take."""
        stand_ins = [(expected, seed) for seed in range(REPEATS)]
        stand_ins += [(name, 0) for name in profiles if name != expected]
        return [
            Rehearsal(name, self.settings[name], epsilon, self._delta(name), k, dependence, seed)
            for epsilon in self._middle_first()
            for dependence, seed in stand_ins
            for k, name in product(self.parties, self.settings)
        ]

    @property
    def once(self) -> int:
        """How many rehearsals are one of each algorithm and number of parties."""
        return len(self.parties) * len(self.settings)

    def _delta(self, name: str) -> Fraction:
        return self.delta if ALGORITHMS[name].spends_delta else Fraction(0)

    def _middle_first(self) -> list[Fraction]:
        middle = self.epsilons[len(self.epsilons) // 2]
        return [middle, *(epsilon for epsilon in self.epsilons if epsilon != middle)]


@dataclass(frozen=True)
class Part:
    """A figure on the stand-ins that are expected, and the least and greatest of its means over all profiles."""

    expected: float
    least: float
    greatest: float

    @classmethod
    def of(cls, by_profile: Mapping[str, Sequence[float]], expected: str) -> Part:
        means = {name: statistics.fmean(values) for name, values in by_profile.items()}
        return cls(means[expected], min(means.values()), max(means.values()))

    def to_dict(self) -> dict[str, float]:
        return {name: round(value, 5) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Estimate:
    """What one algorithm is expected to do at one epsilon over so many parties.

    Attributes:
        error: all of it; noise and model: its two parts, whose expected values add up to its own.
        largest: the error of the worst pair of attributes.
    """

    algorithm: str
    epsilon: Fraction
    parties: int
    error: Part
    noise: Part
    model: Part
    largest: Part

    def to_dict(self) -> dict[str, Any]:
        parts = {name: getattr(self, name).to_dict() for name in ("error", "noise", "model", "largest")}
        return {"algorithm": self.algorithm, "epsilon": str(self.epsilon), "parties": self.parties, **parts}


def estimates(
    shape: Shape,
    grid: Grid,
    expected: str = TYPICAL,
    profiles: Mapping[str, Profile] | None = None,
    told: Callable[[int, int, float], None] = lambda _done, _total, _left: None,
    processes: int | None = None,
) -> list[Estimate]:
    """Rehearse the whole grid.

    Args:
        expected: the name of the profile that is expected.
        profiles: those that come with the software if left out.
        told: is called after each rehearsal with how many are done, how many there are, and seconds that are left.
        processes: at most so many at work; by default as many as there are cores, if that pays.
    """
    known = shipped_profiles() if profiles is None else profiles
    tasks = grid.tasks(known, expected)
    found: dict[tuple[int, str, Fraction], list[tuple[Rehearsal, Outcome]]] = {}
    seconds: list[float] = []
    workers = min(os.cpu_count() or 1, MOST_PROCESSES) if processes is None else processes
    for task, outcome in _outcomes(shape, known, tasks, workers):
        found.setdefault((task.parties, task.algorithm, task.epsilon), []).append((task, outcome))
        seconds.append(outcome.seconds)
        told(len(seconds), len(tasks), statistics.fmean(seconds) * (len(tasks) - len(seconds)) / workers)
    return [
        _estimate(k, name, epsilon, found[k, name, epsilon], expected)
        for k, name, epsilon in product(grid.parties, grid.settings, grid.epsilons)
    ]


def _estimate(
    k: int, name: str, epsilon: Fraction, outcomes: Sequence[tuple[Rehearsal, Outcome]], expected: str
) -> Estimate:
    def part(value: Callable[[Outcome], float]) -> Part:
        by_profile: dict[str, list[float]] = {}
        for task, outcome in outcomes:
            by_profile.setdefault(task.dependence, []).append(value(outcome))
        return Part.of(by_profile, expected)

    return Estimate(
        name, epsilon, k, part(lambda o: o.error), part(lambda o: o.noise), part(lambda o: o.model),
        part(lambda o: o.largest),
    )  # fmt: skip


def _outcomes(
    shape: Shape, profiles: Mapping[str, Profile], tasks: Sequence[Rehearsal], workers: int
) -> Iterator[tuple[Rehearsal, Outcome]]:
    """Rehearse here until it is known that other processes pay, then in these; the order is that of their ends."""
    left = list(tasks)
    spent: list[float] = []
    while left:
        expected = statistics.fmean(spent) * len(left) if spent else 0.0
        if workers > 1 and expected > WORTH_PROCESSES:
            break
        task = left.pop(0)
        outcome = rehearse_on_stand_in(shape, profiles, task)
        spent.append(outcome.seconds)
        yield task, outcome
    if left:
        with worker_processes(workers) as pool:
            futures = {pool.submit(rehearse_on_stand_in, shape, profiles, task): task for task in left}
            for future in as_completed(futures):
                yield futures[future], future.result()
