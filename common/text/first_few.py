"""Long lists in a sentence: the first few, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence

FEW = 10


def first_few(texts: Sequence[str], most: int = FEW, separator: str = ", ") -> str:
    """``a, b, c and 2 more``; all of them if there are no more than ``most``."""
    more = len(texts) - most
    return separator.join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")
