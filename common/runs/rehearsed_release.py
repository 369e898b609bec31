"""A release of invented rows, made before anything is charged: rules, statement, report and every file are tried.

It takes no row: its rows are those of a model of flat marginals. So what cannot be made is told before it is paid for.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from privity.common.data.attribute import Histogram
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.session import Session, complete
from privity.common.release.release_folder import read_release, write_learnt, write_release
from privity.common.release.report.overview import overview
from privity.common.release.report.report_page import report_page
from privity.common.release.session_release import ALONE, release_of, synthesised
from privity.common.runs.planned_run import planned_session
from privity.common.synthesis.algorithms import learn
from privity.common.synthesis.algorithms.one_way import OneWay
from privity.common.synthesis.learning.domain_discovery import stand_in
from privity.common.synthesis.models import Model
from privity.common.text.short_values import shorten

INVENTED = {"invented": 1000}
"""Rows that nobody has."""

ROWS = 200
"""Synthetic rows of the rehearsal."""

SEED = 0


def rehearse_release(schema: Schema) -> None:
    """Make a release of invented rows by this schema, first unfinished and then whole, and read it back.

    Args:
        schema: as declared; where the domain of a number is open, one stands in that might be discovered.

    Raises:
        PrivityError: rehearsal-failed.
    """
    try:
        session = planned_session(_closed(schema), INVENTED, 0, PureBudget(Fraction(1)))
        _release(session, complete(learn(session, OneWay.name, {})))
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


def _release(session: Session, model: Model) -> None:
    of_run = {"algorithm": OneWay.name, "settings": {}, "epsilon": "1", "delta": "0", **ALONE}
    made = partial(release_of, session, model, tolerate=0, protection=None, of_run=of_run, of_statement={})
    with tempfile.TemporaryDirectory(prefix="privity-rehearsal-") as scratch:
        folder = Path(scratch) / "release"
        learnt = made()
        write_learnt(folder, learnt)
        read_release(folder)
        found = complete(synthesised(session, model, ROWS, lambda: SEED)).synthetic
        whole = overview(learnt, found.table)
        report_page(whole)
        release = made(found)
        write_release(folder, release, found, report_page(replace(whole, release=release)))
        read_release(folder)
