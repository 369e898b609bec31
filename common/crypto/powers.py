"""Work on big integers on all cores: GMP lets go of the interpreter lock, so threads do."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import gmpy2

MOST_WORKERS = 8

Numbers = list[gmpy2.mpz]


def spread(work: Callable[[Sequence[int]], Numbers], numbers: Sequence[int], each: int = 1) -> Numbers:
    """``work`` of the numbers, in their order, done in parts at once.

    Args:
        each: numbers for which a thread is worth its while.
    """
    workers = min(os.cpu_count() or 1, MOST_WORKERS, len(numbers) // each)
    if workers < 2:
        return work(numbers)
    found: Numbers = [gmpy2.mpz(0)] * len(numbers)
    with ThreadPoolExecutor(workers) as pool:
        parts = pool.map(lambda start: work(numbers[start::workers]), range(workers))
        for start, part in enumerate(parts):
            found[start::workers] = part
    return found


def raise_all(bases: Sequence[int], exponent: int, modulus: int) -> Numbers:
    """base^exponent for each base."""
    return spread(lambda part: list(gmpy2.powmod_base_list(list(part), exponent, modulus)), bases)
