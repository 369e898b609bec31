"""JTree and PrivHD beside PrivBayes and the papers' rivals: tables and pictures.

    python -m benchmarks.junction_tree --data adult.csv.gz nltcs.csv.gz diabetes130.csv.gz \
        --schema adult.schema.json nltcs.schema.json diabetes130.schema.json --cache trees.jsonl --out docs/benchmarks

writes junction_tree.md, and pictures into junction_tree/ beside it. A table of market baskets and random graphs are
made on the way. Seeds decide splits, marginals and the sampling; noise has none. Results are kept in the cache, one
line for each point and seed, so that a sweep can be cut off and go on; ``--any-code`` takes those of other versions of
the code too. ``--quick`` measures a few points only, to see what comes out.
"""

from __future__ import annotations

import argparse
import dataclasses
import time

from benchmarks.cache import Cache
from benchmarks.datasets import Dataset
from benchmarks.junction_tree.measure import digest, run_all, sources_of
from benchmarks.junction_tree.points import QUICK, Plan, Point
from benchmarks.junction_tree.text import FOLDER, document, draw_all
from benchmarks.sweep import command_of, make_parser, read_options, say

PACKAGE = "junction_tree"


def plan_of(options: argparse.Namespace) -> Plan:
    plan = QUICK if options.quick else Plan()
    return dataclasses.replace(plan, seeds=dict.fromkeys(plan.seeds, options.seeds)) if options.seeds else plan


def main(arguments: list[str] | None = None) -> None:
    parser = make_parser(PACKAGE, __doc__)
    parser.add_argument("--processes", type=int, default=2, help="timed points go one at a time all the same")
    options = read_options(parser, arguments)
    started = time.perf_counter()
    plan = plan_of(options)
    sources = sources_of(
        [Dataset.read(data, schema) for data, schema in zip(options.data, options.schema, strict=True)]
    )
    points: dict[Point, int] = {}
    for name in sources:
        points |= plan.points(name)
    cache = Cache(options.cache, digest(), any_code=options.any_code)
    if cache.old:
        say(f"{cache.old} results of other versions of the code do not count (--any-code takes them)")
    say(f"{len(points)} points, {sum(points.values())} runs")
    results = run_all(sources, points, cache, options.processes, say, only_cached=options.only_cached)
    pictures = draw_all(results, plan, options.out / FOLDER)
    text = document(results, sources, plan, pictures, command_of(PACKAGE, options))
    (options.out / f"{PACKAGE}.md").write_text(text, encoding="utf-8")
    say(f"{options.out / PACKAGE}.md: {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
