"""``privity evaluate``: judge synthetic tables beside real rows, at the owner's own machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privity.assessment.evaluation.evaluation_inputs import Inputs, read_inputs
from privity.assessment.evaluation.evaluation_report import Files, judged, show, write_evaluation
from privity.common.data.dialect import dialect_option
from privity.common.storage.safe_files import refuse_existing
from privity.common.text import terminal
from privity.interfaces.cli.options import DialectOption
from privity.party.sources.address import refuse_password


def evaluate(
    real: Annotated[
        str, typer.Option("--real", help="the real rows: a path or URL (docs/sources.md)", callback=refuse_password)
    ],
    release: Annotated[
        list[Path] | None,
        typer.Option("--release", help="a release folder, which is verified; repeat it to compare several"),
    ] = None,
    synthetic: Annotated[
        list[str] | None, typer.Option("--synthetic", help="synthetic rows from anywhere; may repeat")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", help="the schema (JSON); by default that of the first release")
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            "--control",
            help="real rows that no release was made from: for attacks and for tests of predictions",
            callback=refuse_password,
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", help="what to predict: ATTRIBUTE[=VALUE,VALUE...]; may repeat"),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="an attribute that predictions do not use; may repeat")
    ] = None,
    attacks: Annotated[int, typer.Option("--attacks", help="how often each attack is tried")] = 500,
    quick: Annotated[bool, typer.Option("--quick", help="a first answer, from a part of the rows")] = False,
    json_out: Annotated[Path | None, typer.Option("--json", help="where to write the figures as JSON")] = None,
    html_out: Annotated[Path | None, typer.Option("--html", help="where to write them as a page with pictures")] = None,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", help="a new folder for the pictures, as SVG and PNG")
    ] = None,
    dialect: DialectOption = None,
) -> None:
    """Compare synthetic tables with the real rows. Not private: data owner only, do not publish."""
    for one in synthetic or ():
        refuse_password(one)
    if pictures is not None:
        refuse_existing(pictures, "pictures")
    inputs = Inputs(
        real, tuple(synthetic or ()), tuple(release or ()), schema, control, tuple(target or ()), tuple(drop or ()),
        attacks, quick, dialect_option(dialect),
    )  # fmt: skip
    console = terminal.console(err=True)

    def say(what: str) -> None:
        status.update(f"{what[:1].upper()}{what[1:]} ...")

    with console.status("Reading ...") as status:
        evaluation, document = judged(read_inputs(inputs, say), say)
    show(document)
    with console.status("Writing ...") as status:
        write_evaluation(evaluation, document, Files(json_out, html_out, pictures), say)
