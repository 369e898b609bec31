"""A party's private keys: those in use, new ones kept ready, and former ones that open runs still need.

A run goes on under the manifest under which it began, so under the keys that this manifest lists. Former keys are
erased as soon as no open run's manifest lists them.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from privity.common.consortium.key_renewal import Next
from privity.common.consortium.manifest import Manifest
from privity.common.crypto.certificates import same_certificate
from privity.common.crypto.identity import Identity, PublicIdentity
from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.canonical_json import digest

FORMER, GONE = "former", ".gone-"


class Keys:
    """A party's private keys, by the manifest that lists their public halves."""

    def __init__(self, party: str, *identities: Identity) -> None:
        self._party = party
        self._known = {identity.public(): identity for identity in identities}

    def of(self, manifest: Manifest) -> Identity:
        """Those that this manifest lists.

        Raises:
            PrivityError: it lists others.
        """
        identity = self._known.get(manifest.keys_of(self._party))
        if identity is None:
            reason = f"they are not the keys that the manifest lists for {self._party}"
            raise PrivityError(Catalogue.TAMPERED, what="the keys of this party", reason=reason)
        return identity

    def all(self) -> list[Identity]:
        """Every one that is known."""
        return list(self._known.values())

    def add(self, identity: Identity) -> None:
        self._known[identity.public()] = identity

    def keep(self, needed: Collection[PublicIdentity]) -> None:
        """Forget all others."""
        self._known = {public: identity for public, identity in self._known.items() if public in needed}


class KeyFiles:
    """Where they lie: ``keys/`` in use, ``next/`` kept ready, ``former/`` for open runs."""

    def __init__(self, party: str, keys: Path, certificate: Path, key: Path) -> None:
        self._party = party
        self._folder = keys
        self._former = keys.parent / FORMER
        self.next = Next(key, certificate, keys)

    def load(self) -> Keys:
        """Those in use, and the former ones."""
        return Keys(self._party, Identity.load(self._folder), *map(Identity.load, self._former_ones()))

    def private_ones(self) -> list[Path]:
        """Files of all private keys, waiting and former ones too."""
        tls = [self.next.key, *([self.next.next_key] if self.next.next_key.exists() else [])]
        return tls + [
            file for folder in (self._folder, self.next.next_keys, self._former) for file in folder.rglob("*.pem")
        ]

    def _former_ones(self) -> list[Path]:
        """Folders of former keys, but for those that were about to be erased."""
        there = self._former.iterdir() if self._former.exists() else ()
        return [folder for folder in there if not folder.name.startswith(GONE)]

    def check(self, known: Keys, manifest: Manifest) -> None:
        """Refuse a manifest that lists keys which are neither known nor kept ready.

        Raises:
            PrivityError: tampered.
        """
        ready = self.next.next_keys
        if not (ready.exists() and Identity.load(ready).public() == manifest.keys_of(self._party)):
            known.of(manifest)

    def settle(self, manifest: Manifest) -> Identity | None:
        """Take what is kept ready if the manifest lists it: this party's keys from now on; None if it does not."""
        listed, waiting = manifest.certificate_of("party", self._party), self.next
        if listed is None or not waiting.next_certificate.exists():
            return None
        if not same_certificate(listed.encode(), waiting.next_certificate.read_bytes()):
            return None
        if waiting.next_keys.exists() and self._folder.exists():
            public = Identity.load(self._folder).public()
            self._former.mkdir(mode=0o700, exist_ok=True)
            self._folder.replace(self._former / digest(public.to_dict())[:16])
        waiting.take()
        return Identity.load(self._folder)

    def erase(self, needed: Collection[PublicIdentity]) -> None:
        """Erase former keys but for those needed."""
        for folder in self._former_ones():
            if Identity.load(folder).public() not in needed:
                # Named away first: a crash meanwhile leaves nothing that is taken for keys.
                folder.rename(folder.with_name(GONE + folder.name))
        for folder in self._former.glob(f"{GONE}*"):
            shutil.rmtree(folder)
