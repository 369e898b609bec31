"""Public lots: choices that no data decide and that come out the same when a run is taken up again."""

from __future__ import annotations

import hashlib


def public_coin(run: str, purpose: str, sides: int) -> int:
    """A number from 0 to ``sides - 1``, uniform up to 2^-200 over names of runs.

    Args:
        run: what tells this run from all others.
        purpose: what tells this lot from the run's others.
    """
    if sides < 1:
        raise ValueError("a lot has at least one side")
    return int.from_bytes(hashlib.sha256(f"{run}|{purpose}".encode()).digest(), "big") % sides
