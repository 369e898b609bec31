"""Commands and the Python face start without the large libraries: each of these is loaded when it is first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

LARGE = {"duckdb", "matplotlib", "networkx", "pandas", "pyarrow", "scipy", "sklearn", "statsmodels"}


@pytest.mark.process
@pytest.mark.parametrize(
    ("statement", "unused"),
    [
        ("from privity import AIM, Schema, Release", {*LARGE, "grpc", "jinja2"}),
        ("from privity import *", LARGE),
        ("import privity.interfaces.cli.party", LARGE),
        ("from privity.interfaces.cli.main import COMMANDS, load; [load(name) for name in COMMANDS]", LARGE),
    ],
    ids=["to fit", "all names", "the party's command", "all commands"],
)
def test_what_is_not_used_yet_is_not_loaded(statement: str, unused: set[str]) -> None:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert unused.intersection(done.stdout.split()) == set()
