"""The consortium's signed manifest: who the members are, under which keys, over which schema.

Everything that a party believes about another party comes from here, never from the curator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from privity.common.crypto.certificates import key_of_member
from privity.common.crypto.identity import USES, Identity, PublicIdentity, sign, verify
from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.formats import read_json, require
from privity.common.storage.canonical_json import b64, canonical_bytes, digest, parse, unb64

FORMAT_VERSION = 1

CURATOR = "curator"
"""Name of the curator among the members; no party or operator has it."""

_SIGNED_AS = "privity manifest"


class Split(StrEnum):
    """How the rows came to the parties, which decides whose neighbouring tables the guarantee is about.

    With all of them, neighbours are tables of one party that differ in one row.
    """

    NONE = "none"
    """Nobody split a table: each party has rows of its own."""
    POSITION = "position"
    """A simulation split one table by the positions of rows: neighbours may be joint tables, too."""
    GIVEN = "given"
    """A simulation split one table by what rows hold: the guarantee is for the split as given."""


@dataclass(frozen=True)
class Manifest:
    """Who the members are, under which keys, over which schema, and what they agreed on.

    Attributes:
        members: the parties in their public order.
        curator_member: the party that operates the curator, if one does: it is never combiner.
        simulation: all keys and rows lie on one machine.
        split: of a simulation, how it gave rows to the parties, if the manifest says so.
        serial: a later manifest of the same consortium has a larger one.
        certificates: TLS certificate (PEM) of everybody, by ``ROLE/NAME``: self-signed ones of parties and
            operators, the curator's of the consortium's authority.
        minimum_parties, minimum_tolerate: no run over fewer parties, or that withstands fewer of them.
        parties_per_person: most parties at which one person has rows.
        paused: parties that new runs leave out; runs that have begun go on with them.
        discoveries: digests of the signed releases in which domains of the schema were discovered.
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
    split: Split | None = None
    paused: tuple[str, ...] = ()
    discoveries: tuple[str, ...] = ()

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
            **({} if self.split is None else {"split": self.split.value}),
            **({"paused": list(self.paused)} if self.paused else {}),
            **({"discoveries": list(self.discoveries)} if self.discoveries else {}),
        }

    def members_of_run(self, asked: Sequence[str] | None) -> tuple[str, ...]:
        """The parties of a run in their public order: those that are asked for, or all that are not paused."""
        wanted = {*self.members} - {*self.paused} if asked is None else {*asked}
        return tuple(name for name in self.members if name in wanted)

    def faults_of_run(self, asked: Sequence[str] | None, tolerate: int) -> list[tuple[str, str, str]]:
        """Why no run over these parties may be, whatever their policies say: (option, reason, remedy) of each fault."""
        members, found = self.members_of_run(asked), list[tuple[str, str, str]]()
        possible = f"Possible: {', '.join(self.members_of_run(None))}."
        for name in dict.fromkeys(asked or ()):
            if name not in self.members:
                found.append(("parties", f"the manifest lists no {name!r}", possible))
            elif name in self.paused:
                found.append(("parties", f"{name} is paused", possible))
            if asked is not None and list(asked).count(name) > 1:
                found.append(("parties", f"{name} is named twice", "Name each party once."))
        if self.parties_per_person > 1 and {*members} != {*self.members}:
            # Else the ledger of a party would not show what its people lose by runs over others.
            reason = "a person may be at several parties, so every run is over all of them"
            found.append(("parties", reason, "Leave out the parties of the run."))
        count, least = len(members), max(self.minimum_parties, 2)
        if count < 2:
            reason = "a run over the network needs two parties or more"
            found.append(("parties", reason, "Possible: single-party mode, `privity synthesize`."))
        elif count < least:
            found.append(("parties", f"{count} parties", f"Possible: {least} or more, as the members agreed."))
        if not 1 <= tolerate < max(count, 2):
            reason = f"{tolerate} colluding parties of {count}"
            found.append(("tolerate", reason, f"Possible: 1 to {max(count, 2) - 1}."))
        if tolerate < self.minimum_tolerate:
            remedy = f"Possible: {self.minimum_tolerate} or more, as the members agreed."
            found.append(("tolerate", f"{tolerate} colluding parties", remedy))
        return found

    @property
    def digest(self) -> str:
        return digest(self.to_dict())

    @property
    def how_split(self) -> Split:
        """How rows came to the parties. Of a simulation that does not say so the least is claimed: as given."""
        return self.split or (Split.GIVEN if self.simulation else Split.NONE)

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
    """Check format, signature and members, then read the manifest.

    Raises:
        PrivityError: tampered.
        ProblemsFound: it is of another version, or members or keys that cannot be; all at once.
    """
    require(document, "manifest", file)
    content = document["manifest"]
    try:
        verify(organiser, _SIGNED_AS, canonical_bytes(content), unb64(document["signature"]))
    except ValueError as error:
        raise PrivityError(Catalogue.TAMPERED, what=file, reason="the organiser's signature does not fit") from error
    check_members(content, file)
    return manifest_from(content)


def check_members(content: dict[str, Any], file: str) -> None:
    """Refuse a manifest in which a name or a key stands for two.

    Keys are compared by what they do: one X25519 key can be written in several ways.

    Raises:
        ProblemsFound: everything that is wrong with it.
    """
    found = list[tuple[str, str]]()
    names = [member["name"] for member in content["members"]]
    found += [("members", f"the party {name} is named twice") for name in {*names} if names.count(name) > 1]
    if content["curator_member"] not in (None, *names):
        found.append(("curator_member", f"{content['curator_member']} is none of the parties"))
    found += [("paused", f"{name} is none of the parties") for name in content.get("paused", ()) if name not in names]
    if not content["simulation"] and "split" in content:
        found.append(("split", "only a simulation has a split"))
    holders = dict[bytes, str]()
    probe = X25519PrivateKey.generate()
    for place, member in enumerate(content["members"]):
        try:
            keys = PublicIdentity.from_dict(member["keys"])
        except ValueError as error:
            found.append((f"members[{place}].keys", f"{member['name']}: {error}"))
            continue
        works = (keys.signing, probe.exchange(keys.sealing_key), probe.exchange(keys.agreement_key))
        for use, work in zip(USES, works, strict=True):
            holder = f"the {use} key of {member['name']}"
            if (before := holders.setdefault(work, holder)) != holder:
                found.append((f"members[{place}].keys.{use}", f"{holder} is {before}"))
    found += _faults_of_certificates(content["certificates"], names)
    if found:
        remedy = "Have the organiser take out that answer, get one with keys of its own, and seal anew."
        raise ProblemsFound(
            Problem(file, f"manifest.{field}", "members", f"{message}.", remedy) for field, message in found
        )


def _faults_of_certificates(certificates: dict[str, str], parties: list[str]) -> list[tuple[str, str]]:
    """What is wrong with them, and where. A manifest without any is of a harness that knows no TLS."""
    found = list[tuple[str, str]]()
    holders, roles = dict[bytes, str](), dict[str, str]()
    for holder, pem in certificates.items():
        role, _, name = holder.partition("/")
        if (before := roles.setdefault(name, role)) != role:
            found.append(("certificates", f"{name} is named as {before} and as {role}"))
        try:
            key = key_of_member(pem.encode(), role, name)
        except ValueError as error:
            found.append(("certificates", f"{holder}: {error}"))
            continue
        if (other := holders.setdefault(key, holder)) != holder:
            found.append(("certificates", f"{holder} has the TLS key of {other}"))
    with_certificate = {name for name, role in roles.items() if role == "party"}
    if certificates and with_certificate != {*parties}:
        odd = ", ".join(sorted(with_certificate ^ {*parties}))
        found.append(("certificates", f"{odd}: each party has keys and a certificate"))
    return found


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


def manifest_of_run(kept: bytes) -> Manifest:
    """The manifest under which a run began, as the journal has it."""
    return manifest_from(parse(kept))


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
        split=Split(content["split"]) if "split" in content else None,
        paused=tuple(content.get("paused", ())),
        discoveries=tuple(content.get("discoveries", ())),
    )
