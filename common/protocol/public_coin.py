"""The public coin: a random number that no data decide, the same when a run is resumed."""

from __future__ import annotations

import hashlib


def public_coin(run: str, purpose: str, sides: int) -> int:
    """A number from 0 to ``sides - 1``, uniform up to 2^-200 over names of runs.

    Args:
        run: what tells this run from all others.
        purpose: what tells this number from the run's others.
    """
    if sides < 1:
        raise ValueError("a public coin has at least one side")
    return int.from_bytes(hashlib.sha256(f"{run}|{purpose}".encode()).digest(), "big") % sides
