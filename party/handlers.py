"""The only code that looks at rows: a question, a table and noise drawn beforehand, to an answer.

Pure functions. What they return is a release that has been charged, or part of one; nothing else about
the rows leaves this file, and no error in here depends on a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from common.counting import contingency_tables
from common.joint_counts import JointCounter
from common.privacy.scores import SCORES
from common.privacy.selection import SelectionNoise, noisy_max
from common.protocol.limits import cells_of
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


class PairScores:
    """Exact integer scores of attribute-parent pairs on one table, each computed once.

    The draws of a structure ask for most pairs again and again.
    """

    def __init__(self, table: CodedTable) -> None:
        self._counter = JointCounter(table)
        self._of_kind: dict[str, dict[Marginal, int]] = {}

    def of(self, candidates: Sequence[AttributeParentPair], kind: str) -> list[int]:
        """Scores of the kind (a name in ``SCORES``) in the candidates' order."""
        known = self._of_kind.setdefault(kind, {})
        by_parents: dict[Marginal, list[int]] = {}
        marginals = [candidate.marginal for candidate in candidates]
        for candidate, marginal in zip(candidates, marginals, strict=True):
            if marginal not in known:
                by_parents.setdefault(candidate.parents, []).append(candidate.attribute)
        for parents, attributes in by_parents.items():
            joints = self._counter.count(parents, attributes)
            for attribute, score in zip(attributes, SCORES[kind].of(joints), strict=True):
                known[attribute, *parents] = score
        return [known[marginal] for marginal in marginals]

    def forget(self) -> None:
        self._of_kind.clear()


def select_pair(candidates: Sequence[AttributeParentPair], kind: str, scores: PairScores, noise: SelectionNoise) -> int:
    """Index of the candidate whose exact integer score plus noise is the largest."""
    return noisy_max(scores.of(candidates, kind), noise)


def has_score(candidates: Sequence[AttributeParentPair], domain: Sequence[int], rows: int, kind: str) -> bool:
    """Whether the kind of score exists for all candidates, by declared domains and the public row count."""
    score = SCORES.get(kind)
    if score is None or rows >= score.largest_rows:
        return False
    return not score.binary or all(domain[c.attribute] == 2 for c in candidates)


def selection_sensitivity(
    candidates: Sequence[AttributeParentPair], domain: Sequence[int], rows: int, kind: str = "R"
) -> int:
    """Largest sensitivity of the candidates' integer scores, from public numbers only.

    ``rows`` is the party's own n_k, of which the integer scores are made too. (In units of R, which is the
    score over 2 n^2, the n of all parties in its place would make the noise too small.)
    """
    parents = cells_of([c.parents for c in candidates], domain).tolist()
    sizes = {(domain[c.attribute], int(size)) for c, size in zip(candidates, parents, strict=True)}
    return max(SCORES[kind].sensitivity(rows, x_size, parent_size) for x_size, parent_size in sizes)
