"""The scores of attribute-parent pairs, by name: how each is computed and bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privity.common.privacy.score_f import f_scores, f_sensitivity
from privity.common.privacy.score_i import LARGEST_ROWS, i_scores, i_sensitivity
from privity.common.privacy.score_r import r_scores, r_sensitivity


@dataclass(frozen=True)
class Score:
    """How one kind of score is computed and bounded.

    Attributes:
        of: exact integer scores of tables of shape (|X|, |Pi|).
        sensitivity: the most by which one replaced row moves a score: (rows, |X|, |Pi|), declared sizes.
        binary: whether the attribute (not the parents) must be binary.
        largest_rows: the score is for fewer rows.
    """

    of: Callable[[Sequence[NDArray[np.int64]]], list[int]]
    sensitivity: Callable[[int, int, int], int]
    binary: bool = False
    largest_rows: float = math.inf


DISTANCE = "distance"
"""The name of what is no score of a pair: how far a table is from what a model expects of it
(``privity.common.protocol.expected_tables``)."""

SCORES: dict[str, Score] = {
    "F": Score(f_scores, f_sensitivity, binary=True),
    "I": Score(i_scores, i_sensitivity, largest_rows=LARGEST_ROWS),
    "R": Score(r_scores, r_sensitivity),
}


def score_in_words(name: str) -> str:
    """What statements call the scores of a selection, by their name."""
    return "the distance of tables from a model" if name == DISTANCE else f"the score {name}"
