"""The consortium's signed manifest: who the members are, under which keys, over which schema.

Everything that a party believes about another party comes from here, never from the curator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from common.canonical import b64, canonical_bytes, digest, unb64
from common.crypto.identity import Identity, PublicIdentity, sign, verify
from common.errors import Catalogue, PrivityError
from common.formats import read_json, require

FORMAT_VERSION = 1
CURATOR = "curator"
"""Name of the curator among the members; no party or operator has it."""

_SIGNED_AS = "privity manifest"


@dataclass(frozen=True)
class Manifest:
    """Who the members are, under which keys, over which schema, and what they agreed on.

    Attributes:
        members: the parties in their public order.
        curator_member: the party that operates the curator, if one does: it is never combiner.
        simulation: all keys and rows lie on one machine.
        serial: a later manifest of the same consortium has a larger one.
        certificates: TLS certificate (PEM) of everybody, by ``ROLE/NAME``: self-signed ones of parties and
            operators, the curator's of the consortium's authority.
        minimum_parties, minimum_tolerate: no run over fewer parties, or that withstands fewer of them.
        parties_per_person: most parties at which one person has rows.
    """

    consortium: str
    members: dict[str, PublicIdentity]
    schema_digest: str
    curator_member: str | None
    simulation: bool
    serial: int = 1
    certificates: dict[str, str] = field(default_factory=dict)
    minimum_parties: int = 2
    minimum_tolerate: int = 1
    parties_per_person: int = 1

    def to_dict(self) -> dict[str, Any]:
        return {
            "format_version": FORMAT_VERSION,
            "consortium": self.consortium,
            "members": [{"name": name, "keys": keys.to_dict()} for name, keys in self.members.items()],
            "schema_digest": self.schema_digest,
            "curator_member": self.curator_member,
            "simulation": self.simulation,
            "serial": self.serial,
            "certificates": self.certificates,
            "minimum_parties": self.minimum_parties,
            "minimum_tolerate": self.minimum_tolerate,
            "parties_per_person": self.parties_per_person,
        }

    @property
    def digest(self) -> str:
        return digest(self.to_dict())

    def certificate_of(self, role: str, name: str) -> str | None:
        """The TLS certificate (PEM) under which this member may call; None if there is no such member."""
        return self.certificates.get(f"{role}/{name}")

    @property
    def callers(self) -> bytes:
        """Certificates (PEM) of all who may call the curator."""
        called = (pem for holder, pem in self.certificates.items() if not holder.startswith("curator/"))
        return "".join(called).encode()

    def keys_of(self, member: str) -> PublicIdentity:
        try:
            return self.members[member]
        except KeyError:
            reason = "the manifest does not list it"
            raise PrivityError(Catalogue.IDENTITY_UNKNOWN, identity=member, reason=reason) from None


def sign_manifest(manifest: Manifest, organiser: Identity) -> dict[str, Any]:
    """The manifest as a document signed by the organiser, ready to be written to a file."""
    content = manifest.to_dict()
    signature = sign(organiser.signing, _SIGNED_AS, canonical_bytes(content))
    return {"format_version": FORMAT_VERSION, "manifest": content, "signature": b64(signature)}


def open_manifest(document: dict[str, Any], organiser: Ed25519PublicKey, file: str) -> Manifest:
    """Check format and signature, then read the manifest."""
    require(document, "manifest", file)
    content = document["manifest"]
    try:
        verify(organiser, _SIGNED_AS, canonical_bytes(content), unb64(document["signature"]))
    except ValueError as error:
        raise PrivityError(Catalogue.TAMPERED, what=file, reason="the organiser's signature does not fit") from error
    try:
        names = [m["name"] for m in content["members"]]
        if len(set(names)) != len(names):
            raise ValueError("a member is named twice")
        if content["curator_member"] not in (None, *names):
            raise ValueError("curator_member is not a member")
        return manifest_from(content)
    except ValueError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=file, reason=str(error)) from error


def read_organiser_key(path: Path) -> Ed25519PublicKey:
    """The organiser's public key: 32 bytes in base64."""
    try:
        return Ed25519PublicKey.from_public_bytes(unb64(path.read_text(encoding="ascii").strip()))
    except FileNotFoundError:
        raise PrivityError(Catalogue.FILE_MISSING, file=path) from None
    except (ValueError, OSError):
        reason = "not an organiser's public key in base64"
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=reason) from None


def read_manifest(path: Path, organiser_key: Path) -> Manifest:
    """Read a signed manifest and check it against the organiser's public key."""
    key = read_organiser_key(organiser_key)
    return open_manifest(read_json(path), key, str(path))


def manifest_from(content: dict[str, Any]) -> Manifest:
    """A manifest from its content, which was checked before."""
    return Manifest(
        consortium=content["consortium"],
        members={m["name"]: PublicIdentity.from_dict(m["keys"]) for m in content["members"]},
        schema_digest=content["schema_digest"],
        curator_member=content["curator_member"],
        simulation=content["simulation"],
        serial=content["serial"],
        certificates=dict(content["certificates"]),
        minimum_parties=content["minimum_parties"],
        minimum_tolerate=content["minimum_tolerate"],
        parties_per_person=content["parties_per_person"],
    )
