"""Signatures beside the releases of a curator: its own when a release is written, each party's when it comes.

Nothing waits for them: a release is published with those that are there (docs/signed_releases.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privity.common.consortium.key_renewal import fitting_key
from privity.common.consortium.manifest import CURATOR, Manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import check, parse_json
from privity.common.node.metrics_page import known_code
from privity.common.protocol.steps import Attest, Attested, Refusal, Reply
from privity.common.release.attestations import (
    FORMAT_VERSION,
    Published,
    read_attestations,
    signed_by_curator,
    write_attestations,
)
from privity.common.release.release_contents import ATTESTATIONS, PRIVACY, RUN
from privity.common.release.verification.signature_verification import Signers
from privity.common.storage.canonical_json import canonical_bytes
from privity.common.storage.safe_files import read_regular
from privity.common.text.visible import cut
from privity.curator.run_progress_marks import Marks

ROOM_SECONDS = 5.0
"""Between two tries to write when a disk is full."""

_log = logging.getLogger("privity.curator")


@dataclass
class _Signing:
    """The signatures of one release, while parties are asked for theirs.

    Attributes:
        document: what the file has; writing: held while it is written.
    """

    document: dict[str, Any]
    signers: Signers
    step: Attest
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def parties(self) -> set[str]:
        return {signed["statement"]["party"] for signed in self.document["parties"]}


class SignedReleases:
    """Signs releases, and keeps what parties attest of them.

    Args:
        folder: of all releases, below their names.
        key: the file of the private key of the certificate that the manifest lists for the curator; None signs none.
        marks: where it stands why a party does not attest, or why what it says does not hold.
        missed: told (run, why) of all that is missing, when that changes; empty if nothing is.
    """

    def __init__(
        self,
        folder: Path,
        key: Path | None,
        manifests: ManifestFile,
        marks: Marks,
        missed: Callable[[str, str], None],
    ) -> None:
        self._folder = folder
        self._key = key
        self._manifests = manifests
        self._marks = marks
        self._missed = missed
        self._open: dict[str, _Signing | None] = {}

    def sign(self, run: str, sealed: bytes | None) -> None:
        """Sign a release if one is written, unless that was done before. One that cannot be signed is published, too.

        Args:
            sealed: the signed manifest under which the run began; without it nothing can be signed.

        Raises:
            OSError: the signatures cannot be written.
        """
        folder = self._folder / run
        if (folder / ATTESTATIONS).exists() or not folder.is_dir():
            return
        if sealed is None:
            _log.warning("a release is not signed: no signed manifest was kept when its run began", extra={"run": run})
            return
        try:
            found = self._signed(folder, sealed)
        except PrivityError as error:
            _log.error("a release is not signed", extra={"run": run, "reason": error.code})
            return
        if "curator" not in found:
            _log.error("a release is not signed: no manifest lists the certificate of this key", extra={"run": run})
        write_attestations(folder, found)

    def _signed(self, folder: Path, sealed: bytes) -> dict[str, Any]:
        document = read_regular(folder / RUN)
        published = Published.of(document, parse_json(document, RUN))
        found: dict[str, Any] = {"format_version": FORMAT_VERSION, "manifests": [parse_json(sealed, "")], "parties": []}
        # Of the run's manifest first; a key that was renewed since is in the one of now.
        newest = self._manifests.document()
        for place, signed in enumerate((sealed, newest)):
            manifest = self._manifests.opened(signed, "the manifest")
            if (key := self._own_key(manifest)) is not None:
                found["manifests"] += [parse_json(signed, "")] * place
                found["curator"] = signed_by_curator(published, manifest, key.read_bytes())
                break
        return found

    def _own_key(self, manifest: Manifest) -> Path | None:
        certificate = manifest.certificate_of("curator", CURATOR)
        return None if certificate is None or self._key is None else fitting_key(certificate, self._key)

    def step(self, run: str, party: str) -> Attest | None:
        """What a party is to be asked about a completed run; None if it attested, or nothing can be attested."""
        if run not in self._open:
            self._open[run] = self._opened(run)
        signing = self._open[run]
        if signing is not None and party in signing.parties:
            self._attested(run, party)  # an earlier process may have been killed before it noted that
            return None
        return None if signing is None else signing.step

    def forget(self, run: str) -> None:
        """Nobody is asked about it any more."""
        self._open.pop(run, None)

    def _opened(self, run: str) -> _Signing | None:
        folder = self._folder / run
        try:
            document = read_attestations(folder)
            if document is None:
                return None
            own, privacy = read_regular(folder / RUN), read_regular(folder / PRIVACY)
            manifest = self._manifests.opened(canonical_bytes(document["manifests"][0]), "the manifest of the run")
            published = Published.of(own, parse_json(own, RUN))
            signers = Signers(published, parse_json(privacy, PRIVACY), {manifest.digest: manifest})
        except PrivityError as error:
            _log.error("nobody is asked to attest a release", extra={"run": run, "reason": error.code})
            return None
        return _Signing(document, signers, Attest(run, own, privacy))

    async def take(self, run: str, party: str, reply: Reply) -> None:
        """Keep what a party answered, if it holds; else say what is missing, and why."""
        signing = self._open.get(run)
        if signing is None:
            return
        if isinstance(reply, Refusal):
            self._miss(run, party, f"{party} says: {cut(reply.message)}", known_code(reply.code))
        elif not isinstance(reply, Attested):
            self._miss(run, party, f"{party} answered with another kind of reply", Catalogue.MALFORMED.value.code)
        elif (fault := _fault(signing, party, reply.attestation)) is not None:
            self._miss(run, party, fault[1], fault[0])
        else:
            await self._write(run, signing, reply.attestation)
            self._attested(run, party)

    async def _write(self, run: str, signing: _Signing, attestation: dict[str, Any]) -> None:
        """Write the file with one statement more, however long there is no room for it."""
        order = {entry["name"]: place for place, entry in enumerate(signing.signers.privacy["parties"])}
        async with signing.writing:
            parties = [*signing.document["parties"], attestation]
            parties.sort(key=lambda signed: order[signed["statement"]["party"]])
            document = {**signing.document, "parties": parties}
            while True:
                try:
                    await asyncio.to_thread(write_attestations, self._folder / run, document)
                    break
                except OSError as error:
                    _log.error("signatures cannot be written", extra={"run": run, "error": type(error).__name__})
                await asyncio.sleep(ROOM_SECONDS)
            signing.document = document

    def _attested(self, run: str, party: str) -> None:
        if self._marks.note_attested(run, party):
            self._missed(run, self._marks.unattested(run))

    def _miss(self, run: str, party: str, why: str, code: str) -> None:
        _log.warning("a party does not attest a release", extra={"run": run, "party": party, "reason": code})
        told = f"the release lacks the attestation of {party}: {why}"
        try:
            self._marks.note_unattested(run, party, told)
            told = self._marks.unattested(run)
        finally:
            self._missed(run, told)


def _fault(signing: _Signing, party: str, attestation: dict[str, Any]) -> tuple[str, str] | None:
    """Why what a party sent is not kept: the code, and the words."""
    document = {**signing.document, "parties": [attestation]}
    if check(document, "attestations", ATTESTATIONS) or attestation["statement"]["party"] != party:
        return Catalogue.MALFORMED.value.code, f"{party} sent what is no statement of its own"
    return signing.signers.fault_of_party(attestation)
