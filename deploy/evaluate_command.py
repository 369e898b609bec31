"""``privity evaluate``: compare a synthetic table with real rows, at the owner's own machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from common import formats
from common.evaluation.distance import marginal_distances
from common.schema import load_schema
from deploy.schema_commands import write_text
from party.sources.address import parse_address
from party.sources.open import load_table

FORMAT_VERSION = 1
NOT_PRIVATE = (
    "Comparing with real rows is not private: these figures depend on the rows and spend no budget. "
    "Keep them where the rows are."
)


def evaluate(
    real: Annotated[str, typer.Option("--real", help="The real rows: a path or a URL (docs/sources.md).")],
    synthetic: Annotated[str, typer.Option("--synthetic", help="The synthetic rows, likewise.")],
    schema: Annotated[Path, typer.Option("--schema", help="The descriptor of both tables (JSON).")],
    json_out: Annotated[Path | None, typer.Option("--json", help="Where to write the figures as JSON.")] = None,
) -> None:
    """Show how far a synthetic table's marginals are from those of real rows (not private)."""
    declared = load_schema(schema)
    real_table, synthetic_table = (load_table(parse_address(data), declared) for data in (real, synthetic))
    distances = marginal_distances(real_table, synthetic_table)
    shown = Table(title="Total variation distance (0: equal, 1: disjoint)")
    for heading in ("marginals of", "mean", "maximum"):
        shown.add_column(heading, justify="right")
    for way in (1, 2, 3):
        if f"tvd{way}" in distances:
            mean, largest = distances[f"tvd{way}"], distances[f"tvd{way}_max"]
            shown.add_row(f"{way} attribute{'s' * (way > 1)}", f"{mean:.4f}", f"{largest:.4f}")
    Console().print(shown)
    typer.echo(f"Rows: {real_table.rows} real, {synthetic_table.rows} synthetic.")
    typer.echo(NOT_PRIVATE)
    if json_out is not None:
        document = {
            "format_version": FORMAT_VERSION,
            "private": False,
            "schema_digest": declared.digest,
            "real_rows": real_table.rows,
            "synthetic_rows": synthetic_table.rows,
            **distances,
        }
        formats.require(document, "evaluation", str(json_out))
        write_text(json.dumps(document, indent=2) + "\n", json_out)
