"""Moments as nodes write and show them: UTC, ISO 8601, to the second."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")


def utc(at: float) -> str:
    """A moment in seconds since 1970."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def utc_now() -> str:
    """This moment."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def check_utc(text: str) -> str:
    """The text if it is such a moment, or nothing.

    Raises:
        ValueError: it is another text.
    """
    if text and not _FORM.fullmatch(text):
        raise ValueError("not a moment in UTC")
    return text


def with_plain_times(text: str) -> str:
    """The text with its moments as people write them: 25 November 2026, 13:35 UTC."""
    return _FORM.sub(lambda found: _plain(datetime.fromisoformat(found[0])), text)


def _plain(at: datetime) -> str:
    return f"{at.day} {at:%B %Y, %H:%M} UTC"
