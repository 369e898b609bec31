"""Who signed a release: the curator, and each party that attests its part. docs/signed_releases.md says why.

The digest of a release is the SHA-256 of its ``run.json``, which names the SHA-256 of every other file. Signatures lie
beside them in ``attestations.json``, with the signed manifest; that file is written anew as a whole when one comes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privity.common.consortium.manifest import Manifest
from privity.common.crypto.certificate_signatures import sign_by_key
from privity.common.crypto.identity import Identity, PublicIdentity, sign, verify
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import parse_json, require
from privity.common.release.release_contents import ATTESTATIONS
from privity.common.release.release_folder import WRITTEN_AT
from privity.common.storage.canonical_json import b64, canonical_bytes, unb64
from privity.common.storage.safe_files import read_regular, sync

FORMAT_VERSION = 1
CURATOR_SIGNED_AS, PARTY_SIGNED_AS = "privity release", "privity attestation"
FIGURES = ("epsilon_per_person", "delta_per_person", "epsilon_per_row", "delta_per_row", "rho_per_row")
"""Of a party in ``privacy.json``: what it attests. The last one is only there in runs that are charged in rho."""


def release_digest(run_document: bytes) -> str:
    """The digest of a release, of the bytes of its ``run.json``."""
    return hashlib.sha256(run_document).hexdigest()


def charges_of(entry: Mapping[str, Any]) -> dict[str, str]:
    """What the entry of a party in ``privacy.json`` says that it was charged."""
    return {figure: entry[figure] for figure in FIGURES if figure in entry}


@dataclass(frozen=True)
class Published:
    """What both kinds of statement are about.

    Attributes:
        run, plan_digest: as ``run.json`` names them.
        digest: of the release.
    """

    run: str
    plan_digest: str
    digest: str

    @classmethod
    def of(cls, document: bytes, content: Mapping[str, Any]) -> Published:
        """Of a release over the network, by the bytes and the content of its ``run.json``."""
        return cls(content["run"], content["plan_digest"], release_digest(document))

    def under(self, manifest: Manifest) -> dict[str, Any]:
        """What a statement says of it that is checked by the keys of this manifest."""
        return {
            "consortium": manifest.consortium,
            "manifest_digest": manifest.digest,
            "run": self.run,
            "plan_digest": self.plan_digest,
            "release_digest": self.digest,
        }


def signed_by_party(
    published: Published,
    manifest: Manifest,
    party: str,
    charges: Mapping[str, str],
    identity: Identity,
    population: str = "",
) -> dict[str, Any]:
    """A party's statement with its signature, about rows of this population."""
    statement = {
        **published.under(manifest),
        "party": party,
        "population": identity.blinded(published.run, population),
        "charges": dict(charges),
    }
    signature = sign(identity.signing, PARTY_SIGNED_AS, canonical_bytes(statement))
    return {"statement": statement, "signature": b64(signature)}


def is_signed_by_party(signed: Mapping[str, Any], keys: PublicIdentity) -> bool:
    """Whether a party's statement that fits its format is signed under these keys."""
    try:
        signature = unb64(signed["signature"])
        verify(keys.signing_key, PARTY_SIGNED_AS, canonical_bytes(signed["statement"]), signature)
    except ValueError:
        return False
    return True


def signed_by_curator(published: Published, manifest: Manifest, key_pem: bytes) -> dict[str, Any]:
    """The curator's statement with its signature, by the key of the certificate that the manifest lists for it."""
    statement = published.under(manifest)
    signature = sign_by_key(key_pem, CURATOR_SIGNED_AS, canonical_bytes(statement))
    return {"statement": statement, "signature": b64(signature)}


def attestations_text(document: dict[str, Any]) -> str:
    """The text of the file: one for each content."""
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read_attestations(folder: Path) -> dict[str, Any] | None:
    """What stands beside a release; None if it is not signed. No signature is checked here.

    Raises:
        PrivityError, ProblemsFound: it does not fit its format, or is not as it was written.
    """
    path = folder / ATTESTATIONS
    if not path.exists():
        return None
    data = read_regular(path, links=False)
    document: dict[str, Any] = parse_json(data, str(path))
    require(document, "attestations", str(path))
    if attestations_text(document).encode() != data:
        raise PrivityError(Catalogue.TAMPERED, what=path, reason="it is not in the form that Privity writes")
    return document


def write_attestations(folder: Path, document: dict[str, Any]) -> None:
    """Put it beside a release in the place of the one before, whole or not at all.

    The scratch file lies outside of the folder, so that nobody who reads the release meanwhile finds it there.
    """
    scratch = folder.with_name(f".{folder.name}-{ATTESTATIONS}")
    scratch.write_text(attestations_text(document), encoding="utf-8")
    # When a party answered is nobody's business (``release_folder.without_times``).
    os.utime(scratch, (WRITTEN_AT, WRITTEN_AT))
    sync(scratch)
    os.replace(scratch, folder / ATTESTATIONS)
    os.utime(folder, (WRITTEN_AT, WRITTEN_AT))
    sync(folder)
