"""A consortium as docs/walkthrough.md founds it: members' folders, made by the commands of the page."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from tests.e2e.test_walkthrough import PARTIES, commands
from tests.harness.command import ROOT, run_in
from tests.harness.tables import write_people

ADDRESS = "localhost:7443"
"""Of the curator, on the page."""


def write_rows(place: Path, rows: int = 300) -> None:
    """The parties' tables and the descriptor, as a consortium has them before it begins."""
    table, _ = write_people(place, rows)
    whole = pd.read_csv(table, dtype=str, keep_default_na=False)
    for number, party in enumerate(PARTIES):
        whole.iloc[number :: len(PARTIES)].to_csv(place / f"{party}.csv", index=False)
    table.unlink()


def found(place: Path, address: str, *, listen: str | None = None, instead: Iterable[str] = ()) -> None:
    """Run the page's commands up to the nodes' start.

    Args:
        address: of the curator, in the place of the page's.
        listen: what the curator binds, if that is not its address.
        instead: commands that take the place of the page's of the same beginning (two words after ``privity``).
    """
    write_rows(place)
    others = {tuple(shlex.split(command)[:3]): command for command in instead}
    for command in commands():
        if command.endswith("&"):
            return
        words = shlex.split(others.get(tuple(shlex.split(command)[:3]), command.replace(ADDRESS, address)))
        if listen and words[1:3] == ["curator", "init"]:
            words += ["--listen", listen]
        run_in(place, *words[1:])


def entry_points(folder: Path) -> None:
    """The project's commands as files in a folder for PATH, whatever of them is installed."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    folder.mkdir()
    for name, place in scripts.items():
        module, _, function = place.partition(":")
        code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from {module} import {function}; {function}()"
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(code)} "$@"\n')
        script.chmod(0o755)
