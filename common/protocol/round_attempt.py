"""Attempts at a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MOST_ATTEMPTS = 2
"""At a round: a curator tries other combiners once, and then ends the run. Parties answer to no more."""


@dataclass(frozen=True)
class Attempt:
    """One way to bring the blocks of a round together; another one conceals the same stored vectors anew.

    Attributes:
        round, digest: name and digest of the round.
        number: from 1 to ``MOST_ATTEMPTS``; masks are new for each.
        combiners: one for each node of the tree, the root's last.
    """

    round: str
    digest: str
    number: int
    combiners: tuple[str, ...]

    def content(self) -> dict[str, Any]:
        return {
            "round": self.round,
            "digest": self.digest,
            "number": self.number,
            "combiners": list(self.combiners),
        }
