"""How well the rows of a table are told from the real ones.

pMSE is the mean of (p - c)^2 over the rows of both tables, p the probability that a logistic regression on their codes
gives a row of being synthetic, c the share of synthetic rows. For a table sampled from the true model of the real rows
it is in expectation (k - 1) (1 - c)^2 c / N, for k parameters and N rows: Snoke, Raab, Nowok, Dibben, Slavkovic,
"General and specific utility measures for synthetic data" (2018). The regression looks at bins, attribute by
attribute. Trees, which look at the values of all attributes, stand beside it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.assessment.evaluation.prediction import FEWEST_ROWS, Features, for_models, trees
from privity.assessment.evaluation.value_tables import SEED, ValueTable
from privity.common.data.coded_table import CodedTable, joined
from privity.common.release.evaluation.features import one_hot, one_thread

BARS = 20
"""Of the histogram of probabilities."""

MOST_COLUMNS = 1_500
"""Of the logistic regression, which takes time by their cube."""

NEARLY_NO_PENALTY = 1e4


@dataclass(frozen=True)
class Propensity:
    """How well rows are told apart, on rows from which the trees did not learn.

    Attributes:
        pmse: by a logistic regression; expected: that of a table from the true model.
        area: under the trees' curve; .5: not at all, 1: always.
        real, found: shares of the rows by the trees' probability of being synthetic, in ``BARS`` bars from 0 to 1.
    """

    pmse: float
    expected: float
    area: float
    real: tuple[float, ...]
    found: tuple[float, ...]


@one_thread()
def propensity(real: ValueTable, other: ValueTable) -> Propensity | None:
    """None if one of them has too few rows. As many rows of each; the trees learn from half of them."""
    from sklearn.metrics import roc_auc_score

    rows = min(for_models(real).rows, for_models(other).rows)
    if rows < FEWEST_ROWS:
        return None
    tables = [table.limited(rows) for table in (real, other)]
    codes, made = joined([table.coded for table in tables]), np.arange(2 * rows) >= rows
    regression = told_apart(commonest_apart(codes))
    features = Features(real, ())
    values = np.concatenate([features.of(table) for table in tables])
    learned = np.concatenate([np.random.default_rng(SEED + place).permutation(rows) < rows // 2 for place in range(2)])
    model = trees(True, features.categorical, 50).fit(values[learned], made[learned])
    probability, truth = model.predict_proba(values[~learned])[:, 1], made[~learned]
    bars = [
        np.histogram(probability[truth == which], BARS, (0, 1))[0] / (truth == which).sum() for which in (False, True)
    ]
    return Propensity(
        pmse(regression, made),
        expected_pmse(regression, made),
        float(roc_auc_score(truth, probability)),
        tuple(bars[0].tolist()),
        tuple(bars[1].tolist()),
    )


def commonest_apart(table: CodedTable) -> CodedTable:
    """The same rows; of attributes with many codes the rarer ones as one, so that ``MOST_COLUMNS`` are enough."""
    domain = table.schema.domain
    kept = max(domain)
    while kept > 1 and sum(min(size, kept) for size in domain) > MOST_COLUMNS:
        kept -= max(1, kept // 8)
    columns = []
    for column, size in zip(table.columns, domain, strict=True):
        order = np.argsort(-np.bincount(column, minlength=size), kind="stable")
        places = np.empty(size, dtype=np.int64)
        places[order] = np.minimum(np.arange(size), kept - 1)
        columns.append(places[column].astype(column.dtype) if size > kept else column)
    return CodedTable(table.schema, tuple(columns))


def told_apart(table: CodedTable) -> Any:
    """A sparse matrix with a column for each code that occurs, but for an attribute's commonest one.

    The regression's constant stands for these, so that a row has as few ones as may be.
    """
    features = one_hot(table, range(len(table.columns)))
    rows = features.getnnz(axis=0)
    kept = rows > 0
    starts = np.cumsum([0, *table.schema.domain])
    kept[[start + rows[start:stop].argmax() for start, stop in pairwise(starts)]] = False
    if not kept.any():  # a regression wants a column
        kept[rows.argmax()] = True
    return features[:, np.flatnonzero(kept)]


def pmse(features: Any, made: npt.NDArray[np.bool_]) -> float:
    """Mean squared difference between a fitted probability and the share of synthetic rows."""
    from sklearn.linear_model import LogisticRegression

    # Without any penalty a category of one table alone would have a weight without bound.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the solver says that it falls back to another one
        probability = (
            LogisticRegression(C=NEARLY_NO_PENALTY, solver="newton-cholesky")
            .fit(features, made)
            .predict_proba(features)[:, 1]
        )
    return float(((probability - made.mean()) ** 2).mean())


def expected_pmse(features: Any, made: npt.NDArray[np.bool_]) -> float:
    """That of a table from the true model of the real rows."""
    share = float(made.mean())
    return (_rank(features) - 1) * (1 - share) ** 2 * share / len(made)


def _rank(features: Any) -> int:
    """Parameters that can be told apart, the constant's among them."""
    from scipy.sparse import hstack

    columns = hstack([np.ones((features.shape[0], 1)), features], format="csr")
    gram = (columns.T @ columns).toarray()
    return int(np.linalg.matrix_rank(gram, hermitian=True))
