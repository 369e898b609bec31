"""Pictures of results: small SVG files that come out the same for the same numbers."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7f7f7f", "#e69f00")
MARKERS = "osv^Dx"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small files
    "svg.hashsalt": "privity",  # ids come from the content alone
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
}
LONG_NUMBER = re.compile(r"-?[0-9]+\.[0-9]{3,}")


@dataclass(frozen=True)
class Panel:
    """One set of axes.

    Attributes:
        lines: name -> x -> values of all runs there.
        levels: named levels, drawn across.
        smooth: curves without markers and bars, on axes that begin at 0.
    """

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Mapping[float, Sequence[float]]]
    levels: Mapping[str, float] = field(default_factory=dict)
    log_y: bool = False
    smooth: bool = False
    x_limit: float | None = None


def draw(panels: Sequence[Panel], file: Path, columns: int = 2) -> bool:
    """Write the panels that have lines to ``file`` as SVG; False if there are none.

    The mean over runs is the line; bars reach from the least to the greatest.
    """
    shown = [panel for panel in panels if panel.lines]
    if not shown:
        return False
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    columns = min(columns, len(shown))
    rows = -(-len(shown) // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(4.4 * columns, 3.0 * rows + 0.5), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.ravel()[len(shown) :]:
            axes.set_visible(False)
        handles: dict[str, Any] = {}
        for panel, axes in zip(shown, grid.ravel(), strict=False):
            handles |= _fill(axes, panel)
        across = min(2 * columns, len(handles))
        figure.legend([*handles.values()], [*handles], loc="outside lower center", ncols=across, frameon=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    file.write_text(_smaller(file.read_text(encoding="utf-8")), encoding="utf-8")
    return True


def _smaller(svg: str) -> str:
    """The same picture with coordinates of two decimals and without indentation."""
    short = LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), svg)
    short = re.sub(r' transform="rotate\(-0 [^"]*"', "", short)
    return "\n".join(line.strip() for line in short.splitlines()) + "\n"


def _fill(axes: Axes, panel: Panel) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    for place, (name, line) in enumerate(panel.lines.items()):
        x = sorted(line)
        means = [statistics.mean(line[at]) for at in x]
        style: dict[str, Any] = {
            "color": COLOURS[place % len(COLOURS)],
            "linestyle": "--" if place >= len(COLOURS) else "-",
        }
        if panel.smooth:
            (handles[name],) = axes.plot(x, means, **style)
            continue
        below = [mean - min(line[at]) for at, mean in zip(x, means, strict=True)]
        above = [max(line[at]) - mean for at, mean in zip(x, means, strict=True)]
        handles[name] = axes.errorbar(
            x, means, yerr=[below, above], marker=MARKERS[place % len(MARKERS)], markersize=4, linewidth=1.2,
            elinewidth=0.8, **style,
        )  # fmt: skip
    for style_, (name, level) in zip((":", "-."), panel.levels.items(), strict=False):
        handles[name] = axes.axhline(level, linestyle=style_, color="black", linewidth=0.9)
    if not panel.smooth:
        ticks = sorted({x for line in panel.lines.values() for x in line})
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axes.xaxis.minorticks_off()
    if panel.x_limit is not None:
        axes.set_xlim(0, panel.x_limit)
    if panel.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_title(panel.title, fontsize=9)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    return handles
