"""The pictures of the sweep over PrivBayes, one file for each section and table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.cache import Results
from benchmarks.plots import draw
from benchmarks.series import panel
from benchmarks.single_party.points import Plan, Point, is_binary
from benchmarks.single_party.series import all_series
from privity.common.data.coded_table import CodedTable


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
