"""The weights of a model's table: which arrays are some, and how they are read from a plain document."""

from __future__ import annotations

from collections.abc import Iterator
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
    if not all(isinstance(leaf, int | float | Decimal) and not isinstance(leaf, bool) for leaf in _leaves(value)):
        raise ValueError("a table's weights are numbers")
    return np.asarray(value, dtype=np.float64)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    else:
        yield value
