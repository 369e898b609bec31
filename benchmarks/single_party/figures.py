"""The pictures of the sweep over PrivBayes, one file for each section and table."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

from benchmarks.cache import Results
from benchmarks.plots import Line, Panel, draw
from benchmarks.single_party.points import Plan, Point, is_binary
from benchmarks.single_party.series import Series, all_series
from common.table import CodedTable


def panel(results: Results[Point], series: Series) -> Panel:
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


def draw_all(
    results: Results[Point], tables: Mapping[str, CodedTable], plan: Plan, folder: Path
) -> dict[tuple[str, str], str]:
    """Draw every picture that has results: (section, table) -> file name."""
    drawn = {}
    for data, table in tables.items():
        for section, found in all_series(data, plan, binary=is_binary(table.schema)).items():
            file = f"{section}_{data}.svg"
            if draw([panel(results, series) for series in found], folder / file):
                drawn[section, data] = file
    return drawn
