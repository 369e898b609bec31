"""From a session that has learnt a model to a release. One way, for one owner and for many parties.

What was learnt is a release before there are rows, and is written then: nothing that fails afterwards loses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from privity.common.protocol.session import Session
from privity.common.release.marginals_file import marginals_document
from privity.common.release.release_contents import FORMAT_VERSION, Release
from privity.common.release.statement import privacy_statement
from privity.common.release.synthetic_histories import release_rows
from privity.common.release.synthetic_rows import Synthesis, rows_to_publish
from privity.common.synthesis.models import Model

ALONE: dict[str, Any] = {
    "tolerate": 0, "key_bits": None, "secure_sum": None, "plan_digest": None,
    "bytes": {}, "rounds": {}, "cells": {}, "unpacked_bytes": {}, "ciphertexts": {},
}  # fmt: skip
"""What run.json says of a run that sends nothing."""


@dataclass(frozen=True)
class Synthesised:
    """The rows that a run publishes.

    Attributes:
        present: how many rows of all parties are taken to be there.
    """

    synthetic: Synthesis
    present: int


def synthesised(model: Model, places: int, rows: int | None, seed: int) -> Synthesised:
    """Draw the rows of a release.

    Args:
        places: public number of rows of all parties.
        rows: how many; by default as many as are taken to be there.
        seed: decides them.
    """
    present = rows_to_publish(model, places, seed)
    return Synthesised(release_rows(model, rows or present, seed), present)


def learnt_release(
    session: Session,
    model: Model,
    *,
    tolerate: int,
    protection: str | None,
    of_run: Mapping[str, Any],
    of_statement: Mapping[str, Any],
) -> Release:
    """The documents of what was learnt: an unfinished release.

    Args:
        protection, of_statement: as ``privacy_statement`` asks for them.
        of_run: what run.json says besides.
    """
    schema, backend, own = model.schema, session.backend, session.record.discovery
    # What the run itself discovered is part of what the run cost.
    began = replace(schema, discoveries=tuple(each for each in schema.discoveries if each != own))
    privacy = privacy_statement(
        run=session.run,
        parties=dict(zip(backend.members, backend.party_rows, strict=True)),
        tolerate=tolerate,
        protection=protection,
        record=session.record,
        schema=began.stated,
        rows_per_person=dict(zip(backend.members, backend.rows_per_person, strict=True)),
        parties_per_person=backend.parties_per_person,
        **of_statement,
    )
    run = {
        "format_version": FORMAT_VERSION,
        "run": session.run,
        "unfinished": True,
        "schema_digest": schema.digest,
        **of_run,
        "charges": session.record.charges(),
    }
    marginals = marginals_document(session.record, schema, session.noise_variables)
    return Release(model, marginals, privacy, run)


def finished(learnt: Release, synthetic: Synthesis, scores: dict[str, Any] | None = None) -> Release:
    """The documents of a release with its rows.

    Args:
        learnt: an unfinished one.
        scores: what the parties said of the synthetic table.
    """
    of_run = {key: value for key, value in learnt.run.items() if key != "unfinished"}
    return replace(learnt, run={**of_run, "rows": synthetic.table.rows, **synthetic.documents()}, scores=scores)
