"""A release that the curator and every party signed, made in process by the production engines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privity.common.consortium.manifest import CURATOR, sign_manifest
from privity.common.protocol.steps import Attest, Attested
from privity.common.release.attestations import FORMAT_VERSION, Published, signed_by_curator, write_attestations
from privity.common.release.release_contents import PRIVACY, RUN
from privity.common.storage.canonical_json import b64
from tests.harness.consortium import TestConsortium, make_consortium


@dataclass(frozen=True)
class SignedRelease:
    """A release below a folder, with who made it; ``root`` is the file of the organiser's public key."""

    consortium: TestConsortium
    folder: Path
    root: Path


def attest(release: Path, run: str = "run-1") -> Attest:
    """What parties are asked about a release."""
    return Attest(run, (release / RUN).read_bytes(), (release / PRIVACY).read_bytes())


def attested(consortium: TestConsortium, release: Path, run: str = "run-1") -> list[dict[str, Any]]:
    """What every party of the consortium signs; a refusal is an AssertionError."""
    found = []
    for party in consortium.parties:
        reply = consortium.tell(party, attest(release, run))
        assert isinstance(reply, Attested), reply
        found.append(reply.attestation)
    return found


def document_of(consortium: TestConsortium, release: Path, parties: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The content of ``attestations.json``, with the curator's own signature."""
    run = (release / RUN).read_bytes()
    published = Published.of(run, json.loads(run))
    key = consortium.tls.pairs[f"curator/{CURATOR}"][1]
    return {
        "format_version": FORMAT_VERSION,
        "manifests": [sign_manifest(consortium.manifest, consortium.tls.organiser)],
        "curator": signed_by_curator(published, consortium.manifest, key),
        "parties": list(parties),
    }


def signed_release(folder: Path, *, run: str = "run-1", consortium: TestConsortium | None = None) -> SignedRelease:
    """A small release of three parties, signed by all."""
    consortium = consortium or make_consortium(3, domain=(2, 3), rows=20, simulation=False)
    folder.mkdir(parents=True, exist_ok=True)
    release = folder / "release"
    consortium.drive(release, run, algorithm="one-way", close=False)
    write_attestations(release, document_of(consortium, release, attested(consortium, release, run)))
    root = folder / "organiser.pub"
    root.write_text(b64(consortium.tls.organiser.public().signing), encoding="ascii")
    return SignedRelease(consortium, release, root)
