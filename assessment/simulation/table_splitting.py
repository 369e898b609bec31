"""Split one table among parties, for simulations: at random, by an attribute, by a Dirichlet law, or by sizes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privity.common.consortium.manifest import Split
from privity.common.errors import Catalogue, PrivityError

if TYPE_CHECKING:
    import pandas as pd

HINT = "Use random, by:ATTRIBUTE, dirichlet:ATTRIBUTE:ALPHA, or sizes:.7,.2,.1 with one share for each party."

NO_ROW = "a party would get no row"
LEAST_ALPHA = 0.01
"""Below it nearly all rows of a value go to one party, and a double may hold no share of the others."""
DIRICHLET_SAMPLES = 100
"""Shares are sampled anew so often while some party would get no row."""


def split_rows(frame: pd.DataFrame, parties: int, how: str, generator: np.random.Generator) -> list[pd.DataFrame]:
    """One frame for each party, together exactly the rows given.

    Args:
        how: ``random`` (equal sizes), ``by:ATTRIBUTE`` (sorted by its values, then cut into equal
            parts: heterogeneous parties), ``dirichlet:ATTRIBUTE:ALPHA`` (each value's rows shared out by a sample
            of the symmetric Dirichlet law: the smaller alpha, the more heterogeneous are parties, in size too), or
            ``sizes:.7,.2,.1`` (random, of these shares).

    Raises:
        PrivityError: an unknown rule, or a party would get no row.
    """
    if not 1 <= parties <= len(frame):
        raise _refused("parties", f"{parties} parties cannot share {len(frame)} rows")
    if how.startswith("dirichlet:"):
        name, _, alpha = how.removeprefix("dirichlet:").rpartition(":")
        values = _column(frame, name)
        return [frame.iloc[rows] for rows in _label_skew(values, parties, _alpha(alpha), generator)]
    shares = [Fraction(1, parties)] * parties
    order = generator.permutation(len(frame))
    if how.startswith("by:"):
        values = _column(frame, how.removeprefix("by:"))
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
        raise _refused("split", NO_ROW)
    return parts


def kind_of_split(how: str) -> Split:
    """Whether a rule of ``split_rows`` looks at what rows hold.

    If it does not, a replaced row of the joint table is a replaced row of one party, and all else stays. If it does,
    one replaced row may move others between parties and change row counts.
    """
    return Split.GIVEN if how.startswith(("by:", "dirichlet:")) else Split.POSITION


def _column(frame: pd.DataFrame, attribute: str) -> np.ndarray:
    if attribute not in frame.columns:
        raise _refused("split", f"there is no attribute {attribute!r}")
    return frame[attribute].to_numpy(dtype=str)


def _label_skew(
    values: np.ndarray, parties: int, alpha: float, generator: np.random.Generator
) -> list[npt.NDArray[np.int64]]:
    """Places of each party's rows: the rows of each value in shares of their own.

    As parties are made heterogeneous in the experiments of Yurochkin et al. (Bayesian nonparametric federated learning
    of neural networks, ICML 2019).
    """
    order = generator.permutation(len(values))
    groups = [order[values[order] == value] for value in np.unique(values)]
    for _ in range(DIRICHLET_SAMPLES):
        held: list[list[npt.NDArray[np.int64]]] = [[] for _ in range(parties)]
        for rows in groups:
            ends = np.rint(np.cumsum(generator.dirichlet(np.full(parties, alpha))) * len(rows)).astype(int)
            for party, part in zip(held, np.split(rows, ends[:-1]), strict=True):
                party.append(part)
        parts = [np.concatenate(party) for party in held]
        if all(len(part) for part in parts):
            return parts
    raise _refused("split", f"{NO_ROW} in {DIRICHLET_SAMPLES} samples")


def _alpha(text: str) -> float:
    try:
        alpha = float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise _refused("split", f"alpha {text!r} is no number") from None
    if not LEAST_ALPHA <= alpha < math.inf:
        raise _refused("split", f"alpha must be at least {LEAST_ALPHA}")
    return alpha


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
