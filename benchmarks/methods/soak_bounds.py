"""What a soak must not exceed, and where it does: memory, handles, threads, stores, the processor's time for a run."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from benchmarks.methods.node_samples import JOURNAL, Sample

CURATOR = "curator"
STEPS = 10
WARM, LAST = 2, STEPS - 1
"""Of ten steps of as many runs each: the first after the warm-up, and the last."""

MB = 1_000_000
MEMORY = 8 * MB
"""Growth of a process from the step after the warm-up to the last one, besides what is known of every run."""

MEMORY_A_RUN = {CURATOR: 1_500}
"""The curator lists every run that it ever had."""

HANDLES = 3
THREADS = 4
"""Calls that are under way at the moment of a sample."""

JOURNAL_A_RUN = 1_500
LEDGER_A_RUN = 1_000
"""Bytes: what docs/data_model.md says is kept for ever, for runs as small as these, which are charged once."""

LOGS = 10 * MB
"""Write-ahead logs of journal and ledger: SQLite begins them anew at 1,000 pages."""

SLOWER = 1.5
"""Processor's seconds a run, of all nodes, in the last step against that after the warm-up."""

MARKS = {"#token", "#ended", "#closed", "#asked", "#shown", "#approved", "#refused"}
"""All that a journal holds when every run has ended."""


@dataclass(frozen=True)
class Step:
    """A tenth of the runs: medians of its samples, by node."""

    runs: int
    seconds: float
    seconds_a_run: float
    cpu_a_run: float
    nodes: dict[str, dict[str, float]]


@dataclass
class Soaked:
    """The result of one soak, as JSON has it, and what is made of it."""

    raw: dict[str, Any]
    samples: list[Sample] = field(init=False)

    def __post_init__(self) -> None:
        self.samples = [Sample(**sample) for sample in self.raw["samples"]]

    @property
    def runs(self) -> int:
        return len(self.raw["completed"])

    @property
    def nodes(self) -> list[str]:
        return list(dict.fromkeys(sample.node for sample in self.samples))

    def of(self, node: str) -> list[Sample]:
        return [sample for sample in self.samples if sample.node == node]

    def steps(self) -> list[Step]:
        """The ten steps; fewer if some had no sample of every node."""
        edges = [self.runs * place // STEPS for place in range(STEPS + 1)]
        found = (self._step(first, last) for first, last in pairwise(edges))
        return [step for step in found if step is not None]

    def _step(self, first: int, last: int) -> Step | None:
        within = {node: [s for s in self.of(node) if first <= s.runs <= last] for node in self.nodes}
        if last == first or any(len(samples) < 2 for samples in within.values()):
            return None
        ended = [0.0, *self.raw["completed"]]
        cpu = sum(_slope(samples) for samples in within.values())
        return Step(
            runs=last,
            seconds=ended[last],
            seconds_a_run=(ended[last] - ended[first]) / (last - first),
            cpu_a_run=cpu,
            nodes={node: _medians(samples) for node, samples in within.items()},
        )

    def breaches(self) -> list[str]:
        """Every bound that does not hold, in words."""
        steps = self.steps()
        if len(steps) < STEPS:
            return ["too few samples: soak for longer"]
        warm, last = steps[WARM], steps[LAST]
        runs = last.runs - warm.runs
        found = list(self._of_stores())
        for node in self.nodes:
            before, after = warm.nodes[node], last.nodes[node]
            a_run = MEMORY_A_RUN.get(node, 0) * runs
            for what, bound in (("rss", MEMORY + a_run), ("handles", HANDLES), ("threads", THREADS)):
                if after[what] - before[what] > bound:
                    found.append(f"{node}: {what} grew from {before[what]:,.0f} to {after[what]:,.0f}")
        if last.cpu_a_run > SLOWER * warm.cpu_a_run:
            found.append(f"a run took {warm.cpu_a_run:.3f}, then {last.cpu_a_run:.3f} s of the processors' time")
        return found

    def _of_stores(self) -> Iterable[str]:
        for node, kinds in self.raw["entries"].items():
            if unknown := set(kinds) - MARKS:
                yield f"{node}: {JOURNAL} holds {', '.join(sorted(unknown))} although every run has ended"
        for node in self.nodes:
            first, last = self.of(node)[0], self.of(node)[-1]
            for what, a_run in (("journal", JOURNAL_A_RUN), ("ledger", LEDGER_A_RUN)):
                grown = getattr(last, what) - getattr(first, what)
                if grown > a_run * self.runs:
                    yield f"{node}: the {what} grew by {grown / self.runs:,.0f} bytes a run"
            if (logs := max(sample.logs for sample in self.of(node))) > LOGS:
                yield f"{node}: write-ahead logs of {logs:,} bytes"

    def a_run(self, node: str, what: str) -> float:
        """Bytes by which a file of the node grew for each run."""
        samples = self.of(node)
        return (getattr(samples[-1], what) - getattr(samples[0], what)) / self.runs


def _medians(samples: Sequence[Sample]) -> dict[str, float]:
    names = ("rss", "handles", "threads", "journal", "logs", "ledger")
    return {name: statistics.median(getattr(sample, name) for sample in samples) for name in names}


def _slope(samples: Sequence[Sample]) -> float:
    first, last = samples[0], samples[-1]
    return (last.cpu - first.cpu) / max(last.runs - first.runs, 1)
