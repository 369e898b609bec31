"""What a command says goes through common/text/terminal.py, which makes texts visible: nothing prints around it."""

from __future__ import annotations

import ast

import pytest

from tests.harness.places import ROOT, sources

DOOR = ROOT / "common" / "text" / "terminal.py"
SOURCES = [p for p in sources() if p != DOOR]
PRINTING = {"print", "input", "Console", "echo", "secho", "style", "prompt", "confirm", "get_console", "print_json"}
SHOWING = {"Progress", "Live", "Status"}
"""What rich shows on a console of its own making, unless it is given one."""


def ways_around(source: str) -> list[str]:
    """What in a module could write to a terminal by itself."""
    found = []
    tree = ast.parse(source)
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    of_rich = {alias.name for node in imported if (node.module or "").startswith("rich.") for alias in node.names}
    for node in ast.walk(tree):
        here = f"line {getattr(node, 'lineno', 0)}: "
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in PRINTING:
                found.append(f"{here}{name}")
            case ast.Call(func=ast.Attribute(value=ast.Name(id="typer" | "click" | "rich"), attr=name)) if (
                name in PRINTING
            ):
                found.append(f"{here}{name}")
            case ast.Call(func=ast.Name(id=name), keywords=given) if name in SHOWING & of_rich:
                if "console" not in {keyword.arg for keyword in given}:
                    found.append(f"{here}{name} without a console of common.terminal")
            case ast.Attribute(value=ast.Name(id="sys"), attr="stdout" | "stderr" | "__stdout__" | "__stderr__"):
                found.append(f"{here}a standard stream")
            case ast.Attribute(value=ast.Name(id="traceback"), attr=name) if name.startswith("print"):
                found.append(f"{here}{name}")
            case (
                ast.Attribute(value=ast.Name(id="os"), attr="write")
                | ast.Attribute(value=ast.Name(id="warnings"), attr="warn" | "showwarning")
            ):
                found.append(f"{here}{ast.unparse(node)}")
            case ast.ImportFrom(module=module, names=names) if module in ("sys", "typer", "click", "rich"):
                taken = {alias.name for alias in names} & (PRINTING | {"stdout", "stderr", "print"})
                found += [f"{here}{name} of {module}" for name in taken]
            case ast.ImportFrom(module="rich.console", names=names) if any(
                alias.name == "Console" and alias.asname for alias in names
            ):
                found.append(f"{here}Console under another name")
    return found


def test_nothing_is_printed_around_the_terminal() -> None:
    found = {str(path): ways for path in SOURCES if (ways := ways_around(path.read_text(encoding="utf-8")))}
    assert not found


@pytest.mark.parametrize(
    "bad",
    [
        "print(refusal)",
        "import typer\ntyper.echo(refusal)",
        "import click\nclick.secho(refusal)",
        "from typer import echo",
        "from rich import print",
        "import rich\nrich.print(refusal)",
        "from rich.console import Console\nConsole().print(refusal)",
        "from rich.console import Console as Shown",
        "from rich.progress import Progress\nwith Progress(transient=True) as progress:\n    pass",
        "import sys\nsys.stdout.write(refusal)",
        "import sys\nwrite = sys.stderr.write",
        "from sys import stdout",
        "import os\nos.write(1, refusal)",
        "import traceback\ntraceback.print_exc()",
        "import warnings\nwarnings.warn(refusal)",
    ],
)
def test_a_way_around_is_found(bad: str) -> None:
    assert ways_around(bad)


def test_what_commands_do_is_not_found() -> None:
    assert not ways_around(
        "from privity.common import terminal\nfrom privity.common.text.terminal import say\nsay(refusal, err=True)\n"
        "from rich.progress import Progress\n"
        "with Progress(console=terminal.console(err=True)) as progress:\n    progress.console.print(refusal)"
    )
