"""Masks agree in pairs, vanish in the sum, and change with every input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from common.crypto.masks import agree, zero_sum_masks

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "masks.json").read_text())


def test_vectors() -> None:
    assert VECTORS["format_version"] == 1
    private = {m["name"]: X25519PrivateKey.from_private_bytes(bytes.fromhex(m["private"])) for m in VECTORS["members"]}
    context, nonce = bytes.fromhex(VECTORS["context"]), bytes.fromhex(VECTORS["nonce"])
    for member in VECTORS["members"]:
        own = member["name"]
        keys = {peer: agree(private[own], key.public_key(), context) for peer, key in private.items() if peer != own}
        assert {peer: key.hex() for peer, key in keys.items()} == member["agreed"]
        masks = zero_sum_masks(keys, own, int(VECTORS["modulus"]), VECTORS["count"], nonce)
        assert masks == [int(v) for v in member["masks"]]


@settings(max_examples=40, deadline=None)
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

    masks = [
        zero_sum_masks({peer: key(own, peer) for peer in names if peer != own}, own, modulus, count, nonce)
        for own in names
    ]
    assert all(0 <= v < modulus for line in masks for v in line)
    assert all(len(line) == count for line in masks)
    assert all(sum(column) % modulus == 0 for column in zip(*masks, strict=True))


def test_another_round_or_modulus_gives_other_masks() -> None:
    keys = {"b": bytes(32)}
    base = zero_sum_masks(keys, "a", 2**200, 3, b"1")
    assert base == zero_sum_masks(keys, "a", 2**200, 3, b"1")
    assert len(set(base)) == 3
    for other in (
        zero_sum_masks(keys, "a", 2**200, 3, b"2"),
        zero_sum_masks(keys, "a", 2**200 + 1, 3, b"1"),
        zero_sum_masks({"b": bytes(31) + b"1"}, "a", 2**200, 3, b"1"),
    ):
        assert not set(base) & set(other)


def test_agreement_is_common_and_bound_to_both_keys_and_the_context() -> None:
    a, b, c = (X25519PrivateKey.generate() for _ in range(3))
    key = agree(a, b.public_key(), b"x")
    assert key == agree(b, a.public_key(), b"x")
    assert len(key) == 32
    assert len({key, agree(a, b.public_key(), b"y"), agree(a, c.public_key(), b"x")}) == 3


def test_bad_peers_are_refused() -> None:
    own = X25519PrivateKey.generate()
    with pytest.raises(ValueError, match="usable"):
        agree(own, X25519PublicKey.from_public_bytes(bytes(32)), b"x")
    with pytest.raises(ValueError, match="itself"):
        agree(own, own.public_key(), b"x")
    for keys, name in (({}, "a"), ({"a": bytes(32)}, "a")):
        with pytest.raises(ValueError, match="other member"):
            zero_sum_masks(keys, name, 97, 1, b"1")
    with pytest.raises(ValueError, match="32 bytes"):
        zero_sum_masks({"b": b"short"}, "a", 97, 1, b"1")
    for modulus, count, nonce in ((1, 1, b"1"), (97, -1, b"1"), (97, 1, b"")):
        with pytest.raises(ValueError, match="modulus"):
            zero_sum_masks({"b": bytes(32)}, "a", modulus, count, nonce)
