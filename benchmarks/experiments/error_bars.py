"""Error bars on real tables: how often the true count of a cell is within its half-width.

Each run is a whole run of an algorithm over K parties in one process, with production releases. A cell of a table as it
was measured is *raw*. The same cells of the model that was learned, whose tables are consistent and have no negative
count, are *fitted*: their share of a large sample, times the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Point, Record, Table, Values, grid, values_of
from benchmarks.methods.learning import learn, session_over
from privity.common.data.contingency_tables import contingency_table
from privity.common.privacy.noisy_count_intervals import half_width
from privity.common.synthesis.models.present_rows import sample_present

SAMPLE = 20
"""Rows of the sample for the fitted cells, times those of the table."""

DELTAS = {"dp-subn": "0", "copula": "1/1073741824"}
"""Laplace noise, and Gaussian."""


def measure(point: Point, seed: int, data: Data) -> Values:
    table, generator = data.table(point["data"]), np.random.default_rng(seed)
    point = {**point, "delta": DELTAS[point["algorithm"]]}
    session = session_over(table, point, point["algorithm"], {}, generator)
    model = learn(session, point["algorithm"], {})
    sample = sample_present(model, SAMPLE * table.rows, generator)
    found = {"cells": 0, "raw": 0, "fitted": 0, "width": 0.0}
    for _, noisy in session.record.measured:
        width = half_width(noisy.law, session.noise_variables)
        true = contingency_table(table, noisy.attributes)
        fitted = contingency_table(sample, noisy.attributes) / SAMPLE
        found["cells"] += true.size
        found["raw"] += int((np.abs(noisy.counts - true) <= width).sum())
        found["fitted"] += int((np.abs(fitted - true) <= width).sum())
        found["width"] += width * true.size
    return found


def of_all(measure: str, text: str) -> Callable[[Sequence[Record]], str]:
    """A share of the cells of all runs together."""
    return lambda records: text.format(sum(values_of(records, measure)) / sum(values_of(records, "cells")))


def table_of(data: str) -> Table:
    shown = {
        "cells": lambda records: f"{sum(values_of(records, 'cells')):,}",
        "raw within": of_all("raw", "{:.2%}"),
        "fitted within": of_all("fitted", "{:.2%}"),
        "mean half-width (rows)": of_all("width", "{:.0f}"),
    }
    return Table(data, ("algorithm", "parties", "epsilon"), shown, where={"data": data})


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(data="nltcs", algorithm="dp-subn", parties=3, epsilon="1", seeds=2)
    cases = {"parties": (1, 3, 10), "epsilon": ("0.1", "1"), "seeds": 50}
    return grid(data=("adult", "nltcs"), algorithm="dp-subn", **cases) + grid(data="nltcs", algorithm="copula", **cases)


EXPERIMENT = Experiment(
    title="Error bars: how often the true count is within its half-width",
    points=points,
    measure=measure,
    shows=[table_of(data) for data in ("adult", "nltcs")],
    tables=("adult", "nltcs"),
    code=(*CODE, "benchmarks/experiments/error_bars.py"),
)
