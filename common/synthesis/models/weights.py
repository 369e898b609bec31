"""The weights of a model's table: which arrays are some, and how they are read from a plain document."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt


def check_weights(weights: npt.NDArray[np.float64], shape: tuple[int, ...]) -> None:
    """Raises ValueError: another shape, a weight that is negative or no number, or a sum that no double holds."""
    if weights.shape != shape:
        raise ValueError("a table does not have the shape of its attributes' domains")
    with np.errstate(over="ignore"):
        if not ((weights >= 0).all() and np.isfinite(weights.sum())):
            raise ValueError("a table has a negative or infinite weight")


def read_weights(value: Any) -> npt.NDArray[np.float64]:
    """Nested lists of numbers as an array; ValueError or OverflowError if there is anything else in them."""
    if not _leaf_types(value) <= {int, float, Decimal}:
        raise ValueError("a table's weights are numbers")
    return np.asarray(value, dtype=np.float64)


def _leaf_types(value: Any) -> set[type]:
    if not isinstance(value, list):
        return {type(value)}
    found = set(map(type, value))
    if list in found:
        found = found - {list} | set().union(*(_leaf_types(part) for part in value if isinstance(part, list)))
    return found
