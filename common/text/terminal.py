"""Everything that a command says goes through here: no text of somebody else's making does anything to the terminal.

A name, a refusal or a note may come from another member, by a file or over a wire. ``say`` and ``console`` make every
text visible (``privity.common.text.visible``). A line that is said is one line that is shown, whatever stands in it.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from privity.common.text.visible import in_line, in_lines

KERNEL = "JPY_PARENT_PID"
"""Of the environment of what a notebook's kernel runs."""


def say(*lines: object, err: bool = False, end: str = "\n") -> None:
    """Print lines; what stands between line ends of our own is a line each.

    Args:
        err: to standard error.
        end: after the last line.
    """
    typer.echo("\n".join(in_line(str(line)) for line in lines) + end, err=err, nl=False)


def can_ask() -> bool:
    """Whether somebody sits at a terminal."""
    return sys.stdin.isatty() and console().is_terminal


def agreed(question: str) -> bool:
    """Ask whoever sits there; an end of the input is no, and so is an empty line."""
    try:
        return typer.confirm(in_line(question))
    except typer.Abort:
        return False


def answer(question: str) -> str:
    """Ask for a text; an end of the input is an empty one."""
    try:
        return str(typer.prompt(in_line(question), default="", show_default=False, prompt_suffix=" ")).strip()
    except typer.Abort:
        return ""


def say_json(document: Any, indent: int | None = 2, *, err: bool = False) -> None:
    """Print a document for programs: in ASCII, so that what it holds stays exact and does nothing."""
    say(*json.dumps(document, indent=indent).split("\n"), err=err)


def warn(text: str, *, calls: int = 1) -> None:
    """Warn a Python program by ``warnings``, as at the line so many calls above the one that warns."""
    warnings.warn(in_line(text), stacklevel=calls + 2)


def console(*, err: bool = False, width: int | None = None) -> Console:
    """What shows tables and progress: colours and movements are ours; texts are shown as they are, without markup.

    Args:
        err: on standard error.
        width: where it is no terminal.
    """
    # What a notebook runs as "!privity" has a terminal of its kind, which shows each movement as a line.
    still = False if KERNEL in os.environ and "ipykernel" not in sys.modules else None
    found = _Console(stderr=err, markup=False, emoji=False, highlight=False, force_terminal=still)
    if width is not None and not found.is_terminal:
        found.width = width
    return found


@contextmanager
def status_line(shown: Console, title: str) -> Iterator[Callable[[str], None]]:
    """A line that says what is at work. It disappears from a terminal at the end, and says "done" in a notebook.

    In a notebook without ipywidgets rich would print a warning instead.

    Yields:
        What changes the line.
    """
    if not shown.is_jupyter:
        with shown.status(title) as status:
            yield status.update
        return
    line = import_module("IPython.display").display({"text/plain": in_line(title)}, raw=True, display_id=True)
    yield lambda text: line.update({"text/plain": in_line(text)}, raw=True)
    line.update({"text/plain": f"{in_line(title)}: done"}, raw=True)


class _Console(Console):
    """Shows in every text what could not be seen. Codes of rich itself are no text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=in_lines(segment.text))
