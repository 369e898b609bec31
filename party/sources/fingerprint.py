"""A number that tells whether rows have changed: equal for the same coded rows in any order, from any store.

With public weights r the codes c of a row give q = sum r_i (c_i + 1) mod p, and the fingerprint is the sum of q^3 mod p
over all rows. A cube sees how attributes go together, not only how often each value occurs. Two different tables have
the same one by chance in about one of 2^31 cases. It depends on rows: it stays with their owner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.schema import Schema

PRIME = 2**31 - 1
BLOCK_ROWS = 1 << 16


def weights(schema: Schema) -> list[int]:
    """The weight of each attribute: public, from the schema's digest, 1 to p - 1."""
    drawn = (hashlib.sha256(f"{schema.digest}/{place}".encode()).digest() for place in range(len(schema.attributes)))
    return [1 + int.from_bytes(some[:8]) % (PRIME - 1) for some in drawn]


def fingerprint(columns: Sequence[npt.NDArray[np.integer[Any]]], schema: Schema) -> int:
    """Of rows given as one array of codes an attribute."""
    return mixed_cubes(columns, weights(schema))


def mixed_cubes(columns: Sequence[npt.NDArray[np.integer[Any]]], factors: Sequence[int]) -> int:
    """The sum of q^3 mod p over rows, given the weights; numpy alone."""
    total = 0
    for start in range(0, len(columns[0]), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        mixed = np.zeros(len(columns[0][block]), dtype=np.int64)
        for column, factor in zip(columns, factors, strict=True):
            mixed += (column[block].astype(np.int64) + 1) * factor
        mixed %= PRIME
        total += int((mixed * mixed % PRIME * mixed % PRIME).sum())
    return total


def mixed_sql(codes: Sequence[str], schema: Schema) -> str:
    """SQL of q for the codes of a row."""
    terms = (f"({code} + 1) * CAST({factor} AS BIGINT)" for code, factor in zip(codes, weights(schema), strict=True))
    return f"({' + '.join(terms)}) % {PRIME}"


def cube_sql(mixed: str) -> str:
    """SQL of q^3 mod p."""
    return f"{mixed} * {mixed} % {PRIME} * {mixed} % {PRIME}"


def digest(schema: Schema, rows: int, total: int) -> str:
    """Names a state of some rows, in hexadecimal."""
    return hashlib.sha256(f"{schema.digest}/{rows}/{total}".encode()).hexdigest()
