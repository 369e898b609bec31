"""Tables and progress of texts that came from elsewhere: shown as they are, and whole."""

from __future__ import annotations

import io
from fractions import Fraction

import pytest
from rich.console import Console

from privity.common.privacy.budget import readable
from privity.common.text import text_table
from privity.common.wire.v1.privity_pb2 import RunEvent
from privity.deploy.operator.live_progress import ProgressView

WILD = ("[/red]", ":warning:", "[link=https://example.org]x[/link]", "back\\[slash\\")


@pytest.mark.parametrize("text", WILD)
def test_a_cell_is_no_markup(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = text_table.table("run", "reason", title=text)
    text_table.add(shown, text, "plain")
    text_table.show(shown)
    lines = capsys.readouterr().out.splitlines()
    assert sum(text in line for line in lines) == 2


def test_a_cell_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text_table.table("reason")
    text_table.add(shown, "red \x1b[31m\r")
    text_table.show(shown)
    out = capsys.readouterr().out
    assert r"red \u001b[31m\r" in out
    assert "\x1b" not in out


def test_a_name_is_whole_in_a_pipe_and_in_a_narrow_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a-very-long-name-" * 20
    shown = text_table.table("run", "epsilon", numbers=("epsilon",))
    text_table.add(shown, name, "1")
    text_table.show(shown)
    assert name in capsys.readouterr().out
    narrow = Console(file=io.StringIO(), width=40)
    narrow.print(shown)
    told = narrow.file.getvalue()  # type: ignore[attr-defined]
    assert name in "".join(line.split("│")[1].strip() for line in told.splitlines() if line.startswith("│"))


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("text", WILD)
def test_progress_is_no_markup(text: str, terminal: bool) -> None:
    told = io.StringIO()
    console = Console(file=told, force_terminal=terminal, width=200)
    with ProgressView(console, text) as view:
        view.update(RunEvent(phase=text, note=f"party-1 waits for {text}", epsilon="1/3"))
    assert f"party-1 waits for {text}" in told.getvalue()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1", "1"), ("0", "0"), ("100", "100"), ("1/2", "0.5"), ("1/1000000", "0.000001"), ("12345/1000", "12.345"),
        ("1/3", "0.333333"), ("2/3", "0.666667"), ("1/1048576", "9.53674e-7"), ("1/1000000000", "1e-9"),
            ("-1/2", "-0.5"),
            ("1234567/3", "411522"), ("12345678/7", "1.76367e+6"), ("1/10000000000000", "1e-13"),
    ],
)  # fmt: skip
def test_a_fraction_is_told_with_a_decimal(number: str, text: str) -> None:
    assert readable(Fraction(number)) == text
