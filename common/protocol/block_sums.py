"""The two secure sums: how a block of a party's vector is hidden, added to others, and revealed.

``PaillierSum``: packed into plaintexts with pairwise masks inside, under the run's key; its holder alone decrypts a
sum. ``MaskedSum``: integers modulo 2^64 under pairwise masks alone. They vanish in the sum of all members, which is
then readable for whoever made it; nobody holds a key. Both need every member's block, or nothing comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privity.common.crypto import paillier
from privity.common.crypto.masks import PairwiseMasks
from privity.common.crypto.packing import Layout, pack, unpack
from privity.common.crypto.residues import Residues

BLOCK_WORDS = 1 << 16
"""Integers of a block under masks alone: 512 KiB."""


class BlockSum(Protocol):
    """Hides, adds and reveals one vector of a round, block by block; payloads are bytes.

    Every method raises ValueError, with the cause, for what is not of this round and block.
    """

    @property
    def blocks(self) -> int: ...

    @property
    def binding(self) -> dict[str, Any]:
        """What blobs are bound to: key and layout."""
        ...

    def cells_of(self, block: int) -> slice:
        """Which cells of the vector are in the block."""
        ...

    def ciphertexts(self, block: int) -> int:
        """Ciphertexts of a payload."""
        ...

    def conceal(self, values: NDArray[np.int64], block: int, masks: PairwiseMasks) -> bytes:
        """The payload of one party: its values of the block, int64 of shape (cells of the block,)."""
        ...

    def check(self, payload: bytes, block: int) -> None:
        """ValueError unless it is a payload of this block."""
        ...

    def add(self, payloads: Sequence[bytes], block: int) -> bytes:
        """The payload of the sum; it shows nothing of how it was made up."""
        ...

    def reveal(self, payload: bytes, block: int, secret: paillier.SecretKey | None) -> NDArray[np.int64]:
        """The sum's values, int64 of shape (cells of the block,)."""
        ...


class PaillierSum:
    """Under a Paillier key.

    Args:
        residues: the randomness of ciphertexts; None makes it anew, with exponents of half the modulus.
    """

    def __init__(self, public: paillier.PublicKey, layout: Layout, residues: Residues | None = None) -> None:
        self.public, self.layout = public, layout
        self._residues = residues

    @property
    def blocks(self) -> int:
        return self.layout.blocks

    @property
    def binding(self) -> dict[str, Any]:
        layout = self.layout
        return {
            "method": "paillier",
            "key_id": self.public.key_id,
            "layout": [layout.cells, layout.width, layout.slots],
        }

    def cells_of(self, block: int) -> slice:
        return self.layout.cells_of(block)

    def ciphertexts(self, block: int) -> int:
        return self.layout.block(block).plaintexts

    def conceal(self, values: NDArray[np.int64], block: int, masks: PairwiseMasks) -> bytes:
        return self.encrypted(self.masked(self.packed(values, block), masks))

    def packed(self, values: NDArray[np.int64], block: int) -> list[int]:
        """The values as signed plaintexts."""
        return pack(values, self.layout.block(block))

    def masked(self, plaintexts: Sequence[int], masks: PairwiseMasks) -> list[int]:
        """The plaintexts plus the party's masks: residues modulo n."""
        n = self.public.n
        return [(p + m) % n for p, m in zip(plaintexts, masks.residues(n, len(plaintexts)), strict=True)]

    def encrypted(self, plaintexts: Sequence[int]) -> bytes:
        return self._bytes(paillier.encrypt(self.public, plaintexts, self._residues))

    def _bytes(self, ciphertexts: Sequence[int]) -> bytes:
        return paillier.ciphertexts_to_bytes(self.public, ciphertexts)

    def check(self, payload: bytes, block: int) -> None:
        self._read(payload, block)

    def _read(self, payload: bytes, block: int) -> list[int]:
        if len(payload) != self.ciphertexts(block) * self.public.ciphertext_bytes:
            raise ValueError("not the number of ciphertexts that the layout needs")
        return paillier.ciphertexts_from_bytes(self.public, payload)

    def add(self, payloads: Sequence[bytes], block: int) -> bytes:
        product = paillier.multiply(self.public, [self._read(payload, block) for payload in payloads])
        # Fresh randomness: the key holder recovers the randomness of what it decrypts, and could tell
        # the parties' ciphertexts apart in a bare product (privacy.md, section 3).
        return self._bytes(paillier.rerandomise(self.public, product, self._residues))

    def reveal(self, payload: bytes, block: int, secret: paillier.SecretKey | None) -> NDArray[np.int64]:
        if secret is None or secret.public != self.public:
            raise ValueError("it is encrypted under another key than the one at hand")
        plaintexts = paillier.decrypt(secret, self._read(payload, block))
        return unpack(plaintexts, self.public.n, self.layout.block(block))


class MaskedSum:
    """Under pairwise masks alone.

    Args:
        cells: length of the vector.
        width: bits, sign included, that a cell of the revealed sum is proved to fit; at most 62 (`packing.slot_width`).
    """

    def __init__(self, cells: int, width: int) -> None:
        self._cells, self.width = cells, width

    @property
    def blocks(self) -> int:
        return -(-self._cells // BLOCK_WORDS)

    @property
    def binding(self) -> dict[str, Any]:
        return {"method": "masks", "cells": self._cells, "modulus_bits": 64}

    def cells_of(self, block: int) -> slice:
        if not 0 <= block < self.blocks:
            raise ValueError(f"there are {self.blocks} blocks, numbered from 0")
        return slice(block * BLOCK_WORDS, min((block + 1) * BLOCK_WORDS, self._cells))

    def _words(self, block: int) -> int:
        cells = self.cells_of(block)
        return cells.stop - cells.start

    def ciphertexts(self, block: int) -> int:
        return 0

    def conceal(self, values: NDArray[np.int64], block: int, masks: PairwiseMasks) -> bytes:
        if values.dtype != np.int64 or values.shape != (self._words(block),):
            raise ValueError("the values must be int64, one for each cell of the block")
        return (values.view(np.uint64) + masks.words(values.size)).astype("<u8").tobytes()

    def check(self, payload: bytes, block: int) -> None:
        self._read(payload, block)

    def _read(self, payload: bytes, block: int) -> NDArray[np.uint64]:
        if len(payload) != 8 * self._words(block):
            raise ValueError("not the number of integers that the block has")
        return np.frombuffer(payload, dtype="<u8")

    def add(self, payloads: Sequence[bytes], block: int) -> bytes:
        total = np.zeros(self._words(block), dtype=np.uint64)
        for payload in payloads:
            total += self._read(payload, block)
        return total.astype("<u8").tobytes()

    def reveal(self, payload: bytes, block: int, secret: paillier.SecretKey | None) -> NDArray[np.int64]:
        del secret  # nobody holds one
        values = self._read(payload, block).astype(np.uint64).view(np.int64)
        bound = 1 << (self.width - 1)
        if int(values.max()) >= bound or int(values.min()) <= -bound:
            raise ValueError("it is no sum of vectors that fit: not all masks are in")
        return values
