"""The report of a release measured: bytes of the page, and seconds to make it.

    python -m benchmarks.report --data adult.csv.gz cps_taxunits.csv.gz \\
        --schema adult.schema.json cps_taxunits.schema.json --out docs/benchmarks

Each release is one owner's at epsilon 1, made by ``privity synthesize``; its page is then made again from the folder.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets import Dataset
from benchmarks.markdown import spread, table
from privity.common.data.table_reading import read_table
from privity.common.release.release_contents import REPORT, SYNTHETIC
from privity.common.release.release_folder import read_release
from privity.common.release.report.report_page import report_page

ALGORITHMS = ("dp-subn", "jtree")
TIMES = 3


@dataclass(frozen=True)
class Measured:
    """Of one release: bytes of the page; seconds of each time it was made, and of reading the rows before."""

    dataset: str
    attributes: int
    algorithm: str
    tables: int
    size: int
    reading: list[float]
    page: list[float]


def privity(*arguments: str | Path, state: Path) -> None:
    """Run the command, with ledgers in a folder that is not the account's."""
    subprocess.run(
        [sys.executable, "-m", "privity.deploy.cli.main", *arguments],
        env={**os.environ, "XDG_STATE_HOME": str(state.resolve())},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def measure(dataset: Dataset, algorithm: str, folder: Path) -> Measured:
    """Make a release and its page several times."""
    out = folder / f"{dataset.name}-{algorithm}"
    privity("population", "declare", out.name, "--total-epsilon", "1", state=folder)
    given = ("--data", dataset.data, "--schema", dataset.schema_file, "--algorithm", algorithm)
    privity("synthesize", *given, "--epsilon", "1", "--population", out.name, "--out", out, state=folder)
    written = (out / REPORT).read_text(encoding="utf-8")
    reading, page = [], []
    for _ in range(TIMES):
        started = time.perf_counter()
        release = read_release(out)
        rows = read_table(out / SYNTHETIC, release.schema)
        read = time.perf_counter()
        again = report_page(release, rows)
        page.append(time.perf_counter() - read)
        reading.append(read - started)
        assert again == written, "the page is not the same again"
    schema = dataset.schema
    return Measured(
        dataset.name, len(schema.names), algorithm, len(release.tables()), len(written.encode()), reading, page
    )


def document(measured: list[Measured], command: str) -> str:
    """The text of docs/benchmarks/report.md."""
    lines = [
        "# The report of a release",
        "",
        "Bytes of `report.html` and seconds to make it ([docs/report.md](../report.md)), for releases of one owner at",
        f"epsilon 1. Seconds are the mean (least-greatest) of {TIMES} times on two busy cores: of the",
        "page itself, by which a run takes longer, and of reading and checking the folder before, as `privity report`",
        "does. Each time the page was the same to the byte.",
        "",
        "```",
        command,
        "```",
        *table(
            ("table", "attributes", "algorithm", "noisy tables", "kB", "seconds, page", "seconds, reading"),
            [
                (
                    m.dataset,
                    str(m.attributes),
                    m.algorithm,
                    str(m.tables),
                    f"{m.size / 1000:,.0f}",
                    spread(m.page, 2),
                    spread(m.reading, 2),
                )
                for m in measured
            ],
        ),
        "",
        f"The slowest page took {max(statistics.mean(m.page) for m in measured):.1f} s, the largest has"
        f" {max(m.size for m in measured) / 1e6:.1f} MB.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--schema", type=Path, nargs="+", required=True)
    parser.add_argument("--algorithm", nargs="+", default=list(ALGORITHMS))
    parser.add_argument("--out", type=Path, required=True, help="folder of report.md")
    options = parser.parse_args()
    datasets = [Dataset.read(data, schema) for data, schema in zip(options.data, options.schema, strict=True)]
    measured = []
    with tempfile.TemporaryDirectory() as scratch:
        for dataset in datasets:
            for algorithm in options.algorithm:
                measured.append(measure(dataset, algorithm, Path(scratch)))
                print(measured[-1], flush=True)
    named = [" ".join(path.name for path in paths) for paths in (options.data, options.schema)]
    command = f"python -m benchmarks.report --data {named[0]} --schema {named[1]} --out docs/benchmarks"
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "report.md").write_text(document(measured, command), encoding="utf-8")


if __name__ == "__main__":
    main()
