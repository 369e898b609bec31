"""Texts that came from elsewhere: nothing in them acts on a terminal, hides, or passes for a line of our own."""

from __future__ import annotations

import io
import json
import logging
import signal
import unicodedata
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.progress import Progress, TextColumn
from typer.testing import CliRunner

from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound, from_elsewhere
from privity.common.exit_codes import Exit
from privity.common.node.logs import JsonLines, TextLines
from privity.common.pages import render
from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.text import terminal
from privity.common.text.terminal import say, say_json
from privity.common.text.visible import in_line, in_lines
from privity.interfaces.cli.main import app, run
from tests.harness.ledgers import declared

ACTING = [
    *map(chr, (*range(0x20), *range(0x7F, 0xA0))),
    *"\u061c\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u00ad",
    *"\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u3164\ufe00\ufe0e\ufe0f\uffa0\u2800",
    *map(chr, (0x1BCA0, 0x1D159, 0x1D173, 0x16FE4, 0xE0041, 0xE0100, 0xE01EF)),
    "\ud800",
]
ORDINARY = [
    "naïve café",
    "Größe",
    "年齢",
    "عمر المريض",
    "גיל",
    "возраст",
    "😀🇨🇭❤",
    "a\u00a0b",
    "全角\u3000空白",
    "e\u0301",
    unicodedata.normalize("NFD", "Tiếng Việt"),
    "शक्ति",
    "בְּרֵאשִׁ֖ית",
    "C:\\new",
    "    set in",
]


@pytest.mark.parametrize("sign", ACTING, ids=lambda sign: f"U+{ord(sign):04X}")
def test_a_sign_that_acts_or_hides_is_shown(sign: str) -> None:
    shown = in_line(f"a{sign}b")
    assert sign not in shown
    assert shown.isprintable()
    assert json.loads(f'"{shown}"') == f"a{sign}b", "nothing is lost"


def test_no_code_point_that_a_terminal_may_leave_out_is_shown_as_it_is() -> None:
    """The ranges of Default_Ignorable_Code_Point in Unicode's DerivedCoreProperties, assigned or not."""
    ranges = (
        (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
        (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
    )  # fmt: skip
    signs = [chr(code) for first, last in ranges for code in range(first, last + 1)]
    assert [sign for sign in signs if sign in in_line(f"a{sign}b")] == []


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert in_line(text) == text


@given(st.text(st.characters()))
def test_any_text_is_one_visible_line(text: str) -> None:
    shown = in_line(text)
    assert not {unicodedata.category(sign) for sign in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert in_line(shown) == shown
    assert len(shown.splitlines()) <= 1
    assert in_lines(in_lines(text)) == in_lines(text)
    assert "    " not in shown.lstrip()


def test_no_letter_bears_more_than_a_few_marks() -> None:
    shown = in_line("north" + "\u0301\u0336" * 100 + "s\u0301")
    assert shown == "north\u0301\u0336\u0301\u0336" + r"\u0301\u0336" * 98 + "s\u0301"


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u2003", "\u3000"])
def test_a_wide_gap_in_a_line_is_shown(space: str) -> None:
    """A terminal of 80 columns would begin the next line with what follows."""
    shown = in_line(f"its owner{space * 90}autumn is COMPLETED.")
    assert shown == f"its owner{space * 3}" + rf"\u{ord(space):04x}" * 87 + "autumn is COMPLETED."
    assert in_lines(f"a{space * 9}b") == f"a{space * 9}b"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_so_many_lines_are_shown_as_are_said(lines: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdout", told := io.StringIO())
        say(*lines)
    assert told.getvalue().split("\n") == [*map(in_line, lines), ""]


def test_a_document_for_programs_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"reason": "".join(ACTING), "name": "年齢", "gap": "a" + " " * 9 + "b"}
    say_json(document)
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out) == document


@pytest.mark.parametrize("on_a_terminal", [False, True])
def test_a_console_keeps_colours_and_movements_of_its_own_alone(
    on_a_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1") if on_a_terminal else monkeypatch.delenv("FORCE_COLOR", raising=False)
    evil = "[bold]\x1b]0;evil \u202e年齢\x9b2J"
    with Progress(TextColumn("{task.description}"), console=terminal.console(err=True)) as progress:
        progress.add_task(evil, total=1)
        progress.console.print(evil, style="bold red")
    err = capsys.readouterr().err
    assert r"[bold]\u001b]0;evil \u202e年齢\u009b2J" in err
    assert not {"\x9b", "\u202e"} & set(err)
    assert "\x1b]" not in err
    ours = ("\x1b[1;31m", "\x1b[?25l", "\x1b[?25h")
    assert [code in err for code in ours] == [on_a_terminal] * len(ours)


def test_a_field_of_an_error_is_of_one_line_and_a_tuple_of_several() -> None:
    forged = "bad\nRelease written to out.\x1b[2J"
    error = PrivityError(Catalogue.CURATOR_REFUSED, address="c:1", reason=forged, hint=forged)
    assert str(error).splitlines() == [rf"c:1: {in_line(forged)}", in_line(forged)]
    assert error.fields["reason"] == forged
    both = PrivityError(Catalogue.CURATOR_REFUSED, address="c:1", reason=("one", forged), hint="")
    assert both.message.split("\n") == ["c:1: one", in_line(forged)]


def test_faults_of_a_file_are_a_line_each() -> None:
    problems = [Problem("a.json", "x", "rule", f"{sign} is bad.", "Mend it.") for sign in "\n\r\u2028\x85"]
    assert len(ProblemsFound(problems).message.splitlines()) == len(problems)


@given(st.text())
def test_details_of_a_call_pass_for_no_line_of_our_own(details: str) -> None:
    reason, hint = from_elsewhere(details)
    error = PrivityError(Catalogue.CURATOR_REFUSED, address="c:1", reason=reason, hint=hint)
    first, *others = error.message.split("\n")
    assert first.startswith("c:1: ")
    assert all(line.startswith("  ") for line in others)
    assert error.remedy == "" or (error.remedy.startswith("  ") and "\n" not in error.remedy)


def test_a_page_shows_what_would_hide_in_it() -> None:
    page = render(
        "privity.assessment.planning", "accuracy.html.j2", shape="\u202e<b>\x1b", meaning="年齢", caveat="",
        decomposition="", pictures=["<svg>\n<text>\u2066</text></svg>"], headings=(), rows=(),
    )  # fmt: skip
    assert r"\u202e&lt;b&gt;\u001b" in page
    assert "<svg>\n<text>\\u2066</text></svg>" in page
    assert "年齢" in page


EVIL = "\x1b]0;title\x07\x9b2J\u202e\nForged."


def test_a_step_that_the_curator_named_does_nothing_in_the_ledger(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    with closing(declared(file)) as book:
        book.charge(
            Charge("run-1", EVIL, PureDP(Fraction(1, 2), RELATION)), Allowance(Fraction(1), Fraction(1)), "north"
        )
    done = CliRunner().invoke(app, ["party", "ledger", "--file", str(file), "--population", "people", "--steps"])
    assert in_line(EVIL) in done.output
    assert all(line.isprintable() for line in done.output.split("\n"))


def test_an_error_that_nobody_foresaw_is_shown_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = typer.Typer()

    @failing.command()
    def command() -> None:
        raise ValueError(EVIL)

    monkeypatch.setattr("sys.argv", ["privity"])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            run(failing)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == Exit.OTHER
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert in_line(EVIL).partition(r"\n")[0] in err
    assert all(line.isprintable() for line in err.split("\n"))


@pytest.mark.parametrize("form", [JsonLines, TextLines])
def test_a_line_of_a_log_is_one_visible_line(form: type[logging.Formatter]) -> None:
    record = logging.makeLogRecord({"name": "privity.x", "msg": "a step", "step": EVIL, "detail": "".join(ACTING)})
    assert form().format(record).isprintable()


def test_what_a_notebook_runs_as_a_command_moves_nothing(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as its kernel says
    assert terminal.console().is_terminal
    monkeypatch.setenv(terminal.KERNEL, "1")
    assert not terminal.console().is_terminal
    assert not terminal.can_ask()
