"""Live progress of a run in the terminal: one line a phase."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from privity.common.text import text_table
from privity.common.text.terminal import status_line
from privity.deploy.operator.phase_times import PhaseTimes

if TYPE_CHECKING:
    from privity.common.wire.v1.privity_pb2 import RunEvent


class ProgressView:
    """Shows every phase with its answers, cells, bytes and epsilon so far; as plain lines if not a terminal.

    In a notebook one line changes.

    Attributes:
        times: How long each phase took so far.
    """

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._phases: dict[str, RunEvent] = {}
        self.times = PhaseTimes()
        self._live = Live(console=console, refresh_per_second=8, transient=False)
        self._line: Callable[[str], None] | None = None
        self._notebook = ExitStack()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        elif self._console.is_jupyter and not self._console.quiet:
            self._line = self._notebook.enter_context(status_line(self._console, self._title))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()
        self._notebook.close()

    def update(self, event: RunEvent) -> None:
        """Take in one event of the run."""
        self.times.enter(event.phase)
        new = event.phase not in self._phases or event.note != self._phases[event.phase].note
        self._phases[event.phase] = event
        if self._console.is_terminal:
            self._live.update(self._table())
            return
        note = f"; {event.note}" if event.note else ""
        said = f"{event.phase}: epsilon spent {_epsilon(event)}, {event.bytes:,} bytes so far{note}"
        if self._line is not None:
            self._line(f"{self._title}: {said}")
        elif new:
            self._console.print(text_table.as_it_is(said), soft_wrap=True)

    def _table(self) -> Table:
        numbers = ("answers", "cells revealed", "ciphertexts", "bytes", "epsilon spent")
        table = text_table.table("phase", *numbers, numbers=numbers, title=self._title)
        for phase, event in self._phases.items():
            answers = event.note or (f"{event.done}/{event.parties}" if event.parties else "")
            counts = (f"{event.cells:,}", f"{event.ciphertexts:,}", f"{event.bytes:,}")
            text_table.add(table, phase, answers, *counts, _epsilon(event))
        return table

    def passing(self, share: float | None) -> None:
        """Take in how far a pass over this machine's own rows is; None when it has ended."""
        if self._console.is_terminal:
            told = "" if share is None else f"Reading the rows: {int(share * 100)} %"
            self._live.update(Group(self._table(), told) if told else self._table())


def _epsilon(event: RunEvent) -> str:
    return f"{float(Fraction(event.epsilon or '0')):.4g}"
