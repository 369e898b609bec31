"""The command ``privity``: every subcommand, and one way to show an error.

``privity-party`` and ``privity-curator``, the entry points of the image, are its subcommands of these names.
"""

from __future__ import annotations

import signal
import sys
import traceback
from types import FrameType

import typer

from privity.common.errors import PrivityError
from privity.common.exit_codes import Exit, exit_code
from privity.common.text.terminal import say, say_json
from privity.deploy.cli.audit import audit_command
from privity.deploy.cli.benchmark import benchmark_app
from privity.deploy.cli.consortium import consortium_app
from privity.deploy.cli.curator import curator_app
from privity.deploy.cli.doctor import doctor_command
from privity.deploy.cli.evaluate import evaluate
from privity.deploy.cli.operator import operator_app
from privity.deploy.cli.party import party_app
from privity.deploy.cli.plan import plan_command
from privity.deploy.cli.population import population_app
from privity.deploy.cli.release import export_command, verify_command
from privity.deploy.cli.report import report_command
from privity.deploy.cli.run import run_app
from privity.deploy.cli.sample import sample_command
from privity.deploy.cli.schema import schema_app
from privity.deploy.cli.simulate import simulate_command
from privity.deploy.cli.synthesize import synthesize_command
from privity.deploy.cli.transcript import transcript_app

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Publish one synthetic table of several owners' joint data, under differential privacy.",
)
app.command("simulate")(simulate_command)
app.command("synthesize")(synthesize_command)
app.command("sample")(sample_command)
app.command("export")(export_command)
app.command("verify")(verify_command)
app.command("evaluate")(evaluate)
app.command("report")(report_command)
app.command("audit")(audit_command)
app.command("plan")(plan_command)
app.command("doctor")(doctor_command)
app.add_typer(benchmark_app, name="benchmark")
app.add_typer(schema_app, name="schema")
app.add_typer(population_app, name="population")
app.add_typer(party_app, name="party")
app.add_typer(curator_app, name="curator")
app.add_typer(consortium_app, name="consortium")
app.add_typer(operator_app, name="operator")
app.add_typer(run_app, name="run")
app.add_typer(transcript_app, name="transcript")


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
