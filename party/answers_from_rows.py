"""The only code that looks at rows: a question, a table and noise drawn beforehand, to an answer.

Pure functions. What they return is a release that has been charged, or part of one; nothing else about
the rows leaves this file, and no error in here depends on a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.contingency_tables import Request
from privity.common.data.noisy_tables import AttributeParentPair, Marginal
from privity.common.privacy.mechanisms import Choosing
from privity.common.privacy.score_r import VECTOR_ROWS
from privity.common.privacy.structure_scores import SCORES
from privity.common.protocol.candidate_pairs import CandidateGroup, Candidates
from privity.common.protocol.evaluation_scores import Score
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.step_limits import cells_of, count_cells
from privity.party.sources.rows import Rows, Texts

CELLS_AT_ONCE = 1 << 16
"""Of tables that are scored together: few calls, and they stay in the processor's cache."""

KEPT_SCORES = 1 << 25
"""Of pairs, kept for the next selection. A parent set takes as much as ``SET_SCORES`` of them."""

SET_SCORES = 16

KEPT_CELLS = 1 << 24
"""Of the candidate tables of selections, kept for the next one: 128 MiB, and 16 times those of one."""


def noisy_counts(tables: Sequence[Marginal], rows: Rows, noise: np.ndarray) -> np.ndarray:
    """All cells of the tables, one after another, plus the noise.

    Args:
        noise: int64 of shape (cells,): this party's share for every cell.

    Returns:
        int64 of shape (cells,), tables in order, C order within each.
    """
    counts = rows.count(tables)
    counts += noise
    return counts


def noisy_scores(asked: Sequence[Score], rows: Rows, noise: np.ndarray) -> np.ndarray:
    """Scores of a synthetic table on these rows, plus the noise.

    Args:
        noise: int64 of shape (scores,): this party's share for every score.

    Returns:
        int64 of shape (scores,), in their order.
    """
    tables = tuple(dict.fromkeys(table for score in asked for table in score.asked()))
    shapes = [tuple(rows.schema.derived.domain[a] for a in table) for table in tables]
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    parts = np.split(rows.count(tables), ends)
    counts = {table: part.reshape(shape) for table, part, shape in zip(tables, parts, shapes, strict=True)}
    return np.array([score.of(counts, rows.rows) for score in asked], dtype=np.int64) + noise


def frequent_texts(names: Sequence[str], texts: Texts, noise: np.ndarray, threshold: int) -> dict[str, list[str]]:
    """The texts of each attribute whose rows and noise together are above the threshold, in their order.

    Args:
        noise: int64 of shape (attributes, rows): there are no more texts than rows, and each has noise of its own.
    """
    found = {}
    for name, drawn in zip(names, noise, strict=True):
        counts = texts(name)
        noisy = zip(sorted(counts), drawn[: len(counts)].tolist(), strict=True)
        found[name] = [text for text, more in noisy if counts[text] + more > threshold]
    return found


class _KnownScores:
    """The scores of one attribute with parent sets by their number."""

    def __init__(self, kind: type[np.int64] | type[object]) -> None:
        self.scores = np.zeros(0, dtype=kind)
        self.known = np.zeros(0, dtype=np.bool_)

    def grow(self, size: int) -> None:
        if size > self.known.size:
            more = max(size, 2 * self.known.size) - self.known.size
            self.scores = np.concatenate([self.scores, np.zeros(more, dtype=self.scores.dtype)])
            self.known = np.concatenate([self.known, np.zeros(more, dtype=np.bool_)])


class PairScores:
    """Exact integer scores of attribute-parent pairs on one table, each computed once as long as there is room.

    The selections of a structure ask for most pairs again and again.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        # A score of so many rows may need more than 64 bits.
        self._kind = np.int64 if rows.rows < VECTOR_ROWS else object
        self._numbers: dict[Marginal, int] = {}
        self._of_kind: dict[str, dict[int, _KnownScores]] = {}

    def of(self, candidates: Sequence[AttributeParentPair], kind: str) -> npt.NDArray[Any]:
        """Scores of the kind (a name in ``SCORES``) in the candidates' order: int64, or objects if too large."""
        if len(self._numbers) * (SET_SCORES + sum(map(len, self._of_kind.values()))) > KEPT_SCORES:
            self._of_kind.clear()
            self._numbers.clear()
        known = self._of_kind.setdefault(kind, {})
        numbers = self._numbers
        groups = Candidates.of(candidates).groups
        wanted = []
        for group in groups:
            places = np.array([numbers.setdefault(some, len(numbers)) for some in group.parents.sets], dtype=np.int64)
            for attribute in group.attributes:
                known.setdefault(attribute, _KnownScores(self._kind)).grow(len(numbers))
            wanted.append((places, [known[attribute] for attribute in group.attributes]))
        self._compute(kind, groups, wanted)
        return np.concatenate(
            [np.zeros(0, dtype=self._kind), *(c.scores[places] for places, columns in wanted for c in columns)]
        )

    def _compute(
        self,
        kind: str,
        groups: Sequence[CandidateGroup],
        wanted: Sequence[tuple[npt.NDArray[np.int64], Sequence[_KnownScores]]],
    ) -> None:
        """Fill in what is not known of all groups: asked of the rows at once, scored many at a time."""
        requests: list[Request] = []
        answers: list[list[tuple[_KnownScores, int]]] = []
        for group, (places, columns) in zip(groups, wanted, strict=True):
            unknown = np.stack([~column.known[places] for column in columns], axis=1)
            for row in np.flatnonzero(unknown.any(axis=1)).tolist():
                lacking = np.flatnonzero(unknown[row]).tolist()
                requests.append((group.parents.sets[row], [group.attributes[i] for i in lacking]))
                answers.append([(columns[i], places[row]) for i in lacking])
        waiting: list[tuple[_KnownScores, int]] = []
        joints: list[npt.NDArray[np.int64]] = []
        cells = 0
        for answer, counted in zip(answers, self._rows.joint_counts(requests), strict=True):
            joints += counted
            waiting += answer
            cells += sum(joint.size for joint in counted)
            if cells > CELLS_AT_ONCE:
                self._score(kind, waiting, joints)
                waiting, joints, cells = [], [], 0
        self._score(kind, waiting, joints)

    def _score(
        self, kind: str, waiting: Sequence[tuple[_KnownScores, int]], joints: Sequence[npt.NDArray[np.int64]]
    ) -> None:
        for (column, place), score in zip(waiting, SCORES[kind].of(joints), strict=True):
            column.scores[place] = score
            column.known[place] = True

    def forget(self) -> None:
        self._of_kind.clear()
        self._numbers.clear()
        self._rows.forget()


class TableCounts:
    """Counts of tables on one table of rows, each asked for once as long as there is room.

    The selections among tables ask for most of them again and again, and the rows may be in a database.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows.rows
        self._rows = rows
        self._kept: dict[Marginal, npt.NDArray[np.int64]] = {}
        self._cells = 0

    def of(self, tables: Sequence[Marginal]) -> list[npt.NDArray[np.int64]]:
        """Cells of each table in C order: int64 of shape (cells,)."""
        domain = self._rows.schema.derived.domain
        lacking = tuple(table for table in dict.fromkeys(tables) if table not in self._kept)
        if self._cells + count_cells(lacking, domain) > KEPT_CELLS:
            self.forget()
            lacking = tuple(dict.fromkeys(tables))
        if lacking:
            ends = cells_of(lacking, domain).astype(np.int64).cumsum()
            self._kept.update(zip(lacking, np.split(self._rows.count(lacking), ends[:-1]), strict=True))
            self._cells += int(ends[-1])
        return [self._kept[table] for table in tables]

    def forget(self) -> None:
        self._kept.clear()
        self._cells = 0


def distances(expected: ExpectedTables, counts: TableCounts) -> npt.NDArray[np.int64]:
    """How far each table of these rows is from what a model expects of it: int64 of shape (tables,)."""
    return expected.scores(counts.of(expected.tables), counts.rows)


def select_table(expected: ExpectedTables, counts: TableCounts, choose: Choosing) -> int:
    """Index of the table that is chosen by its distance from the model, with randomness drawn beforehand."""
    return choose(distances(expected, counts))


def select_pair(candidates: Sequence[AttributeParentPair], kind: str, scores: PairScores, choose: Choosing) -> int:
    """Index of the candidate that is chosen by the exact integer scores, with randomness drawn beforehand."""
    return choose(scores.of(candidates, kind))


def has_score(candidates: Sequence[AttributeParentPair], domain: Sequence[int], rows: int, kind: str) -> bool:
    """Whether the kind of score exists for all candidates, by declared domains and the public row count."""
    score = SCORES.get(kind)
    if score is None or rows >= score.largest_rows:
        return False
    return not score.binary or all(domain[x] == 2 for x in _attributes(candidates))


def _attributes(candidates: Sequence[AttributeParentPair]) -> set[int]:
    return {x for group in Candidates.of(candidates).groups for x in group.attributes}


def selection_sensitivity(
    candidates: Sequence[AttributeParentPair], domain: Sequence[int], rows: int, kind: str = "R"
) -> int:
    """Largest sensitivity of the candidates' integer scores, from public numbers only.

    ``rows`` is the party's own n_k, of which the integer scores are made too. (In units of R, which is the
    score over 2 n^2, the n of all parties in its place would make the noise too small.)
    """
    sizes = {
        (domain[x], int(size))
        for group in Candidates.of(candidates).groups
        for size in np.unique(group.parents.cells(domain)).tolist()
        for x in group.attributes
    }
    return max(SCORES[kind].sensitivity(rows, x_size, parent_size) for x_size, parent_size in sizes)
