"""Powers of one base, many of them: a table of the base's powers takes the place of squaring.

Source: the windowed fixed-base method of Brickell, Gordon, McCurley, Wilson (EUROCRYPT 1992) with all digits
tabulated: an exponent of L bits in windows of w takes L/w multiplications, and the table (2^w - 1) L/w of them.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import gmpy2

NARROW, WIDE = 4, 8
"""Bits of a window. Of 1536-bit exponents modulo 6144 bits a narrow table has 5,800 numbers (5 MB), a wide one 49,000
(40 MB)."""

MANY = 256
"""Powers from which on a wide table costs less than it saves."""


EACH = 32
"""Powers for which a thread is worth its while."""

MOST_WORKERS = 8


class FixedBase:
    """Powers of ``base`` modulo ``modulus`` with exponents of at most ``bits`` bits, ``window`` bits at a time."""

    def __init__(self, base: int, modulus: int, bits: int, window: int) -> None:
        self._modulus, self._window, self._bits = gmpy2.mpz(modulus), window, bits
        self._rows: list[list[gmpy2.mpz]] = []
        step = gmpy2.mpz(base) % self._modulus
        for _ in range(-(-bits // window)):
            row = [gmpy2.mpz(1)]
            for _ in range(2**window - 1):
                row.append(row[-1] * step % self._modulus)
            self._rows.append(row)
            step = row[-1] * step % self._modulus

    def power(self, exponent: int) -> gmpy2.mpz:
        """base^exponent.

        Raises:
            ValueError: an exponent that is negative or too long.
        """
        if exponent < 0 or exponent.bit_length() > self._bits:
            raise ValueError(f"an exponent must have at most {self._bits} bits and no sign")
        mask, found = 2**self._window - 1, gmpy2.mpz(1)
        for row in self._rows:
            found = found * row[exponent & mask] % self._modulus
            exponent >>= self._window
        return found


@lru_cache(maxsize=2)
def fixed_base(base: int, modulus: int, bits: int, window: int) -> FixedBase:
    """The table, kept: a run's rounds share its key. Two, so that a node holds one of each width at most."""
    return FixedBase(base, modulus, bits, window)


def powers(base: int, modulus: int, bits: int, exponents: list[int]) -> list[gmpy2.mpz]:
    """base^e for each exponent, with the table that so many are worth, on all cores."""
    table = fixed_base(base, modulus, bits, WIDE if len(exponents) >= MANY else NARROW)
    workers = min(os.cpu_count() or 1, MOST_WORKERS, len(exponents) // EACH)
    if workers < 2:
        return [table.power(exponent) for exponent in exponents]

    def some(start: int) -> list[gmpy2.mpz]:
        # GMP lets go of the interpreter for each product: they are long enough for that.
        with gmpy2.context(gmpy2.get_context(), allow_release_gil=True):
            return [table.power(exponent) for exponent in exponents[start::workers]]

    found: list[gmpy2.mpz] = [gmpy2.mpz(0)] * len(exponents)
    with ThreadPoolExecutor(workers) as pool:
        for start, part in enumerate(pool.map(some, range(workers))):
            found[start::workers] = part
    return found
