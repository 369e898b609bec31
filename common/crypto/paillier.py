"""Paillier encryption of integers, in the form of Damgard, Jurik and Nielsen.

A ciphertext of v is (1 + n v) s mod n^2 with a random n-th residue s: how it is made stands in `residues`.

Plaintexts are residues modulo n; a signed integer v with -n/2 < v stands for v mod n. Only raw integers
are used: a `phe` EncryptedNumber of a float would carry its exponent in clear.

Whoever holds the secret key can compute the randomness of any ciphertext it decrypts. So every
ciphertext made here has fresh randomness of the operating system, and a product of ciphertexts must go
through `rerandomise` before the key holder sees it.

Security is computational (decisional composite residuosity; 3072 bits: about 128-bit security) and not
post-quantum. Source: Paillier, "Public-Key Cryptosystems Based on Composite Degree Residuosity Classes"
(1999).
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import gmpy2

from privity.common.crypto.powers import raise_all
from privity.common.crypto.residues import Residues, residue_base

SMALLEST_BITS, LARGEST_BITS = 2048, 8192
"""Of a modulus: tests alone use smaller ones, and with larger ones a curator could keep a party busy for hours."""

SMALL_FACTOR_BITS = 20
"""A modulus with a prime factor of so few bits is refused."""

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


def check_modulus(n: int) -> None:
    """Raise ValueError for a modulus that whoever has the ciphertexts could factor, or read without factoring it.

    It shows no more than that: see SECURITY.md for what remains to a curator that cheats.
    """
    if n.bit_length() > LARGEST_BITS:
        raise ValueError(f"the modulus has more than {LARGEST_BITS} bits")
    if n % 4 != 1:
        raise ValueError("the modulus is not 1 modulo 4, as a product of two primes that are 3 modulo 4 is")
    if gmpy2.gcd(n, _small_primes()) != 1:
        raise ValueError(f"the modulus has a prime factor of at most {SMALL_FACTOR_BITS} bits")
    # Every prime is found prime, in one round as in many.
    if gmpy2.is_prime(n, 1) or gmpy2.is_power(n):
        raise ValueError("the modulus is a prime or a power of one number")
    if residue_base(n) == 1:
        raise ValueError("the base of the randomness that follows from the modulus is 1")


@cache
def _small_primes() -> gmpy2.mpz:
    """The product of all primes of at most `SMALL_FACTOR_BITS` bits."""
    return gmpy2.primorial(1 << SMALL_FACTOR_BITS)


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


def encrypt(public: PublicKey, values: Sequence[int], residues: Residues | None = None) -> list[int]:
    """Each value under fresh randomness of the operating system.

    Args:
        residues: where the randomness comes from; None makes it with exponents of half the modulus.

    Raises:
        ValueError: a value outside -n/2 .. n-1, or the randomness is for another key.
    """
    return _encrypt_with(public, values, _fresh(public, len(values), residues))


def _fresh(public: PublicKey, count: int, residues: Residues | None) -> list[gmpy2.mpz]:
    if residues is None:
        residues = Residues(public.n)
    if residues.n != public.n:
        raise ValueError("the randomness is for another key")
    return residues.take(count)


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


def rerandomise(public: PublicKey, ciphertexts: Sequence[int], residues: Residues | None = None) -> list[int]:
    """The same plaintexts under fresh, independent randomness, made as in `encrypt`.

    Raises:
        ValueError: an invalid ciphertext, or the randomness is for another key.
    """
    check_ciphertexts(public, ciphertexts)
    square = gmpy2.mpz(public.square)
    fresh = _fresh(public, len(ciphertexts), residues)
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
    raised = raise_all([c % square for c in ciphertexts], p - 1, square)
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


def _encrypt_with(public: PublicKey, values: Sequence[int], residues: Sequence[int]) -> list[int]:
    """(1 + n v) s mod n^2 for each value v and n-th residue s."""
    for value in values:
        if not (-public.n < 2 * value and value < public.n):
            raise ValueError("a plaintext must lie between -n/2 and n - 1")
    square = gmpy2.mpz(public.square)
    return [int((1 + public.n * (v % public.n)) * s % square) for v, s in zip(values, residues, strict=True)]
