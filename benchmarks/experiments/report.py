"""The report of a release: bytes of the page, and seconds to make it.

Each release is one owner's at epsilon 1, made by ``privity synthesize``; its page is then made again from the folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values, grid
from privity.common.data.table_reading import read_table
from privity.common.release.release_contents import REPORT, SYNTHETIC
from privity.common.release.release_folder import read_release
from privity.common.release.report.overview import overview
from privity.common.release.report.report_page import report_page

TIMES = 3


def privity(*arguments: str | Path, state: Path) -> None:
    """Run the command, with ledgers in a folder that is not the account's."""
    command = [sys.executable, "-m", "privity.interfaces.cli.main", *arguments]
    variables = {**os.environ, "XDG_STATE_HOME": str(state)}
    subprocess.run(command, env=variables, check=True, capture_output=True)


def review(schema: Path) -> list[str | Path]:
    """The command that declares public all that a draft read off the rows."""
    names = [field["name"] for field in json.loads(schema.read_text(encoding="utf-8"))["fields"]]
    return ["schema", "review", "--", schema, *names]


def measure(point: Point, _seed: int, data: Data) -> list[Values]:
    """Make a release, and its page several times."""
    table, schema = data.files(point["data"])
    with tempfile.TemporaryDirectory() as scratch:
        state, out = Path(scratch) / "state", Path(scratch) / "release"
        privity("population", "declare", "benchmark", "--total-epsilon", "1", state=state)
        given = ("--data", table, "--schema", schema, "--algorithm", point["algorithm"])
        privity("synthesize", *given, "--epsilon", "1", "--population", "benchmark", "--out", out, state=state)
        written = (out / REPORT).read_text(encoding="utf-8")
        found = []
        for _ in range(TIMES):
            started = time.perf_counter()
            release = read_release(out)
            rows = read_table(out / SYNTHETIC, release.schema)
            read = time.perf_counter()
            again = report_page(overview(release, rows))
            ended = time.perf_counter()
            if again != written:
                raise ValueError("the page is not the same again")
            size = len(written.encode()) / 1000
            of = {"attributes": len(release.schema.names), "tables": len(release.tables()), "kB": size}
            found.append({**of, "page": ended - read, "reading": read - started})
    return found


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(data="adult", algorithm="dp-subn")
    return grid(data=("adult", "cps_taxunits"), algorithm=("dp-subn", "jtree"))


EXPERIMENT = Experiment(
    title="The report of a release: its size, and the seconds to make it",
    points=points,
    measure=measure,
    shows=(
        Table(
            "page of a release",
            ("data", "algorithm"),
            {
                "attributes": "attributes:0", "noisy tables": "tables:0", "kB": "kB:0", "seconds, page": "page:2",
                "seconds, reading": "reading:2",
            },
        ),
    ),
    tables=("adult", "cps_taxunits"),
    code=("common/release",),
    alone=lambda _: True,
)  # fmt: skip
