"""``privity run``: submit a run, follow it, and fetch what it releases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from privity.common.consortium.member_folder import SCHEMA
from privity.common.data.schema import load_schema
from privity.common.formats import read_json
from privity.common.privacy.budget import readable
from privity.common.protocol.declared_options import Taker
from privity.common.release.release_contents import PRIVACY, RUN
from privity.common.release.shortcomings import constraint_notes
from privity.common.release.statement import headline
from privity.common.storage.safe_files import refuse_existing
from privity.common.text import terminal, text_table
from privity.common.text.command_hints import option
from privity.common.text.terminal import say, say_json
from privity.deploy.operator.live_progress import ProgressView
from privity.deploy.operator.operator_client import OperatorClient
from privity.deploy.operator.operator_folder import SETTINGS, client_of
from privity.deploy.operator.request_options import run_request
from privity.deploy.operator.run_status import (
    RunEvent,
    at_a_glance,
    event_document,
    explained,
    status_document,
    two_nodes,
)
from privity.deploy.operator.run_submission import (
    check_completed,
    fetch_learnt,
    foreseen_refusals,
    submit_run,
    with_concrete_algorithm,
)
from privity.interfaces.cli.options import takes_run_options
from privity.interfaces.cli.schema import tell_unkept_rules

run_app = typer.Typer(no_args_is_help=True, help="Submit and follow the runs of a consortium.")

Config = Annotated[Path, typer.Option(help="operator.toml")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]
Run = Annotated[str, typer.Argument(help="name of the run")]
HERE = Path(SETTINGS)


@run_app.command("submit")
@takes_run_options(Taker.SUBMIT)
def submit(
    asked: dict[str, Any],
    name: Annotated[str | None, typer.Option(help="the run's name; by default a new one is made")] = None,
    token: Annotated[str | None, typer.Option(help="a submission with the same token names the same run again")] = None,
    out: Annotated[
        Path | None, typer.Option(help="wait for the run, and fetch its release into this new folder")
    ] = None,
    config: Config = HERE,
    as_json: AsJson = False,
) -> None:
    """Submit a run; with --out, wait for it and fetch its release."""
    if out is not None:
        refuse_existing(out)
    request = with_concrete_algorithm(config, run_request(asked))
    if not as_json and (why := request.get("automatic")):
        say(f"Algorithm: {request['algorithm']} ({why['reason']}).", err=True)
    foreseen = foreseen_refusals(config, request)
    if foreseen is not None and not as_json:
        for line in foreseen.refusals_in_words():
            say(line, err=True)
    if not as_json and (file := config.parent / SCHEMA).exists():
        tell_unkept_rules(load_schema(file).over(request.get("attributes")))
    run = submit_run(config, request, name, token)
    if not as_json:
        say(run)
    if out is None:
        if as_json:
            known = {key: request[key] for key in ("algorithm", "automatic") if key in request}
            told = foreseen is not None and (foreseen.refusing or foreseen.ignored)
            _say({"run": run, **known, **({"foreseen": foreseen.document()} if foreseen and told else {})})
        return
    client = client_of(config)
    last = _silently(client, run) if as_json else _live(client, run)
    fetch_learnt(client, run, last, out)
    check_completed(run, last)
    _fetch(client, run, out, as_json)


@run_app.command("list")
def list_runs(config: Config = HERE, as_json: AsJson = False) -> None:
    """List the curator's newest runs, the newest last."""
    client = client_of(config)
    found, others = client.runs(), two_nodes(client.parties())
    if found.left_out:
        say(f"{found.left_out} older runs are not listed: privity run why RUN shows each of them.", err=True)
    if as_json:
        _say([status_document(run) for run in found.runs])
        return
    shown = text_table.table(
        "submitted (UTC)", "operator", "run", "algorithm", "epsilon", "state", "reason, who is awaited, or phase"
    )
    for run in found.runs:
        epsilon = readable(Fraction(run.epsilon))
        who = (run.submitted, run.submitter, run.run)
        text_table.add(shown, *who, run.algorithm, epsilon, run.state, at_a_glance(run))
    text_table.show(shown)
    for line in others:
        say(line, err=True)


@run_app.command("watch")
def watch(run: Run, config: Config = HERE, as_json: AsJson = False) -> None:
    """Show a run's progress until it ends or is stopped."""
    client = client_of(config)
    check_completed(run, _as_lines(client, run) if as_json else _live(client, run))
    if not as_json:
        say(f"{run}: COMPLETED. Then: privity run fetch {run} --out FOLDER{option('config', config, HERE)}")


@run_app.command("why")
def why(run: Run, config: Config = HERE, as_json: AsJson = False) -> None:
    """Show whom a run waits for and since when, or which parties refused it and why, and what to do."""
    client = client_of(config)
    status, others = client.why(run), two_nodes(client.parties())
    if as_json:
        _say({**status_document(status), "two_nodes": others})
    else:
        say(*explained(status), *others)


@run_app.command("stop")
def stop(
    run: Run,
    discard: Annotated[
        bool, typer.Option(help="end the run for good: nothing is kept, and it cannot be resumed")
    ] = False,
    config: Config = HERE,
    as_json: AsJson = False,
) -> None:
    """Stop a queued or running run. What was charged stays charged."""
    client = client_of(config)
    client.stop(run, discard=discard)
    _tell(client, run, as_json)


@run_app.command("resume")
def resume(run: Run, config: Config = HERE, as_json: AsJson = False) -> None:
    """Continue a stopped run where it was. What was answered is not charged again."""
    client = client_of(config)
    client.resume(run)
    _tell(client, run, as_json)


@run_app.command("fetch")
def fetch(
    run: Run,
    out: Annotated[Path, typer.Option(help="release folder to make; must not exist")],
    config: Config = HERE,
    as_json: AsJson = False,
) -> None:
    """Fetch the release of a completed run."""
    refuse_existing(out)
    _fetch(client_of(config), run, out, as_json)


def _say(document: Any) -> None:
    say_json(document)


def _tell(client: OperatorClient, run: str, as_json: bool) -> None:
    status = client.why(run)
    if as_json:
        _say(status_document(status))
    else:
        say(f"{run}: {status.state}")


def _live(client: OperatorClient, run: str) -> RunEvent:
    """Show the run's progress; its last event."""
    event = RunEvent()
    with ProgressView(terminal.console(err=True), run) as view, _watching(run):
        for event in client.watch(run):
            view.update(event)
    return event


@contextmanager
def _watching(run: str) -> Iterator[None]:
    """Whoever stops watching has not stopped the run."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{run} goes on at the curator; privity run stop {run} stops it") from None


def _as_lines(client: OperatorClient, run: str) -> RunEvent:
    event = RunEvent()
    with _watching(run):
        for event in client.watch(run):
            say_json(event_document(run, event), indent=None)
    return event


def _silently(client: OperatorClient, run: str) -> RunEvent:
    with _watching(run):
        *_, last = client.watch(run)
    return last


def _fetch(client: OperatorClient, run: str, out: Path, as_json: bool) -> None:
    signed = client.fetch(run, out)
    if as_json:
        _say({"run": run, "release": str(out), "files": sorted(file.name for file in out.iterdir())})
    else:
        say(f"Release written to {out}.")
        say(headline(read_json(out / PRIVACY)))
        for note in constraint_notes(read_json(out / RUN)):
            say(note)
        say(signed)
