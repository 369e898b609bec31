"""Pairwise zero-sum masks: each member's vector looks uniform, the sum is unchanged.

Vectors are of residues modulo n (plaintexts of Paillier) or of integers modulo 2^64.

Each two members agree once on a key that nobody else has (X25519). For a round they derive from it and
the round's nonce the same uniform values; the one whose name sorts first adds them, the other subtracts
them. So whoever sees the masked vectors of all members learns their sum and, short of a coalition with
all but one of the others, nothing else (Bonawitz et al., "Practical Secure Aggregation", 2017, without its
recovery of dropouts: if one member is missing, the round is not revealed). A nonce is for one vector: two vectors under
the same masks would show their difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

KEY_BYTES = 32
"""Length of an agreed key."""

_SPARE_BITS = 128  # reducing bits(n) + 128 uniform bits mod n is within 2^-128 of uniform


def agree(own_private: X25519PrivateKey, peer_public: X25519PublicKey, own: str, peer: str, context: bytes) -> bytes:
    """The 32-byte key that members ``own`` and ``peer`` hold in common: HKDF-SHA256 over X25519.

    The names and public keys of both and ``context`` are bound in: another peer or another context gives an
    independent key. So two members with one key have different masks with a third, and none cancel by that.

    Raises:
        ValueError: the peer's public key is no usable point, or it is our own, or so is its name.
    """
    own_key, peer_key = own_private.public_key().public_bytes_raw(), peer_public.public_bytes_raw()
    if own_key == peer_key or own == peer:
        raise ValueError(f"{peer} has the same name or public key as this member")
    try:
        shared = own_private.exchange(peer_public)
    except ValueError:
        raise ValueError(f"the public key of {peer} is not a usable X25519 key") from None
    (one, one_key), (two, two_key) = sorted(((own.encode(), own_key), (peer.encode(), peer_key)))
    bound = b"".join(len(part).to_bytes(4, "big") + part for part in (one, one_key, two, two_key, context))
    return _derive(shared, b"privity mask agreement v1" + bound)


@dataclass(frozen=True)
class PairwiseMasks:
    """One member's masks of one vector; over all members they sum to 0.

    Attributes:
        keys: the agreed 32-byte key by name of each other member.
        own: this member's name.
        nonce: must be new for each vector that is masked, and the same at all members.

    Raises:
        ValueError: no peer, a key of another length or of two peers, a peer called ``own``, or no nonce.
    """

    keys: Mapping[str, bytes] = field(repr=False)
    own: str
    nonce: bytes

    def __post_init__(self) -> None:
        if not self.keys or self.own in self.keys:
            raise ValueError("masks need the keys of at least one other member, and none of the member itself")
        if any(len(key) != KEY_BYTES for key in self.keys.values()):
            raise ValueError(f"each agreed key must be {KEY_BYTES} bytes long")
        if len(set(self.keys.values())) < len(self.keys):
            raise ValueError("two other members have one agreed key: their masks could cancel")
        if not self.nonce:
            raise ValueError("masks need a nonce")

    def residues(self, modulus: int, count: int) -> list[int]:
        """``count`` residues modulo ``modulus``, which must be at least 2."""
        if modulus < 2 or count < 0:
            raise ValueError("masks need a modulus of at least 2 and a count of at least 0")
        size, width = (modulus.bit_length() + 7) // 8, (modulus.bit_length() + _SPARE_BITS + 7) // 8
        use = b"privity mask stream v1" + modulus.to_bytes(size, "big") + self.nonce
        masks = [0] * count
        for peer, key in self.keys.items():
            sign, data = self._sign(peer), _keystream(key, use, width * count)
            for i in range(count):
                masks[i] += sign * (int.from_bytes(data[i * width : (i + 1) * width], "big") % modulus)
        return [mask % modulus for mask in masks]

    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` integers modulo 2^64, shape (count,)."""
        masks = np.zeros(count, dtype=np.uint64)
        for peer, key in self.keys.items():
            stream = np.frombuffer(_keystream(key, b"privity mask words v1" + self.nonce, 8 * count), dtype="<u8")
            # uint64 wraps modulo 2^64.
            if self._sign(peer) > 0:
                masks += stream
            else:
                masks -= stream
        return masks

    def _sign(self, peer: str) -> int:
        return 1 if self.own < peer else -1


def _keystream(key: bytes, use: bytes, length: int) -> bytes:
    """ChaCha20 under a key of this use only."""
    cipher = Cipher(algorithms.ChaCha20(_derive(key, use), bytes(16)), mode=None)
    return cipher.encryptor().update(bytes(length))


def _derive(secret: bytes, info: bytes) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=KEY_BYTES, salt=None, info=info).derive(secret)
