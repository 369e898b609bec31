"""How members come into a consortium: the organiser's invite, and the answer of the one who joins.

Neither holds a secret. An invite says where and what the consortium is; a join brings public keys that were made where
they stay, each with a proof that its sender holds the private half. Both are signed, and both have a fingerprint that
two people can compare on the phone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

from privity.common.crypto import key_possession
from privity.common.crypto.certificates import Role, check_request, check_self_signed
from privity.common.crypto.identity import Identity, PublicIdentity, sign, verify
from privity.common.data.schema import parse_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import read_json, require
from privity.common.storage.canonical_json import b64, canonical_bytes, digest, unb64

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
        organiser_key: 32 bytes in base64; everything that the organiser signs is checked against it.
        possession_key: 32 bytes in base64; to whom holds it a party proves that it holds its keys.
        schema: that of the joint table.
        minimum_parties, minimum_tolerate, parties_per_person: what the members agreed on for every run.
    """

    consortium: str
    role: Role
    name: str
    curator: str
    organiser_key: str
    possession_key: str
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
            "organiser_key": self.organiser_key,
            "possession_key": self.possession_key,
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
        ProblemsFound: faults of the schema in it.
    """
    if not path.exists():
        first = "privity consortium invite, if the path is right"
        raise PrivityError(Catalogue.OUT_OF_ORDER, missing=path, first=first)
    document = read_json(path, links=False)
    require(document, "invite", str(path))
    content = document["invite"]
    try:
        organiser = Ed25519PublicKey.from_public_bytes(unb64(content["organiser_key"]))
        verify(organiser, _INVITED_AS, canonical_bytes(content), unb64(document["signature"]))
        key_possession.check_usable(unb64(content["possession_key"]), "possession")
    except ValueError as error:
        raise PrivityError(Catalogue.TAMPERED, what=path, reason=str(error)) from None
    if content["role"] != role:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="invite", reason=f"{path} invites a {content['role']}, not a {role}",
            hint=f"Use it with `privity {content['role']} init`.",
        )  # fmt: skip
    parse_schema(content["schema"], f"{path}: schema")
    return Invite(**content)


@dataclass(frozen=True)
class Join:
    """A member's answer: its public keys.

    Attributes:
        possession_key: of the invite that it answers.
        keys: of a party; None for curator and operators.
        certificate: self-signed TLS certificate (PEM) of a party or operator; the curator's certificate request.
    """

    consortium: str
    role: Role
    name: str
    possession_key: str
    keys: PublicIdentity | None
    certificate: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "consortium": self.consortium,
            "role": self.role,
            "name": self.name,
            "possession_key": self.possession_key,
            "keys": None if self.keys is None else self.keys.to_dict(),
            "certificate": self.certificate,
        }

    def signed(self, identity: Identity | None) -> dict[str, Any]:
        """The document to send back; a party shows that it holds the private half of each of its keys.

        Raises:
            ValueError: the key of the invite is no usable point.
        """
        content = self.to_dict()
        message = canonical_bytes(content)
        document = {"format_version": FORMAT_VERSION, "join": content, "proofs": None}
        if identity is not None:
            organiser = X25519PublicKey.from_public_bytes(unb64(self.possession_key))
            document["proofs"] = {
                "signing": b64(sign(identity.signing, _JOINED_AS, message)),
                "sealing": b64(key_possession.prove(identity.sealing, organiser, "sealing", message)),
                "agreement": b64(key_possession.prove(identity.agreement, organiser, "agreement", message)),
            }
        return document


def read_join(path: Path, organiser: Identity | None = None) -> Join:
    """A join whose sender holds the private keys of what it brings.

    Args:
        organiser: who can check all of it; without, that of the sealing and agreement keys is taken on trust.

    Raises:
        PrivityError: no such file, of another version, not a join, or keys that nothing shows its sender to hold.
    """
    document = read_json(path, links=False)
    require(document, "join", str(path))
    content, proofs = document["join"], document["proofs"]
    try:
        keys = None if content["keys"] is None else PublicIdentity.from_dict(content["keys"])
        if (content["role"] == "party") != (keys is not None) or (keys is None) != (proofs is None):
            raise ValueError("a party brings keys with their proofs, and nobody else does")
        if keys is not None:
            _check_held(keys, proofs, canonical_bytes(content), organiser)
        if organiser is not None and content["possession_key"] != b64(organiser.public().agreement):
            raise ValueError("it answers the invite of another organiser")
        if content["role"] == "curator":
            check_request(content["certificate"].encode(), content["name"])
        else:
            check_self_signed(content["certificate"].encode(), content["role"], content["name"])
    except ValueError as error:
        raise PrivityError(Catalogue.TAMPERED, what=path, reason=str(error)) from error
    return Join(
        content["consortium"], content["role"], content["name"], content["possession_key"], keys, content["certificate"]
    )


def _check_held(keys: PublicIdentity, proofs: dict[str, str], message: bytes, organiser: Identity | None) -> None:
    verify(keys.signing_key, _JOINED_AS, message, unb64(proofs["signing"]))
    if organiser is not None:
        for use, key in (("sealing", keys.sealing_key), ("agreement", keys.agreement_key)):
            key_possession.check(key, organiser.agreement, use, message, unb64(proofs[use]))
