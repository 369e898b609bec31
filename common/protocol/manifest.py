"""The consortium's signed manifest: who the members are, under which keys, over which schema.

Everything that a party believes about another party comes from here, never from the curator.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from common.canonical import b64, canonical_bytes, digest, unb64
from common.crypto.identity import Identity, PublicIdentity, sign, verify
from common.errors import Catalogue, PrivityError
from common.formats import read_json, require

FORMAT_VERSION = 1
_SIGNED_AS = "privity manifest"


@dataclass(frozen=True)
class Manifest:
    """Members in their public order, the schema's digest, and who operates the curator.

    ``curator_member`` names the party that operates the curator, if one does: it is never combiner.
    ``simulation`` marks a consortium whose keys and rows all lie on one machine.
    """

    consortium: str
    members: dict[str, PublicIdentity]
    schema_digest: str
    curator_member: str | None
    simulation: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "format_version": FORMAT_VERSION,
            "consortium": self.consortium,
            "members": [{"name": name, "keys": keys.to_dict()} for name, keys in self.members.items()],
            "schema_digest": self.schema_digest,
            "curator_member": self.curator_member,
            "simulation": self.simulation,
        }

    @property
    def digest(self) -> str:
        return digest(self.to_dict())

    def keys_of(self, member: str) -> PublicIdentity:
        try:
            return self.members[member]
        except KeyError:
            raise PrivityError(Catalogue.IDENTITY_UNKNOWN, identity=member) from None


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
        members = {m["name"]: PublicIdentity.from_dict(m["keys"]) for m in content["members"]}
        if len(members) != len(content["members"]):
            raise ValueError("a member is named twice")
        if content["curator_member"] not in (None, *members):
            raise ValueError("curator_member is not a member")
    except ValueError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=file, reason=str(error)) from error
    return Manifest(
        consortium=content["consortium"],
        members=members,
        schema_digest=content["schema_digest"],
        curator_member=content["curator_member"],
        simulation=content["simulation"],
    )


def read_manifest(path: Path, organiser_key: Path) -> Manifest:
    """Read a signed manifest and check it against the organiser's public key (32 bytes in base64)."""
    try:
        organiser = Ed25519PublicKey.from_public_bytes(unb64(organiser_key.read_text(encoding="ascii").strip()))
    except FileNotFoundError:
        raise PrivityError(Catalogue.FILE_MISSING, file=organiser_key) from None
    except (ValueError, OSError):
        reason = "not an organiser's public key in base64"
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=organiser_key, reason=reason) from None
    return open_manifest(read_json(path), organiser, str(path))
