"""Releases made in process, with the noise of one owner; the statement may name several parties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from privity.common.consortium.manifest import Split
from privity.common.data.schema import Schema
from privity.common.privacy.noise_distribution import LAPLACE
from privity.common.protocol.stated_charges import cost_of
from privity.common.release.evaluation.scores_over_parties import PHASE
from privity.common.release.marginals_file import marginals_document
from privity.common.release.release_contents import FORMAT_VERSION, Release
from privity.common.release.statement import privacy_statement
from privity.common.release.synthetic_rows import Synthesis, synthesise_release
from privity.local_learner import OWNER
from privity.synthesizers import SYNTHESIZERS
from tests.harness.ledgers import declared

SEED = 7


NOTHING_STATED = {"absent_rows": False, "stored_types": False, "discoveries": [], "read_off_rows": []}
"""What a schema says of itself that a person wrote and that protects no numbers of rows."""


def release_of(
    folder: Path,
    algorithm: str,
    frame: pd.DataFrame,
    schema: Schema,
    epsilon: str = "2",
    settings: Mapping[str, Any] | None = None,
    parties: Mapping[str, int] | None = None,
    scores: Sequence[Mapping[str, Any]] = (),
    **columns: str,
) -> tuple[Release, Synthesis]:
    """A release and its synthetic rows; the ledger is in the folder.

    Args:
        parties: names and rows that the statement and the figures of the run have; one owner if left out.
        scores: of the synthetic table, which cost half an epsilon more.
        columns: those of persons and of their order, as of a fit.
    """
    ledger = folder / f"{algorithm}.sqlite"
    declared(ledger).close()
    fitted = SYNTHESIZERS[algorithm](epsilon, population="people", ledger=ledger, **(settings or {}))
    fitted.fit(frame, schema, **columns)
    named = dict(parties or {OWNER: len(frame)})
    record = replace(fitted.record_, costs=[replace(cost, payers=tuple(named)) for cost in fitted.record_.costs])
    asked = Fraction(epsilon)
    if scores:
        charge = {"phase": PHASE, "paid_by": named, "noise": LAPLACE, "scale": str(2 * len(scores))}
        record.add_cost(cost_of({**charge, "scores": len(scores)}, shared=len(named) > 1))
        asked += Fraction(1, 2)
    together, tolerate = bool(parties), int(len(named) > 1)
    # As if every party had added its share: the counts have less noise than they say.
    quota = len(named) - tolerate
    tables = {
        place: [replace(one, variance=len(named) * one.law.share_variance(quota)) for one in tables]
        for place, tables in record.tables.items()
    }
    record = replace(record, tables=tables)
    phases = list(dict.fromkeys(cost.phase for cost in record.costs))
    by_phase = {phase: {name: 1234 + len(name) for name in named} for phase in phases} if together else {}
    release = Release(
        model=fitted.model_,
        marginals=marginals_document(record, fitted.model_.schema, Fraction(len(named), quota)),
        privacy=privacy_statement(
            run=fitted.fitted.learnt.run["run"],
            parties=named,
            tolerate=tolerate,
            protection="Paillier with a 3072-bit modulus" if together else None,
            record=record,
            split=Split.POSITION if together else Split.NONE,
            schema=schema.stated,
        ),
        run={
            "format_version": FORMAT_VERSION,
            "run": fitted.fitted.learnt.run["run"],
            "algorithm": algorithm,
            "settings": fitted.settings,
            "epsilon": str(asked),
            **({"evaluation": {"epsilon": "1/2", "targets": []}} if scores else {}),
            "delta": "0",
            "tolerate": tolerate,
            "key_bits": 3072 if together else None,
            "secure_sum": {"method": "paillier", "exponents": "half"} if together else None,
            "rows": len(frame),
            "schema_digest": fitted.model_.schema.digest,
            "plan_digest": "0" * 64 if together else None,
            "bytes": by_phase,
            "rounds": dict.fromkeys(by_phase, 1),
            "cells": dict.fromkeys(by_phase, 10),
            "unpacked_bytes": dict.fromkeys(by_phase, 10**6),
            "ciphertexts": dict.fromkeys(by_phase, 3),
            "charges": record.charges(),
        },
        scores=_scores(fitted.model_.schema, named, scores, Fraction(len(named), quota)) if scores else None,
    )
    return release, synthesise_release(fitted.model_, len(frame), SEED)


def _scores(
    schema: Schema, parties: Mapping[str, int], scores: Sequence[Mapping[str, Any]], variables: Fraction
) -> dict[str, Any]:
    return {
        "format_version": 1, "schema_digest": schema.digest, "epsilon": "1/2", "rows": sum(parties.values()),
        "law": LAPLACE, "scale": str(2 * len(scores)), "noise_variables": str(variables), "interval_level": "19/20",
        "half_width": 0.01, "scores": [*scores],
    }  # fmt: skip
