"""Paillier encryption of integers, in the form of Damgard, Jurik and Nielsen.

A ciphertext of v is (1 + n v) s mod n^2 with a random n-th residue s. Textbook encryption takes s = r^n: an exponent of
|n| bits and no fixed base. Here s = (h^n)^e with a random exponent e and h = -x^2 mod n: for a modulus made for it
(p = q = 3 mod 4, gcd(p-1, q-1) = 2) h generates the residues of Jacobi symbol 1, and powers of one base come from a
table. x is a digest of n, so that there is nothing to be trusted about h: everybody computes it.

==========  ==================  =====================================================================================
exponents   bits                that s looks like a random n-th residue rests on
==========  ==================  =====================================================================================
``half``    |n|/2               composite residuosity, and factoring (Goldreich and Rosen 2003: exponents of half the
                                length cannot be told from full ones)
``short``   256                 that, and discrete logarithms of short exponents modulo n (twice the security level)
``full``    r^n, textbook       composite residuosity alone
==========  ==================  =====================================================================================

Plaintexts are residues modulo n; a signed integer v with -n/2 < v stands for v mod n. Only raw integers
are used: a `phe` EncryptedNumber of a float would carry its exponent in clear.

Whoever holds the secret key can compute the randomness of any ciphertext it decrypts. So every
ciphertext made here has fresh randomness of the operating system, and a product of ciphertexts must go
through `rerandomise` before the key holder sees it.

Security is computational (decisional composite residuosity; 3072 bits: about 128-bit security) and not
post-quantum. Sources: Paillier, "Public-Key Cryptosystems Based on Composite Degree Residuosity Classes"
(1999); Damgard, Jurik, Nielsen, "A generalization of Paillier's public-key system with applications to electronic
voting" (2010), section 4.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

import gmpy2

from common.crypto.fixed_base import powers

SMALLEST_BITS = 2048
"""Smallest modulus outside tests."""

SHORT_BITS = 256
"""Of short exponents: twice 128-bit security."""

PRIME_ROUNDS = 64
"""Rounds of Miller and Rabin: a composite passes with probability below 2^-128."""


@dataclass(frozen=True)
class PublicKey:
    """The modulus n. Below 2048 bits it is refused unless ``allow_small`` (tests only) is given."""

    n: int
    allow_small: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.n < 15 or self.n % 2 == 0:
            raise ValueError("a Paillier modulus must be a product of two odd primes")
        if self.bits < SMALLEST_BITS and not self.allow_small:
            raise ValueError(f"a Paillier modulus must have at least {SMALLEST_BITS} bits")

    @property
    def bits(self) -> int:
        """Bit length of n."""
        return self.n.bit_length()

    @property
    def square(self) -> int:
        """n^2, the modulus of ciphertexts."""
        return self.n * self.n

    @property
    def ciphertext_bytes(self) -> int:
        """Width of one ciphertext on the wire, in bytes."""
        return (2 * self.bits + 7) // 8

    @property
    def key_id(self) -> str:
        """SHA-256 (hex) of n as big-endian bytes."""
        return hashlib.sha256(self.n.to_bytes((self.bits + 7) // 8, "big")).hexdigest()

    def __repr__(self) -> str:
        return f"PublicKey(bits={self.bits}, key_id={self.key_id[:12]})"


@dataclass(frozen=True, repr=False)
class _Primes:
    """Shows nothing of itself, whatever prints it."""

    p: gmpy2.mpz
    q: gmpy2.mpz


class SecretKey:
    """The two primes of a public key; ``public`` is that key. Its text form shows no secret."""

    def __init__(self, public: PublicKey, p: int, q: int) -> None:
        """Raises ValueError unless p and q are two different primes of equal length with p q = n."""
        if p * q != public.n or p == q or p.bit_length() != q.bit_length():
            raise ValueError("the secret key does not belong to its public key")
        if not (gmpy2.is_prime(p) and gmpy2.is_prime(q)):
            raise ValueError("the secret key does not belong to its public key")
        self.public = public
        self._primes = _Primes(gmpy2.mpz(p), gmpy2.mpz(q))

    @property
    def p(self) -> gmpy2.mpz:
        return self._primes.p

    @property
    def q(self) -> gmpy2.mpz:
        return self._primes.q

    def __repr__(self) -> str:
        return f"SecretKey(for key_id={self.public.key_id[:12]})"


def generate_keypair(bits: int = 3072, *, allow_small: bool = False) -> tuple[PublicKey, SecretKey]:
    """A fresh key pair; ``bits`` must be even and at least 2048 (tests only: less, with allow_small)."""
    if bits % 2 or bits < 64:
        raise ValueError("the number of bits of a Paillier modulus must be even and at least 64")
    if bits < SMALLEST_BITS and not allow_small:
        raise ValueError(f"a Paillier modulus must have at least {SMALLEST_BITS} bits")
    while True:
        p, q = _prime(bits // 2), _prime(bits // 2)
        if p != q and math.gcd(p - 1, q - 1) == 2:
            public = PublicKey(p * q, allow_small)
            return public, SecretKey(public, p, q)


def _prime(bits: int) -> int:
    """A uniform prime of so many bits that is 3 modulo 4, the upper half of them: products have twice the bits."""
    while True:
        candidate = secrets.randbits(bits) | (3 << (bits - 2)) | 3
        if gmpy2.is_prime(candidate, PRIME_ROUNDS):
            return candidate


class Exponents(Enum):
    """How randomness is made, see above."""

    HALF = "half"
    SHORT = "short"
    FULL = "full"


def encrypt(public: PublicKey, values: Sequence[int], exponents: Exponents = Exponents.HALF) -> list[int]:
    """Each value under fresh randomness of the operating system.

    Raises:
        ValueError: a value outside -n/2 .. n-1.
    """
    return _encrypt_with(public, values, _residues(public, len(values), exponents))


def multiply(public: PublicKey, lists: Sequence[Sequence[int]]) -> list[int]:
    """Ciphertexts of the sums: the element-wise product of lists of equal length, modulo n^2.

    The product alone does not hide its parts from the key holder: `rerandomise` it before it leaves.

    Raises:
        ValueError: no list, lists of different lengths, or an invalid ciphertext.
    """
    if not lists or any(len(part) != len(lists[0]) for part in lists):
        raise ValueError("there must be at least one list of ciphertexts, all of the same length")
    for part in lists:
        check_ciphertexts(public, part)
    square = gmpy2.mpz(public.square)
    product = [gmpy2.mpz(c) for c in lists[0]]
    for part in lists[1:]:
        product = [a * b % square for a, b in zip(product, part, strict=True)]
    return [int(c) for c in product]


def rerandomise(public: PublicKey, ciphertexts: Sequence[int], exponents: Exponents = Exponents.HALF) -> list[int]:
    """The same plaintexts under fresh, independent randomness.

    Raises:
        ValueError: an invalid ciphertext.
    """
    check_ciphertexts(public, ciphertexts)
    square = gmpy2.mpz(public.square)
    fresh = _residues(public, len(ciphertexts), exponents)
    return [int(c * f % square) for c, f in zip(ciphertexts, fresh, strict=True)]


def decrypt(secret: SecretKey, ciphertexts: Sequence[int]) -> list[int]:
    """The plaintexts as residues 0 .. n-1.

    Raises:
        ValueError: an invalid ciphertext.
    """
    check_ciphertexts(secret.public, ciphertexts)
    p, q = secret.p, secret.q
    by_p, by_q = _decrypt_modulo(p, q, ciphertexts), _decrypt_modulo(q, p, ciphertexts)
    inverse = gmpy2.invert(p, q)
    return [int(a + p * ((b - a) * inverse % q)) for a, b in zip(by_p, by_q, strict=True)]


def _decrypt_modulo(p: gmpy2.mpz, q: gmpy2.mpz, ciphertexts: Sequence[int]) -> list[gmpy2.mpz]:
    """The plaintexts modulo p, one of the two primes p and q.

    Modulo p^2 a ciphertext to the power p - 1 loses its randomness: (1 + n v)^(p-1) = 1 + (p-1) v n, as
    n^2 = 0, so (c^(p-1) - 1)/p = -v q modulo p.
    """
    square = p * p
    factor = gmpy2.invert(-q, p)
    raised = _raise_all([c % square for c in ciphertexts], p - 1, square)
    return [(power - 1) // p * factor % p for power in raised]


def check_ciphertexts(public: PublicKey, ciphertexts: Sequence[int]) -> None:
    """Raises ValueError unless every ciphertext c has 0 < c < n^2 and gcd(c, n) = 1."""
    square = public.square
    product = gmpy2.mpz(1)
    for c in ciphertexts:
        if not 0 < c < square:
            raise ValueError("a ciphertext must lie strictly between 0 and n^2")
        product = product * c % public.n
    # n divides out of the product exactly when one of them shares a factor with n.
    if gmpy2.gcd(product, public.n) != 1:
        raise ValueError("a ciphertext must have no factor in common with n")


def ciphertexts_to_bytes(public: PublicKey, ciphertexts: Sequence[int]) -> bytes:
    """The ciphertexts one after another, big-endian, each `PublicKey.ciphertext_bytes` wide."""
    check_ciphertexts(public, ciphertexts)
    return b"".join(c.to_bytes(public.ciphertext_bytes, "big") for c in ciphertexts)


def ciphertexts_from_bytes(public: PublicKey, data: bytes) -> list[int]:
    """The inverse of `ciphertexts_to_bytes`; every ciphertext is checked.

    Raises:
        ValueError: not a whole number of ciphertexts, or an invalid one.
    """
    width = public.ciphertext_bytes
    if len(data) % width:
        raise ValueError(f"ciphertexts must be a multiple of {width} bytes long")
    found = [int.from_bytes(data[i : i + width], "big") for i in range(0, len(data), width)]
    check_ciphertexts(public, found)
    return found


def secret_to_dict(secret: SecretKey) -> dict[str, str]:
    """The secret key as hexadecimal texts ``p`` and ``q``, for the curator's own protected store."""
    return {"p": f"{int(secret.p):x}", "q": f"{int(secret.q):x}"}


def secret_from_dict(data: Mapping[str, str], *, allow_small: bool = False) -> SecretKey:
    """The inverse of `secret_to_dict`; ValueError if it is not such a dictionary."""
    try:
        p, q = int(data["p"], 16), int(data["q"], 16)
    except (KeyError, TypeError, ValueError):
        raise ValueError("a stored secret key must have the hexadecimal texts p and q") from None
    return SecretKey(PublicKey(p * q, allow_small), p, q)


def residue_base(public: PublicKey) -> int:
    """h^n mod n^2, h = -x^2 mod n with x from SHAKE-256 of n: an n-th residue that nobody chose."""
    size = (public.bits + 7) // 8
    seed = b"privity paillier base v1" + public.n.to_bytes(size, "big")
    number = 0
    while True:
        # 128 bits more than n, so that x is as good as uniform.
        digest = hashlib.shake_256(seed + number.to_bytes(4, "big")).digest(size + 16)
        x = int.from_bytes(digest, "big") % public.n
        if math.gcd(x, public.n) == 1:
            return int(gmpy2.powmod(-x * x % public.n, public.n, public.square))
        number += 1


def _residues(public: PublicKey, count: int, exponents: Exponents) -> list[int]:
    """Fresh independent n-th residues modulo n^2."""
    if exponents is Exponents.FULL:
        return _powers(public, _random_units(public, count))
    bits = public.bits // 2 if exponents is Exponents.HALF else SHORT_BITS
    drawn = [secrets.randbits(bits) for _ in range(count)]
    return powers(_base_of(public.n), public.square, bits, drawn) if count else []


@lru_cache(maxsize=4)
def _base_of(n: int) -> int:
    return residue_base(PublicKey(n, allow_small=True))


def _random_units(public: PublicKey, count: int) -> list[int]:
    """Uniform independent units modulo n."""
    units: list[int] = []
    while len(units) < count:
        r = secrets.randbelow(public.n)
        if math.gcd(r, public.n) == 1:
            units.append(r)
    return units


def _powers(public: PublicKey, units: Sequence[int]) -> list[int]:
    """r^n mod n^2 for each r."""
    return _raise_all(units, public.n, public.square)


def _raise_all(bases: Sequence[int], exponent: int, modulus: int) -> list[gmpy2.mpz]:
    """base^exponent for each base; gmpy2 lets go of the interpreter lock, so all cores work."""
    workers = min(os.cpu_count() or 1, len(bases))
    if workers < 2:
        return list(gmpy2.powmod_base_list(list(bases), exponent, modulus))
    with ThreadPoolExecutor(workers) as pool:
        parts = pool.map(
            lambda start: gmpy2.powmod_base_list(list(bases[start::workers]), exponent, modulus), range(workers)
        )
        raised: list[gmpy2.mpz] = [gmpy2.mpz(0)] * len(bases)
        for start, part in enumerate(parts):
            raised[start::workers] = part
    return raised


def _encrypt_with(public: PublicKey, values: Sequence[int], residues: Sequence[int]) -> list[int]:
    """(1 + n v) s mod n^2 for each value v and n-th residue s."""
    for value in values:
        if not (-public.n < 2 * value and value < public.n):
            raise ValueError("a plaintext must lie between -n/2 and n - 1")
    square = gmpy2.mpz(public.square)
    return [int((1 + public.n * (v % public.n)) * s % square) for v, s in zip(values, residues, strict=True)]
