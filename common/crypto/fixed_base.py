"""Powers of one base, many of them: a table of the base's powers takes the place of most squarings.

Source: the comb of Lim and Lee, "More Flexible Exponentiation with Precomputation" (CRYPTO 1994). An exponent is
written in ``teeth`` rows of ``tables * columns`` bits, one above the other. A table holds, for each pattern of bits of
a column, the product of the powers of the base that these bits stand for; there is one for every ``columns`` of them.
So a power takes ``columns - 1`` squarings and ``tables * columns`` products by what the tables hold.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import gmpy2
import numpy as np
import numpy.typing as npt

from privity.common.crypto.powers import spread

FEW, MANY = 4, 32
"""Numbers in the tables for each bit of an exponent, at most, while few powers are needed and once many are."""

MANY_POWERS = 256
"""Powers from which on the larger tables cost less than they save."""

EACH = 32
"""Powers for which a thread is worth its while."""

_MOST_TEETH = 16


class Comb(NamedTuple):
    """How exponents are cut up, see above."""

    teeth: int
    tables: int
    columns: int

    @property
    def numbers(self) -> int:
        """That the tables hold."""
        return self.tables << self.teeth

    @property
    def products(self) -> int:
        """Of a power, squarings included."""
        return self.tables * self.columns + self.columns - 1

    @property
    def bits(self) -> int:
        """Of the longest exponent."""
        return self.teeth * self.tables * self.columns


@cache
def comb_for(bits: int, numbers_a_bit: int) -> Comb:
    """The one of the fewest products for exponents of so many bits, with at most so many numbers in its tables."""
    found = []
    for teeth in range(1, _MOST_TEETH + 1):
        row = -(-bits // teeth)
        for tables in range(1, min(row, numbers_a_bit * bits >> teeth) + 1):
            found.append(Comb(teeth, tables, -(-row // tables)))
    return min(found, key=lambda comb: (comb.products, comb.numbers))


class _Tables(NamedTuple):
    comb: Comb
    rows: list[list[gmpy2.mpz]]


class FixedBase:
    """Powers of ``base`` modulo ``modulus`` with exponents of at most ``bits`` bits.

    The tables are made when they are first needed, and again, larger, once many powers were needed.
    """

    def __init__(self, base: int, modulus: int, bits: int) -> None:
        self._base, self._modulus, self._bits = gmpy2.mpz(base) % modulus, gmpy2.mpz(modulus), bits
        self._tables: _Tables | None = None
        self._asked = 0
        self._lock = threading.Lock()

    def powers(self, exponents: list[int], *, ahead: bool = False) -> list[gmpy2.mpz]:
        """base^e for each exponent e, on all cores.

        Args:
            ahead: nobody waits for them: the tables that are there will do, so that who needs some finds them free.

        Raises:
            ValueError: an exponent that is negative or too long.
        """
        if any(exponent < 0 or exponent.bit_length() > self._bits for exponent in exponents):
            raise ValueError(f"an exponent must have at most {self._bits} bits and no sign")
        tables = self._tables_for(0 if ahead else len(exponents))

        def raised(part: Sequence[int]) -> list[gmpy2.mpz]:
            # GMP lets go of the interpreter for each product: they are long enough for that.
            with gmpy2.context(gmpy2.get_context(), allow_release_gil=True):
                return [self._power(tables, patterns) for patterns in _patterns(tables.comb, part).tolist()]

        return spread(raised, exponents, EACH)

    def _power(self, tables: _Tables, patterns: list[list[int]]) -> gmpy2.mpz:
        modulus, found = self._modulus, gmpy2.mpz(1)
        for place, of_column in enumerate(patterns):
            if place:
                found = found * found % modulus
            for row, pattern in zip(tables.rows, of_column, strict=True):
                found = found * row[pattern] % modulus
        return found

    def _tables_for(self, count: int) -> _Tables:
        """The tables that ``count`` more powers are worth."""
        with self._lock:
            self._asked += count
            comb = comb_for(self._bits, MANY if self._asked >= MANY_POWERS else FEW)
            if self._tables is None or self._tables.comb.numbers < comb.numbers:
                self._tables = None  # two of them would take too much memory
                self._tables = self._tabulated(comb)
            return self._tables

    def _tabulated(self, comb: Comb) -> _Tables:
        """Of each table: entry u is the product of base^(2^p) over the teeth whose bits are set in u."""
        rows = [[gmpy2.mpz(1)] for _ in range(comb.tables)]
        power = self._base
        for place in range(comb.bits):
            table, column = divmod(place % (comb.tables * comb.columns), comb.columns)
            if not column:
                row = rows[table]
                row += [known * power % self._modulus for known in row]
            power = power * power % self._modulus
        return _Tables(comb, rows)


def _patterns(comb: Comb, exponents: Sequence[int]) -> npt.NDArray[np.int64]:
    """Of each exponent the patterns of its columns, the highest first: shape (exponents, columns, tables)."""
    size = -(-comb.bits // 8)
    data = b"".join(int(exponent).to_bytes(size, "little") for exponent in exponents)
    raw = np.frombuffer(data, dtype=np.uint8).reshape(len(exponents), size)
    bits = np.unpackbits(raw, axis=1, bitorder="little", count=comb.bits)
    teeth = bits.reshape(-1, comb.teeth, comb.tables, comb.columns).astype(np.int64)
    weights = np.int64(1) << np.arange(comb.teeth, dtype=np.int64)
    return np.einsum("ehtc,h->ect", teeth, weights)[:, ::-1]
