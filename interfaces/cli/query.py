"""``privity query`` and ``privity support``: what a release tells, with intervals; and whether it can."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from privity.common.data.regression_formula import place_of
from privity.common.data.schema import Schema
from privity.common.release.queries.answer import TARGETS, Answer
from privity.common.release.queries.ask import STATISTICS, ask
from privity.common.release.queries.estimator import Estimator
from privity.common.release.queries.evidence import Evidence
from privity.common.release.queries.question import COMPARISONS
from privity.common.release.queries.support import WORDS, Support
from privity.common.release.release_folder import read_release
from privity.common.release.sampling_conditions import Given, read_condition
from privity.common.text import text_table
from privity.common.text.terminal import say, say_json
from privity.interfaces.cli.release import Release

Conditions = Annotated[
    list[str] | None,
    typer.Option(help="condition such as age>=18, ward=north|south or ward!=north; may repeat, all must hold"),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


def query_command(
    release: Release,
    statistic: Annotated[str, typer.Argument(help=f"one of: {', '.join(STATISTICS)}")],
    about: Annotated[
        list[str] | None, typer.Argument(help='attributes, or the formula of a regression: "income ~ age + C(region)"')
    ] = None,
    where: Conditions = None,
    given: Conditions = None,
    by: Annotated[str | None, typer.Option(help="an attribute: one answer for each of its values")] = None,
    compare: Annotated[
        str | None, typer.Option(help=f"each group with the first one: {' or '.join(COMPARISONS)}")
    ] = None,
    at: Annotated[float | None, typer.Option(help="of a quantile, between 0 and 1; by default 0.5")] = None,
    level: Annotated[float, typer.Option(help="of the interval: 0.9, 0.95 or 0.99")] = 0.95,
    target: Annotated[
        str, typer.Option(help=f"{TARGETS[0]} from which the rows were sampled, or these {TARGETS[1]}")
    ] = TARGETS[0],
    extrapolate: Annotated[
        bool, typer.Option("--extrapolate", help="let the model tell of pairs that nothing measured, with its error")
    ] = False,
    midpoints: Annotated[
        bool, typer.Option("--midpoints", help="let numbers count as the middle of their bins")
    ] = False,
    weights: Annotated[str | None, typer.Option(help="a survey weight: refused, with the reason")] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate counts, shares, means, quantiles, cross-tabs, correlations or regressions, with valid intervals."""
    estimator = _opened(release)
    schema = estimator.evidence.schema
    others: dict[str, Any] = {"by": by, "compare": compare, "level": level, "target": target}
    found = ask(
        estimator,
        statistic,
        about or (),
        where=_read(where, schema),
        given=_read(given, schema),
        at=at,
        extrapolate=extrapolate,
        midpoints=midpoints,
        weights=weights,
        **others,
    )
    if as_json:
        say_json({"statistic": statistic, "about": about or [], "answers": [each.document() for each in found]})
        return
    _show(statistic, found)


def support_command(
    release: Release,
    attributes: Annotated[list[str], typer.Argument(help="names of attributes")],
    as_json: AsJson = False,
) -> None:
    """Say whether a release can tell something of these attributes together: measured, implied or extrapolated."""
    estimator = _opened(release)
    schema = estimator.evidence.schema
    found = estimator.support([place_of(schema, name, "attributes") for name in dict.fromkeys(attributes)])
    if as_json:
        say_json(found.document())
        return
    say(*_stands_on(found))


def _opened(release: Path) -> Estimator:
    return Estimator(Evidence.of(read_release(release)))


def _read(texts: list[str] | None, schema: Schema) -> list[Given]:
    return [read_condition(text, schema) for text in texts or ()]


def _show(statistic: str, found: list[Answer]) -> None:
    names = list(dict.fromkeys(name for each in found for name in each.of))
    numbers = (statistic, f"{found[0].level:.0%} from", "to", "sampling", "noise", "model")
    shown = text_table.table(*names, *numbers, numbers=numbers, box=None)
    for each in found:
        errors = (each.errors[name] for name in numbers[3:])
        cells = (each.value, each.low, each.high, *errors)
        text_table.add(shown, *(each.of.get(name, "") for name in names), *map(_number, cells))
    text_table.show(shown)
    say("", *_stands_on(found[0].support))
    for note in dict.fromkeys(note for each in found for note in each.notes):
        say(f"Note: {note}.")


def _stands_on(support: Support) -> list[str]:
    lines = [f"Support: {WORDS[support.kind]} (R2 {support.r2:.2f})."]
    if support.missing:
        lines.append(f"Not measured: {', '.join(' and '.join(pair) for pair in support.missing)}.")
    if support.model_error is not None:
        lines.append(f"What the model may have wrong was estimated from {support.model_error}.")
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None or not isfinite(value) else f"{value:.5g}"
