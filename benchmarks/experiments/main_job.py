"""The main job: ``privity simulate`` on a table, over epsilons and numbers of parties.

Every point is a real run: curator and parties as processes, gRPC over TLS, Paillier encryption. ``one-way`` is the
release of noisy 1-way tables without any structure, by the same system. Seeds decide the split of the rows among the
parties; noise has none.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import psutil

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values, grid
from privity.common.data.table_reading import read_table
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.wire.v1.privity_pb2 import RunEvent
from privity.deploy.simulation.simulated_run import Simulation, simulate


@dataclass
class Watch:
    """Largest resident memory of any party process, in MiB, read whenever the run makes progress."""

    peak: float = 0.0

    def see(self, _event: RunEvent) -> None:
        for child in psutil.Process().children(recursive=True):
            try:
                if "party" in child.cmdline():
                    status = Path(f"/proc/{child.pid}/status").read_text()
                    self.peak = max(self.peak, int(status.split("VmHWM:")[1].split()[0]) / 1024)
            except (psutil.Error, OSError, IndexError):
                continue


def party_bytes(run: dict[str, Any]) -> dict[str, int]:
    """Bytes of each party over all phases, both ways, by what run.json says."""
    total: dict[str, int] = {}
    for parties in run["bytes"].values():
        for party, count in parties.items():
            total[party] = total.get(party, 0) + count
    return total


def measure(point: Point, seed: int, data: Data) -> Values:
    table, schema = data.files("adult")
    with tempfile.TemporaryDirectory() as scratch:
        watch = Watch()
        task = Simulation(
            data=str(table), schema=schema, parties=point["parties"], algorithm=point["algorithm"], settings={},
            epsilon=Fraction(point["epsilon"]), out=Path(scratch) / "release", split="random", rows=None,
            key_bits=point["key_bits"], tolerate=1, patience=120.0, seed=seed,
        )  # fmt: skip
        started = time.perf_counter()
        release = simulate(task, watch.see)
        seconds = time.perf_counter() - started
        run = json.loads((release / "run.json").read_text())
        synthetic = read_table(release / "synthetic.csv", data.schema("adult"))
        found = marginal_distances(data.table("adult"), synthetic, ways=(2,))
    kilobytes = max(party_bytes(run).values()) / 1000
    return {
        "mean2": found["tvd2"],
        "largest2": found["tvd2_max"],
        "seconds": seconds,
        "kB": kilobytes,
        "MiB": watch.peak,
    }


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(parties=2, epsilon="1", algorithm=("dp-subn", "one-way"), key_bits=2048)
    where = [(3, "0.2"), (3, "1"), (3, "5"), (2, "1"), (5, "1"), (10, "1")]
    algorithms = ("dp-subn", "one-way")
    return [
        point for k, e in where for point in grid(parties=k, epsilon=e, algorithm=algorithms, key_bits=3072, seeds=3)
    ]


EXPERIMENT = Experiment(
    title="The main job on adult: real processes over epsilons and numbers of parties",
    points=points,
    measure=measure,
    shows=(
        Table(
            "main job",
            ("algorithm", "parties", "epsilon"),
            {
                "mean 2-way distance": "mean2:4", "largest over pairs": "largest2", "seconds": "seconds:1",
                "kB, worst party": "kB:0", "peak MiB of a party": "MiB:0",
            },
        ),
    ),
    tables=("adult",),
    code=("common", "party", "curator"),
    alone=lambda _: True,
)  # fmt: skip
