"""The command line of ``privity doctor``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from privity.common.errors import Catalogue, PrivityError
from privity.common.text import text_table
from privity.common.text.terminal import say_json
from privity.deploy.consortium.check_result import Check, Verdict
from privity.deploy.consortium.doctor_checks import examine_curator, examine_operator, examine_party

NODES: dict[str, Callable[[Path], Iterator[Check]]] = {
    "party.toml": examine_party,
    "curator.toml": examine_curator,
    "operator.toml": examine_operator,
}


def doctor_command(
    config: Annotated[
        Path | None, typer.Option(help="party.toml, curator.toml or operator.toml; by default the one in this folder")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object a check")] = False,
) -> None:
    """Check everything that a node or the operator needs, and say what to do. Exit code 1 if anything is wrong."""
    file = config or next((Path(name) for name in NODES if Path(name).exists()), None)
    if file is None or file.name not in NODES:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="config", reason=f"none of {', '.join(NODES)} was found or named",
            hint="Go to the node's folder, or name its file with --config.",
        )  # fmt: skip
    shown = text_table.table("check", "", "found", "what to do")
    worst = Verdict.GOOD
    for check in NODES[file.name](file):
        if check.verdict is Verdict.BAD:
            worst = Verdict.BAD
        if as_json:
            fields = {"check": check.what, "verdict": check.verdict.value, "found": check.found}
            say_json(fields | {"remedy": check.remedy}, indent=None)
        else:
            text_table.add(shown, check.what, check.verdict.value, text_table.as_lines(check.found), check.remedy)
    if not as_json:
        text_table.show(shown)
    if worst is Verdict.BAD:
        raise typer.Exit(1)
