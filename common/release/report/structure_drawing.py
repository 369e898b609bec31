"""A layered drawing: boxes in rows, ties go down; those from one box share a line until they branch off.

After Sugiyama, Tagawa, Toda (1981), section III: layers, then an order within each by the mean place of the neighbours.
A layer of more boxes than fit is broken into several rows, so that a picture grows downwards and not to the side.
"""

from __future__ import annotations

from dataclasses import dataclass

from privity.common.pages.drawing import Label, shortened
from privity.common.release.report.model_structure import NETWORK, Structure

WIDTH, LETTER, LINE = 146, 7.0, 17
"""Of a box, a letter and a line of text, in pixels."""

GAP, TRUNK, BETWEEN = 14, 9, 34
"""Between boxes of a row, for a line that passes, and between rows."""

MOST_IN_A_ROW = 6
MOST_LETTERS = 19
SWEEPS = 8
MOST_NAMES = 12
"""In a box; the list beside has all."""


@dataclass(frozen=True)
class DrawnText:
    """A line of text in a box."""

    x: float
    y: float
    text: str
    full: str
    shared: bool


@dataclass(frozen=True)
class DrawnBox:
    """Its corner and size, and what stands in it; ``line`` is the height of the line under what is shared."""

    x: float
    y: float
    width: float
    height: float
    texts: tuple[DrawnText, ...]
    line: float | None


@dataclass(frozen=True)
class Drawing:
    """A picture in pixels; ``lines`` are paths of SVG, ``arrows`` those that end in a head."""

    width: float
    height: float
    boxes: tuple[DrawnBox, ...]
    lines: tuple[str, ...]
    arrows: tuple[str, ...]
    labels: tuple[Label, ...]


def draw(structure: Structure) -> Drawing:
    """Places of all boxes and lines of a structure."""
    rows = _rows(structure)
    order = _ordered(structure, rows)
    return _Picture(structure, rows, order).drawing()


Slot = tuple[int, int | None]
"""A box (its place, None), or the line of a box that passes a row (place, row)."""


def _rows(structure: Structure) -> list[int]:
    """For each box its row: below everything that it hangs from, rows of bounded length."""
    layer = [0] * len(structure.boxes)
    for tie in sorted(structure.ties, key=lambda t: t.end):
        layer[tie.end] = max(layer[tie.end], layer[tie.start] + 1)
    children = {tie.start for tie in structure.ties} | {tie.end for tie in structure.ties}
    rows, row = [0] * len(layer), 0
    for depth in range(max(layer, default=0) + 1):
        # What stands alone goes to the end, so that it parts nothing.
        boxes = [i for i, d in enumerate(layer) if d == depth and i in children]
        # Boxes that hang from the same ones stand together.
        boxes.sort(key=lambda i: (min((t.start for t in structure.ties if t.end == i), default=i), i))
        for start in range(0, len(boxes), MOST_IN_A_ROW):
            for i in boxes[start : start + MOST_IN_A_ROW]:
                rows[i] = row
            row += 1
    alone = [i for i in range(len(layer)) if i not in children]
    for number, i in enumerate(alone):
        rows[i] = row + number // MOST_IN_A_ROW
    return rows


def _ordered(structure: Structure, rows: list[int]) -> list[list[Slot]]:
    """The slots of each row from left to right."""
    last: dict[int, int] = {}
    for tie in structure.ties:
        last[tie.start] = max(last.get(tie.start, 0), rows[tie.end])
    order: list[list[Slot]] = [[] for _ in range(max(rows, default=-1) + 1)]
    for i, row in enumerate(rows):
        order[row].append((i, None))
        for between in range(row + 1, last.get(i, row)):
            order[between].append((i, between))
    above: dict[Slot, list[Slot]] = {}
    below: dict[Slot, list[Slot]] = {}
    for upper, lower in _segments(structure, rows, last):
        above.setdefault(lower, []).append(upper)
        below.setdefault(upper, []).append(lower)
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        places = _places(order)
        for row in range(len(order)) if downwards else reversed(range(len(order))):
            near = above if downwards else below
            order[row].sort(key=lambda slot: (_mean(near.get(slot, ()), places, places[slot]), slot[0]))
            places |= _places(order, row)
    return order


def _segments(structure: Structure, rows: list[int], last: dict[int, int]) -> list[tuple[Slot, Slot]]:
    """From each slot to those in the next row to which its line goes."""
    found: list[tuple[Slot, Slot]] = []
    for start, end in last.items():
        found += [(_slot(start, row - 1, rows), (start, row)) for row in range(rows[start] + 1, end)]
    found += [(_slot(tie.start, rows[tie.end] - 1, rows), (tie.end, None)) for tie in structure.ties]
    return found


def _slot(box: int, row: int, rows: list[int]) -> Slot:
    return (box, None) if row == rows[box] else (box, row)


def _wide(slot: Slot) -> float:
    return WIDTH + GAP if slot[1] is None else TRUNK


def _places(order: list[list[Slot]], only: int | None = None) -> dict[Slot, float]:
    """The middle of each slot, rows centred."""
    found = {}
    for row in order if only is None else [order[only]]:
        x = -sum(map(_wide, row)) / 2
        for slot in row:
            found[slot] = x + _wide(slot) / 2
            x += _wide(slot)
    return found


def _mean(slots: list[Slot] | tuple[()], places: dict[Slot, float], otherwise: float) -> float:
    return sum(places[slot] for slot in slots) / len(slots) if slots else otherwise


class _Picture:
    def __init__(self, structure: Structure, rows: list[int], order: list[list[Slot]]) -> None:
        self._structure, self._rows, self._order = structure, rows, order
        self._texts = [self._text(i) for i in range(len(structure.boxes))]
        self._top: list[float] = []
        y = 4.0
        for row in order:
            self._top.append(y)
            y += self._height_of_row(row) + BETWEEN
        self._height = y - BETWEEN + 4
        self._width = max((sum(map(_wide, row)) for row in order), default=0) + 8
        self._x = {slot: x + self._width / 2 for slot, x in _places(order).items()}

    def _text(self, i: int) -> list[tuple[str, bool]]:
        box = self._structure.boxes[i]
        names = [(name, True) for name in box.shared] + [(name, False) for name in box.names]
        if len(names) > MOST_NAMES:
            names = [*names[: MOST_NAMES - 1], (f"and {len(names) - MOST_NAMES + 1} more", False)]
        return names

    def _height_of_box(self, i: int) -> float:
        return LINE * len(self._texts[i]) + 9 + (4 if self._structure.boxes[i].shared else 0)

    def _height_of_row(self, row: list[Slot]) -> float:
        return max((self._height_of_box(i) for i, passing in row if passing is None), default=0)

    def drawing(self) -> Drawing:
        boxes = tuple(self._box(i) for i in range(len(self._structure.boxes)))
        lines, arrows, labels = [], [], []
        last: dict[int, int] = {}
        for tie in self._structure.ties:
            last[tie.start] = max(last.get(tie.start, 0), self._rows[tie.end])
        for upper, lower in _segments(self._structure, self._rows, last):
            if lower[1] is None:
                arrows.append(self._line(upper, lower))
            else:
                height = self._height_of_row(self._order[lower[1]])
                lines.append(self._line(upper, lower) + f"v{height:.0f}")
        for tie in self._structure.ties:
            if tie.label:
                x, y = self._x[(tie.end, None)], self._top[self._rows[tie.end]]
                labels.append(Label(round(x + 5, 1), round(y - 9, 1), tie.label))
        return Drawing(round(self._width, 1), round(self._height, 1), boxes, tuple(lines), tuple(arrows), tuple(labels))

    def _box(self, i: int) -> DrawnBox:
        x, y = self._x[(i, None)] - WIDTH / 2, self._top[self._rows[i]]
        texts, line, down = [], None, y + LINE
        for name, shared in self._texts[i]:
            if self._structure.boxes[i].shared and line is None and not shared:
                line, down = round(down - LINE + 6, 1), down + 4
            texts.append(
                DrawnText(round(x + WIDTH / 2, 1), round(down, 1), shortened(name, MOST_LETTERS), name, shared)
            )
            down += LINE
        return DrawnBox(round(x, 1), round(y, 1), WIDTH, self._height_of_box(i), tuple(texts), line)

    def _line(self, upper: Slot, lower: Slot) -> str:
        """A curve from the lower end of a slot to the upper end of one in the next row."""
        x, end = self._x[upper], self._x[lower]
        if upper[1] is None:
            row = self._rows[upper[0]]
            y, reach = (
                self._top[row] + self._height_of_box(upper[0]),
                self._top[row] + self._height_of_row(self._order[row]),
            )
            start = f"M{x:.1f} {y:.1f}" + (f"V{reach:.1f}" if reach > y else "")
        else:
            row = upper[1]
            reach = self._top[row] + self._height_of_row(self._order[row])
            start = f"M{x:.1f} {reach:.1f}"
        headed = self._structure.kind == NETWORK and lower[1] is None
        to = self._top[row + 1] - (6 if headed else 0)
        half = (to - reach) / 2
        return f"{start}C{x:.1f} {reach + half:.1f} {end:.1f} {to - half:.1f} {end:.1f} {to:.1f}"
