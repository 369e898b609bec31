"""The main job: ``privity simulate`` on a table, over epsilons and numbers of parties.

Every point is a real run: curator and parties as processes, gRPC over TLS, Paillier encryption. ``one-way`` is the
release of noisy 1-way tables without any structure, by the same system. Seeds decide the split of the rows among the
parties; noise has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values, grid
from benchmarks.methods.learning import party_bytes, simulated
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.wire.v1.privity_pb2 import RunEvent


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


def measure(point: Point, seed: int, data: Data) -> Values:
    watch = Watch()
    synthetic, run, seconds = simulated(data, "adult", point, point["algorithm"], {}, seed, watch.see)
    found = marginal_distances(data.table("adult"), synthetic, ways=(2,))
    of_run = {"seconds": seconds, "kB": max(party_bytes(run).values()) / 1000, "MiB": watch.peak}
    return {"mean2": found["tvd2"], "largest2": found["tvd2_max"], **of_run}


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
