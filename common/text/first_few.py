"""Long lists in a sentence: the first few, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence

FEW = 10


def first_few(texts: Sequence[str], separator: str = ", ") -> str:
    """``a, b, c and 2 more``; all of them if there are no more than ``FEW``."""
    more = len(texts) - FEW
    return separator.join(texts[:FEW]) + (f" and {more:,} more" if more > 0 else "")
