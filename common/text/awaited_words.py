"""Who is awaited, for what, since when: in the same words for the operator and for the owners."""

from __future__ import annotations

OWNER = "the approval of its owner"


def answer_to(step: str) -> str:
    """What a party is at work on, as far as anybody can tell."""
    return f"its answer to {step}"


def awaits(party: str, what: str, since: str, silent_since: str = "") -> str:
    """One party that is awaited.

    Args:
        since, silent_since: in UTC; the second if nothing was heard of the party since.
    """
    words = f"awaits {party}: {what}, since {since}"
    return f"{words}; nothing was heard of {party} since {silent_since}" if silent_since else words


def stands(state: str, since: str) -> str:
    """A run that does not go on."""
    return f"{state}, since {since}" if since else state
