"""Results that stand side by side: a name and a point for each value of x, as a table and as a panel alike."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

from benchmarks.cache import Point, Results
from benchmarks.markdown import spread, table
from benchmarks.plots import Line, Panel

DISTANCE, ERROR = "mean total variation distance", "misclassification"


@dataclass(frozen=True)
class Series(Generic[Point]):
    """One table and one panel.

    Attributes:
        x: values of the columns, ``x_label`` says of what.
        rows: name -> for each x the results' points and the measure there.
        levels: name -> point and measure of what does not depend on x.
    """

    title: str
    x_label: str
    y_label: str
    x: Sequence[str]
    rows: Mapping[str, Sequence[tuple[Point, str]]]
    levels: Mapping[str, tuple[Point, str]] = field(default_factory=dict)

    def values(self, results: Results[Point]) -> dict[str, list[list[float]]]:
        """Name -> the values of all seeds at each x; rows without any result are left out."""
        found = {name: [results.values(*cell) for cell in cells] for name, cells in self.rows.items()}
        return {name: cells for name, cells in found.items() if any(cells)}


def of_series(results: Results[Point], series: Series[Point], digits: int = 3) -> list[str]:
    """One row for each name that has results; levels stand in the first column of numbers."""
    rows = [[name, *(spread(cell, digits) for cell in cells)] for name, cells in series.values(results).items()]
    for name, cell in series.levels.items():
        if values := results.values(*cell):
            rows.append([name, spread(values, digits), *[""] * (len(series.x) - 1)])
    return table([series.x_label.replace("epsilon", "eps"), *series.x], rows)


def panel(results: Results[Point], series: Series[Point]) -> Panel:
    lines = {}
    # Colours by place in the series: a method has one colour in all panels of a picture.
    for colour, name in enumerate(series.rows):
        kept = [
            (float(x), cell) for x, cell in zip(series.x, series.values(results).get(name, []), strict=False) if cell
        ]
        lines[name] = Line([x for x, _ in kept], [cell for _, cell in kept], dashed=colour > 5, colour=colour)
    levels = {name: results.values(*cell) for name, cell in series.levels.items()}
    means = {name: statistics.mean(values) for name, values in levels.items() if values}
    return Panel(series.title, series.x_label, series.y_label, lines, means)
