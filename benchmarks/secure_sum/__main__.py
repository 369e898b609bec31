"""One round of the secure sum on this machine, beside plain Paillier: `python -m benchmarks.secure_sum`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from benchmarks.secure_sum.consortium import Task
from benchmarks.secure_sum.one_round import measure
from benchmarks.secure_sum.over_network import measure_over_network
from privity.common.crypto.residues import Exponents
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.secure_sum_method import Method
from privity.common.protocol.step_limits import ROUND_CELLS
from privity.common.runs.run_request import parse_request, request_document
from privity.common.storage.canonical_json import canonical_bytes
from privity.common.storage.safe_files import write_text
from privity.common.text import terminal
from privity.interfaces.cli.main import run

LARGEST_CELLS = ROUND_CELLS
UNITS = {"stages": "s", "core_seconds": "core-s", "peak_mb": "MB at most"}


def secure_sum_command(
    cells: Annotated[int, typer.Option(help="rounded up to 105 square tables")] = 100_000,
    parties: Annotated[int, typer.Option(help="number of parties, K")] = 3,
    key_bits: Annotated[
        int | None, typer.Option(help="Paillier modulus: 2048, 3072 or 4096 bits; 3072 if left out")
    ] = None,
    secure_sum: Annotated[Method, typer.Option(help="how the sum is taken; see docs/secure_sums.md")] = Method.PAILLIER,
    exponents: Annotated[
        Exponents | None, typer.Option(help="of Paillier's randomness; half the modulus' bits if left out")
    ] = None,
    network: Annotated[
        bool,
        typer.Option(
            "--network", help="through a curator and parties over gRPC and TLS, with ledgers, journals and counting"
        ),
    ] = False,
    json_out: Annotated[Path | None, typer.Option("--json", help="where to write the figures as JSON")] = None,
) -> None:
    """One round of the secure sum over all parties on this machine, beside a plain Paillier loop in the same run.

    With --network it is a round of production's own processes, and nothing goes beside it.
    """
    rules = [
        (1 <= cells <= LARGEST_CELLS, "cells", f"{cells} is out of range", f"Use 1 to {LARGEST_CELLS}."),
        (parties >= 2, "parties", "a secure sum needs two parties or more", "Use 2 or more."),
    ]
    for holds, option, reason, hint in rules:
        if not holds:
            raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)
    given = {"epsilon": 1, "secure_sum": secure_sum, "exponents": exponents, "key_bits": key_bits}
    asked = parse_request(canonical_bytes(request_document(given)))
    console = terminal.console(err=True)
    task = Task(cells, parties, asked.secure_sum, asked.key_bits)
    found = measure_over_network(task) if network else measure(task, console.print)
    if json_out is not None:
        write_text(json.dumps(found, indent=2) + "\n", json_out)
    shown = Table("figure", "value")
    for key, value in found.items():
        if isinstance(value, dict):
            for part, number in value.items():
                shown.add_row(f"{part}, {UNITS[key]}", f"{number:.2f}")
        else:
            shown.add_row(key.replace("_", " "), f"{value:,.2f}" if isinstance(value, float) else str(value))
    terminal.console().print(shown)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(secure_sum_command)
    run(app)
