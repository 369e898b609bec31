"""Pictures of the sweep over parties: small SVG files that come out the same for the same numbers."""

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
class Line:
    """Values over x, one list of seeds for each x."""

    x: Sequence[float]
    values: Sequence[Sequence[float]]
    dashed: bool = False
    colour: int | None = None


@dataclass(frozen=True)
class Curves:
    """One set of axes with smooth named lines: x and y of each, and how far x reaches."""

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    x_limit: float

    @property
    def empty(self) -> bool:
        return not self.lines


@dataclass(frozen=True)
class Panel:
    """One set of axes: named lines, and named levels drawn across (one dotted, the next dash-dotted)."""

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Line]
    levels: Mapping[str, float] = field(default_factory=dict)
    log_y: bool = False

    @property
    def empty(self) -> bool:
        return not any(line.x for line in self.lines.values())


def draw(panels: Sequence[Panel | Curves], file: Path, columns: int = 2) -> bool:
    """Write the panels with anything in them to ``file`` as SVG; False if there is nothing to draw.

    The mean over seeds is the line; bars reach from the least to the greatest.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    shown = [panel for panel in panels if not panel.empty]
    if not shown:
        return False
    columns = min(columns, len(shown))
    rows = -(-len(shown) // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(4.4 * columns, 3.0 * rows + 0.5), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.ravel()[len(shown) :]:
            axes.set_visible(False)
        handles: dict[str, Any] = {}
        for panel, axes in zip(shown, grid.ravel(), strict=False):
            handles |= _fill(axes, panel) if isinstance(panel, Panel) else _trace(axes, panel)
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


def _trace(axes: Axes, curves: Curves) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    for place, (name, (x, y)) in enumerate(curves.lines.items()):
        dashed = "--" if place >= len(COLOURS) else "-"
        (handles[name],) = axes.plot(x, y, label=name, color=COLOURS[place % len(COLOURS)], linestyle=dashed)
    axes.set_xlim(0, curves.x_limit)
    axes.set_title(curves.title, fontsize=9)
    axes.set_xlabel(curves.x_label)
    axes.set_ylabel(curves.y_label)
    return handles


def _fill(axes: Axes, panel: Panel) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    ticks: set[float] = set()
    for place, (name, line) in enumerate(panel.lines.items()):
        if not line.x:
            continue
        ticks |= set(line.x)
        colour = place if line.colour is None else line.colour
        means = [statistics.mean(values) for values in line.values]
        below = [mean - min(values) for mean, values in zip(means, line.values, strict=True)]
        above = [max(values) - mean for mean, values in zip(means, line.values, strict=True)]
        handles[name] = axes.errorbar(
            line.x, means, yerr=[below, above], label=name, color=COLOURS[colour % len(COLOURS)],
            marker=MARKERS[colour % len(MARKERS)], markersize=4, linewidth=1.2, elinewidth=0.8,
            linestyle="--" if line.dashed else "-",
        )  # fmt: skip
    for style, (name, level) in zip((":", "-."), panel.levels.items(), strict=False):
        handles[name] = axes.axhline(level, linestyle=style, color="black", linewidth=0.9)
    axes.set_xscale("log")
    axes.set_xticks(sorted(ticks), [f"{x:g}" for x in sorted(ticks)])
    axes.xaxis.minorticks_off()
    if panel.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_title(panel.title, fontsize=9)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    return handles
