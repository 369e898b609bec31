"""Whole numbers in proportion to public row counts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def quotas(total: int, rows: Sequence[int], *, balanced: bool = False) -> tuple[int, ...]:
    """A number for each party, ``total`` together: in proportion to the row counts, or as equal as can be.

    Largest remainders, ties to the earlier party. A party may get none.
    """
    weights = [1] * len(rows) if balanced else list(rows)
    shares = [Fraction(total * weight, sum(weights)) for weight in weights]
    counts = [int(share) for share in shares]
    by_remainder = sorted(range(len(rows)), key=lambda k: (counts[k] - shares[k], k))
    for k in by_remainder[: total - sum(counts)]:
        counts[k] += 1
    return tuple(counts)
