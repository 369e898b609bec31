"""Both secure sums against plain addition, block by block."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.crypto import packing, paillier
from privity.common.crypto.masks import PairwiseMasks
from privity.common.crypto.packing import Layout
from privity.common.protocol import block_sums
from privity.common.protocol.block_sums import BlockSum, MaskedSum, PaillierSum

PUBLIC, SECRET = paillier.generate_keypair(256, allow_small=True)
WIDTH = 24


def key(one: str, two: str) -> bytes:
    first, second = sorted((one, two))
    return (first + second).encode().ljust(32, b".")


def masks_of(parties: int, block: int) -> list[PairwiseMasks]:
    names = [f"p{k}" for k in range(parties)]
    return [PairwiseMasks({peer: key(own, peer) for peer in names if peer != own}, own, b"%d" % block) for own in names]


def opened(how: BlockSum, vectors: list[np.ndarray], groups: int) -> np.ndarray:
    """All blocks through, in two levels of the tree where there are groups."""
    found = np.zeros_like(vectors[0])
    for block in range(how.blocks):
        part = how.cells_of(block)
        masks = masks_of(len(vectors), block)
        payloads = [how.conceal(vector[part], block, m) for vector, m in zip(vectors, masks, strict=True)]
        for payload in payloads:
            how.check(payload, block)
        sums = [how.add(payloads[start::groups], block) for start in range(min(groups, len(payloads)))]
        found[part] = how.reveal(how.add(sums, block), block, SECRET)
    return found


@given(st.integers(2, 5), st.integers(1, 90), st.integers(1, 3), st.integers(0, 2**32 - 1), st.booleans())
def test_what_is_opened_is_the_sum(parties: int, cells: int, groups: int, seed: int, paillier_sum: bool) -> None:
    generator = np.random.default_rng(seed)
    vectors = list(generator.integers(-(2**18), 2**18, (parties, cells)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packing, "BLOCK_PLAINTEXTS", 3)
        patched.setattr(block_sums, "BLOCK_WORDS", 16)
        how: BlockSum
        if paillier_sum:
            how = PaillierSum(PUBLIC, Layout.of(cells, WIDTH, PUBLIC.bits))
            assert how.blocks == -(-cells // 30)
        else:
            how = MaskedSum(cells, WIDTH)
            assert how.blocks == -(-cells // 16)
        np.testing.assert_array_equal(opened(how, vectors, groups), sum(vectors))


@pytest.mark.parametrize(
    "how", [PaillierSum(PUBLIC, Layout.of(20, WIDTH, PUBLIC.bits)), MaskedSum(20, WIDTH)], ids=["paillier", "masks"]
)
def test_what_does_not_fit_the_block_is_refused(how: BlockSum) -> None:
    (masks, _) = masks_of(2, 0)
    fair = how.conceal(np.zeros(20, dtype=np.int64), 0, masks)
    for payload in (b"", fair[:-1], fair[:-8], fair + fair):
        for use in (
            lambda p=payload: how.check(p, 0),
            lambda p=payload: how.add([fair, p], 0),
            lambda p=payload: how.reveal(p, 0, SECRET),
        ):
            with pytest.raises(ValueError, match="not the number"):
                use()
    for values in (np.zeros(19, dtype=np.int64), np.zeros(20)):
        with pytest.raises(ValueError, match="must be int64"):
            how.conceal(values, 0, masks)
    for block in (-1, 1):
        with pytest.raises(ValueError, match="blocks"):
            how.cells_of(block)


def test_paillier_opens_with_its_own_key_only() -> None:
    how = PaillierSum(PUBLIC, Layout.of(20, WIDTH, PUBLIC.bits))
    payload = how.conceal(np.zeros(20, dtype=np.int64), 0, masks_of(2, 0)[0])
    _, other = paillier.generate_keypair(256, allow_small=True)
    for secret in (other, None):
        with pytest.raises(ValueError, match="another key"):
            how.reveal(payload, 0, secret)


@pytest.mark.parametrize("value", [1 << (WIDTH - 1), -(1 << (WIDTH - 1)), -(2**63)])
def test_a_masked_sum_beyond_the_proved_width_is_an_error(value: int) -> None:
    how = MaskedSum(3, WIDTH)
    with pytest.raises(ValueError, match="not all masks are in"):
        how.reveal(np.array([0, value, 0]).astype("<i8").tobytes(), 0, None)
    edge = (1 << (WIDTH - 1)) - 1
    assert how.reveal(np.array([edge, -edge, 0]).astype("<i8").tobytes(), 0, None).tolist() == [edge, -edge, 0]
