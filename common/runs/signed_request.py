"""A run request that its operator signed: the curator relays it, and parties enrol by nothing else.

It names the run, the consortium, the schema and the members, but not the manifest: a certificate that is renewed while
a run waits changes nothing of what the operator asked for.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from privity.common.consortium.manifest import Manifest
from privity.common.crypto.certificate_signatures import sign_by_key, verify_by_certificate
from privity.common.crypto.certificates import name_in
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import parse_json, require
from privity.common.protocol.run_spec import LARGEST_SPEC, RunSpec
from privity.common.runs.run_request import REQUEST, RunRequest, parse_request
from privity.common.storage.canonical_json import b64, canonical_bytes, unb64
from privity.common.text.utc_times import utc_now

FORMAT_VERSION = 1
LARGEST = LARGEST_SPEC + (1 << 19)
"""Bytes: those of a run request, and the names of the most members."""
VALID_DAYS = 30
"""For which an operator's client signs: longer than owners take to approve a run."""
_SIGNED_AS = "privity run request"


@dataclass(frozen=True)
class SignedRequest:
    """What an operator asks for; see common/formats/signed_request.schema.json.

    Attributes:
        content: what is signed.
        signature: by the key of the operator's certificate.
    """

    content: dict[str, Any]
    signature: bytes

    @property
    def operator(self) -> str:
        return str(self.content["operator"])

    @property
    def run(self) -> str:
        return str(self.content["run"])

    @property
    def nonce(self) -> str:
        return str(self.content["nonce"])

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(self.content["members"])

    @property
    def asked(self) -> bytes:
        """The run request in it, as canonical JSON."""
        return canonical_bytes(self.content["asked"])

    def request(self) -> RunRequest:
        """The run request in it, over exactly the members that are signed.

        Raises:
            PrivityError, ProblemsFound: it does not fit its format.
        """
        return parse_request(self.asked, bounded=False).over(self.members)

    def bytes(self) -> bytes:
        return canonical_bytes(
            {"format_version": FORMAT_VERSION, "request": self.content, "signature": b64(self.signature)}
        )

    def fault(self, manifest: Manifest) -> str:
        """Why nobody may take this for a request of an operator of the consortium now; empty if one may."""
        certificate = manifest.certificate_of("operator", self.operator)
        if certificate is None:
            return f"the manifest lists no operator {self.operator}"
        try:
            verify_by_certificate(certificate.encode(), _SIGNED_AS, canonical_bytes(self.content), self.signature)
        except ValueError:
            return f"the operator {self.operator} did not sign this request by the certificate that the manifest lists"
        if self.content["consortium"] != manifest.consortium:
            return "the operator signed it for another consortium"
        if self.content["schema_digest"] != manifest.schema_digest:
            return "the operator signed it for another schema"
        if self.content["expires"] <= utc_now():
            return f"the operator's request expired at {self.content['expires']}"
        return ""

    def asks_for(self, spec: RunSpec, manifest: Manifest) -> bool:
        """Whether it asks for exactly this run.

        Raises:
            PrivityError, ProblemsFound: the run request in it does not fit its format.
        """
        return self.members == spec.members and self.request().spec(self.run, manifest) == spec


def sign_request(
    request: dict[str, Any], run: str, manifest: Manifest, certificate: bytes, key: bytes, days: int = VALID_DAYS
) -> SignedRequest:
    """A run request as its operator signs it.

    Args:
        request: in the format ``run_request``.
        run: what the run is called.
        manifest: names the consortium, its schema, and the parties that are not paused.
        certificate, key: the operator's, PEM.

    Raises:
        PrivityError, ProblemsFound: it does not fit its format; a number in it that canonical JSON cannot hold.
    """
    content = {
        "format_version": FORMAT_VERSION,
        "operator": name_in(certificate),
        "consortium": manifest.consortium,
        "schema_digest": manifest.schema_digest,
        "run": run,
        "members": list(manifest.members_of_run(request.get("parties"))),
        "asked": request,
        "nonce": secrets.token_hex(16),
        "expires": (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds"),
    }
    try:
        parse_request(canonical_bytes(request), bounded=False)
        return SignedRequest(content, sign_by_key(key, _SIGNED_AS, canonical_bytes(content)))
    except ValueError as error:
        reason = "a number that is no whole number below 2^53: write it as text, if it belongs here"
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=REQUEST, reason=reason) from error


def open_request(data: bytes) -> SignedRequest:
    """A signed request from its JSON; the signature is not looked at yet.

    Raises:
        PrivityError, ProblemsFound: it does not fit its format.
    """
    if len(data) > LARGEST:
        reason = f"larger than {LARGEST} bytes, as no signed request may be"
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=REQUEST, reason=reason)
    document: Any = parse_json(data, REQUEST)
    require(document, "signed_request", REQUEST)
    try:
        return SignedRequest(document["request"], unb64(document["signature"]))
    except ValueError as error:
        reason = "its signature is not in base64"
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=REQUEST, reason=reason) from error
