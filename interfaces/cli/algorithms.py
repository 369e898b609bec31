"""``privity algorithms``: what can be run, and what each may be asked for; all of it as the algorithms declare it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from privity.common.errors import Catalogue, PrivityError
from privity.common.synthesis.algorithm_settings import declared
from privity.common.synthesis.algorithms import ALGORITHMS, Algorithm
from privity.common.text import text_table
from privity.common.text.terminal import say

HEADINGS = ("setting", "type", "range", "default", "meaning")


def algorithms_command(
    name: Annotated[str | None, typer.Argument(help="show this algorithm only")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="print docs/algorithms/settings.md")] = False,
) -> None:
    """List the algorithms, or show what one does and what each of its settings may be."""
    if markdown:
        say(*page())
    elif name is None:
        shown = text_table.table("name", "what it is")
        for each in ALGORITHMS.values():
            text_table.add(shown, each.name, each.title)
        text_table.show(shown)
    elif name not in ALGORITHMS:
        hint = f"Use one of: {', '.join(ALGORITHMS)}."
        raise PrivityError(Catalogue.BAD_OPTION, option="name", reason=f"{name!r} is unknown", hint=hint)
    else:
        _tell(ALGORITHMS[name])


def _tell(algorithm: Algorithm[Any]) -> None:
    say(algorithm.title, *([f"Paper: {algorithm.paper}."] if algorithm.paper else []))
    rows = list(_rows(algorithm))
    if not rows:
        say("It has no settings.")
        return
    shown = text_table.table(*HEADINGS)
    for row in rows:
        text_table.add(shown, *row)
    text_table.show(shown)


def _rows(algorithm: Algorithm[Any]) -> Iterator[tuple[str, ...]]:
    for name, each in declared(algorithm.settings).items():
        yield name, each.type, each.allowed, each.by_default, each.meaning


def page() -> Iterator[str]:
    """The lines of docs/algorithms/settings.md."""
    yield from (
        "# Settings of the algorithms",
        "",
        "This page lists the settings of every algorithm. `privity algorithms NAME` shows those of one algorithm;",
        "`privity algorithms --markdown` writes this page.",
        "",
        "Give settings as JSON on a command line (`--settings '{\"tables\": 5}'`), under `settings` in a run request",
        "([formats.md](../formats.md#run-request)), or as keyword arguments in Python (`tables=5`). An unknown or bad",
        "setting is refused. The option `--inference` sets `inference` ([inference.md](../inference.md)).",
    )
    for algorithm in ALGORITHMS.values():
        face = "`Schema.discover`" if algorithm.discovers else f"`{type(algorithm).__name__}`"
        yield from ("", f"## {algorithm.name}", "", f"{algorithm.title} In Python: {face}.")
        if algorithm.paper:
            yield from ("", f"Paper: {algorithm.paper}.")
        rows = list(_rows(algorithm))
        yield ""
        if rows:
            yield f"| {' | '.join(HEADINGS)} |"
            yield f"|{'---|' * len(HEADINGS)}"
            yield from (f"| `{name}` | {' | '.join(cells)} |" for name, *cells in rows)
        else:
            yield "It has no settings."
