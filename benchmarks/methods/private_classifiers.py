"""Private classifiers for one task each, beside which a synthetic table serves all tasks at once.

- Majority: one noisy count of the rows that answer with yes; a replaced row moves it by 1.
- PrivateERM: Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 2 (objective perturbation) with the Huber loss for
  support vector machines, for one replaced row. Rows are one-hot codes and a constant, of Euclidean norm 1.

- PrivateSVM: Rubinstein, Bartlett, Huang, Taft 2012, in its form for finite features (output perturbation): Laplace
  noise on the weights of a linear support vector machine with the hinge loss. Its objective |w|^2 / 2 + C sum loss is
  1-strongly convex, and a replaced row of norm 1 moves its subgradient by at most 2 C, so the minimiser by 2 C in
  Euclidean norm and by 2 C sqrt(F) in L1 norm, for F features. (The paper's lemma has 4; this favours it.)

The proofs are for the exact minimiser and real numbers. Here a solver stops near the minimum and noise is in
floating point, so this is a yardstick of accuracy, not a mechanism to use. (diffprivlib has the same method for
another loss, with the same two limits.)
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.random_bits import SystemEntropy
from privity.common.release.evaluation.classifier_utility import Task, labels

Vector = npt.NDArray[np.float64]

HUBER = 0.5  # h: the loss is quadratic within h of the margin; its second derivative is at most 1 / (2 h)
REGULARISATIONS = (1e-3, 1e-2)
"""Lambda. The one that does better on the test rows counts, at no charge: a bound in PrivateERM's favour."""
COSTS = (1e-4, 1e-3, 1e-2, 1e-1)
"""C of PrivateSVM; the best on the test rows counts here too."""


def majority(train: CodedTable, test: CodedTable, task: Task, epsilon: Fraction) -> float:
    """Error of the answer that a noisy count says is the more frequent."""
    count = int(labels(train, task).sum()) + int(NoiseLaw(LAPLACE, 1 / epsilon).share(1, 1, SystemEntropy())[0])
    return float((labels(test, task) != (2 * count > train.rows)).mean())


def private_erm(train: CodedTable, test: CodedTable, task: Task, epsilon: float) -> float:
    """Error on ``test`` of the perturbed minimiser on ``train``."""
    return min(perturbed_error(train, test, task, epsilon, strength) for strength in REGULARISATIONS)


def perturbed_error(train: CodedTable, test: CodedTable, task: Task, epsilon: float, regularisation: float) -> float:
    from scipy.optimize import minimize

    rows, answers = _features(train, task), np.where(labels(train, task), 1.0, -1.0)
    signed = rows.multiply(answers[:, None]).tocsr()
    noise, extra = _perturbation(rows.shape[1], train.rows, epsilon, regularisation)

    def objective(weights: Vector) -> tuple[float, Vector]:
        loss, slope = huber(signed @ weights)
        strength = regularisation + extra
        value = loss.mean() + strength / 2 * weights @ weights + noise @ weights / train.rows
        return value, signed.T @ slope / train.rows + strength * weights + noise / train.rows

    found = minimize(objective, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    predicted = _features(test, task) @ found.x > 0
    return float((predicted != labels(test, task)).mean())


def private_svm(train: CodedTable, test: CodedTable, task: Task, epsilon: float) -> float:
    """Error on ``test`` of the machine of ``train`` with noisy weights."""
    from sklearn.svm import LinearSVC

    rows, answers = _features(train, task), labels(train, task)
    tested, expected = _features(test, task), labels(test, task)
    generator = np.random.default_rng()
    errors = []
    for cost in COSTS:
        machine = LinearSVC(loss="hinge", C=cost, fit_intercept=False, max_iter=5000).fit(rows, answers)
        scale = 2 * cost * math.sqrt(rows.shape[1]) / epsilon
        weights = machine.coef_.ravel() + generator.laplace(scale=scale, size=rows.shape[1])
        errors.append(float(((tested @ weights > 0) != expected).mean()))
    return min(errors)


def _perturbation(size: int, rows: int, epsilon: float, regularisation: float) -> tuple[Vector, float]:
    """The vector b, of density proportional to exp(-epsilon' |b| / 2), and Delta, what is added to Lambda."""
    curvature = 1 / (2 * HUBER)
    left = epsilon - 2 * math.log1p(curvature / (rows * regularisation))
    extra = 0.0
    if left <= 0:
        extra = curvature / (rows * math.expm1(epsilon / 4)) - regularisation
        left = epsilon / 2
    generator = np.random.default_rng()
    direction = generator.standard_normal(size)
    return direction / np.linalg.norm(direction) * generator.gamma(size, 2 / left), max(0.0, extra)


def huber(margins: Vector) -> tuple[Vector, Vector]:
    """The loss at each margin and its slope."""
    near = np.abs(1 - margins) <= HUBER
    gap = 1 + HUBER - margins
    loss = np.where(near, gap**2 / (4 * HUBER), np.maximum(0, 1 - margins))
    return loss, np.where(near, -gap / (2 * HUBER), np.where(margins < 1, -1.0, 0.0))


def _features(table: CodedTable, task: Task) -> Any:
    """One-hot codes and a constant, each row of norm 1: a sparse matrix of shape (rows, categories + 1)."""
    from scipy.sparse import csr_array

    without = {task.attribute, *task.dropped}
    places = [place for place, name in enumerate(table.schema.names) if name not in without]
    domain = [table.schema.domain[place] for place in places]
    starts = np.cumsum([0, *domain])
    columns = [table.columns[place] + start for place, start in zip(places, starts[:-1], strict=True)]
    codes = np.column_stack([*columns, np.full(table.rows, starts[-1])]).astype(np.int32)
    width = codes.shape[1]
    pointer = np.arange(0, codes.size + 1, width, dtype=np.int32)
    values = np.full(codes.size, 1 / math.sqrt(width))
    return csr_array((values, codes.ravel(), pointer), shape=(table.rows, int(starts[-1]) + 1))
