"""The command ``privity``: every subcommand, loaded when it is used, and one way to show an error.

``privity-party`` and ``privity-curator``, the entry points of the image, are its subcommands of these names.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from privity.common.errors import PrivityError, at_commands
from privity.common.exit_codes import Exit, exit_code
from privity.common.text.terminal import say, say_json

COMMANDS = {
    "simulate": (
        "simulate:simulate_command",
        "Run a curator and K parties as processes on this machine, and write one synthetic table.",
    ),
    "practice": (
        "practice:practice_command",
        "Found a consortium of three on this machine, and open the consoles of its operator and of one data owner.",
    ),
    "synthesize": (
        "synthesize:synthesize_command",
        "Publish one owner's table: learn a model for epsilon, charge the ledger, write a release.",
    ),
    "sample": (
        "sample:sample_command",
        "Sample rows from a released model, under its rules and your own conditions. Nothing is charged.",
    ),
    "query": (
        "query:query_command",
        "Estimate counts, shares, means, quantiles, cross-tabs, correlations or regressions, with valid intervals.",
    ),
    "support": (
        "query:support_command",
        "Say whether a release can tell something of these attributes together: measured, implied or extrapolated.",
    ),
    "export": (
        "release:export_command",
        "Write a release's noisy marginals, or metadata, in a format that another library reads.",
    ),
    "verify": (
        "release:verify_command",
        "Check the files, figures and rows of a release, and who signed it. All faults are listed at once.",
    ),
    "evaluate": (
        "evaluate:evaluate",
        "Compare synthetic tables with the real rows. Not private: data owner only, do not publish.",
    ),
    "show": (
        "show:show_command",
        "Show a release in the terminal: what it is, how good it is, its guarantee, every attribute, its files.",
    ),
    "report": (
        "report:report_command",
        "Make a release's report again from its other files, byte for byte the same.",
    ),
    "audit": (
        "audit:audit_command",
        "Test each claimed epsilon against a 99.9 % lower confidence bound on the observed privacy loss.",
    ),
    "plan": (
        "plan:plan_command",
        "Predict what a run costs, and with --accuracy how far off its table will be, before anything is spent.",
    ),
    "algorithms": (
        "algorithms:algorithms_command",
        "List the algorithms, or show what one does and what each of its settings may be.",
    ),
    "doctor": (
        "doctor:doctor_command",
        "Check everything that a node or the operator needs, and say what to do. Exit code 1 if anything is wrong.",
    ),
    "data": ("data:data_app", "Look at a table before anything is declared about it."),
    "schema": ("schema:schema_app", "Draft, check or discover the schema of a table."),
    "population": ("population:population_app", "Declare the people whose rows are used, and their budget."),
    "party": ("party:party_app", "Commands of a data owner's node."),
    "curator": ("curator:curator_app", "Commands of the curator."),
    "consortium": ("consortium:consortium_app", "Commands of the organiser: agree, invite, seal."),
    "operator": ("operator:operator_app", "Commands of the operator: folder, keys, browser console."),
    "run": ("run:run_app", "Submit and follow the runs of a consortium."),
    "transcript": ("transcript:transcript_app", "Compare what the parties of a run received and sent."),
}
"""Each command by name: the module of this folder and its function or group, and what ``--help`` says of it, which is
what the command says of itself."""


class CommandsOnUse(TyperGroup):
    """A group whose commands are imported when they are run; a list of them needs none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._listing = False

    @property
    def commands(self) -> dict[str, Any]:
        """All of them, imported."""
        return {name: load(name) for name in COMMANDS}

    @commands.setter
    def commands(self, _given: object) -> None:
        """They are those of ``COMMANDS``."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        if self._listing:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name][1])
        return load(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with self._names_only():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        with self._names_only():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _names_only(self) -> Iterator[None]:
        self._listing = True
        try:
            yield
        finally:
            self._listing = False


def load(name: str) -> Any:
    """The command or group of this name."""
    module, attribute = COMMANDS[name][0].split(":")
    found = getattr(import_module(f"privity.interfaces.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(found)
        found = alone
    made = typer.main.get_command(found)
    made.name = name
    return made


app = typer.Typer(cls=CommandsOnUse, no_args_is_help=True, pretty_exceptions_enable=False)


def show_version(wanted: bool) -> None:
    """Print the version, and end."""
    if wanted:
        say(f"privity {version('privity')}")
        raise typer.Exit


@app.callback()
def privity(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=show_version)
    ] = False,
) -> None:
    """Publish one synthetic table of several owners' joint data, under differential privacy."""


def main() -> None:
    """The entry point ``privity``."""
    run(app)


def party_main() -> None:
    """The entry point ``privity-party``."""
    sys.argv[:1] = ["privity", "party"]
    main()


def curator_main() -> None:
    """The entry point ``privity-curator``."""
    sys.argv[:1] = ["privity", "curator"]
    main()


def run(command: typer.Typer) -> None:
    """Run a command; a known error is told in plain words, or as JSON, with its exit code, never as a traceback."""
    # A polite kill unwinds like Ctrl-C, so that children are stopped and scratch folders removed.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with at_commands():
            command()
    except PrivityError as error:
        if "--json" in sys.argv:
            document = {"error": error.code, "message": error.message, "remedy": error.remedy}
            say_json(document, indent=None, err=True)
        else:
            say(*f"error [{error.code}]: {error.message}".split("\n"), error.remedy, err=True)
        sys.exit(exit_code(error))
    except KeyboardInterrupt as interruption:
        say(f"interrupted{f': {said}' if (said := str(interruption)) else ''}", err=True)
        sys.exit(Exit.INTERRUPTED)
    except Exception:
        # Nobody foresaw it: what it quotes may be anybody's.
        say(*traceback.format_exc().rstrip().split("\n"), err=True)
        sys.exit(Exit.OTHER)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
