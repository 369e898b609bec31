"""Exact draws by inversion: one random word each, from a table of the distribution function. No floats anywhere.

A law on 0, 1, 2, ... is given by bounds of the ratios of its successive probabilities. Let U be uniform on [0, 1), its
bits drawn as they are needed, and F the distribution function: the least k with U < F(k) has the law.

*Table.* T_k = floor(2^64 F(k)), exactly: bounds of the weights, of their sum and of what lies beyond them are carried
in integers, rounded outwards, and made finer until both bounds have the same floor. They come to have it unless F(k) is
a whole number of 2^-64; if it were, no table would come about, and no draw. The table ends where T_k = 2^64 - 1.

*Value.* u is the number of the first 64 bits of U. If u < T_k then U < F(k), and if u > T_k then U > F(k). So if u is
none of the T_k, it decides: the least k with u < T_k. If it is one of them, which is so with probability below
2^-64 times their number, 64 more bits are drawn and compared with floor(2^128 F(k)), and so on. No bit of U is ever
left out, so that the law is exact.

Source of the idea: inversion with bits drawn lazily, Devroye, "Non-Uniform Random Variate Generation" (1986), II.2 and
XV; the bounds are our own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count

import numpy as np
from numpy.typing import NDArray

from privity.common.privacy.random_bits import Entropy, IntArray

WORD_BITS = 64
_SPARE_BITS = 64

_BUCKET_BITS = 16
"""Of a word: most of their numbers decide a value by themselves."""

_LEAST_DRAWS, _DRAWS_A_SCALE = 1 << 17, 1 << 11

Ratio = tuple[int, int, int]
"""In units of 2^-bits: a lower and an upper bound of w_(k+1)/w_k, and an upper bound below 1 of all later ratios."""

Ratios = Callable[[int], Iterator[Ratio]]
"""bits -> the ratios of a law for k = 0, 1, ..."""


def worth_a_table(size: int, scale: Fraction | int) -> bool:
    """Whether so many draws of a law of this scale save more than the table takes, which grows with the scale."""
    return size >= max(_LEAST_DRAWS, _DRAWS_A_SCALE * scale)


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers below and above 2^bits exp(-x), x >= 0, at most a few units apart.

    exp(-x) = exp(-x/2^j)^(2^j) with x/2^j <= 1/2. The series of that alternates and falls: what is left out of it is
    less than its first term.
    """
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 1)
    fine = bits + 2 * halvings + 32
    top, bottom = x.numerator, x.denominator << halvings
    term_low = term_high = low = high = 1 << fine
    for place in count(1):
        term_low = term_low * top // (bottom * place)
        term_high = -(-term_high * top // (bottom * place))
        if term_high <= 1:
            break
        low, high = (low - term_high, high - term_low) if place % 2 else (low + term_low, high + term_high)
    low, high = max(low - term_high, 0), high + term_high
    for _ in range(halvings):
        low, high = low * low >> fine, -(-high * high >> fine)
    return low >> fine - bits, -(-high >> fine - bits)


def polya_ratios(quota: int, scale: Fraction) -> Ratios:
    """Of Polya(1/quota) with ratio a = exp(-1/scale): w_(k+1)/w_k = a (k q + 1)/(q (k + 1)), at most a."""

    def ratios(bits: int) -> Iterator[Ratio]:
        low, high = exp_bounds(1 / scale, bits)
        for k in count():
            top, bottom = k * quota + 1, quota * (k + 1)
            yield low * top // bottom, -(-high * top // bottom), high

    return ratios


def gaussian_ratios(sigma_squared: Fraction) -> Ratios:
    """Of |Z|, Z discrete Gaussian of parameter s2: weights 1, then 2 exp(-k^2/(2 s2)).

    The ratios are exp(-(2k+1)/(2 s2)), the first one twice that, and fall.
    """

    def ratios(bits: int) -> Iterator[Ratio]:
        # Ratios are made one of the other, which adds up errors: hence more bits.
        fine = bits + 32
        low, high = exp_bounds(1 / (2 * sigma_squared), fine)
        step_low, step_high = exp_bounds(1 / sigma_squared, fine)
        for k in count():
            times = 1 if k else 2
            yield times * low >> 32, -(-times * high >> 32), -(-high >> 32)
            low, high = low * step_low >> fine, -(-high * step_high >> fine)

    return ratios


class TabulatedLaw:
    """A law on 0, 1, 2, ..., and its table.

    Args:
        ratios: of its probabilities, of which none is 0.
    """

    def __init__(self, ratios: Ratios) -> None:
        self._ratios = ratios
        self._table: NDArray[np.uint64] = np.array(self._floors(WORD_BITS), dtype=np.uint64)
        starts = np.arange(1 << _BUCKET_BITS, dtype=np.uint64) << np.uint64(WORD_BITS - _BUCKET_BITS)
        ends = starts | np.uint64((1 << WORD_BITS - _BUCKET_BITS) - 1)
        self._first: IntArray = np.searchsorted(self._table, starts, side="left").astype(np.int64)
        self._mixed: NDArray[np.bool_] = np.searchsorted(self._table, ends, side="right") != self._first

    def draw(self, size: int, entropy: Entropy) -> IntArray:
        """``size`` independent draws: int64 of shape (size,)."""
        words = np.frombuffer(entropy.take(8 * size), dtype="<u8").astype(np.uint64, copy=False)
        buckets = (words >> np.uint64(WORD_BITS - _BUCKET_BITS)).view(np.int64)
        found = self._first[buckets]
        unsure = np.flatnonzero(self._mixed[buckets])
        words = words[unsure]
        places = np.searchsorted(self._table, words, side="right")
        found[unsure] = places
        for place in np.flatnonzero(self._table[np.maximum(places, 1) - 1] == words).tolist():
            found[unsure[place]] = self._decided(int(words[place]), entropy)
        return found

    def _decided(self, word: int, entropy: Entropy) -> int:
        """The value whose first word is in the table: by as many more as it takes."""
        bits = WORD_BITS
        while True:
            word = word << WORD_BITS | int.from_bytes(entropy.take(WORD_BITS // 8), "little")
            bits += WORD_BITS
            floors = self._floors(bits)
            place = bisect_right(floors, word)
            if place == 0 or floors[place - 1] != word:
                return place

    def _floors(self, bits: int) -> list[int]:
        """floor(2^bits F(k)) for k = 0, 1, ..., up to the first that is 2^bits - 1."""
        spare = _SPARE_BITS
        while True:
            found = self._tried(bits, spare)
            if found is not None:
                return found
            spare *= 2

    def _tried(self, bits: int, spare: int) -> list[int] | None:
        """The same by bounds in units of 2^-(bits + 2 spare); None if these are too coarse."""
        fine = bits + 2 * spare
        one = 1 << fine
        low = high = one
        lows, highs = [one], [one]
        for ratio_low, ratio_high, later in self._ratios(fine):
            low, high = low * ratio_low >> fine, -(-high * ratio_high >> fine)
            if later < one:
                # What lies beyond the weights so far: at most a geometric series.
                beyond = -(-high * one // (one - later))
                if beyond << bits + spare < lows[-1]:
                    break
            lows.append(lows[-1] + low)
            highs.append(highs[-1] + high)
        whole_low, whole_high, most = lows[-1], highs[-1] + beyond, (1 << bits) - 1
        floors = []
        for below, above in zip(lows, highs, strict=True):
            floor = (below << bits) // whole_high
            if floor != min((above << bits) // whole_low, most):
                return None
            floors.append(floor)
            if floor == most:
                return floors
        return None
