"""The limits that parties publish: the newest of each, kept for operators, who check the signatures themselves."""

from __future__ import annotations

import hashlib

from privity.common.consortium.manifest_file import ManifestFile
from privity.common.errors import Catalogue, PrivityError
from privity.common.runs.published_limits import LARGEST_LIMITS, PublishedLimits
from privity.common.storage.journal import Journal


class LimitsOfParties:
    """One document a party, in the curator's journal."""

    def __init__(self, journal: Journal, manifests: ManifestFile) -> None:
        self._journal, self._manifests = journal, manifests

    def take(self, party: str, document: bytes) -> None:
        """Keep what a party publishes, in the place of what it published before; raises as ``read``."""
        self.keep(self.read(party, document), document)

    def read(self, party: str, document: bytes) -> PublishedLimits:
        """What a party publishes, checked; may be asked from any thread.

        Raises:
            PrivityError: message-too-large; tampered: it is not this party's.
            ProblemsFound: it does not fit its format.
        """
        if len(document) > LARGEST_LIMITS:
            raise PrivityError(Catalogue.TOO_LARGE, sender=party, limit=LARGEST_LIMITS)
        found = PublishedLimits.opened(document, self._manifests.current())
        if found.party != party:
            reason = f"they are those of {found.party}"
            raise PrivityError(Catalogue.TAMPERED, what=f"the limits that {party} publishes", reason=reason)
        return found

    def keep(self, limits: PublishedLimits, document: bytes) -> None:
        """Keep a document that was read."""
        key, digest = f"#limits/{limits.party}", hashlib.sha256(document).hexdigest()
        if self._journal.digest(key) != digest:
            self._journal.record_together([(key, digest, document)], instead_of=[key])

    def all(self) -> list[bytes]:
        """Those of the parties of now, in their order."""
        found = (self._journal.content(f"#limits/{party}") for party in self._manifests.current().members)
        return [document for document in found if document is not None]
