"""Error bars tried on real tables: how often the true count of a cell is within its half-width.

    python -m benchmarks.error_bars --data adult.csv.gz --schema adult.schema.json --runs 50 --out docs/benchmarks

Each run is a whole run of an algorithm over K parties in one process, with production releases. A cell of a table as
it was opened is *raw*. The same cells of the model that was learnt of them, all of whose tables are made consistent and
have no negative count, are *fitted*: their share of a large sample, times the rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import markdown
from benchmarks.datasets import Dataset, load, split_table
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_table
from privity.common.privacy.confidence_intervals import half_width
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models.present_rows import sample_present
from privity.deploy.planning.in_process_session import InProcessSession
from privity.party.local_session import complete

EPSILONS = (Fraction(1, 10), Fraction(1))
PARTIES = (1, 3, 10)
SAMPLE = 20
"""Rows of the sample for the fitted cells, times those of the table."""

CASES: tuple[tuple[str, Fraction, dict[str, Any]], ...] = (
    ("dp-subn", Fraction(0), {}),
    ("copula", Fraction(1, 2**30), {}),
)
"""Laplace noise, and Gaussian."""


@dataclass(frozen=True)
class Case:
    algorithm: str
    delta: Fraction
    settings: dict[str, Any]
    parties: int
    epsilon: Fraction


@dataclass
class Coverage:
    """Cells so far, and those whose interval holds the truth."""

    cells: int = 0
    raw: int = 0
    fitted: int = 0
    width: float = 0.0

    def line(self) -> list[str]:
        parts = (f"{100 * count / self.cells:.2f} %" for count in (self.raw, self.fitted))
        return [f"{self.cells:,}", *parts, f"{self.width / self.cells:.0f}"]


def measure(table: CodedTable, case: Case, runs: int) -> Coverage:
    found, generator = Coverage(), np.random.default_rng(0)
    for _ in range(runs):
        parts = split_table(table, case.parties, "random", generator)
        rho_budget = ALGORITHMS[case.algorithm].rho_budget(case.settings, case.epsilon, case.delta)
        session = InProcessSession(parts, case.epsilon, delta=case.delta, rho_budget=rho_budget)
        learned = complete(ALGORITHMS[case.algorithm].learn(session, case.epsilon, case.settings))
        sample = sample_present(learned, SAMPLE * table.rows, generator)
        for _, noisy in session.record.measured:
            width = half_width(noisy.law, session.noise_variables)
            true = contingency_table(table, noisy.attributes)
            fitted = contingency_table(sample, noisy.attributes) / SAMPLE
            found.cells += true.size
            found.raw += int((np.abs(noisy.counts - true) <= width).sum())
            found.fitted += int((np.abs(fitted - true) <= width).sum())
            found.width += width * true.size
    return found


def cases(algorithms: Sequence[str]) -> Sequence[Case]:
    kinds = [kind for kind in CASES if kind[0] in algorithms]
    return [Case(*kind, parties, epsilon) for kind in kinds for parties in PARTIES for epsilon in EPSILONS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--schema", type=Path, action="append", required=True)
    parser.add_argument("--algorithm", action="append", choices=[kind[0] for kind in CASES])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    lines = [
        "# Error bars",
        "",
        (__doc__ or "").strip().replace("\n\n    ", "\n\n```\n").replace("docs/benchmarks\n", "docs/benchmarks\n```\n"),
        "",
        f"{arguments.runs} runs each. The interval is for 95 of 100 raw cells. The whole noise makes it a little wider",
        "where its scale is small, as noise is whole. For fitted cells it is no promise: what is added up over many",
        "cells gets nearer to the truth, and what a model cannot show departs from it.",
    ]
    for data, schema in zip(arguments.data, arguments.schema, strict=True):
        dataset = Dataset.read(data, schema)
        rows = []
        for case in cases(arguments.algorithm or [kind[0] for kind in CASES]):
            covered = measure(load(data, schema), case, arguments.runs)
            rows.append([case.algorithm, str(case.parties), f"{float(case.epsilon):g}", *covered.line()])
            print(dataset.name, rows[-1], flush=True)
        head = ["algorithm", "K", "epsilon", "cells", "raw within", "fitted within", "mean half-width (rows)"]
        lines += ["", f"## {dataset.name}", *markdown.table(head, rows)]
        # After each table: the next one may take an hour.
        (arguments.out / "error_bars.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
