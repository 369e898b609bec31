"""The limits that a data owner publishes, signed by its party: a curator hands them on, and can change nothing.

It may hand on old ones: so they say when they were signed, and nothing but the party itself refuses a run by them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from privity.common.consortium.manifest import Manifest
from privity.common.crypto.identity import Identity, sign, verify
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import parse_json, require
from privity.common.protocol.run_spec import RunSpec
from privity.common.runs.run_limits import RunLimits
from privity.common.storage.canonical_json import b64, canonical_bytes, unb64

FORMAT_VERSION = 1
LARGEST_LIMITS = 1 << 16
"""Bytes of a document: names of some thousand attributes."""
_SIGNED_AS = "privity published limits"
WHAT = "published limits"


@dataclass(frozen=True)
class PublishedLimits:
    """What one party publishes.

    Attributes:
        at: when it was signed, in UTC.
        limits: those that its owner agrees to publish.
        rows_per_person: of its people; 1 if no price is published.
    """

    consortium: str
    party: str
    at: str
    limits: RunLimits
    rows_per_person: int
    signature: bytes

    @classmethod
    def signed(
        cls, consortium: str, party: str, limits: RunLimits, rows_per_person: int, identity: Identity
    ) -> PublishedLimits:
        """As the party signs them now."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        unsigned = cls(consortium, party, at, limits, rows_per_person, b"")
        return replace(unsigned, signature=sign(identity.signing, _SIGNED_AS, canonical_bytes(unsigned._content())))

    def _content(self) -> dict[str, Any]:
        return {
            "consortium": self.consortium,
            "party": self.party,
            "at": self.at,
            "rows_per_person": self.rows_per_person,
            "limits": self.limits.limits(),
        }

    def document(self) -> bytes:
        """What travels."""
        content = {"published": self._content(), "signature": b64(self.signature)}
        return canonical_bytes({"format_version": FORMAT_VERSION, **content})

    @classmethod
    def opened(cls, document: bytes, manifest: Manifest) -> PublishedLimits:
        """What a document says, checked against the manifest.

        Raises:
            PrivityError: tampered: the party that it names did not sign it, or is none of this consortium.
            ProblemsFound: it does not fit its format.
        """
        found = parse_json(document, WHAT)
        require(found, "published_limits", WHAT)
        content = found["published"]
        party = content["party"]
        try:
            if party not in manifest.members or content["consortium"] != manifest.consortium:
                raise ValueError("another consortium")
            signature = unb64(found["signature"])
            verify(manifest.keys_of(party).signing_key, _SIGNED_AS, canonical_bytes(content), signature)
        except ValueError:
            reason = f"they are not signed by a party {party} of this consortium"
            raise PrivityError(Catalogue.TAMPERED, what=WHAT, reason=reason) from None
        limits = RunLimits.of_limits(content["limits"])
        return cls(content["consortium"], party, content["at"], limits, content["rows_per_person"], signature)

    def refusals(self, spec: RunSpec, key_bits: int | None, manifest: Manifest) -> list[str]:
        """Why the party would refuse a run, as far as it publishes its limits."""
        return self.limits.refusals(
            spec,
            self.party,
            here=self.rows_per_person,
            elsewhere=manifest.parties_per_person - 1,
            key_bits=key_bits,
            parties_per_person=manifest.parties_per_person,
        )
