"""What hostile messages brought about: answers, the slowest one, crashes, memory, charges."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

import psutil

HANGS_SECONDS = 10.0
MOST_GROWTH_MB = 50.0


def memory_mb() -> float:
    """Resident memory of this process."""
    return psutil.Process().memory_info().rss / 1e6


@dataclass
class Tally:
    """Counts by target, kind of mutation and answer.

    Attributes:
        outcomes: what runs made of the replies that were taken or fail a step.
        crashes: tracebacks of whatever is no answer, with what was sent.
        slowest: (seconds, target, mutation, beginning of the message).
        charged: epsilon that the messages cost any party, which must be 0.
    """

    answers: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    crashes: list[str] = field(default_factory=list)
    slowest: tuple[float, str, str, bytes] = (0.0, "", "", b"")
    charged: Fraction = Fraction(0)
    grown_mb: float = 0.0

    @property
    def messages(self) -> int:
        return self.answers.total()

    def note(self, target: str, mutation: str, answer: str, seconds: float, message: bytes) -> None:
        self.answers[target, mutation, answer] += 1
        if seconds > self.slowest[0]:
            self.slowest = (seconds, target, mutation, message[:200])

    def crash(self, target: str, mutation: str, message: bytes) -> None:
        """The exception that is being handled is none that may come out."""
        self.answers[target, mutation, "CRASH"] += 1
        if len(self.crashes) < 20:
            self.crashes.append(f"{target}, {mutation}, {message[:300]!r}\n{traceback.format_exc()[-3000:]}")

    @contextmanager
    def growth(self) -> Iterator[None]:
        """Memory that the messages leave behind."""
        before = memory_mb()
        yield
        self.grown_mb = max(self.grown_mb, memory_mb() - before)

    def broken(self) -> list[str]:
        """The bounds that do not hold."""
        found = [f"a crash: {crash}" for crash in self.crashes]
        if self.slowest[0] >= HANGS_SECONDS:
            found.append("an answer took {:.2f} s: {}, {}, {!r}".format(*self.slowest))
        if self.grown_mb > MOST_GROWTH_MB:
            found.append(f"memory grew by {self.grown_mb:.0f} MB")
        if self.charged:
            found.append(f"parties were charged {self.charged}")
        return found


class Timer:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start
