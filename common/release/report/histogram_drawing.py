"""Histograms: a bar for each share of the synthetic rows, a dot with its error bar for the share as it was measured.

Ordered values have bars side by side, other categories have bars below each other, the largest first.
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
"""Pixels of an upright bar, at most."""

NAMES, FIGURES = 124, 56
"""Pixels for the names of categories, and for the shares beside lying bars."""


@dataclass(frozen=True)
class Histogram:
    """Paths and texts of a picture, in pixels.

    Attributes:
        bars, whiskers, dots, grid, zero: paths.
        texts, ends: texts that stand in their middle, and that end where they are.
        words: what the picture shows, in a sentence.
    """

    height: int
    bars: str
    whiskers: str
    dots: str
    grid: str
    zero: str
    texts: tuple[Label, ...]
    ends: tuple[Label, ...]
    words: str


def histogram(attribute: Attribute, measured: Measured) -> Histogram:
    """The picture of an attribute's distribution."""
    if not is_ordered(attribute):
        return lying(measured)
    if len(measured.shares) != attribute.present:
        # Of a grid: of what is derived of it.
        return _upright(measured.shares, [share.label for share in measured.shares], len(measured.shares), None)
    found = groups(attribute, MOST_UPRIGHT, [share.synthetic for share in measured.shares])
    shares = [measured.together(group.codes, group.label) for group in found]
    of_values = sum(group.codes[-1] < attribute.values for group in found)
    return _upright(shares, [group.short for group in found], of_values, last_edge(attribute) or None)


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
    return Histogram(height, bars, whiskers, dots, "", base, (), tuple(texts), _words(shares))


def _upright(shares: Sequence[Share], ticks: Sequence[str], values: int, last: str | None) -> Histogram:
    """Bars side by side; a gap sets those of missing values apart.

    Args:
        ticks: below the left edges of bins, or below the middles of bars.
        values: bars of values; the others come after a gap.
        last: the last edge of bins; None where bars are of single values.
    """
    scale = _scale(shares, TOP + PLOT, TOP)
    slots = len(shares) + (len(shares) > values) * 0.5
    step = min(WIDEST, (WIDTH - LEFT - RIGHT) / slots)
    zero = scale.at(0)
    pad = min(2.0, step / 8)
    bars, whiskers, dots = "", "", ""
    starts = [LEFT + (place + (place >= values) * 0.5) * step for place in range(len(shares))]
    for x, share in zip(starts, shares, strict=True):
        y = scale.at(share.synthetic)
        bars += f"M{short(x + pad)} {short(zero)}V{short(y)}h{short(step - 2 * pad)}V{short(zero)}z"
        if share.noisy is not None:
            low, high = scale.at(share.noisy - share.half_width), scale.at(share.noisy + share.half_width)
            whiskers += f"M{short(x + step / 2)} {short(low)}V{short(high)}"
            dots += f"M{short(x + step / 2)} {short(scale.at(share.noisy))}h0"
    grid, ends = "", []
    for tick in _ticks(scale.high):
        y = scale.at(tick)
        grid += f"M{LEFT} {short(y)}H{WIDTH - RIGHT}"
        ends.append(Label(LEFT - 5, round(y + 4, 1), percent(tick, 0 if tick >= 0.01 or not tick else 2)))
    below, texts = TOP + PLOT + 16, list[Label]()
    places = [*starts[:values], *([starts[values - 1] + step] if last is not None else [])]
    labels = [*ticks[:values], *([last] if last is not None else [])]
    room = max(min(len(label), LONGEST_TICK) for label in labels) * LETTER + 10
    for label, start in zip(labels, places, strict=True):
        text = shortened(label, LONGEST_TICK)
        x = min(start + (0 if last is not None else step / 2), WIDTH - len(text) * LETTER / 2)
        if not texts or x >= texts[-1].x + room:
            texts.append(Label(round(x, 1), below, text))
    for place in range(values, len(shares)):
        texts.append(Label(round(starts[place] + step / 2, 1), below + 14, shortened(shares[place].label, 12)))
    height = below + (20 if len(shares) > values else 6)
    return Histogram(
        height, bars, whiskers, dots, grid, f"M{LEFT} {short(zero)}H{WIDTH - RIGHT}", tuple(texts), tuple(ends),
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
