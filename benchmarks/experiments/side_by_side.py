"""Runs side by side against one after another, over real nodes: seconds, and their ratio."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values, grid, middle_of
from benchmarks.methods.soak_work import REQUEST, provisioned, started_nodes
from privity.assessment.simulation.child_processes import ProcessGroup
from privity.deploy.operator.run_submission import submit_to

PARTIES, RUNS = 3, 8
WAYS: dict[str, dict[str, Any]] = {
    "one-way, masks": {},
    "mst, masks": {"algorithm": "mst"},
}


def seconds(way: str, at_once: int) -> float:
    """From the submission of all runs to the end of the last."""
    with tempfile.TemporaryDirectory(prefix="privity-side-by-side-") as scratch:
        folder = Path(scratch)
        consortium = provisioned(folder, PARTIES)
        settings = consortium.curator / "curator.toml"
        text = settings.read_text(encoding="utf-8")
        settings.write_text(f"runs_at_once = {at_once}\n{text}", encoding="utf-8")
        with ProcessGroup(folder / "logs") as group:
            client = started_nodes(group, consortium, folder / "logs")
            manifest = consortium.manifest
            names = [submit_to(client, manifest, {**REQUEST, **WAYS[way]}, f"token-{number}") for number in range(RUNS)]
            began = time.monotonic()
            for name in names:
                *_, last = client.watch(name)
                if last.state != "COMPLETED":
                    raise RuntimeError(f"{name} ended {last.state}: {last.reason}")
            return time.monotonic() - began


def measure(point: Point, _seed: int, _data: Data) -> Values:
    found = {at_once: seconds(point["run"], at_once) for at_once in (1, 2, 4)}
    return {
        "alone": found[1], "two": found[2], "four": found[4],
        "ratio of two": found[1] / found[2], "ratio of four": found[1] / found[4],
    }  # fmt: skip


def points(quick: bool) -> list[Point]:
    return [{**point, "seeds": 1 if quick else 3} for point in grid(run=tuple(WAYS)[: 1 if quick else None])]


EXPERIMENT = Experiment(
    title="Runs side by side against one after another",
    points=points,
    measure=measure,
    shows=(
        Table(
            "seconds",
            ("run",),
            {
                "one after another, s": middle_of("alone"),
                "two at once, s": middle_of("two"),
                "four at once, s": middle_of("four"),
                "times as fast, two": middle_of("ratio of two", 2),
                "times as fast, four": middle_of("ratio of four", 2),
            },
        ),
    ),
    code=("common", "party", "curator", "benchmarks/methods/soak_work.py"),
    alone=lambda _: True,
)  # fmt: skip
