"""A member's own keys: signing (Ed25519), sealing and mask agreement (X25519 each)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from privity.common.crypto.key_possession import check_usable
from privity.common.errors import Catalogue, PrivityError

_KEY_BYTES = 32
_BLINDED = b"privity blinded name v1"
_FIELD = 2**255 - 19  # of the curve of Ed25519, -x^2 + y^2 = 1 + d x^2 y^2
_D = -121665 * pow(121666, -1, _FIELD)

USES = ("signing", "sealing", "agreement")
"""What each of a member's keys is for."""


def sign(private: Ed25519PrivateKey, domain: str, message: bytes) -> bytes:
    """A signature over ``message`` that is valid for ``domain`` (what the message is for) alone."""
    return private.sign(tagged(domain, message))


def verify(public: Ed25519PublicKey, domain: str, message: bytes, signature: bytes) -> None:
    """Raises ValueError unless ``signature`` is that key's signature over ``message`` in ``domain``."""
    try:
        public.verify(signature, tagged(domain, message))
    except InvalidSignature:
        raise ValueError("the signature is not the sender's signature over this content") from None


def tagged(domain: str, message: bytes) -> bytes:
    """What is signed for a message: no other domain has the same bytes, and no message of TLS begins so."""
    name = domain.encode()
    digest = hashlib.sha256(message).digest()
    return b"privity signature v1" + len(name).to_bytes(2, "big") + name + digest


def _of_low_order(signing: bytes) -> bool:
    """Whether eight times the point is the neutral one, or it is written in another way than its only one."""
    y = int.from_bytes(signing, "little") & ((1 << 255) - 1)
    # y = 1 or -1: order 1 or 2; y = 0: order 4; the last factor: x^2 = -y^2, so twice the point has y = 0.
    return y >= _FIELD or y * (y * y - 1) * (_D * y**4 + 2 * y * y - 1) % _FIELD == 0


@dataclass(frozen=True)
class PublicIdentity:
    """The public halves, 32 raw bytes each, as the manifest lists them.

    Raises:
        ValueError: a key of another length, or of low order: everybody would know its secrets, or could sign under it.
    """

    signing: bytes
    sealing: bytes
    agreement: bytes

    def __post_init__(self) -> None:
        if {len(self.signing), len(self.sealing), len(self.agreement)} != {_KEY_BYTES}:
            raise ValueError(f"each public key must be {_KEY_BYTES} bytes long")
        if _of_low_order(self.signing):
            raise ValueError("the signing key is not a usable Ed25519 key")
        check_usable(self.sealing, "sealing")
        check_usable(self.agreement, "agreement")

    @property
    def signing_key(self) -> Ed25519PublicKey:
        """The key that checks this member's signatures."""
        return Ed25519PublicKey.from_public_bytes(self.signing)

    @property
    def sealing_key(self) -> X25519PublicKey:
        """The key to which messages for this member are sealed."""
        return X25519PublicKey.from_public_bytes(self.sealing)

    @property
    def agreement_key(self) -> X25519PublicKey:
        """The key with which others agree on masks with this member."""
        return X25519PublicKey.from_public_bytes(self.agreement)

    def to_dict(self) -> dict[str, str]:
        """The three keys in base64, by name."""
        return {use: base64.b64encode(getattr(self, use)).decode() for use in USES}

    @classmethod
    def from_dict(cls, data: Mapping[str, str]) -> Self:
        """The inverse of `to_dict`; ValueError if it is not such a dictionary."""
        try:
            keys = [base64.b64decode(data[use], validate=True) for use in USES]
        except (KeyError, TypeError, ValueError, binascii.Error):
            raise ValueError("a public identity must have signing, sealing and agreement in base64") from None
        return cls(*keys)


@dataclass(frozen=True, repr=False)
class Identity:
    """The private halves. They never leave the member; the text form shows only the public signing key."""

    signing: Ed25519PrivateKey
    sealing: X25519PrivateKey
    agreement: X25519PrivateKey

    @classmethod
    def generate(cls) -> Self:
        """Fresh keys."""
        return cls(Ed25519PrivateKey.generate(), X25519PrivateKey.generate(), X25519PrivateKey.generate())

    def public(self) -> PublicIdentity:
        """The public halves."""
        return PublicIdentity(
            self.signing.public_key().public_bytes_raw(),
            self.sealing.public_key().public_bytes_raw(),
            self.agreement.public_key().public_bytes_raw(),
        )

    def blinded(self, run: str, name: str) -> str:
        """What stands for a name in a statement about a run: in hex, by HMAC-SHA256 under a key of this signing key.

        Whoever does not hold the private key learns neither the name nor whether two runs have the same one.
        """
        secret = self.signing.private_bytes_raw()
        key = HKDF(hashes.SHA256(), length=_KEY_BYTES, salt=None, info=_BLINDED).derive(secret)
        told = run.encode()
        return hmac.new(key, len(told).to_bytes(4, "big") + told + name.encode(), hashlib.sha256).hexdigest()

    def __repr__(self) -> str:
        return f"Identity(signing={self.public().to_dict()['signing']})"

    def save(self, folder: Path) -> None:
        """Writes ``signing.pem``, ``sealing.pem`` and ``agreement.pem`` (PKCS 8), readable by the owner only.

        Raises:
            PrivityError: FILE_UNREADABLE if one of them is there already; keys are never overwritten.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in USES:
            if (folder / f"{name}.pem").exists():
                raise _unreadable(folder / f"{name}.pem", "a key is there already and is not overwritten")
        for name in USES:
            pem = getattr(self, name).private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            handle = os.open(folder / f"{name}.pem", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(pem)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The identity that `save` wrote.

        Raises:
            PrivityError: FILE_MISSING or FILE_UNREADABLE, naming the file.
        """
        signing, sealing, agreement = (_read_key(folder / f"{name}.pem") for name in USES)
        if not isinstance(signing, Ed25519PrivateKey):
            raise _unreadable(folder / "signing.pem", "expected an Ed25519 private key")
        if not isinstance(sealing, X25519PrivateKey):
            raise _unreadable(folder / "sealing.pem", "expected an X25519 private key")
        if not isinstance(agreement, X25519PrivateKey):
            raise _unreadable(folder / "agreement.pem", "expected an X25519 private key")
        return cls(signing, sealing, agreement)


def _read_key(file: Path) -> object:
    try:
        return serialization.load_pem_private_key(file.read_bytes(), password=None)
    except FileNotFoundError:
        raise PrivityError(Catalogue.FILE_MISSING, file=file) from None
    except OSError as error:
        raise _unreadable(file, error.strerror or "cannot be read") from None
    except (ValueError, TypeError):
        raise _unreadable(file, "expected an unencrypted private key in PEM") from None


def _unreadable(file: Path, reason: str) -> PrivityError:
    return PrivityError(Catalogue.FILE_UNREADABLE, file=file, reason=reason)
