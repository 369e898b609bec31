"""Tall tables: up to a billion rows counted where they are, and 100 million through whole runs of three parties.

A billion rows are ten links to one file of 100 million: each link is read as a file of its own, so that what is read is
a billion rows, and what lies on the disk is a tenth of that. The three parties hold files of their own.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values, grid
from benchmarks.methods.made_rows import write_rows
from benchmarks.methods.own_process import in_own_process
from benchmarks.methods.source_counting import count
from benchmarks.methods.tall_tables import release

MILLION = 1_000_000
OF_A_FILE = 100 * MILLION
PARTIES = 3


def measure(point: Point, _seed: int, data: Data) -> Values:
    """Counts of all pairs, or a release."""
    with tempfile.TemporaryDirectory(dir=data.scratch) as scratch:
        folder = Path(scratch)
        if point["part"] == "release":
            files = {f"party-{number}": folder / f"{number}.parquet" for number in range(1, PARTIES + 1)}
            for file in files.values():
                write_rows(file, point["rows"] // PARTIES)
            return {"million": point["rows"] / MILLION, **in_own_process(release, files, point["algorithm"])}
        files_of_rows = linked_files(folder, point["rows"], point["of a file"])
        found = in_own_process(count, str(files_of_rows), "store", 1.0)
        return {"million": point["rows"] / MILLION, "microseconds": 1e6 * found["cpu"] / point["rows"], **found}


def linked_files(folder: Path, rows: int, of_a_file: int) -> Path:
    """A folder of so many rows: links to one file."""
    first = folder / "rows.parquet"
    write_rows(first, of_a_file)
    linked = folder / "linked"
    linked.mkdir()
    for number in range(rows // of_a_file):
        os.link(first, linked / f"part-{number:03}.parquet")
    return linked


def points(quick: bool) -> list[Point]:
    if quick:
        found = [{"part": "count", "rows": 40_000, "of a file": 20_000}]
        return found + grid(part="release", rows=30_000, algorithm="dp-subn")
    counted = [{"part": "count", "rows": files * OF_A_FILE, "of a file": OF_A_FILE} for files in (1, 3, 10)]
    return counted + grid(part="release", rows=OF_A_FILE, algorithm=("aim", "dp-subn"))


EXPERIMENT = Experiment(
    title="Tall tables",
    points=points,
    measure=measure,
    shows=(
        Table(
            "counts",
            ("million",),
            {
                "open, s": "open:0", "count, s": "count:0", "both, s": "both:0", "processor, s": "cpu:0",
                "us a row": "microseconds:2", "peak, GB": "peak:2",
            },
            where={"part": "count"},
        ),
        Table(
            "releases",
            ("million", "algorithm"),
            {
                "run, s": "seconds:0", "processor of all parties, s": "cpu of parties:0",
                "peak of a party, GB": "peak of a party:2", "processor of the curator, s": "cpu of curator:0",
                "peak of the curator, GB": "peak of curator:2", "synthetic rows, MB": "synthetic:0",
            },
            where={"part": "release"},
        ),
    ),
    code=("party/sources/rows.py", "party/sources", "common/data"),
    alone=lambda _: True,
)  # fmt: skip
