"""Rows of people who have fewer than they may: they are the same everywhere, so nobody stores them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema


def absent_codes(schema: Schema) -> list[int]:
    """The code of an absent row in each attribute, derived ones included: that of an attribute is its last."""
    derived = schema.derived
    last = np.array(schema.domain) - 1
    return [int(derived.derive(a, last[[derived.base[a]]])[0]) for a in range(len(derived.domain))]


def add_absent(counts: npt.NDArray[np.int64], marginals: Sequence[Marginal], schema: Schema, rows: int) -> None:
    """Add so many absent rows to each table of a vector of cells, tables in order, C order within each."""
    if not rows:
        return
    codes, domain = absent_codes(schema), schema.derived.domain
    start = 0
    for marginal in marginals:
        cell = 0
        for attribute in marginal:
            cell = cell * domain[attribute] + codes[attribute]
        counts[start + cell] += rows
        start += prod(domain[a] for a in marginal)
