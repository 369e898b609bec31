"""What people do with rows, beyond distances: classifiers, sums over conjunctions, small groups, slopes.

A model of 80 % of the rows is learned by one owner. Everything is compared with the other 20 %, which the model has not
seen; ``real rows`` are the 80 % themselves.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Point, Table, Values, grid
from benchmarks.experiments.few_attributes import categorical
from benchmarks.methods.learning import learn, session_over
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.release.evaluation.classifier_utility import Task, answers, hold_out
from privity.common.release.evaluation.features import one_hot, one_thread

TASKS = {
    "adult": Task("income", "income", (">50K",)),
    "diabetes130": Task("readmitted", "readmitted", ("<30", ">30")),
    "fertil2": Task("usemeth", "usemeth", ("1.0",)),
}
PACKAGED = ("fertil2",)
"""Tables on which no constant of an algorithm was chosen and no setting tried."""

REAL, TARGET = "real rows", "aim, target"
METHODS = "aim", "mst", "privbayes", "dp-subn", "one-way", TARGET
CONJUNCTIONS, WIDTH = 500, 4
"""How many are asked, and of how many attributes each: of each attribute a random half of its codes."""

SMALLEST_GROUP = 0.0005
"""Share of the rows of the smallest group that is looked at."""

Numbers = npt.NDArray[np.float64]


def measure(point: Point, seed: int, data: Data) -> Values:
    name, task = point["data"], TASKS[point["data"]]
    table, generator = categorical(name, data) if name in PACKAGED else data.table(name), np.random.default_rng(seed)
    train, test = hold_out(table, generator)
    if point["method"] != REAL:
        algorithm = point["method"].split(",")[0]
        settings = {"target": task.attribute} if point["method"] == TARGET else {}
        session = session_over(train, point, algorithm, settings, generator)
        train = learn(session, algorithm, settings).sample(train.rows, generator)
    return {
        **of_classifiers(train, test, task),
        "conjunctions": of_conjunctions(train, test),
        "groups": of_small_groups(train, test),
        "slopes": of_slopes(train, test, task),
    }


@one_thread()
def of_classifiers(train: CodedTable, test: CodedTable, task: Task) -> dict[str, float]:
    """Area under the curve of boosted trees and of a logistic regression, on rows that neither has seen."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    right, expected = answers(train, task), answers(test, task)
    places = [place for place, name in enumerate(train.schema.names) if name != task.attribute]
    codes = [np.column_stack([one.columns[place] for place in places]) for one in (train, test)]
    hot = [one_hot(one, places) for one in (train, test)]
    trees = HistGradientBoostingClassifier(random_state=0).fit(codes[0], right)
    logistic = LogisticRegression(max_iter=300).fit(hot[0], right)
    found = {"trees": trees.predict_proba(codes[1]), "logistic": logistic.predict_proba(hot[1])}
    return {name: float(roc_auc_score(expected, chances[:, 1])) for name, chances in found.items()}


def of_conjunctions(synthetic: CodedTable, real: CodedTable) -> float:
    """Mean absolute error of the shares of random conjunctions, the same in every run."""
    generator, domain, errors = np.random.default_rng(0), real.schema.domain, []
    for _ in range(CONJUNCTIONS):
        places = generator.choice(len(domain), min(WIDTH, len(domain)), replace=False)
        wanted = [(place, generator.permutation(domain[place])[: (domain[place] + 1) // 2]) for place in places]
        one, other = (
            np.logical_and.reduce([np.isin(table.columns[place], codes) for place, codes in wanted]).mean()
            for table in (synthetic, real)
        )
        errors.append(abs(one - other))
    return float(np.mean(errors))


def of_small_groups(synthetic: CodedTable, real: CodedTable) -> float:
    """Mean relative error of the shares of the smallest tenth of all groups that two attributes make."""
    pairs = list(combinations(range(len(real.schema.domain)), 2))
    one, other = (
        np.concatenate([found.ravel() for found in contingency_tables(table, pairs)]) / table.rows
        for table in (synthetic, real)
    )
    large = np.flatnonzero(other >= SMALLEST_GROUP)
    smallest = large[np.argsort(other[large], kind="stable")[: max(1, large.size // 10)]]
    return float(np.mean(np.abs(one[smallest] - other[smallest]) / other[smallest]))


def of_slopes(synthetic: CodedTable, real: CodedTable, task: Task) -> float:
    """Difference of the slopes of a linear model of the task, over the mean size of the real ones.

    Of the attributes with an order or two values, as codes in units of their real standard deviations.
    """
    attributes = enumerate(real.schema.attributes)
    places = [
        place
        for place, one in attributes
        if one.name != task.attribute and (one.edges or real.schema.domain[place] == 2)
    ]
    scale = np.array([max(float(real.columns[place].std()), 1e-9) for place in places])

    def slopes(table: CodedTable) -> Numbers:
        codes = np.column_stack([table.columns[place] for place in places]) / scale
        codes = codes - codes.mean(axis=0)
        right = answers(table, task) - answers(table, task).mean()
        return np.linalg.lstsq(codes, right, rcond=None)[0]

    one, other = slopes(synthetic), slopes(real)
    return float(np.abs(one - other).mean() / np.abs(other).mean())


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(data="adult", method=("one-way", REAL), delta="1e-9", epsilon="1", seeds=1)
    plain = {"data": tuple(TASKS), "seeds": 3}
    budgets = [("1e-9", "0.2"), ("1e-9", "1"), ("0", "1")]
    found = [
        point for delta, epsilon in budgets for point in grid(**plain, method=METHODS, delta=delta, epsilon=epsilon)
    ]
    return [*found, *grid(**plain, method=REAL, delta="-", epsilon="-")]


SHOWN = {
    "trees, AUC": "trees:3", "logistic, AUC": "logistic:3", "conjunctions": "conjunctions:4",
    "small groups": "groups:2", "slopes": "slopes:2",
}  # fmt: skip

EXPERIMENT = Experiment(
    title="What people do with rows, beyond distances",
    points=points,
    measure=measure,
    shows=[Table("uses", ("data", "delta", "epsilon", "method"), SHOWN)],
    tables=("adult", "diabetes130"),
    code=(*CODE, "benchmarks/experiments/uses.py"),
)
