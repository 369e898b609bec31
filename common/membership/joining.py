"""How members come into a consortium: the organiser's invite, and the answer of the one who joins.

Neither holds a secret. An invite says where and what the consortium is; a join brings public keys that were made where
they stay. Both are signed, and both have a fingerprint that two people can compare on the phone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from common.canonical import b64, canonical_bytes, digest, unb64
from common.crypto.certificates import Role, check_request, check_self_signed
from common.crypto.identity import Identity, PublicIdentity, sign, verify
from common.errors import Catalogue, PrivityError
from common.formats import read_json, require

FORMAT_VERSION = 1
_INVITED_AS, _JOINED_AS = "privity invite", "privity join"


def fingerprint(content: dict[str, Any]) -> str:
    """Twenty hexadecimal digits in groups of four."""
    text = digest(content)[:20]
    return "-".join(text[place : place + 4] for place in range(0, 20, 4))


@dataclass(frozen=True)
class Invite:
    """What a member needs to make its folder.

    Attributes:
        role, name: what the member will be called.
        curator: address that parties and operators dial, ``host:port``.
        authority: certificate (PEM) under which the curator's own is valid.
        organiser_key: 32 bytes in base64; everything that the organiser signs is checked against it.
        schema: the descriptor of the joint table.
        minimum_parties, minimum_tolerate, parties_per_person: what the members agreed on for every run.
    """

    consortium: str
    role: Role
    name: str
    curator: str
    authority: str
    organiser_key: str
    schema: dict[str, Any]
    minimum_parties: int
    minimum_tolerate: int
    parties_per_person: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "consortium": self.consortium,
            "role": self.role,
            "name": self.name,
            "curator": self.curator,
            "authority": self.authority,
            "organiser_key": self.organiser_key,
            "schema": self.schema,
            "minimum_parties": self.minimum_parties,
            "minimum_tolerate": self.minimum_tolerate,
            "parties_per_person": self.parties_per_person,
        }

    def signed(self, organiser: Identity) -> dict[str, Any]:
        """The document to send."""
        content = self.to_dict()
        signature = sign(organiser.signing, _INVITED_AS, canonical_bytes(content))
        return {"format_version": FORMAT_VERSION, "invite": content, "signature": b64(signature)}


def read_invite(path: Path, role: Role) -> Invite:
    """An invite for a member of this role, whole as the organiser signed it.

    Raises:
        PrivityError: not there yet, not an invite, tampered with, or for another role.
    """
    if not path.exists():
        first = "privity consortium invite, if the path is right"
        raise PrivityError(Catalogue.OUT_OF_ORDER, missing=path, first=first)
    document = read_json(path)
    require(document, "invite", str(path))
    content = document["invite"]
    try:
        organiser = Ed25519PublicKey.from_public_bytes(unb64(content["organiser_key"]))
        verify(organiser, _INVITED_AS, canonical_bytes(content), unb64(document["signature"]))
    except ValueError:
        raise PrivityError(
            Catalogue.TAMPERED, what=path, reason="the signature in it does not fit its content"
        ) from None
    if content["role"] != role:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="invite", reason=f"{path} invites a {content['role']}, not a {role}",
            hint=f"Use it with `privity {content['role']} init`.",
        )  # fmt: skip
    return Invite(**content)


@dataclass(frozen=True)
class Join:
    """A member's answer: its public keys.

    Attributes:
        keys: of a party; None for curator and operators.
        certificate: self-signed TLS certificate (PEM) of a party or operator; the curator's certificate request.
    """

    consortium: str
    role: Role
    name: str
    keys: PublicIdentity | None
    certificate: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "consortium": self.consortium,
            "role": self.role,
            "name": self.name,
            "keys": None if self.keys is None else self.keys.to_dict(),
            "certificate": self.certificate,
        }

    def signed(self, identity: Identity | None) -> dict[str, Any]:
        """The document to send back; a party signs it with its own key."""
        content = self.to_dict()
        signature = None if identity is None else b64(sign(identity.signing, _JOINED_AS, canonical_bytes(content)))
        return {"format_version": FORMAT_VERSION, "join": content, "signature": signature}


def read_join(path: Path) -> Join:
    """A join whose sender holds the private keys of what it brings.

    Raises:
        PrivityError: no such file, not a join, or tampered with.
    """
    document = read_json(path)
    require(document, "join", str(path))
    content = document["join"]
    try:
        keys = None if content["keys"] is None else PublicIdentity.from_dict(content["keys"])
        if (content["role"] == "party") != (keys is not None):
            raise ValueError("a party brings keys, and nobody else does")
        if keys is not None:
            verify(keys.signing_key, _JOINED_AS, canonical_bytes(content), unb64(document["signature"] or ""))
        if content["role"] == "curator":
            check_request(content["certificate"].encode(), content["name"])
        else:
            check_self_signed(content["certificate"].encode(), content["role"], content["name"])
    except ValueError as error:
        raise PrivityError(Catalogue.TAMPERED, what=path, reason=str(error)) from error
    return Join(content["consortium"], content["role"], content["name"], keys, content["certificate"])
