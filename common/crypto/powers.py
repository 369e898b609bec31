"""Powers of many bases with one exponent, on all cores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import gmpy2


def raise_all(bases: Sequence[int], exponent: int, modulus: int) -> list[gmpy2.mpz]:
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
