"""New keys beside those in use: made now, listed by a later manifest, and taken at that moment.

They lie in ``next/`` beside the TLS key. What is in use stays as it is until the node takes them.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

FOLDER, KEYS = "next", "keys"
CERTIFICATE, KEY, REQUEST = "tls.pem", "tls.key", "tls.request.pem"


@dataclass(frozen=True)
class Next:
    """What is kept ready for a node.

    Attributes:
        key, certificate: the TLS key and certificate in use; the curator's certificate is in the manifest.
        keys: folder of a party's own keys in use.
    """

    key: Path
    certificate: Path | None = None
    keys: Path | None = None

    @property
    def folder(self) -> Path:
        return self.key.parent / FOLDER

    @property
    def next_certificate(self) -> Path:
        return self.folder / CERTIFICATE

    @property
    def next_key(self) -> Path:
        return self.folder / KEY

    @property
    def next_keys(self) -> Path:
        return self.folder / KEYS

    def there(self) -> bool:
        """Whether anything is kept ready; after a crash, whether taking it has not ended."""
        return any((self.folder / name).exists() for name in (CERTIFICATE, KEY, REQUEST))

    def half_taken(self) -> bool:
        """Whether a caller's key is in use already, and its certificate is not."""
        return self.next_certificate.exists() and not self.next_key.exists()

    def take(self) -> None:
        """Put them in the place of those in use. After a crash in between, taking goes on where it ended.

        A party's former keys must be out of the way.
        """
        moves = [
            (self.next_keys, self.keys),
            (self.folder / REQUEST, self.key.parent / REQUEST),
            # A caller is known by its certificate, so that goes last; the curator has its key alone.
            (self.next_key, self.key),
            (self.next_certificate, self.certificate),
        ]
        for source, target in moves:
            if target is not None and source.exists():
                os.replace(source, target)
        shutil.rmtree(self.folder, ignore_errors=True)


def fitting_key(certificate: str, key: Path) -> Path | None:
    """The file of the private key of a certificate (PEM): the one in use, or the one that is kept ready for it."""
    public = x509.load_pem_x509_certificate(certificate.encode()).public_key()
    for file in (key, Next(key).next_key):
        if file.exists():
            private = serialization.load_pem_private_key(file.read_bytes(), password=None)
            if private.public_key() == public:
                return file
    return None
