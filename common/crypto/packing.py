"""Many small signed integers in one Paillier plaintext, and the proof that sums of them still fit.

A plaintext is ``sum_i x_i 2^(w i)``, one signed integer. Packed vectors add slot by slot, and the sum is
decoded exactly if and only if every slot's sum lies within +-(2^(w-1) - 1): balanced digits.

Slot width. A slot of the revealed sum is a count of at most n rows plus X, the sum of K noise shares of
shape 1/(K-t) each, of scale b; a = exp(-1/b). Put r = K/(K-t).

Theorem. For 0 < theta < 1 and T > 0: P(X >= T) <= (1 - theta^2)^(-r) exp(-theta T/b), and the same for
P(X <= -T) and for a single share.

Proof. With l = theta/b, E exp(l X) = [(1-a)^2 / ((1 - a e^l)(1 - a e^-l))]^r. Let u = 1/b and
g(y) = (1 - e^-y)/y = integral of e^(-ys) over s in [0, 1], which is log-convex in y (Hoelder), so
g(u)^2 <= g((1-theta)u) g((1+theta)u). Multiplying by u^2 and dividing shows that the bracket is at most
1/((1-theta)(1+theta)). Markov's inequality on exp(l X) gives the theorem; X is symmetric; a single share
has a smaller exponent r. QED.

So T >= (b/theta) [r ln(1/(1-theta^2)) + ln N + 80 ln 2], for the best of theta = 1 - 2^-j, keeps all of N
events together below 2^-80. N = 2 cells (K+1): both signs, every cell, the sum and each party's own share
(which is packed too). The difference of two shares (noise replacement) has at most r = 2, so by the same
theorem with theta = 3/4 it stays below 4T of `slot_width`'s first formula, which leaves it that room.
All of it is computed in rationals, rounded upwards, so that every machine finds the same width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

WIDEST = 62
"""Widest slot in bits: decoded digits are int64."""

BLOCK_PLAINTEXTS = 256
"""Plaintexts that are encrypted, sent, combined and decrypted together."""

SECURITY_BITS = 80
"""Overflow anywhere in a round has probability below 2**-SECURITY_BITS."""

_LN2 = Fraction(693_147_180_559_945_309_418, 10**21)  # rounded up
_BLOCK_BITS = 1 << 25  # bits worked on together (one byte each)


@dataclass(frozen=True)
class Layout:
    """How ``cells`` integers sit in plaintexts: ``slots`` of ``width`` bits each, lowest first.

    Raises ValueError unless the largest packed number stays below n/4 for every n of ``modulus_bits``.
    """

    cells: int
    width: int
    slots: int
    modulus_bits: int

    def __post_init__(self) -> None:
        if self.cells < 1:
            raise ValueError("a layout needs at least one cell")
        if not 2 <= self.width <= WIDEST:
            raise ValueError(f"a slot must be 2 to {WIDEST} bits wide")
        if self.slots < 1 or self.slots * self.width > self.modulus_bits - 3:
            raise ValueError("the slots must number at least one and leave 3 bits of the modulus free")

    @classmethod
    def of(cls, cells: int, width: int, modulus_bits: int) -> Layout:
        """As many slots to a plaintext as fit."""
        return cls(cells, width, (modulus_bits - 3) // width, modulus_bits)

    @property
    def plaintexts(self) -> int:
        """How many plaintexts carry the cells."""
        return -(-self.cells // self.slots)

    @property
    def blocks(self) -> int:
        """How many blocks of `BLOCK_PLAINTEXTS` plaintexts, the last one shorter, carry the cells."""
        return -(-self.plaintexts // BLOCK_PLAINTEXTS)

    def cells_of(self, block: int) -> slice:
        """Which cells are in a block, numbered from 0."""
        if not 0 <= block < self.blocks:
            raise ValueError(f"there are {self.blocks} blocks, numbered from 0")
        each = BLOCK_PLAINTEXTS * self.slots
        return slice(block * each, min((block + 1) * each, self.cells))

    def block(self, number: int) -> Layout:
        """The layout of one block by itself."""
        cells = self.cells_of(number)
        return Layout(cells.stop - cells.start, self.width, self.slots, self.modulus_bits)


def slot_width(rows: int, scale: Fraction, cells: int, parties: int, tolerate: int) -> int:
    """Bits of one slot such that any overflow in the round has probability below 2^-80.

    The larger of ``2 + ceil(log2(n + 2T))`` with T = b(ln(2 cells) + 80 ln 2), which is the bound for one
    discrete Laplace variable with a bit to spare, and the bound proved above for every K and t.

    Args:
        rows: n, the most that a cell of the sum can count.
        scale: b, the scale of the discrete Laplace noise, exact.
        cells: number of cells of the round.
        parties: K, how many shares are added.
        tolerate: t, how many parties may pool what they know; shares have shape 1/(K-t).

    Raises:
        ValueError: an argument out of range, or no slot of at most 62 bits is wide enough.
    """
    if rows < 1 or scale <= 0 or cells < 1:
        raise ValueError("rows and cells must be at least 1 and the scale above 0")
    if parties < 1 or not 0 <= tolerate < parties:
        raise ValueError("tolerate must be at least 0 and below the number of parties")
    b = Fraction(scale)
    single = b * (_ln(2 * cells) + SECURITY_BITS * _LN2)
    usual = 2 + (ceil(rows + 2 * single) - 1).bit_length()

    shape = Fraction(parties, parties - tolerate)
    events = _ln(2 * cells * (parties + 1)) + SECURITY_BITS * _LN2
    reach = min(_chernoff_reach(b, shape, events, j) for j in range(1, 25))
    proved = 1 + (rows + ceil(reach)).bit_length()

    width = max(usual, proved)
    if width > WIDEST:
        raise ValueError(f"the sum would need slots of more than {WIDEST} bits: the noise scale is too large")
    return width


def pack(values: NDArray[np.int64], layout: Layout) -> list[int]:
    """``values`` (int64, shape (cells,)) as `Layout.plaintexts` signed integers.

    Adding 2^(w-1) to every digit makes it non-negative, so that packing is to write bits one after
    another; the sum of what was added is taken off at the end.

    Raises:
        ValueError: a wrong shape or type, or a value outside +-(2^(w-1) - 1).
    """
    if values.dtype != np.int64 or values.shape != (layout.cells,):
        raise ValueError("the values must be int64, one for each cell of the layout")
    half = 1 << (layout.width - 1)
    if int(values.max()) >= half or int(values.min()) <= -half:
        raise ValueError("a value does not fit into its slot; the round cannot go on")
    offset = _offset(layout)
    packed: list[int] = []
    step = _plaintexts_at_once(layout)
    for start in range(0, layout.plaintexts, step):
        rows = min(step, layout.plaintexts - start)
        digits = np.full(rows * layout.slots, half, dtype="<i8")
        part = values[start * layout.slots : (start + rows) * layout.slots]
        digits[: part.size] += part
        bits = np.unpackbits(digits.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        lines = np.packbits(bits[:, : layout.width].reshape(rows, -1), axis=1, bitorder="little")
        packed.extend(int.from_bytes(line.tobytes(), "little") - offset for line in lines)
    return packed


def unpack(plaintexts: Sequence[int], n: int, layout: Layout) -> NDArray[np.int64]:
    """The cells of (a sum of) packed plaintexts given modulo n: the inverse of `pack`.

    Returns:
        int64 array of shape (cells,).

    Raises:
        ValueError: a wrong number of plaintexts, a modulus or residue out of range, or plaintexts that
            are no sum of packed values (overflow, or not all masks in). Never a clamped value.
    """
    if n.bit_length() != layout.modulus_bits:
        raise ValueError("the modulus is not the one that the layout was planned for")
    if len(plaintexts) != layout.plaintexts:
        raise ValueError("there must be as many plaintexts as the layout has")
    half = 1 << (layout.width - 1)
    offset = _offset(layout)
    used = layout.slots * layout.width
    line_bytes = (used + 7) // 8
    found = np.empty(layout.plaintexts * layout.slots, dtype=np.int64)
    step = _plaintexts_at_once(layout)
    for start in range(0, layout.plaintexts, step):
        part = plaintexts[start : start + step]
        lines = b"".join(_shifted(v, n, offset, used).to_bytes(line_bytes, "little") for v in part)
        raw = np.frombuffer(lines, dtype=np.uint8).reshape(len(part), line_bytes)
        bits = np.unpackbits(raw, axis=1, bitorder="little")[:, :used].reshape(-1, layout.width)
        whole = np.zeros((bits.shape[0], 8), dtype=np.uint8)
        whole[:, : (layout.width + 7) // 8] = np.packbits(bits, axis=1, bitorder="little")
        digits = whole.reshape(-1).view("<i8") - half
        found[start * layout.slots : start * layout.slots + digits.size] = digits
    if np.any(found[layout.cells :]) or np.any(found == -half):
        raise ValueError("the plaintexts are no sum of packed values that fit their slots")
    return found[: layout.cells]


def _shifted(residue: int, n: int, offset: int, used: int) -> int:
    """The signed value of a residue plus the offset: non-negative and within ``used`` bits, or an error."""
    if not 0 <= residue < n:
        raise ValueError("a plaintext must be a residue modulo n")
    signed = residue - n if 2 * residue > n else residue
    shifted = signed + offset
    if shifted < 0 or shifted.bit_length() > used:
        raise ValueError("the plaintexts are no sum of packed values that fit their slots")
    return shifted


def _offset(layout: Layout) -> int:
    """2^(w-1) in every slot."""
    half = 1 << (layout.width - 1)
    return half * (((1 << (layout.width * layout.slots)) - 1) // ((1 << layout.width) - 1))


def _plaintexts_at_once(layout: Layout) -> int:
    return max(1, _BLOCK_BITS // (64 * layout.slots))


def _ln(whole: int) -> Fraction:
    """A rational upper bound of ln(whole): log2 x < bit_length(x^16)/16."""
    return Fraction((whole**16).bit_length(), 16) * _LN2


def _chernoff_reach(b: Fraction, shape: Fraction, events: Fraction, j: int) -> Fraction:
    """T such that the theorem with theta = 1 - 2^-j bounds each event by exp(-events).

    ln(1/(1-theta^2)) = (j-1) ln 2 - ln(1 - 2^-(j+1)), and -ln(1-x) <= x/(1-x).
    """
    theta = 1 - Fraction(1, 2**j)
    factor = (j - 1) * _LN2 + Fraction(1, 2 ** (j + 1) - 1)
    return b / theta * (shape * factor + events)
