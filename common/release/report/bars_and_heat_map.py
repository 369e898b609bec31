"""Where bars and squares are drawn; the templates of ``privity.common.pages`` put them on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privity.common.privacy.noisy_count_intervals import half_width
from privity.common.release.report.distributions import Measured, Share
from privity.common.release.report.number_texts import count, percent, strength
from privity.common.release.report.pair_strengths import Pair
from privity.common.release.report.structure_drawing import Label, shortened

BAR_WIDTH, MIDDLE, CAP = 240.0, 6, 4
"""Pixels of a bar's picture: its width, the height of its middle, half the height of a whisker's cap."""

MOST_ROWS = 250
"""Categories of an attribute that are listed one by one; the rest are added up in one row."""

LONGEST = 17
"""Letters of a name beside the heat map."""


@dataclass(frozen=True)
class BarRow:
    """One row of a distribution's table; ``whisker`` is a path, ``bar`` (start, width), ``mark`` a place."""

    label: str
    noisy: str
    half_width: str
    synthetic: str
    apart: bool
    bar: tuple[str, str] | None
    whisker: str
    mark: str


@dataclass(frozen=True)
class Bars:
    """A distribution's table; its pictures run from ``low`` to ``high``; ``zero`` is where 0 is."""

    rows: tuple[BarRow, ...]
    low: str
    high: str
    zero: str
    added_up: int


def bars(measured: Measured) -> Bars:
    """Rows and pictures of a distribution."""
    shares, added = _few(measured)
    largest = max(max(share.synthetic, share.noisy or 0) for share in shares)
    # A whisker that goes far beyond every share ends at the picture's edge, without a cap.
    high = max(min(max((share.noisy or 0) + share.half_width for share in shares), 2 * largest), largest, 1e-9)
    low = min(0.0, *((share.noisy or 0) - share.half_width for share in shares), 0.0)
    low = max(low, -high / 2)
    scale = _Scale(low, high * 1.02)
    rows = tuple(_row(share, scale) for share in shares)
    return Bars(rows, percent(low), percent(scale.high), scale.at(0), added)


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float

    def place(self, share: float) -> float:
        return 5 + (min(max(share, self.low), self.high) - self.low) / (self.high - self.low) * (BAR_WIDTH - 10)

    def at(self, share: float) -> str:
        return short(self.place(share))


def short(number: float) -> str:
    """A coordinate, with one decimal if it needs one."""
    return f"{number:.1f}".removesuffix(".0")


def _few(measured: Measured) -> tuple[list[Share], int]:
    """The shares that are listed: all, or the largest in their order, and one for all others."""
    shares = list(measured.shares)
    if len(shares) <= MOST_ROWS:
        return shares, 0
    by_size = sorted(range(len(shares)), key=lambda i: (-max(shares[i].synthetic, shares[i].noisy or 0), i))
    kept = set(by_size[: MOST_ROWS - 1])
    others = [share for i, share in enumerate(shares) if i not in kept]
    noisy, width = None, 0.0
    if measured.margin is not None:
        margin = measured.margin
        noisy = sum(share.noisy or 0 for share in others)
        width = half_width(margin.table.law, margin.variables, margin.cells * len(others)) / measured.rows
    together = sum(share.synthetic for share in others)
    # Of shares that exclude each other the squares add up to no more than this.
    drawn = math.sqrt(sum(share.drawn**2 for share in others))
    rest = Share(f"{count(len(others))} other categories together", noisy, width, together, drawn)
    return [share for i, share in enumerate(shares) if i in kept] + [rest], len(others)


def _row(share: Share, scale: _Scale) -> BarRow:
    mark = scale.at(share.synthetic)
    if share.noisy is None:
        return BarRow(share.label, "", "", percent(share.synthetic), False, None, "", mark)
    zero, end = scale.place(0), scale.place(share.noisy)
    low, high = share.noisy - share.half_width, share.noisy + share.half_width
    whisker = f"M{scale.at(low)} {MIDDLE}H{scale.at(high)}"
    for edge in (low, high):
        if scale.low <= edge <= scale.high:
            whisker += f"M{scale.at(edge)} {MIDDLE - CAP}v{2 * CAP}"
    return BarRow(
        share.label,
        percent(share.noisy),
        percent(share.half_width),
        percent(share.synthetic),
        share.apart,
        (short(min(zero, end)), short(abs(end - zero))),
        whisker,
        mark,
    )


@dataclass(frozen=True)
class Square:
    """A path, and what it shows in words."""

    path: str
    words: str


@dataclass(frozen=True)
class HeatMap:
    """Squares below the diagonal from noisy marginals, above it from synthetic rows; all in pixels.

    Attributes:
        whole, derived: squares of pairs that were measured as such, or through something derived of them.
        synthetic: those above the diagonal.
        faint: a path of a dot for each pair that is not told from noise.
        crosses: the same for pairs that were not measured.
        grid: a path.
    """

    side: int
    margin: int
    extent: int
    names: tuple[Label, ...]
    across: tuple[Label, ...]
    grid: str
    whole: tuple[Square, ...]
    derived: tuple[Square, ...]
    synthetic: tuple[Square, ...]
    faint: str
    crosses: str


def heat_map(pairs: Sequence[Pair], names: Sequence[str]) -> HeatMap:
    """Squares whose area is Cramer's V: a full one is 1."""
    side = max(15, min(34, 900 // max(1, len(names))))
    margin = 132
    whole: list[Square] = []
    derived: list[Square] = []
    synthetic: list[Square] = []
    faint, crosses = [], []
    for pair in pairs:
        words = f"{names[pair.a]} and {names[pair.b]}"
        if pair.synthetic.v >= 0.005:
            path = _square(pair.b, pair.a, pair.synthetic.v, side, margin)
            synthetic.append(Square(path, f"{words}, synthetic: {strength(pair.synthetic.v)}"))
        x, y = (margin + (place + 0.5) * side for place in (pair.a, pair.b))
        if pair.measured is None:
            crosses.append(f"M{short(x - 2.5)} {short(y - 2.5)}l5 5m0-5l-5 5")
        elif not pair.measured.told:
            faint.append(f"M{short(x)} {short(y)}h.01")
        else:
            whole_pair = pair.margin is not None and pair.margin.whole
            path = _square(pair.a, pair.b, pair.measured.v, side, margin)
            how = "measured" if whole_pair else "measured in part"
            (whole if whole_pair else derived).append(Square(path, f"{words}, {how}: {strength(pair.measured.v)}"))
    extent = margin + side * len(names)
    grid = "".join(f"M{margin} {line}H{extent}M{line} {margin}V{extent}" for line in range(margin, extent + 1, side))
    texts = [(shortened(name, LONGEST), margin + (place + 0.5) * side) for place, name in enumerate(names)]
    return HeatMap(
        side,
        margin,
        extent,
        tuple(Label(margin - 6, round(middle + 4, 1), text) for text, middle in texts),
        tuple(Label(round(middle + 4, 1), margin - 6, text) for text, middle in texts),
        grid,
        tuple(whole),
        tuple(derived),
        tuple(synthetic),
        "".join(faint),
        "".join(crosses),
    )


def _square(column: int, row: int, v: float, side: int, margin: int) -> str:
    edge = max(1.5, math.sqrt(v) * (side - 2))
    x, y = (margin + (place + 0.5) * side - edge / 2 for place in (column, row))
    return f"M{short(x)} {short(y)}h{short(edge)}v{short(edge)}h-{short(edge)}z"
