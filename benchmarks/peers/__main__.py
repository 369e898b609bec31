"""Fit and sample of other programs beside PrivBayes of this one, on the same coded table.

    python -m benchmarks.peers --data adult.csv.gz --schema adult.schema.json --out docs/benchmarks

Each program runs in its own process and environment. Each repetition runs this project's PrivBayes right before
each peer, so that a ratio compares neighbours in time. A peer that cannot be installed or run is listed with the
last line of its error; one whose first run takes longer than ``--patience`` is not repeated.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from benchmarks.peers.environments import ENVIRONMENTS, Installed, environment_of_project, install, last_line
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, load_schema
from privity.common.data.table_reading import read_table
from privity.common.release.evaluation.marginal_distance import marginal_distances

OURS = "privity"
EPSILONS = ("0.4", "1", "1.6")
REPETITIONS = 3
RUN_SECONDS = 1800
RUNNER = Path(__file__).with_name("run.py")


@dataclass(frozen=True)
class Peer:
    """A program to compare with.

    Attributes:
        name: in ``run.PROGRAMS``.
        title: in the tables.
        environment: name of its environment.
        epsilons: those at which it runs; a program that is a reference for accuracy only needs fewer.
        guarantee: what its runs promise, in its own words and ours.
    """

    name: str
    title: str
    environment: str
    guarantee: str
    epsilons: tuple[str, ...] = EPSILONS


PEERS = (
    Peer("dpart", "dpart 0.1.2, PrivBayes, 1 parent", "dpart", "pure; sensitivity in nats for scores in bits"),
    Peer(
        "data-synthesizer",
        "DataSynthesizer 0.1.13, correlated mode, k = 2",
        "data-synthesizer",
        "pure, but spends 2 epsilon",
        ("1",),
    ),
    Peer(
        "dpmm-privbayes",
        "dpmm 0.1.9, PrivBayes",
        "dpmm",
        "(epsilon, 1e-9); sensitivity of I for a normalised I",
    ),
    Peer("dpmm-mst", "dpmm 0.1.9, MST", "dpmm", "(epsilon, 1e-9)", ("1",)),
    Peer("private-pgm", "private-pgm", "private-pgm", "(epsilon, 1e-9)", ("1",)),
)


@dataclass
class Run:
    """One synthesis: seconds of its parts and of the whole process, and the distances of what came out."""

    fit: float
    sample: float
    process: float
    mean: float
    largest: float

    @property
    def both(self) -> float:
        return self.fit + self.sample


@dataclass
class Point:
    """A peer at one epsilon: its runs, and the run of this project right before each."""

    peer: Peer
    epsilon: str
    theirs: list[Run] = field(default_factory=list)
    ours: list[Run] = field(default_factory=list)
    error: str = ""


class RunFailedError(Exception):
    """A run that did not come to an end; with the last line of what it said."""


@dataclass
class Bench:
    """The table in every form that a program takes, and the interpreters."""

    data: Path
    schema_file: Path
    schema: Schema
    real: CodedTable
    scratch: Path

    @property
    def codes(self) -> Path:
        return self.scratch / "codes.csv"

    def write_codes(self) -> None:
        pd.DataFrame(dict(zip(self.schema.names, self.real.columns, strict=True))).to_csv(self.codes, index=False)

    def run(self, program: str, python: Path, epsilon: str) -> Run:
        """Raises RunFailedError."""
        out = Path(tempfile.mkdtemp(dir=self.scratch)) / "synthetic.csv"
        job = out.with_name("job.json")
        document = {
            "data": str(self.data.resolve()),
            "schema": str(self.schema_file.resolve()),
            "codes": str(self.codes),
            "domain": list(zip(self.schema.names, map(int, self.schema.domain), strict=True)),
            "epsilon": epsilon,
            "out": str(out),
        }
        job.write_text(json.dumps(document))
        command = [str(python), str(RUNNER), program, str(job)]
        variables = environment_of_project() if program == OURS else None
        started = time.perf_counter()
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False, env=variables, cwd=out.parent
            )
        except subprocess.TimeoutExpired as error:
            raise RunFailedError(f"did not finish within {RUN_SECONDS} s") from error
        process = time.perf_counter() - started
        if done.returncode:
            raise RunFailedError(last_line(done.stderr))
        seconds = json.loads(last_line(done.stdout))
        synthetic = read_table(out, self.schema) if program == OURS else self.read_codes(out)
        distances = marginal_distances(self.real, synthetic, ways=(2,))
        return Run(seconds["fit"], seconds["sample"], process, distances["tvd2"], distances["tvd2_max"])

    def read_codes(self, file: Path) -> CodedTable:
        """Codes as a peer wrote them. Raises RunFailedError if they are none."""
        frame = pd.read_csv(file)
        try:
            columns = tuple(frame[name].to_numpy().round().astype("int64") for name in self.schema.names)
            return CodedTable(self.schema, columns)
        except (KeyError, ValueError, TypeError) as error:
            raise RunFailedError(f"what it wrote does not fit the domain: {error}") from error


def measure(point: Point, bench: Bench, python: Path, repetitions: int, patience: float) -> None:
    for _ in range(repetitions):
        try:
            mine = bench.run(OURS, Path(sys.executable), point.epsilon)
            point.theirs.append(bench.run(point.peer.name, python, point.epsilon))
        except RunFailedError as error:
            point.error = str(error)
            return
        point.ours.append(mine)
        print(point.peer.name, point.epsilon, point.theirs[-1], "ours", mine, flush=True)
        if point.theirs[-1].process > patience:
            return


def spread(values: list[float], digits: int = 2) -> str:
    """The median, and the range if there are several."""
    middle = f"{statistics.median(values):.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def report(points: list[Point], installed: dict[str, Installed], bench: Bench, command: str) -> str:
    lines = [
        f"# Other programs beside PrivBayes, on {bench.schema.name or 'the table'}",
        "",
        f"{bench.real.rows:,} rows, {len(bench.schema.attributes)} attributes, coded by the schema; fit plus as many",
        "sampled rows, timed inside the process, without imports and reading. Every run of a peer follows one of",
        "this project's PrivBayes (settings as they come, pure epsilon); a ratio is that of these two neighbours.",
        "Cells are medians, and ranges where there are several runs. Distances are the mean and the largest total",
        "variation distance over pairs of attributes, between the real table and the synthetic one. Two cores,",
        "which other work may share: seconds depend on it, and so does the ratio of a run of minutes to one of less",
        "than a second.",
        "",
        "```",
        command,
        "```",
        "",
        "| program | guarantee | epsilon | fit, s | sample, s | whole process, s | PrivBayes here, fit and sample, s "
        "| times slower | mean 2-way distance | here | largest | here |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for p in points:
        if p.theirs:
            ratios = [theirs.both / ours.both for theirs, ours in zip(p.theirs, p.ours, strict=True)]
            cells = [
                p.peer.title,
                p.peer.guarantee,
                p.epsilon,
                spread([r.fit for r in p.theirs]),
                spread([r.sample for r in p.theirs]),
                spread([r.process for r in p.theirs], 1),
                spread([r.both for r in p.ours]),
                spread(ratios, 1),
                *[spread([r.mean for r in runs], 3) for runs in (p.theirs, p.ours)],
                *[spread([r.largest for r in runs], 2) for runs in (p.theirs, p.ours)],
            ]
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "## What did not install or run", ""]
    faults = [f"- `{name}`: {_said(found)}" for name, found in installed.items() if found.errors]
    faults += [f"- {p.peer.title}, epsilon {p.epsilon}: {p.error}" for p in points if p.error]
    lines += faults or ["Everything did."]
    return "\n".join(lines) + "\n"


def _said(found: Installed) -> str:
    said = "; ".join(found.errors)
    return f"{said} (installed with newer versions of what it pins)" if found.python else said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of peers.md")
    parser.add_argument("--environments", type=Path, help="folder of the environments, kept for the next call")
    parser.add_argument("--peers", nargs="*", default=[p.name for p in PEERS], help="only these")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--patience", type=float, default=60.0, help="a longer run is not repeated, seconds")
    options = parser.parse_args()
    chosen = [p for p in PEERS if p.name in options.peers]
    schema = load_schema(options.schema)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.environments or Path(scratch) / "environments"
        bench = Bench(options.data, options.schema, schema, read_table(options.data, schema), Path(scratch))
        bench.write_codes()
        installed = {name: install(ENVIRONMENTS[name], folder) for name in dict.fromkeys(p.environment for p in chosen)}
        points = [Point(p, epsilon) for p in chosen if installed[p.environment].python for epsilon in p.epsilons]
        for point in points:
            python = installed[point.peer.environment].python
            assert python is not None
            measure(point, bench, python, options.repetitions, options.patience)
        named = f"--data {options.data.name} --schema {options.schema.name}"
        command = f"python -m benchmarks.peers {named} --out docs/benchmarks"
        text = report(points, installed, bench, command)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "peers.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
