"""PrivBayes of one owner over epsilons: scores, encodings, parameters, rivals; tables and pictures.

    python -m benchmarks.single_party --data adult.csv.gz nltcs.csv.gz \
        --schema adult.schema.json nltcs.schema.json --cache single.jsonl --out docs/benchmarks

writes single_party.md, and pictures into single_party/ beside it. Seeds decide the split of the rows and the
sampling; noise has none. Results are kept in the cache, one line for each point and seed, so that a sweep can be
cut off and go on. Results of other versions of the code do not count; ``--any-code`` takes them all the same.
``--quick`` measures a few points only, to see what comes out.
"""

from __future__ import annotations

import argparse
import dataclasses
import time

from benchmarks.cache import Cache
from benchmarks.datasets import Dataset, load
from benchmarks.single_party.baselines import BASELINES, NEED_ALL, holds_all
from benchmarks.single_party.figures import draw_all
from benchmarks.single_party.measure import digest_of, run_all
from benchmarks.single_party.points import QUICK, Plan, Point
from benchmarks.single_party.text import FOLDER, document
from benchmarks.sweep import command_of, make_parser, read_options, say

PACKAGE = "single_party"
KINDS = ("whole", "held out", "marginals", "classifier")


def plan_of(options: argparse.Namespace) -> Plan:
    plan = QUICK if options.quick else Plan()
    return dataclasses.replace(plan, seeds=options.seeds) if options.seeds else plan


def main(arguments: list[str] | None = None) -> None:
    options = read_options(make_parser(PACKAGE, __doc__), arguments)
    started = time.perf_counter()
    plan = plan_of(options)
    read = [Dataset.read(data, schema) for data, schema in zip(options.data, options.schema, strict=True)]
    datasets = {dataset.name: dataset for dataset in read}
    tables = {dataset.name: load(dataset.data, dataset.schema_file) for dataset in read}
    points: dict[Point, int] = {}
    for name, table in tables.items():
        feasible = [baseline for baseline in BASELINES if baseline not in NEED_ALL or holds_all(table)]
        points |= plan.points(name, table.schema, feasible)
    caches = {kind: Cache(options.cache, digest_of(kind), any_code=options.any_code) for kind in KINDS}
    say(f"{len(points)} points, {sum(points.values())} runs")
    results = run_all(datasets, points, caches, say, only_cached=options.only_cached)
    pictures = draw_all(results, tables, plan, options.out / FOLDER)
    text = document(results, tables, plan, pictures, command_of(PACKAGE, options))
    (options.out / f"{PACKAGE}.md").write_text(text, encoding="utf-8")
    say(f"{options.out / PACKAGE}.md: {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
