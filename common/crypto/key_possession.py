"""Proof that a member holds the private halves of its X25519 keys, which cannot sign.

The member and the organiser agree on a key from the member's key and the organiser's own, and the member shows a MAC
under it. Whoever copied a public key cannot make one. It convinces the organiser alone, who could have made it, too.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_LABEL = b"privity proof of possession v1"


def check_usable(public: bytes, use: str) -> None:
    """Raises ValueError for an X25519 key (32 bytes) of low order, with which nothing secret can be agreed on."""
    try:
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        raise ValueError(f"the {use} key is not a usable X25519 key") from None


def prove(own: X25519PrivateKey, organiser: X25519PublicKey, use: str, message: bytes) -> bytes:
    """32 bytes that only the holder of ``own``, or the organiser, can make for this use of the key and this message.

    Raises:
        ValueError: the organiser's key is no usable point.
    """
    return _mac(own.exchange(organiser), own.public_key(), organiser, use, message).finalize()


def check(public: X25519PublicKey, organiser: X25519PrivateKey, use: str, message: bytes, proof: bytes) -> None:
    """Raises ValueError unless ``proof`` is that of the holder of ``public``; `prove` is the other side."""
    try:
        _mac(organiser.exchange(public), public, organiser.public_key(), use, message).verify(proof)
    except (InvalidSignature, ValueError):
        raise ValueError(f"nothing proves that its sender holds the {use} key in it") from None


def _mac(shared: bytes, member: X25519PublicKey, organiser: X25519PublicKey, use: str, message: bytes) -> HMAC:
    keys = member.public_bytes_raw() + organiser.public_bytes_raw()
    key = HKDF(hashes.SHA256(), length=32, salt=None, info=_LABEL + keys + use.encode()).derive(shared)
    mac = HMAC(key, hashes.SHA256())
    mac.update(message)
    return mac
