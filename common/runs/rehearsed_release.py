"""A release of invented rows, made before anything is charged: rules, statement, report and every file are tried.

It takes no row: its rows are those of a model of flat marginals. So what cannot be made is told before it is paid for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from privity.common.data.attribute import Histogram
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.session import complete
from privity.common.release.release_contents import Release
from privity.common.release.release_folder import read_release, write_learnt, write_release
from privity.common.release.report.overview import overview
from privity.common.release.report.report_page import report_page
from privity.common.release.session_release import ALONE, finished, learnt_release, synthesised
from privity.common.runs.planned_run import planned_session
from privity.common.synthesis.algorithms import learn
from privity.common.synthesis.algorithms.one_way import OneWay
from privity.common.synthesis.learning.domain_discovery import stand_in
from privity.common.text.short_values import shorten

INVENTED = 1000
"""Rows of each party, which nobody has."""

ROWS = 200
"""Synthetic rows of the rehearsal."""

SEED = 0


def rehearse_release(
    schema: Schema,
    parties: Sequence[str] = ("owner",),
    protection: str | None = None,
    *,
    of_run: Mapping[str, Any] = MappingProxyType(ALONE),
    of_statement: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Make a release of invented rows by this schema, first unfinished and then whole, and read it back.

    Args:
        schema: as declared; where the domain of a number is open, one stands in that might be discovered.
        parties: that take part.
        protection, of_run, of_statement: as of ``learnt_release``; how the sums of the run are protected, at least.

    Raises:
        PrivityError: rehearsal-failed.
    """
    try:
        rows = dict.fromkeys(parties, INVENTED)
        of_run = {"algorithm": OneWay.name, "settings": {}, "epsilon": "1", "delta": "0", **ALONE, **of_run}
        tolerate = of_run["tolerate"]
        session = planned_session(_closed(schema), rows, tolerate, PureBudget(Fraction(1)))
        model = complete(learn(session, OneWay.name, {}))
        learnt = learnt_release(
            session, model, tolerate=tolerate, protection=protection, of_run=of_run, of_statement=of_statement
        )
        _try(learnt, session.rows)
    except Exception as error:
        # No row was looked at: what it says is of the schema.
        reason = f"{type(error).__name__}: {shorten(str(error))}"
        raise PrivityError(Catalogue.REHEARSAL_FAILED, reason=reason) from error


def _closed(schema: Schema) -> Schema:
    attributes = [
        replace(attribute, histogram=Histogram(attribute.edges, (1,) * attribute.values))
        if open_.discover and attribute.edges
        else attribute
        for open_, attribute in zip(schema.attributes, stand_in(schema).attributes, strict=True)
    ]
    return replace(schema, attributes=tuple(attributes))


def _try(learnt: Release, places: int) -> None:
    with tempfile.TemporaryDirectory(prefix="privity-rehearsal-") as scratch:
        folder = Path(scratch) / "release"
        write_learnt(folder, learnt)
        read_release(folder)
        found = synthesised(learnt.model, places, ROWS, SEED).synthetic
        whole = overview(learnt, found.table)
        report_page(whole)
        release = finished(learnt, found)
        write_release(folder, release, found, report_page(replace(whole, release=release)))
        read_release(folder)
