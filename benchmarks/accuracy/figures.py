"""The pictures of the comparison, one file for each table and section."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.points import Plan, Point
from benchmarks.accuracy.series import pictures
from benchmarks.cache import Results
from benchmarks.plots import draw
from benchmarks.series import panel


def draw_all(results: Results[Point], names: Sequence[str], plan: Plan, folder: Path) -> dict[str, str]:
    """Draw every picture that has results: its key -> file name."""
    drawn = {}
    for data in names:
        for key, found in pictures(data, plan).items():
            if draw([panel(results, series) for series in found], folder / f"{key}.svg"):
                drawn[key] = f"{key}.svg"
    return drawn
