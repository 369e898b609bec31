"""A node's copy of the consortium's manifest: read again when it changes, replaced by newer ones only."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from common.errors import Catalogue, PrivityError
from common.files import write_whole
from common.formats import parse_json, read_json
from common.protocol.manifest import Manifest, open_manifest, read_organiser_key

_log = logging.getLogger("privity.manifest")


class ManifestFile:
    """``manifest.json`` and the organiser's key that it is checked with.

    Raises:
        PrivityError: the organiser's key cannot be read.
    """

    def __init__(self, path: Path, organiser_key: Path) -> None:
        self.path = path
        self._organiser: Ed25519PublicKey = read_organiser_key(organiser_key)
        self._lock = threading.Lock()
        self._kept: tuple[int, Manifest] | None = None

    def exists(self) -> bool:
        return self.path.exists()

    def current(self) -> Manifest:
        """The manifest as the file has it now. A file that became unreadable, or older, leaves the one before.

        Raises:
            PrivityError: there never was a valid one.
        """
        with self._lock:
            try:
                stamp = self.path.stat().st_mtime_ns
                if self._kept is None or self._kept[0] != stamp:
                    self._kept = (stamp, self._newer(open_manifest(read_json(self.path), self._organiser, self._name)))
            except (PrivityError, OSError) as error:
                if self._kept is None:
                    if isinstance(error, PrivityError):
                        raise
                    raise PrivityError(
                        Catalogue.OUT_OF_ORDER, missing=self.path, first="privity consortium seal"
                    ) from None
                _log.error("the manifest cannot be read again: %s", type(error).__name__)
            return self._kept[1]

    @property
    def _name(self) -> str:
        return str(self.path)

    def _newer(self, manifest: Manifest) -> Manifest:
        if self._kept is None:
            return manifest
        before = self._kept[1]
        if manifest.consortium != before.consortium or manifest.serial < before.serial:
            raise PrivityError(Catalogue.TAMPERED, what=self.path, reason="it is older than the one before")
        return manifest

    def document(self) -> bytes:
        """The signed document, to be handed on."""
        self.current()
        return self.path.read_bytes()

    def offer(self, document: bytes) -> bool:
        """Take a document that came from elsewhere, if it is newer; whether it was.

        Raises:
            PrivityError: it is not signed by the organiser, or of another consortium.
        """
        offered = open_manifest(
            parse_json(document, "the curator's manifest"), self._organiser, "the curator's manifest"
        )
        if self.exists():
            before = self.current()
            if offered.consortium != before.consortium:
                raise PrivityError(
                    Catalogue.TAMPERED, what="the curator's manifest", reason="it is of another consortium"
                )
            if offered.serial <= before.serial:
                return False
        write_whole(self.path, document.decode())
        return True
