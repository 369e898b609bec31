"""The verdict on a soak: nodes that hold still pass, and each kind of growth is told."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from benchmarks.experiments import soak
from benchmarks.methods.node_samples import Sample
from benchmarks.methods.soak_bounds import CURATOR, Soaked

RUNS = 1000


def soaked(node: str = "", **growth: float) -> Soaked:
    """A soak in which these quantities of a node grow by so much for each run, besides what may grow."""
    samples = []
    for runs in range(RUNS + 1):
        for name in (CURATOR, "party-1"):
            more = {what: round(by * runs) if name == node else 0 for what, by in growth.items()}
            usual = {
                "rss": 200_000_000, "handles": 20, "threads": 14, "cpu": 0.1 * runs, "journal": 700 * runs,
                "logs": 4_200_000, "ledger": 300 * runs,
            }  # fmt: skip
            found: dict[str, Any] = {what: value + more.get(what, 0) for what, value in usual.items()}
            samples.append(asdict(Sample(node=name, seconds=0.2 * runs, runs=runs, **found)))
    marks = {"#asked": RUNS, "#closed": RUNS}
    return Soaked(
        {
            "parties": 1, "queued": 20, "minutes": 60, "every": 5, "started": 3.0, "restarted": 2.0, "known": RUNS,
            "listed": 0.1, "completed": [0.2 * run for run in range(1, RUNS + 1)], "samples": samples,
            "entries": {CURATOR: {"#token": RUNS}, "party-1": marks}, "kept_files": {CURATOR: {}, "party-1": {}},
        }
    )  # fmt: skip


def test_nodes_that_hold_still_pass_and_the_page_says_so() -> None:
    still = soaked()
    assert still.breaches() == []
    (line,) = [line for line in soak.growth(still) if line.startswith("| 500 |")]
    assert line.startswith("| 500 | 1.7 | 0.200 | 0.200 | 200.0 | 20 | 14 | 0.32 |")


@pytest.mark.parametrize(
    ("node", "what", "by", "said"),
    [
        ("party-1", "rss", 30_000, "party-1: rss grew"),
        (CURATOR, "rss", 30_000, "curator: rss grew"),
        ("party-1", "handles", 0.01, "party-1: handles grew from 22 to 30"),
        (CURATOR, "threads", 0.01, "curator: threads grew"),
        ("party-1", "journal", 900, "party-1: the journal grew by 1,600 bytes a run"),
        ("party-1", "ledger", 900, "party-1: the ledger grew by 1,200 bytes a run"),
        ("party-1", "logs", 10_000, "party-1: write-ahead logs"),
    ],
)
def test_what_grows_is_told(node: str, what: str, by: float, said: str) -> None:
    (breach,) = soaked(node, **{what: by}).breaches()
    assert breach.startswith(said)
    assert f"- out of bounds: {breach}" in soak.told(soaked(node, **{what: by}))


def test_runs_that_take_longer_and_longer_are_told() -> None:
    slower = soaked()
    for sample in slower.samples:
        object.__setattr__(sample, "cpu", 0.0001 * sample.runs**2)
    (breach,) = slower.breaches()
    assert "of the processors' time" in breach


def test_entries_of_runs_that_have_ended_are_told() -> None:
    left = soaked()
    left.raw["entries"]["party-1"]["run"] = 1
    (breach,) = left.breaches()
    assert "holds run although every run has ended" in breach


def test_a_soak_that_was_too_short_does_not_pass() -> None:
    short = soaked()
    short.samples = short.samples[:10]
    assert short.breaches() == ["too few samples: soak for longer"]
