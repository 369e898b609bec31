"""The command line of ``privity simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from privity.assessment.simulation.simulated_run import Simulation, simulate
from privity.common.data.dialect import dialect_option
from privity.common.data.schema import load_schema
from privity.common.formats import read_json
from privity.common.node.process import dump_no_core
from privity.common.protocol.declared_options import Taker
from privity.common.release.open_model import open_model
from privity.common.release.release_contents import PRIVACY
from privity.common.release.shortcomings import constraint_notes, fallback, notes
from privity.common.release.statement import SIMULATION, headline
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.text import terminal
from privity.common.text.terminal import say
from privity.deploy.operator.live_progress import ProgressView
from privity.deploy.operator.request_options import run_request
from privity.interfaces.cli.options import DialectOption, EventsOption, MapOption, takes_run_options
from privity.interfaces.cli.schema import tell_unkept_rules
from privity.party.sources.address import refuse_password
from privity.party.sources.pass_progress import watched


@takes_run_options(Taker.SIMULATE)
def simulate_command(
    asked: dict[str, Any],
    data: Annotated[
        str, typer.Option(help="the joint table: a path or URL (docs/sources.md)", callback=refuse_password)
    ],
    schema: Annotated[Path, typer.Option(help="the table's schema (docs/schema.md)")],
    out: Annotated[Path, typer.Option(help="release folder to make; must not exist")],
    parties: Annotated[int, typer.Option(help="number of parties, K")] = 3,
    schedule: Annotated[
        str | None, typer.Option(help="schedule of dp-subn: final, uniform, back-loaded or w1,...,wK")
    ] = None,
    split: Annotated[
        str, typer.Option(help="how rows are split: random, sizes:.7,.2,.1, by:ATTRIBUTE or dirichlet:ATTRIBUTE:ALPHA")
    ] = "random",
    rows: Annotated[int | None, typer.Option(help="use this many random rows")] = None,
    patience: Annotated[
        float, typer.Option(help="seconds without a sign of life from a party after which the run stops")
    ] = 60.0,
    seed: Annotated[int | None, typer.Option(help="seed of the split among parties; noise has no seed")] = None,
    evaluate: Annotated[
        Path | None,
        typer.Option(help="folder to make: how the release compares with all rows; not private, do not publish"),
    ] = None,
    events: EventsOption = None,
    dialect: DialectOption = None,
    table_map: MapOption = None,
) -> None:
    """Run a curator and K parties as processes on this machine, and write one synthetic table."""
    dump_no_core()
    request = run_request(asked)
    if schedule:
        request["settings"] |= {"schedule": schedule}
    task = Simulation(
        request=request,
        data=data,
        schema=schema,
        parties=parties,
        out=out,
        dialect=dialect_option(dialect),
        table_map=table_map,
        split=split,
        rows=rows,
        patience=patience,
        seed=seed,
        evaluate=evaluate,
        events=events,
    )
    tell_unkept_rules(load_schema(schema))
    title = f"{request['algorithm']} over {parties} parties, epsilon {request['epsilon']}"
    console = terminal.console(err=True)
    with ProgressView(console, title) as view, watched(view.passing):
        try:
            folder = simulate(task, view.update)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("everything was stopped, nothing was released") from None
    say(f"Release written to {folder}. This was a {SIMULATION}.")
    say(headline(read_json(folder / PRIVACY)))
    say(view.times)
    if evaluate is not None:
        say(f"Evaluation written to {evaluate}: it is about real rows, not private, and not for release.")
    model = open_model(folder)
    run = read_json(folder / "run.json")
    if why := run.get("automatic"):
        say(f"Algorithm: {run['algorithm']} ({why['reason']}).")
    fitted = read_json(folder / "marginals.json")["inference"]
    for note in [
        *fallback(fitted),
        *notes(model, joins=ALGORITHMS[run["algorithm"]].joins),
        *constraint_notes(run),
    ]:
        say(note)
    for path in sorted(folder.iterdir()):
        say(f"  {path.name}: {path.stat().st_size:,} bytes")
