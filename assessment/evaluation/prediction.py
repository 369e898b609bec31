"""What models learn from a table, tested on real rows: by its values, not by its bins.

Each target is answered by gradient boosted trees that learn from the real rows, from each table, and not at all (the
best constant). What a table is good for lies between the last and the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.assessment.evaluation.value_tables import SEED, Floats, ValueTable
from privity.common.release.evaluation.classifier_utility import Task, answers
from privity.common.release.evaluation.features import one_thread

MOST_CELLS, LEAST_ROWS = 1_000_000, 5_000
"""Of each table, from which a model learns or on which it is tested; so many rows at least, whatever their width."""

MOST_RANKS = 250
"""Values of a text that trees tell apart, the real table's most frequent ones."""

FEWEST_ROWS = 50
ROUNDS, ROUNDS_OF_CLASSES = 100, 20


@dataclass(frozen=True)
class PredictionTarget:
    """Predict an attribute from all others but those that are dropped; a number, unless ``task`` asks for a class."""

    attribute: str
    dropped: tuple[str, ...] = ()
    task: Task | None = None

    @property
    def name(self) -> str:
        return self.attribute if self.task is None else self.task.name


@dataclass(frozen=True)
class Answered:
    """How well a target is answered on the test rows: accuracy of a class, R squared of a number.

    Attributes:
        constant: by the best constant, of the real rows that were learned from; real: after learning from those.
        found: after learning from each table; None where it has no row to learn from.
        areas: area under the curve, for a class of two: real rows first, then each table.
    """

    target: PredictionTarget
    constant: float
    real: float
    found: tuple[float | None, ...]
    areas: tuple[float | None, ...]


class Features:
    """Columns as trees take them: numbers as they are, anything else by its place among the most frequent real ones."""

    def __init__(self, train: ValueTable, without: Sequence[str]) -> None:
        schema = train.schema
        self._places = [place for place, name in enumerate(schema.names) if name not in without]
        self._ranks: dict[int, Floats] = {}
        for place in self._places:
            if train.numbers[place] is None:
                counts = np.bincount(train.coded.columns[place], minlength=schema.domain[place])
                order = [code for code in np.argsort(-counts, kind="stable") if counts[code]][:MOST_RANKS]
                ranks = np.full(schema.domain[place], np.nan)
                ranks[order] = np.arange(len(order))
                self._ranks[place] = ranks
        self.categorical = [place in self._ranks for place in self._places]

    def of(self, table: ValueTable) -> Floats:
        """Shape (rows, features)."""
        columns = []
        for place in self._places:
            numbers = table.numbers[place]
            columns.append(self._ranks[place][table.coded.columns[place]] if numbers is None else numbers)
        return np.column_stack(columns)


def for_models(table: ValueTable) -> ValueTable:
    """As many of the rows as models look at."""
    return table.limited(max(LEAST_ROWS, MOST_CELLS // len(table.schema.attributes)))


@one_thread()
def answer(
    target: PredictionTarget, train: ValueTable, test: ValueTable, tables: Sequence[ValueTable]
) -> Answered | None:
    """None if there is nothing to ask: too few rows have the attribute, all one value of it, or there is no other."""
    from sklearn.metrics import roc_auc_score

    train, test, *tables = (for_models(table) for table in (train, test, *tables))
    right, kept = _right(target, test)
    known, present = _right(target, train)
    if min(kept.sum(), present.sum()) < FEWEST_ROWS or len(np.unique(known[present])) < 2:
        return None
    if target.task is None and len(np.unique(right[kept])) < 2:
        return None
    features = Features(train, (target.attribute, *target.dropped))
    if not features.categorical:
        return None
    tested, expected = features.of(test)[kept], right[kept]
    scores: list[float | None] = []
    areas: list[float | None] = []
    for table in (train, *tables):
        learned, there = _right(target, table)
        if target.task is not None:  # trees hold back rows of each class, and a class of one row has none
            _, which, times = np.unique(learned, return_inverse=True, return_counts=True)
            there = there & (times[which] > 1)
        score = area = None
        if there.any():
            if len(np.unique(learned[there])) < 2:
                score = _of_constant(target, expected, learned[there][0])
                area = 0.5
            else:
                model = trees(target.task is not None, features.categorical, _rounds(learned[there]))
                model.fit(features.of(table)[there], learned[there])
                score = float(model.score(tested, expected))
                if target.task is not None and len(model.classes_) == 2 and len(np.unique(expected)) == 2:
                    area = float(roc_auc_score(expected == model.classes_[1], model.predict_proba(tested)[:, 1]))
        scores.append(score)
        areas.append(area)
    best = _best_constant(target, known[present])
    real = scores[0]
    assert real is not None
    return Answered(target, _of_constant(target, expected, best), real, tuple(scores[1:]), tuple(areas))


def _right(target: PredictionTarget, table: ValueTable) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The right answers, and where there is one."""
    if target.task is not None:
        return answers(table.coded, target.task), np.ones(table.rows, dtype=np.bool_)
    numbers = table.numbers[table.schema.index(target.attribute)]
    assert numbers is not None
    return numbers, ~np.isnan(numbers)


def _best_constant(target: PredictionTarget, known: npt.NDArray[Any]) -> float:
    if target.task is None:
        return float(known.mean())
    values, counts = np.unique(known, return_counts=True)
    return float(values[int(counts.argmax())])


def _of_constant(target: PredictionTarget, expected: npt.NDArray[Any], constant: float) -> float:
    if target.task is not None:
        return float((expected == constant).mean())
    return 1 - float(((expected - constant) ** 2).sum() / ((expected - expected.mean()) ** 2).sum())


def _rounds(learned: npt.NDArray[Any]) -> int:
    """There is a tree for each of several classes in every round."""
    return ROUNDS if learned.dtype.kind == "f" or len(np.unique(learned)) == 2 else ROUNDS_OF_CLASSES


def trees(classify: bool, categorical: Sequence[bool], rounds: int) -> Any:
    """Boosted trees that have not learned yet; ``categorical`` says which features have no order."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    return kind(categorical_features=list(categorical), random_state=SEED, max_iter=rounds)
