"""DP-SUBN over epsilons, numbers of parties and ways to split the rows: tables and pictures.

    python -m benchmarks.multi_party --data adult.csv.gz nltcs.csv.gz \
        --schema adult.schema.json nltcs.schema.json --cache sweep.jsonl --out docs/benchmarks --real

writes multi_party.md, and pictures into multi_party/ beside it. Parties stand in one process
(``privity.deploy.planning.in_process_session``): the released values have the same law as over the network. ``--real``
adds a sample of runs by real processes. Seeds decide the split of the rows and the sampling; noise has none.

Results are kept in the cache, one line for each point and seed, so that a sweep can be cut off, go on, and be
widened. Results of other versions of the algorithms do not count; ``--any-code`` takes them all the same.
``--quick`` measures a few points only, to see what comes out.
"""

from __future__ import annotations

import argparse
import dataclasses
import time

from benchmarks import sweep
from benchmarks.cache import Cache, code_digest
from benchmarks.datasets import Dataset, load
from benchmarks.multi_party.cache import run_all
from benchmarks.multi_party.figures import draw_all
from benchmarks.multi_party.points import QUICK, VARIANTS, Plan, Point, refusal
from benchmarks.multi_party.text import FOLDER, document
from benchmarks.sweep import make_parser, read_options, say

PACKAGE = "multi_party"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = make_parser(PACKAGE, __doc__)
    parser.add_argument("--processes", type=int, default=2, help="of the sweep; real runs go one at a time")
    parser.add_argument("--real", action="store_true", help="also runs by real processes")
    parser.add_argument("--key-bits", type=int, default=3072, help="of the real runs")
    parser.add_argument("--count", action="store_true", help="say how many points there are, and stop")
    return read_options(parser, arguments)


def plan_of(options: argparse.Namespace) -> Plan:
    plan = dataclasses.replace(QUICK if options.quick else Plan(), real=options.real)
    return dataclasses.replace(plan, seeds=options.seeds) if options.seeds else plan


def command_of(options: argparse.Namespace) -> str:
    real = f" --real --key-bits {options.key_bits}" if options.real else ""
    return sweep.command_of(PACKAGE, options) + real


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    started = time.perf_counter()
    plan = plan_of(options)
    read = [Dataset.read(data, schema) for data, schema in zip(options.data, options.schema, strict=True)]
    datasets = {dataset.name: dataset for dataset in read}
    refused: dict[str, str] = {}
    points: dict[Point, int] = {}
    for dataset in read:
        reasons = {name: reason for name in VARIANTS if (reason := refusal(name, dataset.schema))}
        refused |= reasons
        points |= plan.points(dataset, list(reasons))
    for name, reason in refused.items():
        say(f"left out: {name}: {reason}")
    cache = Cache(options.cache, code_digest(), any_code=options.any_code)
    if cache.old:
        say(f"{cache.old} results of other versions of the code do not count (--any-code takes them)")
    say(f"{len(points)} points, {sum(points.values())} runs")
    if options.count:
        return
    results = run_all(
        datasets, points, cache, options.key_bits, options.processes, say, only_cached=options.only_cached
    )
    pictures = draw_all(results, list(datasets), plan, options.out / FOLDER)
    tables = {dataset.name: (dataset, load(dataset.data, dataset.schema_file)) for dataset in read}
    text = document(results, tables, plan, refused, pictures, command_of(options), options.key_bits)
    (options.out / f"{PACKAGE}.md").write_text(text, encoding="utf-8")
    say(f"{options.out / PACKAGE}.md: {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
