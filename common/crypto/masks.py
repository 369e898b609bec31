"""Pairwise zero-sum masks: each member's vector looks uniform modulo n, the sum is unchanged.

Each two members agree once on a key that nobody else has (X25519). For a round they derive from it and
the round's nonce the same uniform values; the one whose name sorts first adds them, the other subtracts
them. So whoever sees the masked vectors of all members learns their sum and, short of a coalition with
all but one of the others, nothing else (Bonawitz et al., "Practical Secure Aggregation", 2017, without its
recovery of dropouts: if one member is missing, the round is not opened).
"""

from __future__ import annotations

from collections.abc import Mapping

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
"""Length of an agreed key."""

_SPARE_BITS = 128  # reducing bits(n) + 128 uniform bits mod n is within 2^-128 of uniform


def agree(own_private: X25519PrivateKey, peer_public: X25519PublicKey, context: bytes) -> bytes:
    """The 32-byte key that the two hold in common: HKDF-SHA256 over X25519.

    Both public keys (in a fixed order) and ``context`` are bound in: another peer or another context
    gives an independent key.

    Raises:
        ValueError: the peer's public key is no usable point, or it is our own.
    """
    own = own_private.public_key().public_bytes_raw()
    peer = peer_public.public_bytes_raw()
    if own == peer:
        raise ValueError("a member needs no mask with itself: the peer has the same public key")
    try:
        shared = own_private.exchange(peer_public)
    except ValueError:
        raise ValueError("the peer's public key is not a usable X25519 key") from None
    first, second = sorted((own, peer))
    return _derive(shared, b"privity mask agreement v1" + first + second + context)


def zero_sum_masks(keys_by_peer: Mapping[str, bytes], own: str, modulus: int, count: int, nonce: bytes) -> list[int]:
    """``own``'s masks of one round: ``count`` residues; over all members they sum to 0 mod ``modulus``.

    Args:
        keys_by_peer: the agreed 32-byte key by name of each other member.
        own: this member's name.
        modulus: n, at least 2.
        count: how many plaintexts are masked.
        nonce: must be new for each round and attempt, and the same at all members.

    Raises:
        ValueError: no peer, a key of another length, or a peer called ``own``.
    """
    if not keys_by_peer or own in keys_by_peer:
        raise ValueError("masks need the keys of at least one other member, and none of the member itself")
    if any(len(key) != KEY_BYTES for key in keys_by_peer.values()):
        raise ValueError(f"each agreed key must be {KEY_BYTES} bytes long")
    if modulus < 2 or count < 0 or not nonce:
        raise ValueError("masks need a modulus of at least 2, a count of at least 0 and a nonce")
    masks = [0] * count
    for peer, key in keys_by_peer.items():
        sign = 1 if own < peer else -1
        for i, value in enumerate(_stream(key, modulus, count, nonce)):
            masks[i] += sign * value
    return [mask % modulus for mask in masks]


def _stream(key: bytes, modulus: int, count: int, nonce: bytes) -> list[int]:
    """``count`` residues (within 2^-128 of uniform) from ChaCha20 under a key of this round only."""
    size = (modulus.bit_length() + 7) // 8
    round_key = _derive(key, b"privity mask stream v1" + modulus.to_bytes(size, "big") + nonce)
    keystream = Cipher(algorithms.ChaCha20(round_key, bytes(16)), mode=None).encryptor()
    width = (modulus.bit_length() + _SPARE_BITS + 7) // 8
    data = keystream.update(bytes(width * count))
    return [int.from_bytes(data[i : i + width], "big") % modulus for i in range(0, width * count, width)]


def _derive(secret: bytes, info: bytes) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=KEY_BYTES, salt=None, info=info).derive(secret)
