"""What a synthetic table is good for: a classifier trained on it and tested on real rows that it never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from common.table import CodedTable


@dataclass(frozen=True)
class Task:
    """A yes-or-no question that a classifier answers from the other attributes, ``dropped`` ones excepted."""

    name: str
    attribute: str
    positive: tuple[str | int, ...]
    dropped: tuple[str, ...] = ()


DEGREES = ("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate")

TASKS: dict[str, tuple[Task, ...]] = {
    "nltcs": (
        Task("outside", "getting about outside", (1,)),
        Task("money", "managing money", (1,)),
        Task("bathing", "bathing", (1,)),
        Task("traveling", "traveling", (1,)),
    ),
    "adult": (
        Task("sex", "sex", ("Female",)),
        Task("income", "income", (">50K",)),
        Task("education", "education", DEGREES, ("education-num",)),
        Task("marital", "marital-status", ("Never-married",)),
    ),
}
"""The four tasks of Zhang et al. (TODS 2017) for each table."""

TRAINING = 0.8  # part of the real rows from which the synthetic ones are learned


def hold_out(table: CodedTable, generator: np.random.Generator) -> tuple[CodedTable, CodedTable]:
    """Split the rows at random: a part to learn from and the rest for the test."""
    order = generator.permutation(table.rows)
    cut = round(TRAINING * table.rows)
    return table.take(order[:cut]), table.take(order[cut:])


def labels(table: CodedTable, task: Task) -> npt.NDArray[np.bool_]:
    """Whether each row answers the task with yes."""
    place = table.schema.index(task.attribute)
    categories = table.schema.attributes[place].categories
    return np.isin(table.columns[place], [categories.index(value) for value in task.positive])


def majority_error(test: CodedTable, task: Task) -> float:
    """Share of the rows that the more frequent answer gets wrong."""
    positive = float(labels(test, task).mean())
    return min(positive, 1 - positive)


def misclassification(train: CodedTable, test: CodedTable, task: Task) -> float:
    """Error on ``test`` of a linear support vector machine (C = 1, one-hot of the codes) trained on ``train``.

    If all training rows have one answer, that is the prediction.
    """
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.svm import LinearSVC

    answers, expected = labels(train, task), labels(test, task)
    if answers.all() or not answers.any():
        return float((expected != answers[0]).mean())
    without = {task.attribute, *task.dropped}
    places = [place for place, name in enumerate(train.schema.names) if name not in without]
    encoder = OneHotEncoder(categories=[np.arange(train.schema.domain[place]) for place in places])
    machine = LinearSVC(C=1.0, random_state=0)
    machine.fit(encoder.fit_transform(_codes(train, places)), answers)
    predicted = machine.predict(encoder.transform(_codes(test, places)))
    return float((predicted != expected).mean())


def _codes(table: CodedTable, places: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.column_stack([table.columns[place] for place in places]).astype(np.int64)
