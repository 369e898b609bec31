"""The only code that looks at rows: a question, a table and noise drawn beforehand, to an answer.

Pure functions. What they return is a release that has been charged, or part of one; nothing else about
the rows leaves this file, and no error in here depends on a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from common.counting import contingency_tables
from common.privacy.scores import r_score, r_sensitivity
from common.privacy.selection import SelectionNoise, noisy_max
from common.statistics import AttributeParentPair, Marginal
from common.table import CodedTable


def noisy_counts(tables: Sequence[Marginal], table: CodedTable, noise: np.ndarray) -> np.ndarray:
    """All cells of the tables, one after another, plus the noise.

    Args:
        noise: int64 of shape (cells,): this party's share for every cell.
    Returns:
        int64 of shape (cells,), tables in order, C order within each.
    """
    counts = np.concatenate([c.ravel() for c in contingency_tables(table, list(tables))])
    return counts.astype(np.int64) + noise


def select_pair(candidates: Sequence[AttributeParentPair], table: CodedTable, noise: SelectionNoise) -> int:
    """Index of the candidate whose exact integer score R plus noise is the largest."""
    joints = contingency_tables(table, [c.marginal for c in candidates])
    scores = [r_score(joint.reshape(joint.shape[0], -1)) for joint in joints]
    return noisy_max(scores, noise)


def selection_sensitivity(candidates: Sequence[AttributeParentPair], domain: Sequence[int], rows: int) -> int:
    """Largest sensitivity of the candidates' integer scores, from public numbers only.

    ``rows`` is the party's own n_k, of which the integer scores are made too. (In units of R, which is the
    score over 2 n^2, the n of all parties in its place would make the noise too small.)
    """
    return max(
        r_sensitivity(rows, domain[c.attribute], int(np.prod([domain[p] for p in c.parents], dtype=np.int64)))
        for c in candidates
    )
