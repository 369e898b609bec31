"""``privity sample``: as many rows of a released model as somebody likes, under conditions; costs nothing."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from privity.common.data.unread_columns import LARGEST_START, with_keys
from privity.common.errors import Catalogue, PrivityError
from privity.common.release.open_model import open_model
from privity.common.release.rows_file import check_rows_file, write_rows
from privity.common.release.sampling_conditions import conditions_of, read_condition
from privity.common.release.synthetic_histories import draw_histories
from privity.common.release.synthetic_rows import synthesise
from privity.common.storage.safe_files import refuse_existing
from privity.common.text import terminal
from privity.common.text.first_few import first_few
from privity.common.text.terminal import say

SEED_BITS = 32


def sample_command(
    model: Annotated[Path, typer.Argument(help="the folder of a release, or a model.json")],
    rows: Annotated[int, typer.Option(help="number of rows")],
    out: Annotated[Path, typer.Option(help="file to make: .csv, .csv.gz or .parquet; must not exist")],
    where: Annotated[
        list[str] | None,
        typer.Option(help="condition such as age>=18, ward=north|south or ward!=north; may repeat, all must hold"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="seed: the same gives the same rows; by default a new one")] = None,
    skip_keys: Annotated[
        int, typer.Option(min=0, max=LARGEST_START, help="number of keys that other tables have, to go on after them")
    ] = 0,
    independent: Annotated[
        bool, typer.Option("--independent", help="draw rows one by one, so that counts vary as those of a sample do")
    ] = False,
    events: Annotated[
        Path | None, typer.Option(help="file to make of the events, if the release is of persons and their events")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="schema, if there is none beside the model, or to add rowConstraints")
    ] = None,
) -> None:
    """Sample rows from a released model, under its rules and your own conditions. Nothing is charged."""
    if rows < 1:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="rows", reason=f"{rows} is not a number of rows", hint="Use 1 or more."
        )
    if seed is not None and seed < 0:
        raise PrivityError(Catalogue.BAD_OPTION, option="seed", reason=f"{seed} is negative", hint="Use 0 or more.")
    refuse_existing(out)
    check_rows_file(out)
    if not out.absolute().parent.is_dir():
        raise PrivityError(Catalogue.FILE_MISSING, file=out.absolute().parent)
    opened = open_model(model, schema)
    of_rows, history = opened.schema, opened.schema.history
    if (history is None) != (events is None):
        reason = "the release is of one table" if history is None else "the release is of persons and their events"
        hint = "Leave it out." if history is None else "Give a file for the events, too: --events FILE."
        raise PrivityError(Catalogue.BAD_OPTION, option="events", reason=reason, hint=hint)
    if history is not None and events is not None:
        refuse_existing(events, "events")
        check_rows_file(events)
        if events.absolute() == out.absolute():
            hint = "Give each table a file of its own."
            raise PrivityError(Catalogue.BAD_OPTION, option="events", reason="it is that of the persons", hint=hint)
        if not events.absolute().parent.is_dir():
            raise PrivityError(Catalogue.FILE_MISSING, file=events.absolute().parent)
        of_rows = history.persons
    conditions = conditions_of(of_rows, [read_condition(text, of_rows) for text in where or ()])
    chosen = secrets.randbits(SEED_BITS) if seed is None else seed
    if history is not None and events is not None:
        both = draw_histories(opened, rows, chosen, conditions, skip_keys, independent=independent)
        assert both.events is not None
        write_rows(both.frame, history.persons, out)
        write_rows(both.events, history.events, events)
        say(f"{rows} persons written to {out}, their events to {events}; --seed {chosen} gives the same ones.")
        say(f"Keys begin after those of {skip_keys} persons: --skip-keys {skip_keys + rows} goes on after these.")
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[drawn]}"))
    sampled_in_all = rows
    with Progress(*columns, console=terminal.console(err=True), transient=True) as progress:
        task = progress.add_task("rows", total=rows, drawn="")

        def tell(found: int, drawn: int) -> None:
            nonlocal sampled_in_all
            sampled_in_all = drawn
            progress.update(task, completed=found, drawn=f"of {drawn:,} drawn")

        frame = synthesise(opened, rows, chosen, conditions, tell=tell, skipped=skip_keys, independent=independent)
    write_rows(frame, opened.schema, out)
    say(f"{rows} rows written to {out}; --seed {chosen} gives the same ones.")
    if keys := [column.name for column in with_keys(opened.schema.unread)]:
        say(
            f"The keys of {first_few(keys)} begin after {skip_keys} others. A release and each sample begin alike: "
            f"--skip-keys {skip_keys + rows} goes on after these."
        )
    if conditions.words or opened.schema.row_constraints:
        say(f"{sampled_in_all} rows were drawn from the model to find them.")
