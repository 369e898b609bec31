"""``privity evaluate``: judge a synthetic table beside real rows, at the owner's own machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privity.common.text import terminal
from privity.deploy.evaluation.evaluation_inputs import Inputs, read_inputs
from privity.deploy.evaluation.evaluation_report import judged, show, write_evaluation
from privity.party.sources.address import refuse_password


def evaluate(
    real: Annotated[
        str, typer.Option("--real", help="The real rows: a path or a URL (docs/sources.md).", callback=refuse_password)
    ],
    synthetic: Annotated[
        str | None, typer.Option("--synthetic", help="The synthetic rows, likewise.", callback=refuse_password)
    ] = None,
    release: Annotated[Path | None, typer.Option("--release", help="Or a release folder, which is verified.")] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", help="The schema (JSON); a release brings its own.")
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            "--control", help="Real rows that had no part in it: for attacks and tests.", callback=refuse_password
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", help="What to predict: ATTRIBUTE[=VALUE,VALUE...]; may repeat."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="An attribute that classifiers do not see; may repeat.")
    ] = None,
    attacks: Annotated[int, typer.Option("--attacks", help="How often each attack is tried.")] = 500,
    json_out: Annotated[Path | None, typer.Option("--json", help="Where to write the figures as JSON.")] = None,
    html_out: Annotated[Path | None, typer.Option("--html", help="Where to write them as a page.")] = None,
) -> None:
    """Judge a synthetic table beside real rows, for their owner alone (not private)."""
    targets, dropped = tuple(target or ()), tuple(drop or ())
    console = terminal.console(err=True)
    with console.status("Reading all rows ..."):
        question = read_inputs(Inputs(real, synthetic, release, schema, control, targets, dropped, attacks))
    with console.status("Comparing ...") as status:
        document = judged(question, lambda section: status.update(f"Comparing: {section} ..."))
    show(document)
    write_evaluation(document, json_out, html_out)
