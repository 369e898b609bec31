"""Kill points: every durable write of every process of a run, before and after it."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.crash.checks import Problem, problems
from tests.crash.switch import Kill
from tests.crash.world import Outcome, Run, StuckError, Template, World, once

AT_ONCE = 2
"""Worlds at a time: much of a run is waiting."""

EVERY = 49
"""In ``make test`` every so many kill points of a small run, all in test_long.py. Odd, as before follows after."""

Result = TypeVar("Result")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Point:
    """One kill: who, at which write, and what it writes in a run that nobody disturbs."""

    who: str
    kill: Kill
    name: str

    def __str__(self) -> str:
        return f"{self.who} {self.kill.when} write {self.kill.at} ({self.name})"


@dataclass
class Found:
    """What a matrix found: how many runs were killed, and what was wrong with which."""

    killed: int = 0
    wrong: dict[str, list[Problem]] = field(default_factory=dict)
    unreached: list[str] = field(default_factory=list)

    def kinds(self) -> set[str]:
        return {problem.kind for found in self.wrong.values() for problem in found}


class Worlds:
    """A folder for every world."""

    def __init__(self, folder: Path, at_once: int = AT_ONCE) -> None:
        self._folder, self._at_once = folder, at_once
        self._numbers = itertools.count()
        self._references: dict[tuple[Run, int], tuple[Template, Outcome]] = {}

    def each(self, task: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The task of every item, so many at once."""
        with ThreadPoolExecutor(self._at_once) as threads:
            return list(threads.map(task, items))

    def provide(self, run: Run) -> Template:
        return run.provide(self._folder / f"template-{next(self._numbers)}")

    def run(self, template: Template, **options: Any) -> Outcome:
        """One run to its end."""
        return World(template, self._folder / f"world-{next(self._numbers)}", **options).complete()

    def discard(self, outcome: Outcome) -> None:
        """The files of a run that was judged."""
        shutil.rmtree(outcome.consortium.folder.parent)

    def reference(self, template: Template) -> Outcome:
        """A run that nobody disturbs; it must be without fault itself."""
        outcome = self.run(template)
        wrong = problems(outcome, outcome)
        assert not wrong, wrong
        return outcome


def points(reference: Outcome, who: Iterable[str], when: Sequence[str] = ("before", "after")) -> Iterator[Point]:
    """Every kill point of these processes, as an undisturbed run has them."""
    for name in who:
        for record in reference.records.of("wrote", "opens", who=name):
            number, written = record.content[:2]
            for word in when:
                if word == "before" or record.kind == "wrote":
                    yield Point(name, Kill(word, number), written)


def kill_at(
    worlds: Worlds,
    template: Template,
    reference: Outcome,
    at: Iterable[Point],
    *,
    seed: int | None = 1,
    variant: str = "",
) -> Found:
    """A run for each kill point, every one compared with the reference, byte by byte if it has its seed."""
    found = Found()

    def one(point: Point) -> None:
        try:
            outcome = worlds.run(template, kills={point.who: once(point.kill)}, seed=seed, variant=variant)
        except StuckError as error:
            found.wrong[str(point)] = [Problem("stuck", str(error))]
            return
        if not any(outcome.records.of("killed", who=point.who)):
            found.unreached.append(str(point))
            return
        found.killed += 1
        if wrong := problems(outcome, reference, same_noise=seed is not None):
            found.wrong[str(point)] = wrong
        worlds.discard(outcome)

    worlds.each(one, at)
    return found


def kills(outcome: Outcome) -> int:
    """How often a process was killed in a run."""
    return sum(1 for _ in outcome.records.of("killed"))
