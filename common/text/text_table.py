"""Tables for people in a terminal or a pipe. What stands in them came from files or over a wire: it is shown as it is.

Nothing in a cell is markup, a picture's name or a control code (``privity.common.text.terminal``), and nothing is cut:
a terminal folds what is too wide, and a pipe gets lines as long as they need to be.
"""

from __future__ import annotations

from collections.abc import Collection

from rich.box import HEAVY_HEAD, Box
from rich.table import Table
from rich.text import Text

from privity.common.text.terminal import console
from privity.common.text.visible import in_line, in_lines

WIDE = 100_000


def as_it_is(text: str) -> Text:
    """The text in one line, without any meaning for the terminal."""
    return Text(in_line(text))


def as_lines(text: str) -> Text:
    """The same for a text of our own, whose line ends are meant."""
    return Text(in_lines(text))


def table(
    *headings: str, numbers: Collection[str] = (), title: str | None = None, box: Box | None = HEAVY_HEAD
) -> Table:
    """A table without rows.

    Args:
        numbers: headings of the columns that are set to the right.
    """
    shown = Table(box=box, pad_edge=box is not None, title=title and as_it_is(title), title_justify="left")
    for heading in headings:
        shown.add_column(heading, justify="right" if heading in numbers else "left", overflow="fold")
    return shown


def add(shown: Table, *cells: str | Text) -> None:
    """One row more."""
    shown.add_row(*(cell if isinstance(cell, Text) else as_it_is(cell) for cell in cells))


def show(shown: Table) -> None:
    """Print it to standard output."""
    console(width=WIDE).print(shown)
