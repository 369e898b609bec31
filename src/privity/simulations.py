"""``simulate``: the real protocol over several parties, as processes on this machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privity.arguments import (
    algorithm_settings,
    as_arguments,
    bad_argument,
    names_in,
    one_of,
    progress_of,
    whole_number,
)
from privity.assessment.simulation.simulated_run import Simulation
from privity.assessment.simulation.simulated_run import simulate as run_simulation
from privity.common.crypto.residues import Exponents
from privity.common.privacy.budget import Number, parse_delta, parse_epsilon
from privity.common.protocol.secure_sum_method import Method
from privity.common.public_names import public
from privity.deploy.operator.request_options import RunOptions, evaluation_option
from privity.deploy.options import sum_options
from privity.given import Schema, Table, frame_of, given_schema
from privity.release_sources import OwnFolder
from privity.releases import Release


@public
def simulate(
    table: Table,
    schema: Schema,
    *,
    epsilon: Number,
    parties: int = 3,
    algorithm: str = RunOptions.algorithm,
    delta: Number = 0,
    rows: int | None = None,
    split: str = "random",
    seed: int | None = None,
    tolerate: int = 1,
    secure_sum: Method | str = Method.PAILLIER,
    key_bits: int | None = None,
    exponents: Exponents | str | None = None,
    patience: float = 60.0,
    evaluation_epsilon: Number | None = None,
    evaluation_targets: Sequence[str] = (),
    evaluate: Path | str | None = None,
    out: Path | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> Release:
    """Share the rows of one table out among parties, and run the protocol: what ``privity simulate`` does.

    A curator and the parties are processes of their own that speak over TLS; they end with the call. Nothing is charged
    to a ledger, as every simulated party has a throwaway one: the release is for looking at, and says so.

    Args:
        table: the joint rows: a table in memory, a path or an address (docs/sources.md).
        schema: its declared domains.
        epsilon, delta: what the run costs each party; exact, a float counts as its shortest decimal.
        parties: how many.
        algorithm: its name, such as ``"aim"``; by default the one that public numbers recommend (docs/choosing.md).
        rows: use this many rows, drawn at random; all if left out.
        split: who gets which rows: ``random``, ``sizes:.7,.2,.1``, ``by:ATTRIBUTE`` or ``dirichlet:ATTRIBUTE:ALPHA``.
        seed: of the split among parties only; noise has no seed.
        tolerate: how many parties may pool what they know.
        secure_sum, key_bits, exponents: how sums over the parties are taken (docs/secure_sums.md).
        patience: seconds of a party's silence after which the run is stopped.
        evaluation_epsilon: the share of epsilon for which the parties score the table on their rows; none if left out.
        evaluation_targets: attributes that a classifier is to predict there.
        evaluate: folder to make: how the release compares with all rows; not for release.
        out: folder to make for the release; left out, one that goes with the object.
        progress: whether to show the phases on standard error.
        settings: the algorithm's own.

    Raises:
        ProblemsFound: rows that do not fit the schema, or settings that there are not.
        PrivityError: bad-option: an argument that cannot be; run-failed: what ended the run.
    """
    own = OwnFolder()
    given = frame_of(table)
    if given is None and not isinstance(table, str | Path):
        hint = "Give a pandas, polars or Arrow table, a relation of DuckDB, or the path or address of a table."
        raise bad_argument("table", f"a {type(table).__name__} is no table", hint)
    with as_arguments():
        kind, bits = sum_options(
            one_of("secure_sum", secure_sum, Method),
            None if exponents is None else one_of("exponents", exponents, Exponents),
            key_bits,
        )
        scored = None if evaluation_epsilon is None else str(parse_epsilon(evaluation_epsilon, "evaluation_epsilon"))
        folder = own.release if out is None else Path(out)
        task = Simulation(
            data=str(table) if given is None else given,
            schema=given_schema(schema),
            parties=whole_number("parties", parties, 2),
            algorithm=algorithm,
            settings=algorithm_settings(algorithm, settings),
            epsilon=parse_epsilon(epsilon),
            delta=parse_delta(delta),
            out=folder,
            split=split,
            rows=None if rows is None else whole_number("rows", rows, 1),
            secure_sum=kind,
            key_bits=bits,
            tolerate=whole_number("tolerate", tolerate, 1),
            patience=_seconds(patience),
            seed=None if seed is None else whole_number("seed", seed, 0),
            evaluate=None if evaluate is None else Path(evaluate),
            evaluation=evaluation_option(scored, names_in("evaluation_targets", evaluation_targets)),
        )
    with as_arguments(), progress_of(f"{algorithm} over {parties} parties, epsilon {epsilon}", shown=progress) as view:
        run_simulation(task, view.update)
    return Release._of(folder, own if out is None else None)


def _seconds(patience: float) -> float:
    if isinstance(patience, bool) or not isinstance(patience, int | float) or not 0 < patience < math.inf:
        raise bad_argument("patience", f"{patience!r} is no number of seconds", "Give for instance 60.")
    return patience
