"""Powers of one base, many of them: a table of the base's powers takes the place of squaring.

Source: the windowed fixed-base method of Brickell, Gordon, McCurley, Wilson (EUROCRYPT 1992) with all digits
tabulated: an exponent of L bits in windows of w takes L/w multiplications, and the table (2^w - 1) L/w of them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import gmpy2

from privity.common.crypto.powers import spread

NARROW, WIDE = 4, 8
"""Bits of a window. Of 1536-bit exponents modulo 6144 bits a narrow table has 5,800 numbers, a wide one 49,000."""

MANY = 256
"""Powers from which on a wide table costs less than it saves."""

EACH = 32
"""Powers for which a thread is worth its while."""


class _Table(NamedTuple):
    window: int
    rows: list[list[gmpy2.mpz]]


class FixedBase:
    """Powers of ``base`` modulo ``modulus`` with exponents of at most ``bits`` bits.

    The table is made when it is first needed, and again with wider windows once many powers were needed.
    """

    def __init__(self, base: int, modulus: int, bits: int) -> None:
        self._base, self._modulus, self._bits = gmpy2.mpz(base) % modulus, gmpy2.mpz(modulus), bits
        self._table: _Table | None = None
        self._asked = 0
        self._lock = threading.Lock()

    def powers(self, exponents: list[int], *, ahead: bool = False) -> list[gmpy2.mpz]:
        """base^e for each exponent e, on all cores.

        Args:
            ahead: nobody waits for them: the table that is there will do, so that who needs some finds it free.

        Raises:
            ValueError: an exponent that is negative or too long.
        """
        if any(exponent < 0 or exponent.bit_length() > self._bits for exponent in exponents):
            raise ValueError(f"an exponent must have at most {self._bits} bits and no sign")
        table = self._table_for(0 if ahead else len(exponents))

        def raised(part: Sequence[int]) -> list[gmpy2.mpz]:
            # GMP lets go of the interpreter for each product: they are long enough for that.
            with gmpy2.context(gmpy2.get_context(), allow_release_gil=True):
                return [self._power(table, exponent) for exponent in part]

        return spread(raised, exponents, EACH)

    def _power(self, table: _Table, exponent: int) -> gmpy2.mpz:
        mask, found = 2**table.window - 1, gmpy2.mpz(1)
        for row in table.rows:
            found = found * row[exponent & mask] % self._modulus
            exponent >>= table.window
        return found

    def _table_for(self, count: int) -> _Table:
        """The table that ``count`` more powers are worth."""
        with self._lock:
            self._asked += count
            window = WIDE if self._asked >= MANY else NARROW
            if self._table is None or self._table.window < window:
                self._table = None  # two of them would take too much memory
                self._table = self._tabulated(window)
            return self._table

    def _tabulated(self, window: int) -> _Table:
        rows, step = [], self._base
        for _ in range(-(-self._bits // window)):
            row = [gmpy2.mpz(1)]
            for _ in range(2**window - 1):
                row.append(row[-1] * step % self._modulus)
            rows.append(row)
            step = row[-1] * step % self._modulus
        return _Table(window, rows)
