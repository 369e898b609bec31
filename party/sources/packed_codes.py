"""The codes of a row in as few 64-bit integers as hold them: less to send, and one column for many.

The first code of a word counts most: w = (c0 * s1 + c1) * s2 + c2 for sizes s. numpy alone, so that any worker can
take a word apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

MOST = 2**63
"""Words are signed where they come from."""


def words(sizes: Sequence[int]) -> list[list[int]]:
    """Which codes each word holds, by place, in order; every code is below its size."""
    found: list[list[int]] = []
    held = 1
    for place, size in enumerate(sizes):
        if not found or held * size > MOST:
            found.append([])
            held = 1
        found[-1].append(place)
        held *= size
    return found


def word_sql(names: Sequence[str], sizes: Sequence[int]) -> str:
    """SQL of one word, from that of its codes."""
    word = f"CAST({names[0]} AS BIGINT)"
    for name, size in zip(names[1:], sizes[1:], strict=True):
        word = f"({word} * {size} + {name})"
    return word


def taken_apart(packed: Sequence[npt.NDArray[np.int64]], sizes: Sequence[int]) -> list[npt.NDArray[Any]]:
    """The codes of rows: for each size an array of shape (rows,), of the smallest unsigned type that holds it."""
    codes: list[npt.NDArray[Any]] = [np.zeros(0)] * len(sizes)
    for word, places in zip(packed, words(sizes), strict=True):
        rest = word.view(np.uint64)
        for place in reversed(places[1:]):
            size = np.uint64(sizes[place])
            higher = rest // size
            codes[place] = (rest - higher * size).astype(np.min_scalar_type(sizes[place] - 1))
            rest = higher
        codes[places[0]] = rest.astype(np.min_scalar_type(sizes[places[0]] - 1))
    return codes
