"""``simulate``: the real protocol over several parties, as processes on this machine."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from privity import given
from privity.arguments import as_arguments, progress_of, takes_run_arguments
from privity.assessment.simulation.simulated_run import Simulation
from privity.assessment.simulation.simulated_run import simulate as run_simulation
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats.given_values import bad_option, whole_number
from privity.common.protocol.declared_options import Taker
from privity.common.public_names import public
from privity.release_sources import OwnFolder
from privity.releases import Release


@public
@takes_run_arguments(Taker.SIMULATE)
def simulate(
    table: given.Table,
    schema: given.Schema,
    asked: dict[str, Any],
    *,
    parties: int = 3,
    rows: int | None = None,
    split: str = "random",
    seed: int | None = None,
    patience: float = 60.0,
    evaluate: Path | str | None = None,
    out: Path | str | None = None,
    progress: bool = True,
) -> Release:
    """Share the rows of one table out among parties, and run the protocol.

    A curator and the parties are processes of their own that speak over TLS; they end with the call. Nothing is charged
    to a ledger, as every simulated party has a throwaway one: the release is for looking at, and says so.

    Args:
        table: the joint rows: a table in memory, a path or an address (docs/sources.md); two by name, of histories.
        schema: its declared domains.
        {options}
        parties: how many.
        rows: use this many rows, drawn at random; all if left out.
        split: who gets which rows: ``random``, ``sizes:.7,.2,.1``, ``by:ATTRIBUTE`` or ``dirichlet:ATTRIBUTE:ALPHA``.
        seed: of the split among parties only; noise has no seed.
        patience: seconds of a party's silence after which the run is stopped.
        evaluate: folder to make: how the release compares with all rows; not for release.
        out: folder to make for the release; left out, one that goes with the object.
        progress: whether to show the phases on standard error.
        settings: the algorithm's own.

    Raises:
        ProblemsFound: rows that do not fit the schema, or settings that there are not.
        PrivityError: bad-option: an argument that cannot be; run-failed: what ended the run; release-unfinished: it
            failed after it had learnt, and where the release is that has no rows.
    """
    own = OwnFolder()
    declared = given.given_schema(schema)
    data, *events = map(_given, given.both_of(table, declared))
    with as_arguments():
        folder = own.release if out is None else Path(out)
        task = Simulation(
            request=asked,
            data=data,
            events=events[0] if events else None,
            schema=declared,
            parties=whole_number("parties", parties, 2),
            out=folder,
            split=split,
            rows=None if rows is None else whole_number("rows", rows, 1),
            patience=_seconds(patience),
            seed=None if seed is None else whole_number("seed", seed, 0),
            evaluate=None if evaluate is None else Path(evaluate),
        )
        given.warn_of_unkept_rules(declared, calls=2)
        title = f"{asked['algorithm']} over {parties} parties, epsilon {asked['epsilon']}"
    with as_arguments(), progress_of(title, shown=progress) as view:
        try:
            run_simulation(task, view.update)
        except PrivityError as error:
            if error.kind is Catalogue.RELEASE_UNFINISHED:
                own.keep()
            raise
    return Release._of(folder, own if out is None else None)


def _given(table: given.Table) -> Any:
    """A frame, or where the rows are."""
    frame = given.frame_of(table)
    if frame is None and not isinstance(table, str | Path):
        hint = "Give a pandas, polars or Arrow table, a relation of DuckDB, or the path or address of a table."
        raise bad_option("table", f"a {type(table).__name__} is no table", hint)
    return str(table) if frame is None else frame


def _seconds(patience: float) -> float:
    if isinstance(patience, bool) or not isinstance(patience, int | float) or not 0 < patience < math.inf:
        raise bad_option("patience", f"{patience!r} is no number of seconds", "Give for instance 60.")
    return patience
