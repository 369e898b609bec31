"""Where randomness comes from, and exact uniform integers made of it.

Production code uses `SystemEntropy` only. `SeededEntropy` repeats itself and is for tests; whatever is
made with it must be marked as not private (``entropy.private`` is False).
"""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

LARGEST_BOUND = 2**62
"""The largest bound that `uniform_below` takes."""


class Entropy(Protocol):
    """A source of independent uniform bytes; ``private`` says whether nobody can repeat them."""

    private: bool

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        ...


class SystemEntropy:
    """The operating system's cryptographic generator: the only source on a private path."""

    private: bool = True

    def take(self, count: int) -> bytes:
        """``count`` fresh bytes of the operating system."""
        return os.urandom(count)


class SeededEntropy:
    """A repeatable stream for tests: ChaCha20 under SHA-256 of (seed, label). Never private.

    Streams of different labels are independent, so that a redraw in one step shifts no other step.
    """

    private: bool = False

    def __init__(self, seed: bytes, label: str) -> None:
        text = b"privity test entropy v1" + len(seed).to_bytes(8, "big") + seed + label.encode()
        key = hashlib.sha256(text).digest()
        self._stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes of the stream."""
        return self._stream.update(bytes(count))


def _words(entropy: Entropy, count: int) -> NDArray[np.uint64]:
    """``count`` uniform 64-bit words, little-endian on every machine."""
    return np.frombuffer(entropy.take(8 * count), dtype="<u8").astype(np.uint64, copy=False)


def uniform_below(bounds: int | IntArray | NDArray[np.uint64], entropy: Entropy, size: int | None = None) -> IntArray:
    """Independent integers, the i-th exactly uniform on 0 .. bounds[i]-1.

    A word is cut to the bits of ``bound - 1`` and drawn again while it is not below the bound (at most
    two draws on average), so there is neither a rounding nor a modulo bias.

    Args:
        bounds: one bound for all, or an int64 or uint64 array of shape (size,); each 1 .. 2**62.
        entropy: where the bits come from.
        size: how many to draw; needed for a single bound, else left out.

    Returns:
        int64 array of shape (size,).

    Raises:
        ValueError: a bound outside 1 .. 2**62, or a missing or contradictory size.
    """
    if isinstance(bounds, np.ndarray):
        if bounds.ndim != 1 or bounds.dtype.kind not in "iu" or size not in (None, bounds.size):
            raise ValueError("bounds must be one integer, or a 1-D integer array of the given size")
        return _below_each(bounds, entropy)
    if size is None or size < 0:
        raise ValueError("a single bound needs a size of at least 0")
    if not 1 <= bounds <= LARGEST_BOUND:
        raise ValueError("each bound must lie in 1 .. 2**62")
    return _below_one(int(bounds), size, entropy)


def _below_one(bound: int, size: int, entropy: Entropy) -> IntArray:
    if bound == 1:
        return np.zeros(size, dtype=np.int64)
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    if bound == int(mask) + 1:
        return (_words(entropy, size) & mask).view(np.int64)
    drawn = np.empty(size, dtype=np.uint64)
    filled = 0
    while filled < size:
        words = _words(entropy, size - filled) & mask
        good = words[words < np.uint64(bound)]
        drawn[filled : filled + good.size] = good
        filled += good.size
    return drawn.view(np.int64)


def _below_each(bounds: NDArray[np.int64] | NDArray[np.uint64], entropy: Entropy) -> IntArray:
    if bounds.size and (int(bounds.min()) < 1 or int(bounds.max()) > LARGEST_BOUND):
        raise ValueError("each bound must lie in 1 .. 2**62")
    limits = bounds.astype(np.uint64)
    masks = limits - np.uint64(1)
    bits = int(masks.max()).bit_length() if masks.size else 0
    shift = 1
    while shift < bits:  # copy the highest bit into all lower ones
        masks |= masks >> np.uint64(shift)
        shift *= 2
    drawn = _words(entropy, limits.size) & masks
    again = np.flatnonzero(drawn >= limits)
    while again.size:
        words = _words(entropy, again.size) & masks[again]
        drawn[again] = words
        again = again[words >= limits[again]]
    return drawn.view(np.int64)
