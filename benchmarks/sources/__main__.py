"""Contingency tables counted where rows are: Parquet files by their rows, PostgreSQL, Spark, memory, draws.

    python -m benchmarks.sources --scratch /var/tmp --adult adult.csv.gz adult.schema.json \
        --cps cps_taxunits.csv.gz cps_taxunits.schema.json --out docs/benchmarks

writes sources.md, and a picture into sources/ beside it. The rows are made in the scratch folder, which needs 7 GB for
100 million of them, and are removed afterwards. ``--parts`` measures some parts only; with ``--results`` the others are
taken from that file. PostgreSQL needs Debian's package, Spark needs Java.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.sources.measure import PARTS, Plan, Table
from benchmarks.sources.text import page, picture
from benchmarks.sweep import say

SERVERS = ("postgresql", "spark")


def command_of(options: argparse.Namespace) -> str:
    """As the page shows it: without folders of this machine."""
    adult, cps = (" ".join(Path(file).name for file in files) for files in (options.adult, options.cps))
    return (
        f"python -m benchmarks.sources --scratch DIR --adult {adult} --cps {cps} --rows {options.rows}"
        f" --server-rows {options.server_rows} --sweep-rows {options.sweep_rows} --times {options.times}"
        f" --servers {' '.join(options.servers)} --out docs/benchmarks"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scratch", type=Path, required=True, help="folder for made rows")
    parser.add_argument("--adult", type=Path, nargs=2, required=True, metavar=("DATA", "SCHEMA"))
    parser.add_argument("--cps", type=Path, nargs=2, required=True, metavar=("DATA", "SCHEMA"))
    parser.add_argument("--rows", type=int, default=100_000_000, help="of the largest file")
    parser.add_argument("--server-rows", type=int, default=5_000_000, help="beside servers, and of the draws")
    parser.add_argument("--sweep-rows", type=int, default=500_000)
    parser.add_argument("--servers", nargs="*", choices=SERVERS, default=list(SERVERS))
    parser.add_argument("--times", type=int, default=2, help="of each measurement; the best counts")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS), help="to measure")
    parser.add_argument("--results", type=Path, help="JSON file of the figures")
    parser.add_argument("--out", type=Path, required=True, help="folder of sources.md")
    options = parser.parse_args(arguments)
    tables = (Table(*options.adult, bits=True), Table(*options.cps, bits=False))
    plan = Plan(
        options.rows, options.server_rows, options.sweep_rows, servers=options.servers, tables=tables,
        times=options.times,
    )  # fmt: skip
    found = json.loads(options.results.read_text("utf-8")) if options.results and options.results.exists() else {}
    for part in options.parts:
        found[part] = PARTS[part](plan, options.scratch, say)
        if options.results:
            options.results.write_text(json.dumps(found), encoding="utf-8")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "sources.md").write_text(page(found, command_of(options)), encoding="utf-8")
    picture(found, options.out)


if __name__ == "__main__":
    main()
