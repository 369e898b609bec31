"""Messages between members that the relaying curator can neither read, change nor replace.

HPKE (RFC 9180, base mode: X25519, HKDF-SHA256, ChaCha20-Poly1305) hides the message. Base mode does not
say who sent it, so the sender signs context and ciphertext with the key that the manifest lists, and the
recipient checks the signature before it opens anything. ``context`` is the same bytes on both sides (run,
round, attempt, sender, recipient, key, layout, schema): a blob cannot be moved to another place.

Sealing does not protect past messages if the recipient's key is lost later. It is not post-quantum.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from privity.common.crypto.identity import sign, verify

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
_DOMAIN = "sealed blob v1"


@dataclass(frozen=True)
class SealedBlob:
    """What travels: the HPKE ciphertext (encapsulated key first) and the sender's 64-byte signature."""

    ciphertext: bytes
    signature: bytes

    @property
    def digest(self) -> str:
        """SHA-256 over signature and ciphertext, in hex: which blob it is."""
        return hashlib.sha256(self.signature + self.ciphertext).hexdigest()


def seal(plaintext: bytes, recipient: X25519PublicKey, context: bytes, signer: Ed25519PrivateKey) -> SealedBlob:
    """Seals ``plaintext`` to the recipient, bound to ``context`` and signed by the sender."""
    ciphertext = _SUITE.encrypt(plaintext, recipient, context)
    return SealedBlob(ciphertext, sign(signer, _DOMAIN, _signed(context, ciphertext)))


def open_sealed(blob: SealedBlob, recipient: X25519PrivateKey, context: bytes, sender: Ed25519PublicKey) -> bytes:
    """The plaintext of a blob that ``sender`` sealed to ``recipient`` in ``context``.

    Raises:
        ValueError: "bad signature: ..." (nothing was opened) or "cannot be opened: ...".
    """
    try:
        verify(sender, _DOMAIN, _signed(context, blob.ciphertext), blob.signature)
    except ValueError:
        raise ValueError("bad signature: the blob is not from this sender, or not for this step") from None
    try:
        return _SUITE.decrypt(blob.ciphertext, recipient, context)
    except (InvalidTag, ValueError):
        raise ValueError("cannot be opened: the blob was not sealed to this recipient's key") from None


def _signed(context: bytes, ciphertext: bytes) -> bytes:
    return len(context).to_bytes(8, "big") + context + ciphertext
