"""``privity synthesize``: single-party mode, one owner alone with its own rows and ledger."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from common.algorithms import ALGORITHMS
from common.errors import Catalogue, PrivityError
from common.privacy.statement import privacy_statement
from common.release.content import FORMAT_VERSION, Release
from common.release.folder import write_release
from common.release.marginals import marginals_document
from common.release.notes import constraint_notes, notes
from common.release.synthesis import rows_to_publish, synthesise_release
from common.schema import load_schema
from deploy.options import refuse_existing, row_options, settings_option
from party.local import LocalSession
from party.synthesizer import OWNER, SYNTHESIZERS


def synthesize_command(
    data: Annotated[str, typer.Option(help="the table: a path or a URL (docs/sources.md)")],
    schema: Annotated[Path, typer.Option(help="its Table Schema descriptor")],
    epsilon: Annotated[str, typer.Option(help="exact, such as 1.0 or 1/3: what this release costs")],
    population: Annotated[str, typer.Option(help="the people whose rows these are; the ledger's name for them")],
    out: Annotated[Path, typer.Option(help="release folder to make; must not exist")],
    algorithm: Annotated[str, typer.Option(help=" or ".join(SYNTHESIZERS))] = "dp-subn",
    delta: Annotated[str, typer.Option(help="the same, such as 0.000000001; 0 is pure")] = "0",
    settings: Annotated[str, typer.Option(help="the algorithm's settings as JSON")] = "{}",
    ledger: Annotated[Path | None, typer.Option(help="by default one in the user's state folder")] = None,
    total_epsilon: Annotated[str | None, typer.Option(help="refuse if all releases together cost more")] = None,
    total_delta: Annotated[str | None, typer.Option(help="the same for delta")] = None,
    rows_per_person: Annotated[int, typer.Option(help="rows of one person in the table")] = 1,
    person: Annotated[str | None, typer.Option(help="column of the person's key, if a person has several")] = None,
    order: Annotated[str | None, typer.Option(help="column that numbers each person's rows")] = None,
    rows: Annotated[int | None, typer.Option(help="synthetic rows; by default as many as the table has")] = None,
) -> None:
    """Publish one owner's table: learn a model for epsilon, charge the ledger, write a release."""
    if algorithm not in SYNTHESIZERS:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="algorithm", reason=f"{algorithm!r} is unknown",
            hint=f"Use one of: {', '.join(SYNTHESIZERS)}.",
        )  # fmt: skip
    if rows is not None and rows < 1:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="rows", reason=f"{rows} is not a number of rows", hint="Use 1 or more."
        )
    refuse_existing(out)
    declared = load_schema(schema)
    synthesizer = SYNTHESIZERS[algorithm](
        epsilon,
        delta=delta,
        population=population,
        total_epsilon=total_epsilon,
        total_delta=total_delta,
        rows_per_person=rows_per_person,
        ledger=ledger,
        settings=settings_option(settings),
    )
    with Console(stderr=True).status("Reading all rows ..."):
        table = row_options(data, person, order).open(declared, rows_per_person).rows
    memory = ALGORITHMS[algorithm].memory
    if memory is not None:
        print(f"Needs about {memory(declared, table.rows) / 1e9:.2g} GB of memory besides the table.")
    started = time.monotonic()
    synthesizer.fit(table, declared)
    learned = time.monotonic()
    seed = secrets.randbits(64)
    count = rows or rows_to_publish(synthesizer.model, table.rows, seed)
    synthetic = synthesise_release(synthesizer.model, count, seed)
    assert synthesizer.record is not None
    assert synthesizer.run is not None
    assert synthesizer.charged is not None
    release = Release(
        model=synthesizer.model,
        marginals=marginals_document(synthesizer.record, declared, LocalSession.noise_variables),
        privacy=privacy_statement(
            run=synthesizer.run,
            parties={OWNER: table.rows},
            tolerate=0,
            protection=None,
            record=synthesizer.record,
            simulation=False,
            rows_per_person={OWNER: synthesizer.rows_per_person},
            absent_rows=declared.absent_rows,
        ),
        run={
            "format_version": FORMAT_VERSION,
            "run": synthesizer.run,
            "algorithm": algorithm,
            "settings": synthesizer.settings,
            "epsilon": str(synthesizer.epsilon),
            "delta": str(synthesizer.delta),
            "tolerate": 0,
            "key_bits": None,
            "secure_sum": None,
            "rows": count,
            "schema_digest": declared.digest,
            "plan_digest": None,
            "bytes": {},
            "rounds": {},
            "cells": {},
            "unpacked_bytes": {},
            "ciphertexts": {},
            "seconds": {"learning": round(learned - started), "synthesis": round(time.monotonic() - learned)},
            **synthetic.documents(),
        },
    )
    write_release(out, release, synthetic)
    limit = f" of {synthesizer.total_epsilon}" if synthesizer.total_epsilon else ""
    print(f"Release written to {out}.")
    for note in [*notes(synthesizer.model, joins=ALGORITHMS[algorithm].joins), *constraint_notes(release.run)]:
        print(note)
    charged, charged_delta = synthesizer.charged
    print(f"Population {population!r}: epsilon {charged} now, {synthesizer.spent}{limit} in all.")
    if synthesizer.spent_delta:
        print(f"Delta: {charged_delta} now, {synthesizer.spent_delta} in all.")
