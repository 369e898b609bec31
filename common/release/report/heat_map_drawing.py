"""The heat map of all pairs: a square for each, whose area is the strength of the dependence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privity.common.pages.drawing import Label, short, shortened
from privity.common.release.report.pair_strengths import Pair

LONGEST = 17
"""Letters of a name beside the heat map."""

LETTER = 8
"""Pixels of a letter, the widest aside."""


@dataclass(frozen=True)
class HeatMap:
    """Squares below the diagonal from noisy marginals, above it from synthetic rows; all in pixels.

    Attributes:
        whole, derived: paths of squares: of pairs that were measured as such, or through something derived of them.
        synthetic: the same above the diagonal.
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
    whole: str
    derived: str
    synthetic: str
    faint: str
    crosses: str


def heat_map(pairs: Sequence[Pair], names: Sequence[str]) -> HeatMap:
    """Squares whose area is Cramer's V: a full one is 1."""
    side = max(15, min(34, 900 // max(1, len(names))))
    margin = 12 + LETTER * max((len(shortened(name, LONGEST)) for name in names), default=0)
    whole, derived, synthetic, faint, crosses = "", "", "", "", ""
    for pair in pairs:
        if pair.synthetic.v >= 0.005:
            synthetic += _square(pair.b, pair.a, pair.synthetic.v, side, margin)
        x, y = (margin + (place + 0.5) * side for place in (pair.a, pair.b))
        if pair.measured is None:
            crosses += f"M{short(x - 2.5)} {short(y - 2.5)}l5 5m0-5l-5 5"
        elif not pair.measured.told:
            faint += f"M{short(x)} {short(y)}h.01"
        elif pair.margin is not None and pair.margin.whole:
            whole += _square(pair.a, pair.b, pair.measured.v, side, margin)
        else:
            derived += _square(pair.a, pair.b, pair.measured.v, side, margin)
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
        whole,
        derived,
        synthetic,
        faint,
        crosses,
    )


def _square(column: int, row: int, v: float, side: int, margin: int) -> str:
    edge = max(1.5, math.sqrt(v) * (side - 2))
    x, y = (margin + (place + 0.5) * side - edge / 2 for place in (column, row))
    return f"M{short(x)} {short(y)}h{short(edge)}v{short(edge)}h-{short(edge)}z"
