"""What docs/walkthrough.md shows: its commands, its edits, and the program that makes the files."""

from __future__ import annotations

import re
import shlex
import socket
from pathlib import Path
from typing import Self

import pandas as pd

from privity.common.release.release_folder import verify_release
from privity.common.release.verification.signature_verification import check_signatures
from tests.harness.command import run_script, shown_commands, start
from tests.harness.places import ROOT
from tests.harness.tables import write_people
from tests.harness.zygote import Forked

PAGE = ROOT / "docs" / "walkthrough.md"
PARTIES = ("north", "south", "east")
CURATOR = "localhost:7443"
"""As the page has it."""

ROWS = 900


TWO_RUNS = "## Open domains take two runs"
"""The section for a schema that leaves domains open: it goes on where the page's run has ended."""


def commands() -> list[str]:
    """The commands of the page up to its first run, in its order, as they stand."""
    return shown_commands(PAGE.read_text(encoding="utf-8").partition(TWO_RUNS)[0])


def commands_of_two_runs() -> list[str]:
    """Those for open domains."""
    return [step for step in steps_of_two_runs() if not step.startswith("#")]


def steps_of_two_runs() -> list[str]:
    """The commands for open domains, and the edits between them."""
    after = PAGE.read_text(encoding="utf-8").partition(TWO_RUNS)[2]
    blocks = re.findall(r"^```(?:toml|console)\n.*?^```$", after, re.MULTILINE | re.DOTALL)
    return [
        step
        for block in blocks
        for step in ([block.split("\n", 1)[1][:-3]] if block.startswith("```toml") else shown_commands(block))
    ]


def edit(folder: Path, step: str) -> None:
    """Do an edit of the page: a line, below a comment that names the files in which it replaces that of its key."""
    files, line = step.splitlines()
    key = line.partition(" = ")[0]
    for name in re.findall(r"\w+/\w+\.toml", files):
        changed, count = re.subn(rf"^{key} = .*$", lambda _: line, (folder / name).read_text(), flags=re.MULTILINE)
        assert count == 1, f"{name}: {key}"
        (folder / name).write_text(changed)


def make_files(folder: Path) -> None:
    """Each party's rows and the schemas, by the page's program."""
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (folder / "make_files.py").write_text(program, encoding="utf-8")
    run_script(folder / "make_files.py")


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


class Background:
    """Processes that go on until the context ends, and what they wrote."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.processes: list[Forked] = []

    def __enter__(self) -> Self:
        return self

    def start(self, command: str) -> None:
        """A command line of the page."""
        with (self._place / f"{len(self.processes)}.log").open("wb") as log:
            _, *arguments = shlex.split(command)
            self.processes.append(start(*arguments, cwd=self._place, output=log))

    def logs(self) -> str:
        return "".join((self._place / f"{number}.log").read_text() for number in range(len(self.processes)))

    def __exit__(self, *_error: object) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(20)


def write_rows(folder: Path, rows_in_all: int = ROWS) -> None:
    """Each party's rows and the schema, fewer than on the page and of more kinds."""
    table, _ = write_people(folder, rows_in_all)
    rows = pd.read_csv(table, dtype=str, keep_default_na=False)
    for number, party in enumerate(PARTIES):
        rows.iloc[number::3].to_csv(folder / f"{party}.csv", index=False)
    table.unlink()


def check_release(folder: Path) -> None:
    """A whole release over all rows is there, signed by all, and every party has the manifest of the organiser."""
    verify_release(folder / "release")
    signatures = check_signatures(folder / "release", folder / "organiser" / "organiser.pub")
    assert signatures.problems == []
    assert f"All {len(PARTIES)} parties and the curator agree." in signatures.lines
    rows = sum(len(pd.read_csv(folder / f"{party}.csv")) for party in PARTIES)
    assert len(pd.read_csv(folder / "release" / "synthetic.csv")) == rows
    assert {(folder / party / "manifest.json").read_bytes() for party in PARTIES} == {
        (folder / "organiser" / "manifest.json").read_bytes()
    }
