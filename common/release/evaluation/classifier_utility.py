"""What a synthetic table is good for: a classifier trained on it and tested on real rows.

The tasks of Zhang et al. (TODS 2017), a binary question answered by a linear support vector machine, are
the case of one question and one classifier. Missing values are a category like any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema
from privity.common.release.evaluation.features import one_hot, one_thread

TRAINING = 0.8  # part of the real rows from which is learned; the others are for the test
MOST_ANSWERS = 10  # an attribute of more values is no target unless it is asked for
MOST_TASKS = 4


@dataclass(frozen=True)
class Task:
    """A question that a classifier answers from the other attributes, ``dropped`` ones excepted.

    Whether the attribute has one of the ``positive`` values (categories, or the label of a bin), or, with no
    values given, which value it has.
    """

    name: str
    attribute: str
    positive: tuple[str | int, ...] = ()
    dropped: tuple[str, ...] = ()


def usual_tasks(schema: Schema, dropped: tuple[str, ...] = ()) -> list[Task]:
    """Up to 4 attributes with categories, 10 at most; those of fewest first, ties in the schema's order."""
    few = [one for one in schema.attributes if one.categories and one.present <= MOST_ANSWERS]
    chosen = sorted((one for one in few if one.name not in dropped), key=lambda one: one.present)[:MOST_TASKS]
    return [Task(one.name, one.name, dropped=dropped) for one in chosen]


def hold_out(table: CodedTable, generator: np.random.Generator) -> tuple[CodedTable, CodedTable]:
    """Split the rows at random: a part to learn from and the rest for the test."""
    order = generator.permutation(table.rows)
    cut = round(TRAINING * table.rows)
    return table.take(order[:cut]), table.take(order[cut:])


def labels(table: CodedTable, task: Task) -> npt.NDArray[np.bool_]:
    """Whether each row answers the task with yes."""
    place = table.schema.index(task.attribute)
    attribute = table.schema.attributes[place]
    return np.isin(table.columns[place], [code_of(attribute, value) for value in task.positive])


def code_of(attribute: Attribute, value: str | int) -> int:
    """The code of a category, or of a label such as ``[17, 22)`` or ``(missing)``; ``ValueError`` if it is neither."""
    if value in attribute.categories:
        return attribute.categories.index(value)
    return attribute.labels.index(str(value))


def answers(table: CodedTable, task: Task) -> npt.NDArray[np.int64]:
    """Each row's answer: 1 and 0 for yes and no, or the attribute's code."""
    column = labels(table, task) if task.positive else table.columns[table.schema.index(task.attribute)]
    return column.astype(np.int64)


def majority_error(test: CodedTable, task: Task) -> float:
    """Share of the rows that the most frequent answer gets wrong."""
    return 1 - int(np.bincount(answers(test, task)).max()) / test.rows


@one_thread()
def misclassification(train: CodedTable, test: CodedTable, task: Task) -> float:
    """Share of the rows of ``test`` that a linear support vector machine (one-hot codes, C = 1) gets wrong.

    If all training rows have one answer, that is the prediction.
    """
    from sklearn.svm import LinearSVC

    right, expected = answers(train, task), answers(test, task)
    if right.min() == right.max():
        return float((expected != right[0]).mean())
    without = {task.attribute, *task.dropped}
    places = [place for place, name in enumerate(train.schema.names) if name not in without]
    machine = LinearSVC(C=1.0, random_state=0).fit(one_hot(train, places), right)
    return float((machine.predict(one_hot(test, places)) != expected).mean())
