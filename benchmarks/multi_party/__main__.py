"""DP-SUBN over epsilons, numbers of parties and ways to split the rows: tables and pictures.

    python -m benchmarks.multi_party --data adult.csv.gz nltcs.csv.gz \
        --schema adult.schema.json nltcs.schema.json --cache sweep.jsonl --out docs/benchmarks --real

writes multi_party.md, and pictures into multi_party/ beside it. Parties stand in one process
(``benchmarks.in_process``): the released values have the same law as over the network. ``--real`` adds a
sample of runs by real processes. Seeds decide the split of the rows and the sampling; noise has none.

Results are kept in the cache, one line for each point and seed, so that a sweep can be cut off, go on, and be
widened. Results of other versions of the algorithms do not count; ``--any-code`` takes them all the same.
``--quick`` measures a few points only, to see what comes out.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from pathlib import Path

from benchmarks.cache import Cache, code_digest
from benchmarks.multi_party.cache import run_all
from benchmarks.multi_party.figures import draw_all
from benchmarks.multi_party.measure import load
from benchmarks.multi_party.points import QUICK, VARIANTS, Dataset, Plan, Point, refusal
from benchmarks.multi_party.text import FOLDER, document


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--schema", type=Path, nargs="+", required=True, help="one for each table")
    parser.add_argument("--out", type=Path, required=True, help="folder of multi_party.md")
    parser.add_argument("--cache", type=Path, help="file of JSON lines with the results so far")
    parser.add_argument("--any-code", action="store_true", help="take results of other versions of the code too")
    parser.add_argument("--processes", type=int, default=2, help="of the sweep; real runs go one at a time")
    parser.add_argument("--seeds", type=int, help="runs of a point")
    parser.add_argument("--real", action="store_true", help="also runs by real processes")
    parser.add_argument("--key-bits", type=int, default=3072, help="of the real runs")
    parser.add_argument("--quick", action="store_true", help="a few points only")
    parser.add_argument("--only-cached", action="store_true", help="measure nothing, write what the cache holds")
    parser.add_argument("--count", action="store_true", help="say how many points there are, and stop")
    options = parser.parse_args(arguments)
    if len(options.data) != len(options.schema):
        parser.error("as many schemas as tables are needed")
    return options


def plan_of(options: argparse.Namespace) -> Plan:
    plan = dataclasses.replace(QUICK if options.quick else Plan(), real=options.real)
    return dataclasses.replace(plan, seeds=options.seeds) if options.seeds else plan


def command_of(options: argparse.Namespace) -> str:
    """The command as the document shows it: without folders of this machine."""
    data, schemas = (" ".join(path.name for path in paths) for paths in (options.data, options.schema))
    words = [f"python -m benchmarks.multi_party --data {data} --schema {schemas}", "--out docs/benchmarks"]
    words += [f"--seeds {options.seeds}"] if options.seeds else []
    words += ["--quick"] if options.quick else []
    words += ["--any-code"] if options.any_code else []
    words += [f"--real --key-bits {options.key_bits}"] if options.real else []
    return " ".join(words)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


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
    (options.out / "multi_party.md").write_text(text, encoding="utf-8")
    say(f"{options.out / 'multi_party.md'}: {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
