"""docs/commands.md names every command and every exit code, and no other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer

from privity.common.errors import Catalogue, PrivityError
from privity.common.exit_codes import Exit, exit_code
from privity.interfaces.cli.main import COMMANDS, app, load
from tests.harness.places import ROOT

PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def commands(group: Any, prefix: str) -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {name}")
        else:
            assert command.help
            yield f"{prefix} {name}", command.help.splitlines()[0]


def test_every_command_is_listed_with_what_it_says_of_itself() -> None:
    root = typer.main.get_command(app)
    assert dict(re.findall(r"^\| `(privity [^`]+)` \| (.+) \|$", PAGE, re.MULTILINE)) == dict(commands(root, "privity"))


def test_every_exit_code_is_described() -> None:
    listed = re.findall(r"^\| (\d+) \| ", PAGE.split("## Exit codes")[1], re.MULTILINE)
    assert [int(code) for code in listed] == [code.value for code in Exit]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PrivityError(Catalogue.FILE_MISSING, file="x"), Exit.INPUT),
        (PrivityError(Catalogue.OUT_OF_ORDER, missing="x", first="y"), Exit.ORDER),
        (PrivityError(Catalogue.CONNECTION_FAILED, address="x", reason="y", hint="z"), Exit.CONNECTION),
        (PrivityError(Catalogue.RUN_FAILED, run="x", state="FAILED", reason="y", hint="z"), Exit.FAILED),
        (PrivityError(Catalogue.RUN_FAILED, run="x", state="STOPPED", reason="y", hint="z"), Exit.STOPPED),
        (PrivityError(Catalogue.LEDGER_UNUSABLE, file="x", reason="y"), Exit.BUDGET),
        (PrivityError(Catalogue.TAMPERED, what="x", reason="y"), Exit.OTHER),
    ],
)
def test_an_error_has_the_code_of_its_kind(error: PrivityError, code: Exit) -> None:
    assert exit_code(error) is code


def test_what_the_list_says_of_a_command_is_what_it_says_of_itself() -> None:
    for name, (_, listed) in COMMANDS.items():
        assert load(name).help.split("\n\n")[0].replace("\n", " ") == listed


@pytest.mark.process
def test_the_list_of_commands_loads_none() -> None:
    code = (
        "import sys; from privity.interfaces.cli.main import app; "
        "sys.argv[1:] = ['--help']; app(standalone_mode=False);"
        "print(*{'numpy', 'pandas', 'grpc', 'jinja2', 'cryptography'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert "synthesize" in done.stdout
    assert done.stderr.split() == []


@pytest.mark.process
def test_the_version_and_completion_are_there() -> None:
    script = Path(sys.executable).with_name("privity")
    told = subprocess.run([script, "--version"], capture_output=True, text=True, check=True, timeout=100)
    assert told.stdout == f"privity {version('privity')}\n"
    asked = {"_PRIVITY_COMPLETE": "complete_bash", "COMP_WORDS": "privity run st", "COMP_CWORD": "2"}
    told = subprocess.run([script], env={**os.environ, **asked}, capture_output=True, text=True, timeout=100)
    assert told.stdout.split() == ["stop"]
