"""Line charts as SVG text: told apart by markers and strokes, not by colour alone; no script, no outside file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from privity.common.pages.drawing import Scale, tick_step

WIDTH, HEIGHT = 440, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 34, 44
INKS = ("#0b5394", "#9c4000", "#1a6b3c", "#6a3d7c", "#1a1a1a", "#7a5c00", "#8b1a3a", "#3d5a5a")
STROKES = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2 1 2", "1 2", "6 2 2 2 2 2")
STEPS = (1, 2, 2.5, 5, 10)
MOST_TICKS = 6


@dataclass(frozen=True)
class Series:
    """A named line over x, with an interval around each value or none."""

    name: str
    values: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Chart:
    """Lines over the same x, which stand on a logarithmic axis; y starts at 0."""

    title: str
    x_label: str
    y_label: str
    x: tuple[float, ...]
    x_texts: tuple[str, ...]
    series: tuple[Series, ...]

    def svg(self, number: int) -> str:
        """The picture; ``number`` tells the ids of several on one page apart."""
        up = self._up()
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" role="img"'
            f' aria-labelledby="chart-{number}" font-family="sans-serif" font-size="12" fill="#1a1a1a">',
            f'<title id="chart-{number}">{escape(self.title)}</title>',
            f'<rect width="{WIDTH}" height="{self.height}" fill="#ffffff"/>',
            f'<text x="{LEFT}" y="18" font-weight="bold">{escape(self.title)}</text>',
            *self._axes(up),
        ]
        for place, series in enumerate(self.series):
            parts += self._line(series, place, up)
            parts += self._legend(series, place)
        return "\n".join([*parts, "</svg>"])

    @property
    def height(self) -> int:
        return HEIGHT + 18 * len(self.series)

    def _up(self) -> Scale:
        highest = max(
            [value for s in self.series for value in s.values]
            + [high for s in self.series for _, high in s.intervals]
            + [1e-6]
        )
        step = tick_step(highest, MOST_TICKS, STEPS)
        return Scale(0, step * math.ceil(highest / step - 1e-9), HEIGHT - BOTTOM, TOP)

    def _axes(self, up: Scale) -> list[str]:
        floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts = [f'<path d="M{LEFT} {TOP}V{floor}H{right}" fill="none" stroke="#1a1a1a"/>']
        step = tick_step(up.high, MOST_TICKS, STEPS)
        for count in range(round(up.high / step) + 1):
            y = up.at(count * step)
            parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#dddddd"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{count * step:g}</text>')
        for x, text in zip(self.x, self.x_texts, strict=True):
            across = self._x(x)
            parts.append(f'<path d="M{across:.1f} {floor}v4" stroke="#1a1a1a"/>')
            parts.append(f'<text x="{across:.1f}" y="{floor + 17}" text-anchor="middle">{escape(text)}</text>')
        middle = (LEFT + right) / 2
        parts.append(f'<text x="{middle}" y="{floor + 36}" text-anchor="middle">{escape(self.x_label)}</text>')
        upright = (TOP + floor) / 2
        parts.append(
            f'<text transform="translate(14 {upright}) rotate(-90)" text-anchor="middle">{escape(self.y_label)}</text>'
        )
        return parts

    def _line(self, series: Series, place: int, up: Scale) -> list[str]:
        ink, stroke = INKS[place % len(INKS)], STROKES[place % len(STROKES)]
        # Bars of several lines beside each other, not on top of each other.
        shift = 4 * (place - (len(self.series) - 1) / 2) if series.intervals else 0.0
        points = [(self._x(x), up.at(y)) for x, y in zip(self.x, series.values, strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts = [
            f'<polyline points="{path}" fill="none" stroke="{ink}" stroke-width="1.8" stroke-dasharray="{stroke}"/>'
        ]
        for (x, _), (low, high) in zip(points, series.intervals, strict=False):
            below, above = up.at(low), up.at(high)
            parts.append(f'<path d="M{x + shift:.1f} {below:.1f}V{above:.1f}" stroke="{ink}" stroke-width="1"/>')
            for end in (below, above):
                parts.append(f'<path d="M{x + shift - 3:.1f} {end:.1f}h6" stroke="{ink}" stroke-width="1"/>')
        return parts + [marker(place, x, y) for x, y in points]

    def _legend(self, series: Series, place: int) -> list[str]:
        y = HEIGHT + 18 * place + 4
        stroke, ink = STROKES[place % len(STROKES)], INKS[place % len(INKS)]
        return [
            f'<path d="M{LEFT} {y}h48" stroke="{ink}" stroke-width="1.8" stroke-dasharray="{stroke}"/>',
            marker(place, LEFT + 24, y),
            f'<text x="{LEFT + 58}" y="{y + 4}">{escape(series.name)}</text>',
        ]

    def _x(self, x: float) -> float:
        return Scale(math.log(min(self.x)), math.log(max(self.x)), LEFT + 16, WIDTH - RIGHT - 16).at(math.log(x))


def marker(place: int, x: float, y: float) -> str:
    """A sign at a point: circle, square, triangle, diamond; then the same, hollow."""
    ink = INKS[place % len(INKS)]
    shapes: Sequence[str] = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"',
        f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7"',
        f'<path d="M{x:.1f} {y - 4.5:.1f}l4.5 8h-9z"',
        f'<path d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z"',
    )
    fill = ink if place % 8 < len(shapes) else "#ffffff"
    return f'{shapes[place % len(shapes)]} fill="{fill}" stroke="{ink}" stroke-width="1.5"/>'


def one_picture(charts: Sequence[Chart]) -> str:
    """All charts below each other as one SVG file."""
    height = sum(chart.height for chart in charts)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">']
    above = 0
    for number, chart in enumerate(charts):
        parts.append(f'<g transform="translate(0 {above})">')
        parts.append(chart.svg(number).replace("<svg ", f'<svg width="{WIDTH}" height="{chart.height}" ', 1))
        parts.append("</g>")
        above += chart.height
    return "\n".join([*parts, "</svg>"]) + "\n"
