"""A consortium as docs/walkthrough.md founds it: members' folders, made by the commands of the page."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from tests.harness.command import ROOT, run_in, serves
from tests.harness.walkthrough import CURATOR, commands, write_rows

ROWS = 300


def found(place: Path, address: str, *, listen: str | None = None, instead: Iterable[str] = ()) -> None:
    """Run the page's commands up to the nodes' start.

    Args:
        address: of the curator, in the place of the page's.
        listen: what the curator binds, if that is not its address.
        instead: commands that take the place of the page's of the same beginning (two words after ``privity``).
    """
    write_rows(place, ROWS)
    others = {tuple(shlex.split(command)[:3]): command for command in instead}
    for command in commands():
        if serves(command):
            return
        words = shlex.split(others.get(tuple(shlex.split(command)[:3]), command.replace(CURATOR, address)))
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
