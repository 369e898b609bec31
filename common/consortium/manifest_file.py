"""A node's copy of the consortium's manifest: read again when it changes, replaced by newer ones only."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from privity.common.consortium.manifest import Manifest, open_manifest, read_organiser_key
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import parse_json
from privity.common.storage.safe_files import read_regular, write_whole

_log = logging.getLogger("privity.manifest")


class ManifestFile:
    """``manifest.json`` and the organiser's key that it is checked with.

    Raises:
        PrivityError: the organiser's key cannot be read.
    """

    def __init__(self, path: Path, organiser_key: Path) -> None:
        self.path = path
        self.organiser_key = organiser_key
        self._organiser: Ed25519PublicKey = read_organiser_key(organiser_key)
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] = ()
        self._kept: tuple[Manifest, bytes] | None = None

    def exists(self) -> bool:
        """Whether a manifest is there."""
        return self.path.exists()

    def current(self) -> Manifest:
        """The manifest as the file has it now. A file that became unreadable, or older, leaves the one before.

        Raises:
            PrivityError: there never was a valid one.
        """
        return self._current()[0]

    def document(self) -> bytes:
        """The signed document of the current manifest, to be handed on."""
        return self._current()[1]

    def sealed(self) -> tuple[Manifest, bytes]:
        """Both of them, of one moment."""
        return self._current()

    def opened(self, document: bytes, name: str) -> Manifest:
        """A document that came as ``name``, checked.

        Raises:
            PrivityError: it is not signed by the organiser, or of another consortium than the one that is here.
        """
        manifest = open_manifest(parse_json(document, name), self._organiser, name)
        if self._kept is not None and manifest.consortium != self._kept[0].consortium:
            raise PrivityError(Catalogue.TAMPERED, what=name, reason="it is of another consortium")
        return manifest

    def offer(self, document: bytes, name: str, fits: Callable[[Manifest], None] = lambda _manifest: None) -> bool:
        """Take a document that came from elsewhere, if it is newer; whether it was.

        Args:
            fits: raises PrivityError for a manifest that the node cannot go by: the one before stays then.

        Raises:
            PrivityError: as ``opened``, or of ``fits``.
        """
        before = self.current().serial if self.exists() else 0
        manifest = self.opened(document, name)
        if manifest.serial <= before:
            return False
        fits(manifest)
        write_whole(self.path, document.decode())
        return True

    def _current(self) -> tuple[Manifest, bytes]:
        with self._lock:
            try:
                found = self.path.stat()
                # Two writes may fall into one tick of the clock; a file that was put in its place is another one.
                stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
                if stamp != self._stamp:
                    # A file at fault is looked at once, not at every call.
                    self._stamp = stamp
                    self._kept = self._newer(read_regular(self.path))
            except (PrivityError, OSError) as error:
                if self._kept is None:
                    self._stamp = ()
                    if isinstance(error, PrivityError):
                        raise
                    first = "privity consortium seal, and with its manifest privity curator accept"
                    raise PrivityError(Catalogue.OUT_OF_ORDER, missing=self.path, first=first) from None
                _log.error("the manifest cannot be read again", extra={"error": type(error).__name__})
            assert self._kept is not None
            return self._kept

    def _newer(self, document: bytes) -> tuple[Manifest, bytes]:
        manifest = self.opened(document, str(self.path))
        if self._kept is not None and manifest.serial < self._kept[0].serial:
            raise PrivityError(Catalogue.TAMPERED, what=self.path, reason="it is older than the one before")
        if self._kept is not None and manifest.serial > self._kept[0].serial:
            _log.info("a newer manifest replaces the one before", extra={"serial": manifest.serial})
        return manifest, document
