"""What ``privity doctor`` says of one thing that it looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from privity.common.errors import PrivityError


class Verdict(Enum):
    """Of one check."""

    GOOD = "ok"
    WARNING = "warning"
    BAD = "amiss"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    what: str
    verdict: Verdict
    found: str
    remedy: str = ""


def good(what: str, found: str) -> Check:
    """A check that found nothing wrong."""
    return Check(what, Verdict.GOOD, found)


def bad(what: str, found: str, remedy: str) -> Check:
    """A check that found a fault, and what mends it."""
    return Check(what, Verdict.BAD, found, remedy)


def tried(what: str, look: Callable[[], Check]) -> Check:
    """The check, or the error of the catalogue that it met."""
    try:
        return look()
    except PrivityError as error:
        return bad(what, error.message, error.remedy)
    except OSError as error:
        return bad(what, f"{error.filename}: {error.strerror}", "See whether the file is there and may be read.")
