"""The regressions that a run declared: their estimates with intervals, and what the synthetic rows say of them."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose
from typing import Any

import numpy as np

from privity.common.data.coded_table import CodedTable
from privity.common.data.regression_formula import ANALYSES, LOGISTIC, read_formula, regression_of
from privity.common.errors import PrivityError
from privity.common.release.queries.answer import POPULATION, ROWS
from privity.common.release.queries.ask import ask
from privity.common.release.queries.estimator import Estimator
from privity.common.release.queries.evidence import Evidence
from privity.common.release.queries.regressions import Regression
from privity.common.release.release_contents import Release
from privity.common.text.visible import in_line

FORMAT_VERSION = 1
ROUNDING = 1e-4
LONGEST, LONGEST_NAME = 2000, 10_000
"""Letters of a reason or note, and of a term's name: values may be of any length."""


def analyses_of(release: Release, table: CodedTable) -> dict[str, Any] | None:
    """The content of ``analyses.json``; None if the run declared none.

    A regression that cannot be made of this release has the reason in the place of its terms.

    Args:
        table: the synthetic rows.
    """
    texts = release.run["settings"].get(ANALYSES)
    if not texts:
        return None
    estimator = Estimator(Evidence.of(release))
    target = POPULATION if estimator.evidence.rows_per_person == 1 else ROWS
    return {
        "format_version": FORMAT_VERSION,
        "schema_digest": release.schema.digest,
        "about": target,
        "analyses": [_analysis(estimator, table, text, target) for text in texts],
    }


def nearly(one: Any, other: Any, within: float = 0.0) -> bool:
    """Whether two documents are the same but for what rounding does to numbers on another machine.

    Args:
        within: how far numbers may be apart besides: in a term, a part of its interval.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        if isinstance(one.get("low"), float) and isinstance(one.get("high"), float):
            within = ROUNDING * (one["high"] - one["low"])
        return one.keys() == other.keys() and all(nearly(one[key], other[key], within) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(nearly(each, its, within) for each, its in zip(one, other, strict=True))
    if isinstance(one, float) and other is not None:
        return isclose(one, float(other), rel_tol=ROUNDING, abs_tol=within)
    return bool(one == other)


def _analysis(estimator: Estimator, table: CodedTable, text: str, target: str) -> dict[str, Any]:
    schema = estimator.evidence.schema
    regression = regression_of(read_formula(text, schema, midpoints=True), schema)
    document = {"formula": text, "regression": regression}
    try:
        found = ask(estimator, regression, [text], target=target, extrapolate=True, midpoints=True)
    except (PrivityError, ArithmeticError, ValueError, MemoryError) as error:
        # What the run cost must not be lost for one figure.
        reason = "its figures overflow"
        if isinstance(error, PrivityError):
            reason = in_line(error.message).removeprefix("formula: ").rstrip(".")[:LONGEST]
        return {**document, "refused": reason}
    in_rows = dict(_coefficients(table, text, logistic=regression == LOGISTIC))
    first = found[0]
    terms = [
        {
            "term": in_line(each.of["term"])[:LONGEST_NAME],
            "synthetic": in_rows.get(each.of["term"]),
            **{key: each.document()[key] for key in ("value", "low", "high", "errors")},
        }
        for each in found
    ]
    return {
        **document,
        "level": first.level,
        "support": first.support.document(),
        "notes": [in_line(note)[:LONGEST] for note in dict.fromkeys(note for each in found for note in each.notes)],
        "terms": terms,
    }


def _coefficients(table: CodedTable, text: str, *, logistic: bool) -> Iterator[tuple[str, float]]:
    """Of the synthetic rows as if they were real; none if these have no such regression."""
    regression = Regression.of(table.schema, text, logistic=logistic, midpoints=True)
    columns = [column.astype(np.int64) for column in table.columns]
    try:
        fit = regression.fit(columns, regression.complete(columns))
    except (PrivityError, ArithmeticError, ValueError):
        return
    yield from zip(fit.names, fit.coefficients.tolist(), strict=True)
