"""Options that several commands share: those of a run, as they are declared, and where rows are."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from privity.common.data.dialect import dialect_option
from privity.common.protocol.declared_options import OF_A_CONSORTIUM, Option, Taker, options_of
from privity.common.runs.run_request import RunRequest
from privity.common.synthesis.inference.fit_choice import INFERENCES
from privity.party.sources.address import refuse_password
from privity.party.sources.source_settings import RowSettings

DialectOption = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        help="how the rows are written, as JSON; replaces single keys of the schema's dialect",
    ),
]
MapOption = Annotated[
    Path | None,
    typer.Option(
        "--map", help="the file of what the table calls the columns and values of the schema (docs/own_words.md)"
    ),
]
EventsOption = Annotated[
    str | None,
    typer.Option(
        help="the table of events, if the schema is of two tables; data has the persons (docs/histories.md)",
        callback=refuse_password,
    ),
]


def row_options(
    data: str,
    person: str | None = None,
    order: str | None = None,
    dialect: str | None = None,
    table_map: Path | None = None,
    events: str | None = None,
) -> RowSettings:
    """Where the rows of a command are; paths are relative to the folder of now."""
    return RowSettings(
        data, Path(), person=person, order=order, events=events, dialect=dialect_option(dialect), map=table_map
    )


def takes_run_options(taker: Taker) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a run, and those that were given, by name, as its first argument."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        of_run = _parameters(taker)

        @wraps(command)
        def call(**given: Any) -> None:
            asked = {each.name: given.pop(each.name) for each in of_run}
            command({name: value for name, value in asked.items() if value is not None}, **given)

        _, *others = own.parameters.values()
        # What is required stands first, then the run.
        every = sorted((*of_run, *others), key=lambda each: (each.default is not each.empty, each not in of_run))
        parameters = [each.replace(kind=each.KEYWORD_ONLY) for each in every]
        call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return call

    return decorate


def _parameters(taker: Taker) -> list[inspect.Parameter]:
    found = [_parameter(name, option) for name, option in options_of(RunRequest, taker).items()]
    if taker not in OF_A_CONSORTIUM:
        # There is no file that could have it.
        found = [each.replace(default=each.empty) if each.name == "epsilon" else each for each in found]
    fits = f"how the model is fitted: {' or '.join(INFERENCES)} (docs/inference.md)"
    found.append(_optional("inference", str, typer.Option(help=fits)))
    if taker in OF_A_CONSORTIUM:
        file = "the run as a TOML file, instead of these options (docs/formats.md)"
        found.append(_optional("spec", Path, typer.Option(help=file)))
    return found


def _parameter(name: str, option: Option) -> inspect.Parameter:
    flag = f"--{option.flag}" if option.flag else f"--{name.replace('_', '-')}"
    several = option.kind.command == list[str]
    told = f"{option.told}; may repeat" if several else option.told
    return _optional(name, option.kind.command, typer.Option(flag, help=told))


def _optional(name: str, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )
