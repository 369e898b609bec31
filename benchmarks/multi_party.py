"""DP-SUBN over epsilons, numbers of parties and ways to split the rows, in one process.

    python -m benchmarks.multi_party --data adult.csv.gz nltcs.csv.gz \
        --schema adult.schema.json nltcs.schema.json --out docs/benchmarks

Parties stand in one process (``benchmarks.in_process``): the released values have the same law as over the
network, encryption apart. The release of noisy 1-way tables without any structure stands beside. Seeds
decide the split of the rows and the sampling; noise has none.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.in_process import InProcessSession
from common.algorithms import ALGORITHMS
from common.evaluation.distance import marginal_distances
from common.schema import load_schema
from common.table import CodedTable, read_table
from deploy.splitting import split_rows

EPSILONS = ("0.1", "0.2", "0.4", "0.8", "1.6")
PARTIES = (1, 2, 3, 5, 10, 25)
COMPARED: dict[str, tuple[str, dict[str, str]]] = {
    "dp-subn": ("dp-subn", {}),
    "dp-subn, frontier useful": ("dp-subn", {"frontier": "useful"}),
    "dp-ccbn": ("dp-ccbn", {}),
    "one-way": ("one-way", {}),
}
SEEDS = (1, 2, 3)
SPLIT_PARTIES = 3
LARGE_SHARE = "sizes:.8,.1,.1"


@dataclass(frozen=True)
class Point:
    """One setting of the sweep; ``split`` as in ``privity simulate``."""

    data: Path
    schema: Path
    algorithm: str
    epsilon: str
    parties: int
    split: str = "random"


@dataclass(frozen=True)
class Result:
    """Mean and largest 2-way distance of each seed."""

    mean: list[float]
    largest: list[float]


@cache
def load(data: Path, schema: Path) -> CodedTable:
    return read_table(data, load_schema(schema))


def split_table(table: CodedTable, parties: int, how: str, generator: np.random.Generator) -> list[CodedTable]:
    """The rows of each party, by the rules of ``privity simulate`` (codes in the place of values)."""
    frame = pd.DataFrame({"row": np.arange(table.rows)})
    if how.startswith("by:"):
        name = how.removeprefix("by:")
        column = table.columns[table.schema.index(name)]
        # Padded, since the rule sorts texts.
        frame[name] = [f"{code:09}" for code in column.tolist()]
    parts = split_rows(frame, parties, how, generator)
    return [CodedTable(table.schema, tuple(c[part["row"].to_numpy()] for c in table.columns)) for part in parts]


def measure(point: Point, seeds: Sequence[int] = SEEDS) -> Result:
    """Learn, sample as many rows as there are, and compare with the real table, once for each seed."""
    table = load(point.data, point.schema)
    result = Result([], [])
    for seed in seeds:
        generator = np.random.default_rng(seed)
        epsilon = Fraction(point.epsilon)
        session = InProcessSession(split_table(table, point.parties, point.split, generator), epsilon)
        algorithm, settings = COMPARED[point.algorithm]
        model = asyncio.run(ALGORITHMS[algorithm].learn(session, epsilon, settings))
        distances = marginal_distances(table, model.sample(table.rows, generator), ways=(2,))
        result.mean.append(distances["tvd2"])
        result.largest.append(distances["tvd2_max"])
    return result


def spread(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.3f} ({min(values):.3f}-{max(values):.3f})"


def grid(title: str, head: str, rows: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """A markdown table with epsilons as columns."""
    lines = ["", f"{title}:", "", f"| {head} | " + " | ".join(EPSILONS) + " |", "|---" * (len(EPSILONS) + 1) + "|"]
    return lines + [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows]


def splits(sort_by: str) -> dict[str, str]:
    return {"random": "random", f"sorted by {sort_by}": f"by:{sort_by}", "one party has 80 %": LARGE_SHARE}


def points_of(data: Path, schema: Path, sort_by: str) -> list[Point]:
    """Every setting measured on one table, without repetition."""
    over_parties = [Point(data, schema, a, e, k) for a in COMPARED for k in PARTIES for e in EPSILONS]
    over_splits = [
        Point(data, schema, a, e, SPLIT_PARTIES, how)
        for a in COMPARED
        for how in splits(sort_by).values()
        for e in EPSILONS
    ]
    return list(dict.fromkeys(over_parties + over_splits))


def section(data: Path, schema: Path, sort_by: str, results: dict[Point, Result]) -> list[str]:
    """The tables of one data set."""
    table = load(data, schema)
    name = table.schema.name or data.name.split(".")[0]
    lines = ["", f"## {name}", "", f"{table.rows:,} rows, {len(table.schema.attributes)} attributes."]
    for title, values in (("Mean", "mean"), ("Largest", "largest")):

        def cells(algorithm: str, parties: int, how: str = "random", values: str = values) -> list[str]:
            found = [results[Point(data, schema, algorithm, e, parties, how)] for e in EPSILONS]
            return [spread(getattr(result, values)) for result in found]

        over_parties = [(f"{a}, K = {k}", cells(a, k)) for a in COMPARED for k in PARTIES]
        lines += grid(f"{title} 2-way distance over all pairs, rows split at random", "eps", over_parties)
        over_splits = [(f"{a}, {n}", cells(a, SPLIT_PARTIES, h)) for a in COMPARED for n, h in splits(sort_by).items()]
        lines += grid(f"{title} 2-way distance over all pairs, K = {SPLIT_PARTIES}", "eps", over_splits)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--schema", type=Path, nargs="+", required=True, help="one for each table")
    parser.add_argument("--out", type=Path, required=True, help="folder of multi_party.md")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if len(options.data) != len(options.schema):
        parser.error("as many schemas as tables are needed")
    started = time.perf_counter()
    tables = [(d, s, load_schema(s).names[-1]) for d, s in zip(options.data, options.schema, strict=True)]
    points = [point for table in tables for point in points_of(*table)]
    with ProcessPoolExecutor(options.processes) as pool:
        results = dict(zip(points, pool.map(measure, points), strict=True))
    data, schemas = (" ".join(path.name for path in paths) for paths in (options.data, options.schema))
    lines = [
        "# DP-SUBN over numbers of parties",
        "",
        "Total variation distance over all pairs of attributes, numbers in the schema's bins, between the real",
        f"table and a synthetic one of equal size: the mean (least-greatest) of {len(SEEDS)} runs with different",
        "splits of the rows. Columns are epsilon, as charged to each party. K = 1 is the single-party reference;",
        "from K = 2 on, t = 1. `one-way` is the release without any structure. The tables sorted by an attribute",
        "take the schema's last one. Parties stand in one process; the released values have the law they have",
        "over the network.",
        "",
        "```",
        f"python -m benchmarks.multi_party --data {data} --schema {schemas} --out docs/benchmarks",
        "```",
    ]
    for table in tables:
        lines += section(*table, results)
    text = "\n".join(lines) + "\n"
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "multi_party.md").write_text(text, encoding="utf-8")
    print(text)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
