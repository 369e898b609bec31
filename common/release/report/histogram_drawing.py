"""Histograms: a bar for each share of the synthetic rows, a dot with its error bar for the share as it was measured.

Ordered values have bars side by side, as wide as their bins, and other categories bars below each other, the largest
first. A far wider bin than others is cut, and its axis broken. The height is the share, however wide a bar is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privity.common.data.attribute import Attribute
from privity.common.pages.drawing import Label, Scale, short, shortened, tick_step
from privity.common.release.report.distributions import Measured, Share
from privity.common.release.report.number_texts import percent
from privity.common.release.report.value_groups import groups, is_ordered, last_edge

WIDTH, PLOT, ROW = 360, 150, 22
"""Pixels: width of a picture, height of upright bars, height of a lying one."""

MOST_UPRIGHT, MOST_LYING = 48, 12
"""Bars of a picture; what is more is put together."""

LONGEST, LONGEST_TICK, LETTER = 16, 14, 6.6
"""Letters of a category beside its bar, and below one; pixels of a letter."""

LEFT, RIGHT, TOP = 44, 8, 8
WIDEST = 44
"""Pixels of an upright bar, at most, if all are equally wide."""

LEAST, CUT = 3.0, 3.0
"""Pixels of the narrowest bar; how many times as wide as on average a bar is cut."""

NAMES, FIGURES = 124, 56
"""Pixels for the names of categories, and for the shares beside lying bars."""


@dataclass(frozen=True)
class Histogram:
    """Paths and texts of a picture, in pixels.

    Attributes:
        bars, whiskers, dots, grid, zero: paths.
        breaks: path of the places where the axis is broken.
        texts, ends: texts that stand in their middle, and that end where they are.
        words: what the picture shows, in a sentence.
    """

    height: int
    bars: str
    whiskers: str
    dots: str
    grid: str
    zero: str
    breaks: str
    texts: tuple[Label, ...]
    ends: tuple[Label, ...]
    words: str


def histogram(attribute: Attribute, measured: Measured) -> Histogram:
    """The picture of an attribute's distribution."""
    if not is_ordered(attribute):
        return lying(measured)
    if len(measured.shares) != attribute.present:
        # Of a grid: of what is derived of it.
        spans = [1.0] * len(measured.shares)
        return _upright(measured.shares, [share.label for share in measured.shares], spans, None)
    found = groups(attribute, MOST_UPRIGHT, [share.synthetic for share in measured.shares])
    shares = [measured.together(group.codes, group.label) for group in found]
    of_values = [group.codes for group in found if group.codes[-1] < attribute.values]
    edges = attribute.edges or range(attribute.values + 1)
    spans = [float(edges[codes[-1] + 1] - edges[codes[0]]) for codes in of_values]
    return _upright(shares, [group.short for group in found], spans, last_edge(attribute) or None)


def lying(measured: Measured) -> Histogram:
    """Bars below each other, the largest first, one for all that there is no room for."""
    shares = measured.largest(MOST_LYING)
    left = len(measured.shares) > MOST_LYING
    order = sorted(shares[: len(shares) - left], key=lambda share: -max(share.synthetic, share.noisy or 0))
    order += shares[len(shares) - left :]
    scale = _scale(shares, NAMES, WIDTH - FIGURES)
    zero, middle = scale.at(0), ROW // 2
    bars, whiskers, dots, texts = "", "", "", []
    for place, share in enumerate(order):
        y = TOP + place * ROW
        bars += f"M{short(zero)} {y + 4}H{short(scale.at(share.synthetic))}v{ROW - 8}H{short(zero)}z"
        if share.noisy is not None:
            low, high = scale.at(share.noisy - share.half_width), scale.at(share.noisy + share.half_width)
            whiskers += f"M{short(low)} {y + middle}H{short(high)}"
            dots += f"M{short(scale.at(share.noisy))} {y + middle}h0"
        texts.append(Label(NAMES - 6, y + middle + 4, shortened(share.label, LONGEST)))
        texts.append(Label(WIDTH, y + middle + 4, percent(share.synthetic, 1)))
    height = TOP + ROW * len(order) + 4
    base = f"M{short(zero)} {TOP}V{height - 4}"
    return Histogram(height, bars, whiskers, dots, "", base, "", (), tuple(texts), _words(shares))


def widths(spans: Sequence[float], room: float) -> tuple[list[float], list[bool]]:
    """Pixels of bars in proportion to their spans, none too narrow to be seen, and which of them are cut.

    Args:
        spans: positive.
        room: pixels of all of them together.
    """
    least, most = min(LEAST, room / len(spans)), room / len(spans) * CUT
    low, high = 0.0, room / min(spans)
    for _ in range(100):
        unit = (low + high) / 2
        total = sum(min(max(span * unit, least), most) for span in spans)
        low, high = (unit, high) if total < room else (low, unit)
    return [min(max(span * high, least), most) for span in spans], [span * high > most * 1.01 for span in spans]


def _upright(shares: Sequence[Share], ticks: Sequence[str], spans: Sequence[float], last: str | None) -> Histogram:
    """Bars side by side; a gap sets those of missing values apart.

    Args:
        ticks: below the left edges of bins, or below the middles of bars.
        spans: of the bars of values; the others come after a gap.
        last: the last edge of bins; None where bars are of single values.
    """
    scale, values = _scale(shares, TOP + PLOT, TOP), len(spans)
    slots = len(shares) + (len(shares) > values) * 0.5
    step = min(WIDEST, (WIDTH - LEFT - RIGHT) / slots)
    wide, cut = widths(spans, step * values)
    wide += [step] * (len(shares) - values)
    zero = scale.at(0)
    bars, whiskers, dots, breaks = "", "", "", ""
    starts = [LEFT + sum(wide[:place]) + (place >= values) * 0.5 * step for place in range(len(shares))]
    for place, (x, width, share) in enumerate(zip(starts, wide, shares, strict=True)):
        y, pad = scale.at(share.synthetic), min(2.0, width / 8)
        bars += f"M{short(x + pad)} {short(zero)}V{short(y)}h{short(width - 2 * pad)}V{short(zero)}z"
        if share.noisy is not None:
            low, high = scale.at(share.noisy - share.half_width), scale.at(share.noisy + share.half_width)
            whiskers += f"M{short(x + width / 2)} {short(low)}V{short(high)}"
            dots += f"M{short(x + width / 2)} {short(scale.at(share.noisy))}h0"
        if place < values and cut[place]:
            breaks += f"M{short(x + width / 2 - 4)} {short(zero + 5)}l4 -10m4 0l-4 10"
    grid, ends = "", []
    for tick in _ticks(scale.high):
        y = scale.at(tick)
        grid += f"M{LEFT} {short(y)}H{WIDTH - RIGHT}"
        ends.append(Label(LEFT - 5, round(y + 4, 1), percent(tick, 0 if tick >= 0.01 or not tick else 2)))
    below, texts = TOP + PLOT + 16, list[Label]()
    places = [*starts[:values], *([starts[values - 1] + wide[values - 1]] if last is not None else [])]
    labels = [*ticks[:values], *([last] if last is not None else [])]
    room = max(min(len(label), LONGEST_TICK) for label in labels) * LETTER + 10
    for label, start in zip(labels, places, strict=True):
        text = shortened(label, LONGEST_TICK)
        x = min(start + (0 if last is not None else step / 2), WIDTH - len(text) * LETTER / 2)
        if not texts or x >= texts[-1].x + room:
            texts.append(Label(round(x, 1), below, text))
    for place in range(values, len(shares)):
        text = shortened(shares[place].label, 12)
        x = min(starts[place] + step / 2, WIDTH - len(text) * LETTER / 2)
        texts.append(Label(round(x, 1), below + 14, text))
    height = below + (20 if len(shares) > values else 6)
    return Histogram(
        height, bars, whiskers, dots, grid, f"M{LEFT} {short(zero)}H{WIDTH - RIGHT}", breaks, tuple(texts), tuple(ends),
        _words(shares),
    )  # fmt: skip


def _scale(shares: Sequence[Share], start: float, end: float) -> Scale:
    largest = max(max(share.synthetic, share.noisy or 0) for share in shares)
    # An error bar that goes far beyond every share ends at the picture's edge.
    high = max(min(max((share.noisy or 0) + share.half_width for share in shares), 2 * largest), largest, 1e-9)
    low = min(0.0, *((share.noisy or 0) - share.half_width for share in shares if share.noisy is not None), 0.0)
    return Scale(max(low, -high / 5), high * 1.02, start, end)


def _ticks(high: float) -> list[float]:
    """Round shares from 0 on, three or four of them."""
    step = tick_step(high, 3.5)
    return [step * place for place in range(int(high / step) + 1)]


def _words(shares: Sequence[Share]) -> str:
    """The largest share, and the one that may be off most."""
    largest = max(shares, key=lambda share: share.synthetic)
    told = f"Most synthetic rows have {largest.label}: {percent(largest.synthetic)}"
    if largest.noisy is not None:
        told += f", measured {percent(largest.noisy)} ± {percent(largest.half_width)}"
    return told + f". {len(shares)} bars; the figures below the picture say the same."
