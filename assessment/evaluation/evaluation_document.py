"""``evaluation.json``: the figures of an evaluation, with the verdict in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from privity.assessment.evaluation.attacks import CONFIDENCE
from privity.assessment.evaluation.column_comparison import ColumnComparison, mean_of
from privity.assessment.evaluation.evaluation import Evaluation, TableResult
from privity.assessment.evaluation.pair_comparison import PairComparison
from privity.assessment.evaluation.verdict import in_sentences, verdict
from privity.common.release.evaluation.marginal_distance import WAYS, Distances

FORMAT_VERSION = 1
WORST = 10
NOTICE = (
    "Not for release. These figures come from the real rows without any noise: they are not private and spend no"
    " budget. Keep them where the rows are."
)
ONE_MACHINE = "One machine saw the rows of all parties: this was a simulation."
Document = dict[str, Any]


def evaluation_document(evaluation: Evaluation) -> Document:
    """All figures, in a form that ``evaluation.schema.json`` describes."""
    question, real = evaluation.question, evaluation.question.real
    verdicts = [verdict(evaluation, place) for place in range(len(evaluation.results))]
    document: Document = {
        "format_version": FORMAT_VERSION,
        "private": False,
        "notice": f"{NOTICE} {ONE_MACHINE}" if question.parties else NOTICE,
        "schema_digest": real.schema.digest,
        "quick": question.quick,
        "rows": {
            "real": real.read,
            "compared": real.rows,
            "control": None if question.control is None else question.control.read,
            "test": evaluation.test_rows,
        },
        "verdicts": [
            {
                "table": found.table,
                "in_words": in_sentences(found),
                "columns": [
                    {"name": one.name, "grade": one.grade.value, "reasons": list(one.reasons)} for one in found.columns
                ],
                "questions": [
                    {"question": one.question, "grade": one.grade.value, "words": one.words} for one in found.findings
                ],
            }
            for found in verdicts
        ],
        "tables": [_table(result, evaluation) for result in evaluation.results],
        "beside": [_table(result, evaluation) for result in (evaluation.sampling, evaluation.shuffled)],
        "predictions": [
            {
                "target": answered.target.name,
                "score": "R squared" if answered.target.task is None else "accuracy",
                "dropped": list(answered.target.dropped),
                "constant": answered.constant,
                "real": answered.real,
                "tables": list(answered.found),
                "area_real": answered.areas[0],
                "areas": list(answered.areas[1:]),
            }
            for answered in evaluation.answers
        ],
        "parties": [
            {"party": name, "rows": rows, "distances": _distances(found)} for name, rows, found in evaluation.parties
        ],
        "left_out": [asdict(one) for one in evaluation.left_out],
    }
    rounded: Document = _rounded(document)
    return rounded


def summary(result: TableResult) -> Document:
    """Means over all attributes or pairs."""
    numbers = [column for column in result.columns if column.number]
    others = [column for column in result.columns if not column.number]
    small, pairs = result.pairs.smallest_groups, list(result.pairs.distances.values())
    return {
        "ks": mean_of([column.distance for column in numbers]),
        "mean_error": mean_of([column.mean_error for column in numbers]),
        "spread_error": mean_of([column.spread_error for column in numbers]),
        "quantile_error": mean_of([column.quantile_error for column in numbers]),
        "zero_error": mean_of([column.zero_error for column in numbers]),
        "top_error": mean_of([column.top_error for column in numbers]),
        "missing_error": mean_of([column.missing_error for column in numbers]),
        "category_distance": mean_of([column.distance for column in others]),
        "pair_distance": mean_of(pairs),
        "pair_distance_deciles": result.pairs.at_deciles,
        "pair_distance_largest": max(pairs, default=None),
        "correlation_error": None if result.correlations is None else result.correlations.error,
        "sign_agreement": mean_of([one.signs for one in result.regressions]),
        "strong_sign_agreement": mean_of([one.strong_signs for one in result.regressions]),
        "coefficient_error": mean_of([one.error for one in result.regressions]),
        "small_group_error": mean_of([group.error for group in small]),
    }


def _table(result: TableResult, evaluation: Evaluation) -> Document:
    schema = evaluation.question.real.schema
    return {
        "name": result.name,
        "rows": result.rows,
        "release": result.release,
        "summary": summary(result),
        "columns": [_column(column) for column in result.columns],
        "worst_pairs": [
            {"attributes": [schema.names[a], schema.names[b]], "distance": result.pairs.distances[a, b]}
            for a, b in result.pairs.worst(WORST)
        ],
        "small_groups": _groups(result.pairs),
        "correlations": None if result.correlations is None else asdict(result.correlations),
        "regressions": [asdict(one) for one in result.regressions],
        "missing_together": None if result.missingness is None else asdict(result.missingness),
        "broken_rules": [
            {"rule": rule.rule, "real": real, "table": mine}
            for rule, real, mine in zip(
                schema.row_constraints, evaluation.question.real.broken, result.broken, strict=True
            )
        ],
        "distances": _distances(result.distances),
        "propensity": None if result.propensity is None else asdict(result.propensity),
        "attacks": {"confidence": CONFIDENCE, "made": [asdict(attack) for attack in result.attacks]},
    }


def _column(column: ColumnComparison) -> Document:
    found = asdict(column)
    found["missing"] = {"real": column.missing[0], "table": column.missing[1]}
    found["numbers"] = None
    if column.numbers is not None:
        real, mine = (asdict(one) for one in column.numbers)
        found["numbers"] = {"real": real, "table": mine}
    return found | {
        "zero_error": column.zero_error, "top_error": column.top_error, "missing_error": column.missing_error,
    }  # fmt: skip


def _groups(pairs: PairComparison) -> Document:
    small = sorted(pairs.smallest_groups, key=lambda group: -group.error)
    return {"groups": len(pairs.groups), "smallest": len(small), "worst": [asdict(group) for group in small[:WORST]]}


def _distances(found: Distances) -> Sequence[Document]:
    """Of the codes: the largest beside the mean, and the k-marginal score 1000 (1 - mean) of NIST's challenges."""
    return [
        {
            "way": way,
            "sets": len(found[way]),
            "mean": (mean := float(np.mean(list(found[way].values())))),
            "largest": max(found[way].values()),
            "k_marginal": 1000 * (1 - mean),
        }
        for way in WAYS
        if found[way]
    ]


def _rounded(value: Any) -> Any:
    """Six significant digits: the rest would only seem to be exact."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
