"""The main job measured: ``privity simulate`` on a table, over epsilons, numbers of parties and seeds.

    python -m benchmarks.main_job --data adult.csv.gz --schema adult.schema.json --out docs/benchmarks

Every point is a real run: curator and parties as processes, gRPC over TLS, Paillier encryption. The
release of noisy 1-way tables without any structure stands beside it, made by the same system for the
same epsilon. Seeds decide the split of the rows among the parties; noise has none.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import psutil

from privity.common.data.schema import load_schema
from privity.common.data.table_reading import read_table
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.wire.v1.privity_pb2 import RunEvent
from privity.deploy.simulation.simulated_run import Simulation, simulate

POINTS = [(3, "0.2"), (3, "1"), (3, "5"), (2, "1"), (5, "1"), (10, "1")]
ALGORITHMS = ("dp-subn", "one-way")
SEEDS = (1, 2, 3)


@dataclass
class Watch:
    """Largest resident memory of any party process, in MiB, read whenever the run makes progress."""

    peak: float = 0.0

    def see(self, _event: RunEvent) -> None:
        for child in psutil.Process().children(recursive=True):
            try:
                if "party" in child.cmdline():
                    status = Path(f"/proc/{child.pid}/status").read_text()
            except (psutil.Error, OSError):
                continue
            else:
                if "party" in child.cmdline() and "VmHWM:" in status:
                    self.peak = max(self.peak, int(status.split("VmHWM:")[1].split()[0]) / 1024)


@dataclass
class Point:
    """All seeds of one setting."""

    parties: int
    epsilon: str
    algorithm: str
    mean: list[float] = field(default_factory=list)
    largest: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    kilobytes: list[float] = field(default_factory=list)
    mebibytes: list[float] = field(default_factory=list)


def measure(point: Point, data: Path, schema_file: Path, key_bits: int, seed: int) -> None:
    schema = load_schema(schema_file)
    with tempfile.TemporaryDirectory() as scratch:
        watch = Watch()
        task = Simulation(
            data=str(data),
            schema=schema_file,
            parties=point.parties,
            algorithm=point.algorithm,
            settings={},
            epsilon=Fraction(point.epsilon),
            out=Path(scratch) / "release",
            split="random",
            rows=None,
            key_bits=key_bits,
            tolerate=1,
            patience=120.0,
            seed=seed,
        )
        started = time.perf_counter()
        release = simulate(task, watch.see)
        point.seconds.append(time.perf_counter() - started)
        point.mebibytes.append(watch.peak)
        run = json.loads((release / "run.json").read_text())
        by_party: dict[str, int] = {}
        for parties in run["bytes"].values():
            for party, count in parties.items():
                by_party[party] = by_party.get(party, 0) + count
        point.kilobytes.append(max(by_party.values()) / 1000)
        distances = marginal_distances(
            read_table(data, schema), read_table(release / "synthetic.csv", schema), ways=(2,)
        )
        point.mean.append(distances["tvd2"])
        point.largest.append(distances["tvd2_max"])


def spread(values: list[float], digits: int) -> str:
    return f"{statistics.mean(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def report(points: list[Point], name: str, rows: int, attributes: int, key_bits: int, command: str) -> str:
    lines = [
        f"# The main job on {name}",
        "",
        f"{rows:,} rows, {attributes} attributes, split at random; {key_bits}-bit Paillier modulus, t = 1. A cell is",
        f"the mean (least to greatest) of {len(SEEDS)} runs with different splits. Distances are total variation",
        "distances over all pairs of attributes, numbers in the schema's bins, between the real table and the",
        "synthetic one of equal size. `one-way` is the release without any structure, by the same system. Bytes",
        "are those of the party that moved most, both ways. All processes share two cores.",
        "",
        "```",
        command,
        "```",
        "",
        "| algorithm | parties | epsilon | mean 2-way distance | largest over pairs | seconds | kB, worst party "
        "| peak MiB of a party |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for p in points:
        lines.append(
            f"| {p.algorithm} | {p.parties} | {p.epsilon} | {spread(p.mean, 4)} | {spread(p.largest, 3)} "
            f"| {spread(p.seconds, 1)} | {max(p.kilobytes):.0f} | {max(p.mebibytes):.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of main_job.md")
    parser.add_argument("--key-bits", type=int, default=3072)
    options = parser.parse_args()
    schema = load_schema(options.schema)
    points = [Point(k, epsilon, algorithm) for k, epsilon in POINTS for algorithm in ALGORITHMS]
    for point in points:
        for seed in SEEDS:
            measure(point, options.data, options.schema, options.key_bits, seed)
        print(point, flush=True)
    rows = read_table(options.data, schema).rows
    command = (
        f"python -m benchmarks.main_job --data {options.data.name} --schema {options.schema.name}"
        f" --key-bits {options.key_bits} --out docs/benchmarks"
    )
    text = report(points, schema.name or "the table", rows, len(schema.attributes), options.key_bits, command)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "main_job.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
