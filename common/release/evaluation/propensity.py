"""How well a classifier tells synthetic rows from real ones.

pMSE is the mean of (p - c)^2 over the rows of both tables, p the probability that a logistic regression gives a row
of being synthetic, c the share of synthetic rows. For a table sampled from the true model of the real rows it is
in expectation (k - 1) (1 - c)^2 c / N, for k parameters and N rows: Snoke, Raab, Nowok, Dibben, Slavkovic, "General and
specific utility measures for synthetic data" (2018). The regression looks at attributes one by one, so the area
under the curve of boosted trees, which see how attributes go together, stands beside it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable, joined
from privity.common.release.evaluation.classifier_utility import tree_ensemble
from privity.common.release.evaluation.features import code_matrix, one_hot, one_thread

FOLDS = 5
NEARLY_NO_PENALTY = 1e4


@dataclass(frozen=True)
class Propensity:
    """``expected`` is the pMSE of a table from the true model; an area of .5 means that rows cannot be told apart."""

    pmse: float
    expected: float
    auc_logistic: float
    auc_trees: float


@one_thread()
def propensity(real: CodedTable, synthetic: CodedTable) -> Propensity:
    """Both tables need at least ``FOLDS`` rows."""
    both = joined([real, synthetic])
    made = np.arange(both.rows) >= real.rows
    places = list(range(len(both.columns)))
    features = one_hot(both, places)
    return Propensity(
        pmse=pmse(features, made),
        expected=expected_pmse(features, made),
        auc_logistic=_area(_logistic(penalty=True), features, made),
        auc_trees=_area(tree_ensemble(), code_matrix(both, places), made),
    )


def pmse(features: Any, made: npt.NDArray[np.bool_]) -> float:
    """Mean squared difference between a fitted probability and the share of synthetic rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the solver says that it falls back to another one
        probability = _logistic(penalty=False).fit(features, made).predict_proba(features)[:, 1]
    return float(((probability - made.mean()) ** 2).mean())


def expected_pmse(features: Any, made: npt.NDArray[np.bool_]) -> float:
    """That of a table from the true model of the real rows."""
    share = float(made.mean())
    return (_rank(features) - 1) * (1 - share) ** 2 * share / len(made)


def _logistic(*, penalty: bool) -> Any:
    from sklearn.linear_model import LogisticRegression

    # Without any penalty a category of one table alone would have a weight without bound.
    strength = {"C": 1.0, "max_iter": 1000} if penalty else {"C": NEARLY_NO_PENALTY, "solver": "newton-cholesky"}
    return LogisticRegression(**strength)


def _rank(features: Any) -> int:
    """Parameters that can be told apart: an attribute's one-hot columns add up to the constant, and some are empty."""
    gram = (features.T @ features).toarray()
    return int(np.linalg.matrix_rank(gram, hermitian=True))


def _area(machine: Any, features: Any, made: npt.NDArray[np.bool_]) -> float:
    """Area under the curve, each row judged by a classifier that has not seen it."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    judged = cross_val_predict(machine, features, made, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(made, judged))
