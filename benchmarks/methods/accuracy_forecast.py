"""What ``privity plan --accuracy`` forecasts from all other tables, beside what is measured."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.experiment import Values
from benchmarks.methods.learning import synthesize
from benchmarks.methods.profile_fit import TableFit, fit_table, profiles_of
from privity.assessment.planning.expected_error import Grid, estimates
from privity.assessment.planning.rehearsal import Shape, compared_pairs, pair_distances
from privity.common.data.coded_table import CodedTable

COMPARED = ("dp-subn", "privbayes", "jtree", "one-way")


def fit_all(tables: Mapping[str, CodedTable], file: Path) -> dict[str, TableFit]:
    """What each table says; what the file holds is taken from there, and the rest is kept in it."""
    known = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        entry = json.loads(line)
        name, rows = entry.pop("table"), entry.pop("rows")
        known[name] = TableFit(rows, **{key: tuple(values) for key, values in entry.items()})
    with file.open("a", encoding="utf-8") as stream:
        for name, table in tables.items():
            if name not in known:
                known[name] = fit_table(table)
                stream.write(json.dumps({"table": name, **vars(known[name])}) + "\n")
                stream.flush()
    return {name: known[name] for name in tables}


def tried(
    table: CodedTable, others: Sequence[TableFit], parties: int, epsilon: str, repeats: int, processes: int = 1
) -> list[Values]:
    """For each algorithm the forecast by the other tables' profiles, as typical, weak and strong, and what was
    measured; ``off`` is typical over measured, less 1, ``inside`` whether measured lies between weak and strong."""
    part, rest = divmod(table.rows, parties)
    held = tuple(part + (place < rest) for place in range(parties))
    shape = Shape(table.schema, held, min(1, parties - 1))
    grid = Grid((Fraction(epsilon),), {algorithm: {} for algorithm in COMPARED}, Fraction(0), (parties,))
    found = []
    for forecast in estimates(shape, grid, profiles=profiles_of(others), processes=processes):
        measured, largest = _measured(table, forecast.algorithm, parties, epsilon, repeats)
        mean, error = statistics.fmean(measured), forecast.error
        inside = float(error.least <= mean <= error.greatest)
        off = {"off": error.expected / mean - 1, "inside": inside, "off as strong": error.greatest / mean - 1}
        told = {"typical": error.expected, "weak": error.least, "strong": error.greatest}
        worst = {"worst pair, forecast": forecast.largest.expected, "worst pair": statistics.fmean(largest)}
        found.append({"algorithm": forecast.algorithm, "measured": mean, **told, **off, **worst})
    return found


def _measured(
    table: CodedTable, algorithm: str, parties: int, epsilon: str, repeats: int
) -> tuple[list[float], list[float]]:
    """Mean and largest distance over pairs, run by run."""
    mean, largest = [], []
    for seed in range(repeats):
        generator = np.random.default_rng(seed)
        synthetic, _ = synthesize(table, {"epsilon": epsilon, "parties": parties}, algorithm, {}, generator)
        found = pair_distances(table, synthetic, compared_pairs(table.schema, generator))
        mean.append(float(found.mean()))
        largest.append(float(found.max()))
    return mean, largest
