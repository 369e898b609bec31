"""Accuracy at equal guarantee: this project's algorithms over numbers of parties, beside other programs.

    python -m benchmarks.accuracy --data DIR --out docs/benchmarks --environments PEERS

reads DIR/adult.csv.gz and DIR/adult.schema.json, and so for each table, and writes accuracy.md, and pictures into
accuracy/ beside it. Parties stand in one process (``privity.deploy.planning.in_process_session``): what is opened has
the same law as over the network. Seeds decide the split of the rows, which rows are held out, and the sampling; noise
has none.

Results are kept in accuracy/, one line for each point and seed, so that a sweep can be cut off, go on, and be widened:
results.jsonl holds ours, of which those of other versions of the algorithms do not count (``--any-code`` takes them
all the same), and peers.jsonl those of other programs. Peers run only if ``--environments`` names a folder for
their packages. ``--only`` and ``--methods`` restrict what is measured; the page shows all that is known.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

from benchmarks.accuracy.figures import draw_all
from benchmarks.accuracy.measure import PEER_CODE, digest, run_all
from benchmarks.accuracy.methods import METHODS, refusal
from benchmarks.accuracy.peers import Programs
from benchmarks.accuracy.points import (
    DELTA,
    PARTS,
    PEERS,
    PURE,
    QUICK,
    Plan,
    Point,
)
from benchmarks.accuracy.text import FOLDER, document
from benchmarks.cache import Cache
from benchmarks.datasets import Dataset, load
from benchmarks.sweep import say

PACKAGE = "accuracy"
DATASETS = ("adult", "nltcs", "diabetes130", "cps_taxunits")
PATIENCE = 3600.0


def readable(epsilon: str) -> str:
    """The one text of a number, by which results are kept: .1 and 0.10 are 0.1."""
    return f"{float(epsilon):g}"


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of NAME.csv.gz and NAME.schema.json")
    parser.add_argument("--out", type=Path, required=True, help=f"folder of {PACKAGE}.md")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--epsilons", nargs="+", type=readable)
    parser.add_argument("--parties", nargs="+", type=int, help="numbers of parties")
    parser.add_argument("--deltas", nargs="+", choices=(DELTA, PURE), help="0 is pure")
    parser.add_argument("--alphas", nargs="+", help="of the Dirichlet law")
    parser.add_argument("--peer-epsilons", nargs="+", type=readable)
    parser.add_argument("--seeds", type=int, help="runs of a point of ours")
    parser.add_argument("--peer-seeds", type=int, help="runs of a point of a peer")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts that are measured")
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, *PEERS], metavar="NAME", help="methods that are run")
    parser.add_argument("--environments", type=Path, help="folder of the peers' packages, kept for the next call")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds after which a peer's run is ended")
    parser.add_argument(
        "--cache", type=Path, help="folder of the results so far; accuracy/ beside the page if left out"
    )
    parser.add_argument("--any-code", action="store_true", help="take results of other versions of the code too")
    parser.add_argument("--quick", action="store_true", help="a few points only")
    parser.add_argument("--only-cached", action="store_true", help="measure nothing, write what the caches hold")
    parser.add_argument("--count", action="store_true", help="say how many points there are, and stop")
    return parser


def plan_of(options: argparse.Namespace) -> Plan:
    """What is measured."""
    given = {
        "epsilons": options.epsilons, "parties": options.parties, "guarantees": options.deltas,
        "alphas": options.alphas, "peer_epsilons": options.peer_epsilons, "parts": options.only,
        "methods": options.methods, "seeds": options.seeds, "peer_seeds": options.peer_seeds,
    }  # fmt: skip
    told = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items() if value}
    return dataclasses.replace(QUICK if options.quick else Plan(), **told)


def whole(plan: Plan) -> Plan:
    """The same epsilons, parties and seeds for all parts and methods: what the page shows where the caches know it."""
    return dataclasses.replace(plan, parts=PARTS, methods=(*METHODS, *PEERS))


def command_of(options: argparse.Namespace) -> str:
    """The command as the document shows it: without folders of this machine."""
    words = [f"python -m benchmarks.{PACKAGE} --data DATA --out docs/benchmarks --datasets", *options.datasets]
    for name in ("epsilons", "parties", "deltas", "alphas", "peer_epsilons"):
        if getattr(options, name):
            words += [f"--{name.replace('_', '-')}", *map(str, getattr(options, name))]
    words += [f"--seeds {options.seeds}"] if options.seeds else []
    words += [f"--peer-seeds {options.peer_seeds}"] if options.peer_seeds else []
    words += ["--any-code"] if options.any_code else []
    words += ["--quick"] if options.quick else []
    return " ".join([*words, "--environments PEERS"])


def main(arguments: list[str] | None = None) -> None:
    options = make_parser().parse_args(arguments)
    started = time.perf_counter()
    plan = plan_of(options)
    read = [
        Dataset.read(options.data / f"{name}.csv.gz", options.data / f"{name}.schema.json") for name in options.datasets
    ]
    datasets = {dataset.name: dataset for dataset in read}
    refused: dict[str, str] = {}
    points: dict[Point, int] = {}
    shown: dict[Point, int] = {}
    for dataset in read:
        reasons = {name: reason for name in METHODS if (reason := refusal(name, dataset.schema))}
        refused |= reasons
        points |= plan.points(dataset.name, list(reasons))
        shown |= whole(plan).points(dataset.name, list(reasons))
    for name, reason in refused.items():
        say(f"left out: {name}: {reason}")
    say(f"{len(points)} points, {sum(points.values())} runs")
    if options.count:
        return
    folder = options.cache or options.out / FOLDER
    ours = Cache(folder / "results.jsonl", digest(), any_code=options.any_code)
    if ours.old:
        say(f"{ours.old} results of other versions of the code do not count (--any-code takes them)")
    peers = Cache(folder / "peers.jsonl", PEER_CODE, any_code=options.any_code)
    programs = Programs(options.environments, options.patience)
    measured = run_all(datasets, points, ours, peers, programs, say, only_cached=options.only_cached)
    results = run_all(datasets, shown, ours, peers, programs, say, only_cached=True)
    results.failed |= measured.failed
    tables = {dataset.name: load(dataset.data, dataset.schema_file) for dataset in read}
    pictures = draw_all(results, list(tables), plan, options.out / FOLDER)
    code = "any version of the code" if options.any_code else f"the code with the digest {digest()}"
    text = document(results, tables, plan, refused, pictures, command_of(options), code)
    (options.out / f"{PACKAGE}.md").write_text(text, encoding="utf-8")
    say(f"{options.out / PACKAGE}.md: {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
