"""The papers' classifier and its questions."""

import numpy as np
import pytest

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.release.evaluation.classifier_utility import (
    Task,
    answers,
    majority_error,
    misclassification,
    usual_tasks,
)

FIELDS = [
    {"name": "age", "type": "integer", "edges": [0, 20, 40, 60, 80]},
    {"name": "ward", "type": "string", "categories": ["north", "south"]},
    {"name": "sick", "type": "boolean"},
]


def table(rows, seed=0):
    """Rows in which age decides who is sick."""
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 4, rows)
    sick = ((age >= 2) ^ (generator.random(rows) < 0.1)).astype(int)
    return CodedTable(parse_schema({"fields": FIELDS}, "s"), (age, generator.integers(0, 2, rows), sick))


def test_a_classifier_learns_from_a_table_with_structure_and_not_from_one_without():
    real, other, task = table(1500), table(1500, 1), Task("sick", "sick")
    generator = np.random.default_rng(0)
    assert misclassification(other, real, task) < 0.15
    errors = []
    for _ in range(20):
        shuffled = tuple(generator.permutation(column) for column in other.columns)
        errors.append(misclassification(CodedTable(other.schema, shuffled), real, task))
    assert np.mean(errors) > 0.35
    constant = CodedTable(other.schema, (*other.columns[:2], np.zeros(1500, int)))
    assert misclassification(constant, real, task) == (real.columns[2] == 1).mean()


def test_a_question_without_values_asks_for_all_of_them():
    real = table(100)
    assert set(answers(real, Task("age", "age"))) == {0, 1, 2, 3}
    assert (answers(real, Task("old", "age", ("[40, 60)", "[60, 80]"))) == (real.columns[0] >= 2)).all()
    shares = np.bincount(real.columns[0]) / 100
    assert majority_error(real, Task("age", "age")) == pytest.approx(1 - shares.max())


def test_usual_targets_have_few_categories_and_are_no_bins():
    assert [task.attribute for task in usual_tasks(table(1).schema)] == ["ward", "sick"]
    assert [task.attribute for task in usual_tasks(table(1).schema, ("ward",))] == ["sick"]
