"""Finite fields GF(q), for every prime power q, as tables of sums and products.

The elements are the numbers 0 to q-1. With q = p^k the digits of a number to the base p are the coefficients
of a polynomial over the integers modulo p; products are taken modulo a primitive polynomial of degree k
(Lidl and Niederreiter, Finite Fields, chapters 2 and 3). 0 and 1 are the neutral elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

Table = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class FiniteField:
    """GF(q): ``sums[a][b]`` is a + b and ``products[a][b]`` is a * b."""

    order: int
    sums: Table
    products: Table


@cache
def prime_power(number: int) -> tuple[int, int] | None:
    """(p, k) if ``number`` is p^k with p prime and k >= 1, else None."""
    if number < 2:
        return None
    prime = next((p for p in range(2, int(number**0.5) + 1) if number % p == 0), number)
    rest, exponent = number, 0
    while rest % prime == 0:
        rest, exponent = rest // prime, exponent + 1
    return (prime, exponent) if rest == 1 else None


@cache
def finite_field(order: int) -> FiniteField:
    """GF(``order``).

    Raises:
        ValueError: the order is not a prime power.
    """
    parts = prime_power(order)
    if parts is None:
        raise ValueError(f"there is no field with {order} elements: it is not a prime power")
    prime, exponent = parts
    elements = range(order)
    if exponent == 1:
        sums = tuple(tuple((a + b) % prime for b in elements) for a in elements)
        return FiniteField(order, sums, tuple(tuple(a * b % prime for b in elements) for a in elements))
    sums = tuple(tuple(_add(a, b, prime) for b in elements) for a in elements)
    powers = next(found for low in elements if (found := _powers(low, order, prime, sums)))
    exponents = {power: place for place, power in enumerate(powers)}

    def multiply(a: int, b: int) -> int:
        return powers[(exponents[a] + exponents[b]) % (order - 1)] if a and b else 0

    return FiniteField(order, sums, tuple(tuple(multiply(a, b) for b in elements) for a in elements))


def _add(a: int, b: int, prime: int) -> int:
    """Sum of two polynomials: digit by digit modulo ``prime``."""
    result, place = 0, 1
    while a or b:
        result += (a + b) % prime * place
        a, b, place = a // prime, b // prime, place * prime
    return result


def _powers(low: int, order: int, prime: int, sums: Table) -> list[int]:
    """The powers 1, x, x^2, ... of the polynomial x, where x^k is ``low``; empty unless they are all q-1 non-zero."""
    top = order // prime
    powers = [1]
    while True:
        leading, rest = divmod(powers[-1], top)
        power = rest * prime
        for _ in range(leading):
            power = sums[power][low]
        if power == 1:
            return powers if len(powers) == order - 1 else []
        if power == 0 or len(powers) == order:
            return []
        powers.append(power)
