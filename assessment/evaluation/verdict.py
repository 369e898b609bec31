"""The verdict on a synthetic table in words: what it serves, what it does not, and why.

Limits are conventions, chosen so that what lies within them would seldom change a conclusion. Whatever lies within
three times what mere sampling makes counts as served: no release could do better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from privity.assessment.evaluation.column_comparison import ColumnComparison, mean_of
from privity.assessment.evaluation.evaluation import Evaluation, TableResult
from privity.assessment.evaluation.linear_structure import STRONG
from privity.assessment.evaluation.prediction import Answered
from privity.common.text.first_few import first_few

SAMPLING_FACTOR = 3
LEARNABLE = 0.02
"""By how much a model of the real rows must beat the best constant, for the question to be one."""

EXPLAINED = 2


class Grade(Enum):
    """What a table is good for."""

    SERVES = "serves"
    CARE = "use with care"
    NOT = "do not use"


@dataclass(frozen=True)
class ColumnVerdict:
    """On one variable; the reasons are in words, empty if it serves."""

    name: str
    grade: Grade
    reasons: tuple[str, ...]
    distance: float


@dataclass(frozen=True)
class Finding:
    """On one kind of question."""

    question: str
    grade: Grade
    words: str


@dataclass(frozen=True)
class Verdict:
    """On one table: its variables in the schema's order, then questions."""

    table: str
    columns: tuple[ColumnVerdict, ...]
    findings: tuple[Finding, ...]

    def of(self, grade: Grade) -> list[ColumnVerdict]:
        """The variables of this grade, the farthest off first."""
        return sorted((column for column in self.columns if column.grade is grade), key=lambda one: -one.distance)


@dataclass(frozen=True)
class _Limit:
    """From where on a figure needs care, and from where on it rules something out."""

    care: float
    refuse: float

    def grade(self, value: float | None, sampled: float | None) -> Grade:
        if value is None or value <= max(self.care, SAMPLING_FACTOR * (sampled or 0)):
            return Grade.SERVES
        return Grade.CARE if value <= max(self.refuse, SAMPLING_FACTOR * (sampled or 0)) else Grade.NOT


DISTANCE = _Limit(0.05, 0.15)
SHARE = _Limit(0.02, 0.1)
MEAN = _Limit(0.05, 0.25)
SPREAD = _Limit(0.1, 0.5)
ORDER = [Grade.SERVES, Grade.CARE, Grade.NOT]


def verdict(evaluation: Evaluation, place: int) -> Verdict:
    """Of the synthetic table at this place."""
    result, sampling = evaluation.results[place], evaluation.sampling
    columns = tuple(_column(mine, floor) for mine, floor in zip(result.columns, sampling.columns, strict=True))
    findings = [
        _pairs(result, sampling, evaluation.shuffled),
        *_lines(result, sampling),
        *_groups(result, sampling),
        *(_predicted(answered, place) for answered in evaluation.answers),
        *_rules(evaluation, result),
    ]
    return Verdict(result.name, columns, tuple(findings))


def _column(mine: ColumnComparison, floor: ColumnComparison) -> ColumnVerdict:
    worst, reasons = Grade.SERVES, []
    for limit, value, sampled, words in (
        (SHARE, mine.zero_error, floor.zero_error, _zeros(mine)),
        (SHARE, _top_error(mine), floor.top_error, _top(mine)),
        (SHARE, mine.missing_error, floor.missing_error, _missing(mine)),
        (MEAN, mine.mean_error, floor.mean_error, _mean(mine)),
        (SPREAD, mine.spread_error, floor.spread_error, _spread(mine)),
        (DISTANCE, mine.distance, floor.distance, _distance(mine)),
    ):
        grade = limit.grade(value, sampled)
        if grade is not Grade.SERVES:
            reasons.append(words)
            worst = max(worst, grade, key=ORDER.index)
    return ColumnVerdict(mine.name, worst, tuple(reasons), mine.distance)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _shares(real: float, found: float, what: str) -> str:
    return f"{_percent(real)} of the real values are {what}, of the synthetic ones {_percent(found)}"


def _zeros(column: ColumnComparison) -> str:
    return "" if column.numbers is None else _shares(column.numbers[0].zero, column.numbers[1].zero, "0")


def _top_error(column: ColumnComparison) -> float | None:
    """None if the most frequent value is 0, of which it was spoken already."""
    return None if column.top_value == 0 else column.top_error


def _top(column: ColumnComparison) -> str:
    if column.numbers is None or column.top_value is None:
        return ""
    return _shares(column.numbers[0].top, column.numbers[1].top, f"{column.top_value:g}")


def _missing(column: ColumnComparison) -> str:
    return _shares(*column.missing, "missing")


def _mean(column: ColumnComparison) -> str:
    if column.numbers is None:
        return ""
    real, found = (one.mean for one in column.numbers)
    return "" if real is None or found is None else f"the mean is {_number(real)}, the synthetic one {_number(found)}"


def _spread(column: ColumnComparison) -> str:
    if column.numbers is None:
        return ""
    real, found = (one.deviation for one in column.numbers)
    if real is None or found is None:
        return ""
    return f"the standard deviation is {_number(real)}, the synthetic one {_number(found)}"


def _number(value: float) -> str:
    """Four significant digits, as a person writes them."""
    return f"{float(f'{value:.4g}'):,.10g}" if 1e-4 <= abs(value) < 1e9 else f"{value:.4g}"


def _distance(column: ColumnComparison) -> str:
    kind = "Kolmogorov-Smirnov" if column.number else "total variation"
    return f"the distributions are {column.distance:.3g} apart ({kind} distance)"


def _mean_pair(result: TableResult) -> float:
    return float(np.mean(list(result.pairs.distances.values()))) if result.pairs.distances else 0.0


def _pairs(result: TableResult, sampling: TableResult, shuffled: TableResult) -> Finding:
    question = "How two variables go together"
    found, floor, none = (_mean_pair(one) for one in (result, sampling, shuffled))
    if not result.pairs.distances:
        return Finding(question, Grade.SERVES, "There is one variable only.")
    grade = Grade.NOT
    if found <= max(0.05, SAMPLING_FACTOR * floor):
        grade = Grade.SERVES
    elif found < none and found <= 0.15:
        grade = Grade.CARE
    words = (
        f"Tables of two variables are {found:.3f} from the real ones on average; {floor:.3f} with sampling alone, "
        f"{none:.3f} if nothing went together."
    )
    return Finding(question, grade, words)


def _plain(value: float) -> str:
    """Two decimals, and no minus before zero."""
    return f"{round(value, 2) + 0.0:.2f}"


def _lines(result: TableResult, sampling: TableResult) -> list[Finding]:
    findings = []
    mine, floor = result.correlations, sampling.correlations
    if mine is not None and floor is not None:
        grade = _Limit(0.05, 0.15).grade(mine.error, floor.error)
        words = (
            f"Rank correlations are off by {mine.error:.3f} on average; most of all that of {mine.worst[0]} and "
            f"{mine.worst[1]}: {_plain(mine.real)}, synthetic {_plain(mine.found)}."
        )
        findings.append(Finding("Correlations", grade, words))
    signs, sampled = (mean_of([one.strong_signs for one in table.regressions]) for table in (result, sampling))
    if signs is not None and sampled is not None:
        grade = Grade.SERVES if signs >= min(0.95, sampled - 0.05) else Grade.CARE if signs >= 0.8 else Grade.NOT
        words = (
            f"Of the standardised coefficients of at least {STRONG:g} in the real rows, {_percent(signs)} have their "
            f"sign; {_percent(sampled)} with sampling alone."
        )
        findings.append(Finding("Regressions", grade, words))
    return findings


def _groups(result: TableResult, sampling: TableResult) -> list[Finding]:
    small, floor = result.pairs.smallest_groups, sampling.pairs.smallest_groups
    if not small:
        return []
    found, sampled = (float(np.mean([group.error for group in groups])) for groups in (small, floor))
    worst = max(small, key=lambda group: group.error)
    words = (
        f"Within the smallest tenth of groups, variables are {found:.3f} from the real ones on average; {sampled:.3f} "
        f"with sampling alone. Farthest: {worst.attribute} {worst.value} ({worst.rows} real rows), {worst.error:.3f}."
    )
    return [Finding("Small groups", _Limit(0.1, 0.2).grade(found, sampled), words)]


def recovered(answered: Answered, place: int) -> float | None:
    """What a model learns from the table, as a share of what it learns from real rows; None if that is nothing."""
    gain, score = answered.real - answered.constant, answered.found[place]
    return None if gain < LEARNABLE or score is None else (score - answered.constant) / gain


def _predicted(answered: Answered, place: int) -> Finding:
    question, score, share = f"Predicting {answered.target.name}", answered.found[place], recovered(answered, place)
    what = "accuracy" if answered.target.task is not None else "R squared"
    if score is None:
        return Finding(question, Grade.NOT, "The table has no row from which it can be learned.")
    words = (
        f"A model that learns from it has {what} {score:.3f} on real rows; {answered.real:.3f} from real rows, "
        f"{answered.constant:.3f} by the best constant."
    )
    if score > answered.real + LEARNABLE:
        words = f"{words} More than from real rows: does the table hold copies of rows on which it is tested?"
        return Finding(question, Grade.CARE, words)
    if share is None:
        return Finding(question, Grade.SERVES, f"{words} There is little to learn from the real rows either.")
    return Finding(question, Grade.SERVES if share >= 0.8 else Grade.CARE if share >= 0.5 else Grade.NOT, words)


def _rules(evaluation: Evaluation, result: TableResult) -> list[Finding]:
    rules = evaluation.question.real.schema.row_constraints
    if not rules:
        return []
    broken = [
        f"{rule.rule}: {_percent(mine)} of the synthetic rows, {_percent(real)} of the real ones"
        for rule, mine, real in zip(rules, result.broken, evaluation.question.real.broken, strict=True)
        if mine > real
    ]
    words = f"More often broken than by real rows: {'; '.join(broken)}." if broken else "No rule is broken more often."
    return [Finding("Declared rules", Grade.NOT if broken else Grade.SERVES, words)]


def in_sentences(found: Verdict) -> list[str]:
    """The verdict in a few sentences: variables first."""
    sentences = []
    refused, care, fine = (found.of(grade) for grade in (Grade.NOT, Grade.CARE, Grade.SERVES))
    if refused:
        why = "; ".join(f"of {column.name}, {column.reasons[0]}" for column in refused[:EXPLAINED])
        sentences.append(f"Do not use {_listed(refused)}: {why}.")
    if care:
        why = "; ".join(f"of {column.name}, {column.reasons[0]}" for column in care[:EXPLAINED])
        sentences.append(f"Use with care {_listed(care)}: {why}.")
    if fine:
        sentences.append(f"The distribution of {_listed(fine)} can be used.")
    return sentences


def _listed(columns: Sequence[ColumnVerdict]) -> str:
    return first_few([column.name for column in columns])
