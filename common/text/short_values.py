"""Values and places of a document as messages repeat them: short, and without what may hold a password."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

from privity.common.text.first_few import first_few
from privity.common.text.secret_texts import HIDDEN, holds_secret

LONGEST_ECHO = 40
"""Characters of a value that a message repeats."""


def path_text(path: Iterable[str | int]) -> str:
    """Write a path within a document as ``fields[3].taxonomy['No diploma']``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else _step_text(step) for step in path)
    return text.removeprefix(".")


@lru_cache(maxsize=128)
def _step_text(step: str) -> str:
    """A name within a path. A long one, which many messages may share, is looked at once."""
    plain = len(step) <= LONGEST_ECHO and step.replace("_", "a").isalnum() and not holds_secret(step)
    return f".{step}" if plain else f"[{shorten(step)}]"


def shorten(value: object) -> str:
    """Write a value for a message, cut to ``LONGEST_ECHO`` characters; nothing of what may hold a password."""
    text = str(value) if isinstance(value, Decimal) else repr(value)
    if holds_secret(str(value)):
        return repr(HIDDEN)
    return text if len(text) <= LONGEST_ECHO else text[: LONGEST_ECHO - 3] + "..."


def listed(values: Iterable[object]) -> str:
    """Name the first few of some values, for a message."""
    return first_few([shorten(value) for value in values])
