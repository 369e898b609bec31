"""Split one table among parties, for simulations: at random, by an attribute, or by sizes."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd

from common.errors import Catalogue, PrivityError

HINT = "Use random, by:ATTRIBUTE, or sizes:.7,.2,.1 with one share for each party."


def split_rows(frame: pd.DataFrame, parties: int, how: str, generator: np.random.Generator) -> list[pd.DataFrame]:
    """One frame for each party, together exactly the rows given.

    Args:
        how: ``random`` (equal sizes), ``by:ATTRIBUTE`` (sorted by its values, then cut into equal
            parts: parties unlike each other), or ``sizes:.7,.2,.1`` (random, of these shares).
    Raises:
        PrivityError: an unknown rule, or a party would get no row.
    """
    if not 1 <= parties <= len(frame):
        raise _refused("parties", f"{parties} parties cannot share {len(frame)} rows")
    shares = [Fraction(1, parties)] * parties
    order = generator.permutation(len(frame))
    if how.startswith("by:"):
        attribute = how.removeprefix("by:")
        if attribute not in frame.columns:
            raise _refused("split", f"there is no attribute {attribute!r}")
        values = frame[attribute].to_numpy(dtype=str)
        order = order[np.argsort(values[order], kind="stable")]
    elif how.startswith("sizes:"):
        shares = _shares(how.removeprefix("sizes:"), parties)
    elif how != "random":
        raise _refused("split", f"{how!r} is unknown")
    cuts = [0]
    for k in range(1, parties + 1):
        cuts.append(round(sum(shares[:k], Fraction(0)) * len(frame)))
    parts = [frame.iloc[order[start:end]] for start, end in itertools.pairwise(cuts)]
    if any(part.empty for part in parts):
        raise _refused("split", "a party would get no row")
    return parts


def _shares(text: str, parties: int) -> list[Fraction]:
    try:
        shares = [Fraction(part) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise _refused("split", f"{text!r} are no numbers") from None
    if len(shares) != parties or sum(shares) != 1 or min(shares) <= 0:
        raise _refused("split", f"the shares must be {parties} positive numbers that add up to 1")
    return shares


def _refused(option: str, reason: str) -> PrivityError:
    return PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=HINT)
