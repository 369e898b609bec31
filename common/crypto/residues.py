"""Random n-th residues modulo n^2: what hides a Paillier plaintext. Each is made once and used once.

Textbook Paillier takes s = r^n: an exponent of |n| bits and no fixed base. Damgard, Jurik and Nielsen take s = (h^n)^e
with a random exponent e and h = -x^2 mod n: for a modulus made for it (p = q = 3 mod 4, gcd(p-1, q-1) = 2) h generates
the residues of Jacobi symbol 1, and powers of one base come from a table. x is a digest of n, so that there is nothing
to be trusted about h: everybody computes it.

==========  ==================  =====================================================================================
exponents   bits                that s looks like a random n-th residue rests on
==========  ==================  =====================================================================================
``half``    |n|/2               composite residuosity, and factoring (Goldreich and Rosen 2003: exponents of half the
                                length cannot be told from full ones)
``short``   256                 that, and discrete logarithms of short exponents modulo n (twice the security level)
``full``    r^n, textbook       composite residuosity alone
==========  ==================  =====================================================================================

Source: Damgard, Jurik, Nielsen, "A generalization of Paillier's public-key system with applications to electronic
voting" (2010), section 4.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
from collections import deque
from enum import Enum
from functools import lru_cache

import gmpy2

from privity.common.crypto.fixed_base import FixedBase
from privity.common.crypto.powers import raise_all

SHORT_BITS = 256
"""Of short exponents: twice 128-bit security."""

TABLES_KEPT = 2
"""Moduli whose tables of powers are kept: those of two runs side by side."""


class Exponents(Enum):
    """How randomness is made, see above."""

    HALF = "half"
    SHORT = "short"
    FULL = "full"


class Residues:
    """Fresh independent n-th residues of one key.

    Those made ahead in idle time lie in memory only: a node that stops has lost them, and none is handed out twice.
    """

    def __init__(self, n: int, exponents: Exponents = Exponents.HALF) -> None:
        self.n, self.exponents = n, exponents
        self._ready: deque[gmpy2.mpz] = deque()
        self._lock = threading.Lock()

    @property
    def ready(self) -> int:
        """How many lie ready."""
        return len(self._ready)

    def take(self, count: int) -> list[gmpy2.mpz]:
        """``count`` residues that nobody had before: those that lie ready, then new ones."""
        with self._lock:
            taken = [self._ready.popleft() for _ in range(min(count, len(self._ready)))]
        return taken + self._made(count - len(taken), ahead=False)

    def prepare(self, count: int) -> None:
        """Make ``count`` ahead."""
        made = self._made(count, ahead=True)
        with self._lock:
            self._ready.extend(made)

    def _made(self, count: int, *, ahead: bool) -> list[gmpy2.mpz]:
        if count < 1:
            return []
        if self.exponents is Exponents.FULL:
            return raise_all(_random_units(self.n, count), self.n, self.n * self.n)
        bits = self.n.bit_length() // 2 if self.exponents is Exponents.HALF else SHORT_BITS
        return _powers_of_base(self.n, bits).powers([secrets.randbits(bits) for _ in range(count)], ahead=ahead)


_tables: dict[tuple[int, int], FixedBase] = {}
_tables_lock = threading.Lock()


def _powers_of_base(n: int, bits: int) -> FixedBase:
    """Kept: all rounds of a run share its key. Few, because a table is large."""
    with _tables_lock:
        table = _tables.pop((n, bits), None) or FixedBase(residue_base(n), n * n, bits)
        _tables[n, bits] = table
        while len(_tables) > TABLES_KEPT:
            del _tables[next(iter(_tables))]
    return table


def drop_tables(n: int) -> None:
    """Free the memory of tables of powers for this modulus; they are made again when they are needed."""
    with _tables_lock:
        for key in [key for key in _tables if key[0] == n]:
            del _tables[key]


@lru_cache(maxsize=TABLES_KEPT)
def residue_base(n: int) -> int:
    """h^n mod n^2, h = -x^2 mod n with x from SHAKE-256 of n: an n-th residue that nobody chose."""
    size = (n.bit_length() + 7) // 8
    seed = b"privity paillier base v1" + n.to_bytes(size, "big")
    number = 0
    while True:
        # 128 bits more than n, so that x is as good as uniform.
        digest = hashlib.shake_256(seed + number.to_bytes(4, "big")).digest(size + 16)
        x = int.from_bytes(digest, "big") % n
        if math.gcd(x, n) == 1:
            return int(gmpy2.powmod(-x * x % n, n, n * n))
        number += 1


def _random_units(n: int, count: int) -> list[int]:
    """Uniform independent units modulo n."""
    units: list[int] = []
    while len(units) < count:
        r = secrets.randbelow(n)
        if math.gcd(r, n) == 1:
            units.append(r)
    return units
