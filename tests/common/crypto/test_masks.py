"""Masks agree in pairs, vanish in the sum, and change with every input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privity.common.crypto.masks import PairwiseMasks, agree
from tests.harness.places import ROOT

VECTORS = json.loads((ROOT / "tests" / "vectors" / "masks.json").read_text())


def test_vectors() -> None:
    assert VECTORS["format_version"] == 1
    private = {m["name"]: X25519PrivateKey.from_private_bytes(bytes.fromhex(m["private"])) for m in VECTORS["members"]}
    context, nonce = bytes.fromhex(VECTORS["context"]), bytes.fromhex(VECTORS["nonce"])
    for member in VECTORS["members"]:
        own = member["name"]
        keys = {
            peer: agree(private[own], key.public_key(), own, peer, context)
            for peer, key in private.items()
            if peer != own
        }
        assert {peer: key.hex() for peer, key in keys.items()} == member["agreed"]
        masks = PairwiseMasks(keys, own, nonce)
        assert masks.residues(int(VECTORS["modulus"]), VECTORS["count"]) == [int(v) for v in member["masks"]]
        assert [int(v) for v in masks.words(VECTORS["count"])] == [int(v) for v in member["words"]]


@given(
    st.lists(st.text(min_size=1, max_size=6), min_size=2, max_size=6, unique=True),
    st.integers(2, 2**400),
    st.integers(0, 5),
    st.binary(min_size=1, max_size=20),
)
def test_masks_of_all_members_sum_to_zero(names: list[str], modulus: int, count: int, nonce: bytes) -> None:
    def key(one: str, two: str) -> bytes:
        first, second = sorted((one, two))
        return bytes([names.index(first), names.index(second)]) * 16

    members = [PairwiseMasks({peer: key(own, peer) for peer in names if peer != own}, own, nonce) for own in names]
    masks = [member.residues(modulus, count) for member in members]
    assert all(0 <= v < modulus for line in masks for v in line)
    assert all(len(line) == count for line in masks)
    assert all(sum(column) % modulus == 0 for column in zip(*masks, strict=True))
    words = [member.words(count) for member in members]
    assert all(line.shape == (count,) and line.dtype == np.uint64 for line in words)
    np.testing.assert_array_equal(np.sum(words, axis=0, dtype=np.uint64), np.zeros(count))


def test_another_round_or_modulus_gives_other_masks() -> None:
    masks = PairwiseMasks({"b": bytes(32)}, "a", b"1")
    base, words = masks.residues(2**200, 3), masks.words(50).tolist()
    assert base == masks.residues(2**200, 3)
    assert words == masks.words(50).tolist()
    assert words[:9] == masks.words(9).tolist()
    assert len(set(base)) == 3
    assert len(set(words)) == 50
    assert not set(base) & set(masks.residues(2**200 + 1, 3))
    for other in (PairwiseMasks({"b": bytes(32)}, "a", b"2"), PairwiseMasks({"b": bytes(31) + b"1"}, "a", b"1")):
        assert not set(base) & set(other.residues(2**200, 3))
        assert not set(words) & set(other.words(50).tolist())


def test_words_are_uniform() -> None:
    masks = PairwiseMasks({"b": bytes(32), "c": bytes(31) + b"1"}, "b0", b"1").words(1 << 16)
    for shift in (0, 24, 56):
        found = np.bincount(((masks >> np.uint64(shift)) & np.uint64(255)).astype(np.int64), minlength=256)
        assert stats.chisquare(found).pvalue > 1e-6


def test_keys_do_not_show_in_the_text_form() -> None:
    assert "\\x07" not in repr(PairwiseMasks({"b": b"\x07" * 32}, "a", b"1"))


def test_agreement_is_common_and_bound_to_both_keys_both_names_and_the_context() -> None:
    a, b, c = (X25519PrivateKey.generate() for _ in range(3))
    key = agree(a, b.public_key(), "a", "b", b"x")
    assert key == agree(b, a.public_key(), "b", "a", b"x")
    assert len(key) == 32
    others = {
        agree(a, b.public_key(), "a", "b", b"y"),
        agree(a, c.public_key(), "a", "b", b"x"),
        agree(a, b.public_key(), "a", "c", b"x"),
        agree(a, b.public_key(), "ab", "", b"x"),
        agree(b, a.public_key(), "a", "b", b"x"),
    }
    assert len(others | {key}) == 6


def test_a_copied_key_gives_other_masks_than_the_one_it_was_copied_from() -> None:
    copied, third = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    keys = {peer: agree(third, copied.public_key(), "m", peer, b"x") for peer in ("a", "z")}
    # "m" adds its masks with "z" and subtracts those with "a": under one key nothing of them would be left.
    assert PairwiseMasks(keys, "m", b"1").words(9).all()
    with pytest.raises(ValueError, match="cancel"):
        PairwiseMasks(dict.fromkeys(("a", "z"), keys["a"]), "m", b"1")


def test_bad_peers_are_refused() -> None:
    own = X25519PrivateKey.generate()
    with pytest.raises(ValueError, match="b is not a usable"):
        agree(own, X25519PublicKey.from_public_bytes(bytes(32)), "a", "b", b"x")
    for key, name in ((own, "b"), (X25519PrivateKey.generate(), "a")):
        with pytest.raises(ValueError, match=f"{name} has the same"):
            agree(own, key.public_key(), "a", name, b"x")
    for keys, name in (({}, "a"), ({"a": bytes(32)}, "a")):
        with pytest.raises(ValueError, match="other member"):
            PairwiseMasks(keys, name, b"1")
    with pytest.raises(ValueError, match="32 bytes"):
        PairwiseMasks({"b": b"short"}, "a", b"1")
    with pytest.raises(ValueError, match="nonce"):
        PairwiseMasks({"b": bytes(32)}, "a", b"")
    for modulus, count in ((1, 1), (97, -1)):
        with pytest.raises(ValueError, match="modulus"):
            PairwiseMasks({"b": bytes(32)}, "a", b"1").residues(modulus, count)
