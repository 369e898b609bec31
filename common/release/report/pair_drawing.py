"""The gallery of pairs: of each the shares of one attribute's values within those of the other, as shades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.schema import Schema
from privity.common.pages.drawing import Label, short, shortened
from privity.common.release.report.number_texts import percent
from privity.common.release.report.pair_strengths import Pair
from privity.common.release.report.value_groups import Group, groups

MOST = 12
"""Rows and columns of a picture."""

SHADES = 10
"""Steps from nothing to all rows of a column."""

NAMES, SIDE, BETWEEN, TOP, BELOW = 104, 122, 12, 18, 66
"""Pixels: for the names of rows, width of a map, between two, above and at most below them."""

DIGIT = 6
"""Pixels of a digit, a space or a sign of a number; letters may be wider."""

LETTERS = 15, 10
"""Of the names of rows, and of columns."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Map:
    """One map: its place, and for each shade that is there (opacity, path in cells)."""

    x: int
    title: str
    shades: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class PairPicture:
    """Maps beside each other, of the same rows and columns, with names; ``words`` say what stands out.

    Attributes:
        row, column: names of the two attributes.
        step: pixels of a cell, across and down.
    """

    of: Pair
    row: str
    column: str
    height: int
    bottom: int
    step: tuple[str, str]
    maps: tuple[Map, ...]
    names: tuple[Label, ...]
    below: tuple[Label, ...]
    words: str


def pair_picture(pair: Pair, table: CodedTable) -> PairPicture:
    """The maps of a pair: as it was measured, if its codes were, and in the synthetic rows."""
    schema = table.schema
    (counted,) = contingency_tables(table, [(pair.a, pair.b)])
    synthetic = counted.astype(np.float64)
    noisy = pair.margin.counts.astype(np.float64) if pair.margin is not None and pair.margin.whole else None
    row, column = pair.a, pair.b
    if schema.domain[row] > schema.domain[column]:
        row, column, synthetic = column, row, synthetic.T
        noisy = None if noisy is None else noisy.T
    down = _groups(schema, row, synthetic.sum(axis=1))
    across = _groups(schema, column, synthetic.sum(axis=0))
    kinds = [("measured", noisy)] if noisy is not None else []
    kinds.append(("synthetic", synthetic))
    high = max(12, min(22, 132 // len(down)))
    bottom = TOP + high * len(down)
    step = SIDE / len(across)
    maps, below = [], []
    for place, (title, counts) in enumerate(kinds):
        assert counts is not None
        x = NAMES + place * (SIDE + BETWEEN)
        maps.append(Map(x, title, _shades(_together(counts, down, across))))
        below += [
            Label(round(x + (i + 0.5) * step + 4, 1), bottom + 5, shortened(group.short, LETTERS[1]))
            for i, group in enumerate(across)
        ]
    names = [
        Label(NAMES - 5, round(TOP + (i + 0.5) * high + 4, 1), shortened(group.short, LETTERS[0]))
        for i, group in enumerate(down)
    ]
    attributes = schema.attributes[row], schema.attributes[column]
    return PairPicture(
        pair, attributes[0].name, attributes[1].name, bottom + _height(below), bottom, (short(step), str(high)),
        tuple(maps), tuple(names), tuple(below), _words(attributes, synthetic, noisy, pair),
    )  # fmt: skip


def _height(below: Sequence[Label]) -> int:
    """Pixels for names that stand upright: few for short numbers."""
    texts = [label.text for label in below]
    if any(letter.isalpha() for text in texts for letter in text):
        return BELOW
    return min(BELOW, 12 + DIGIT * max(map(len, texts)))


def _groups(schema: Schema, attribute: int, counts: Numbers) -> list[Group]:
    return groups(schema.attributes[attribute], MOST, counts.tolist())


def _together(counts: Numbers, down: Sequence[Group], across: Sequence[Group]) -> Numbers:
    """Counts of groups."""
    rows = np.array([counts[list(group.codes)].sum(axis=0) for group in down])
    return np.array([rows[:, list(group.codes)].sum(axis=1) for group in across]).T


def _shades(counts: Numbers) -> tuple[tuple[str, str], ...]:
    """Cells by their share of their column; counts below 0 count as 0, and so does a column without rows."""
    some = np.maximum(counts, 0)
    columns = some.sum(axis=0)
    shares = some / np.where(columns > 0, columns, 1)
    steps = np.rint(shares * SHADES).astype(int)
    found = []
    for shade in range(1, SHADES + 1):
        path = "".join(f"M{x} {y}.5h1" for y, x in np.argwhere(steps == shade).tolist())
        if path:
            found.append((short(shade / SHADES).replace("0.", "."), path))
    return tuple(found)


def _words(attributes: tuple[Attribute, Attribute], synthetic: Numbers, noisy: Numbers | None, pair: Pair) -> str:
    """The cell that is furthest above what independent attributes would have."""
    shares = synthetic / synthetic.sum()
    alone = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    y, x = np.unravel_index(int((shares - alone).argmax()), shares.shape)
    told = f"{attributes[0].name} = {attributes[0].labels[y]} and {attributes[1].name} = {attributes[1].labels[x]}:"
    told += f" {percent(shares[y, x], 1)} of the synthetic rows"
    if noisy is not None and pair.margin is not None:
        rows = pair.margin.rows
        told += f", measured {percent(noisy[y, x] / rows, 1)} ± {percent(pair.margin.half_width / rows, 1)}"
    return f"{told}; {percent(alone[y, x], 1)} if the two were independent."
