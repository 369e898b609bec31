"""What categories of open texts cost a fit that discovers them first, and what they leave of its budget.

They have an epsilon and a delta of their own, and what is left is the budget of all that follows. Together they cost
what was asked for, whatever the rest is spent as (``privity.common.privacy.privacy_filter``, proof, 4 and 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from privity.common.privacy.budget import LARGEST_DENOMINATOR
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.text.first_few import first_few

PART = Fraction(1, 10)
"""Of epsilon, for the categories of all texts, where a table is made of what is left."""

MOST_CATEGORIES = 256
"""Of a text, about, where a table is made of them: one that fewer rows have is none."""


@dataclass(frozen=True)
class CategoryBudget:
    """What categories cost, and what is left for all else; both exact.

    Attributes:
        epsilon, delta: left.
    """

    mechanism: ThresholdedCounts
    epsilon: Fraction
    delta: Fraction

    def most(self, rows: int) -> int:
        """How many categories a text has in so many rows, about, at the most."""
        return min(MOST_CATEGORIES, rows // self.mechanism.threshold)

    def in_words(self, names: Sequence[str]) -> str:
        """What becomes a category of these texts."""
        least = self.mechanism.threshold
        return f"Texts of {first_few(names)} become categories if more than about {least} rows have them."


def category_budget(
    columns: int, epsilon: Fraction, delta: Fraction, part: Fraction = PART, rows: int = 0
) -> CategoryBudget:
    """The part of a budget for categories of so many columns; half of delta, unless all of epsilon is for them.

    Args:
        delta: above 0.
        rows: of the table; no more than about ``MOST_CATEGORIES`` are discovered of a text. 0 sets no such limit.

    Raises:
        PrivityError: step-refused: no such budget can be served.
    """
    # No more digits than an epsilon may have.
    left = Fraction(math.floor(epsilon * (1 - part) * LARGEST_DENOMINATOR), LARGEST_DENOMINATOR)
    of_texts = delta / 2 if left else delta
    mechanism = ThresholdedCounts(columns, epsilon - left, of_texts, rows // MOST_CATEGORIES)
    return CategoryBudget(mechanism, left, delta - of_texts)
