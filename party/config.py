"""party.toml: where this node finds its rows, keys and policy, and whom it dials."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry

from common.formats.toml_file import read_toml
from common.journal import Journal
from common.node.proxy import Proxy, proxy_of, proxy_problems
from common.privacy.ledger import Ledger
from common.protocol.manifest import CURATOR, Manifest
from common.protocol.manifest_file import ManifestFile
from common.schema import load_schema
from party.engine import PartyEngine, check_schema
from party.keys import KeyFiles
from party.metrics import PartyMetrics
from party.policy import load_policy
from party.releases import ChargedReleases
from party.sources.settings import RowSettings, row_settings
from party.transcript import TRANSCRIPTS

CODED = "coded"
"""Folder of coded rows in that of the state."""

_log = logging.getLogger("privity.party")

LEDGER_FILE = "ledger.sqlite"
JOURNAL_FILE = "journal.sqlite"
DAY = 86400.0
LEASE_DAYS = 30.0
"""Longer than a curator's: what it still drives must be here."""


@dataclass(frozen=True)
class PartyConfig:
    """Paths are relative to the file that names them.

    Attributes:
        name: this party's name in the manifest.
        curator: address to dial, ``host:port``.
        curator_name: host name that the curator's certificate must show, if it is not the one dialled.
        rows: where they are, and how they are held.
        state: folder of ledger and journal; it must outlive restarts.
        lease: seconds without a word about a run after which what is kept of it is erased.
        metrics: address at which figures for Prometheus are shown, ``host:port``; None shows none.
        proxy: to dial through; without one the environment's variables count.
    """

    name: str
    curator: str
    curator_name: str | None
    rows: RowSettings
    schema: Path
    policy: Path
    manifest: Path
    organiser_key: Path
    keys: Path
    certificate: Path
    key: Path
    authority: Path
    state: Path
    lease: float = LEASE_DAYS * DAY
    metrics: str | None = None
    proxy: Proxy | None = None


def load_config(path: Path) -> PartyConfig:
    """Read party.toml; every fault at once."""
    document = read_toml(path, "party", lambda document: proxy_problems(document, str(path)))
    base = path.parent
    return PartyConfig(
        name=document["name"],
        curator=document["curator"],
        curator_name=document.get("curator_name"),
        rows=row_settings(document, base, base / document["state"] / CODED),
        schema=base / document["schema"],
        policy=base / document["policy"],
        manifest=base / document["manifest"],
        organiser_key=base / document["organiser_key"],
        keys=base / document["keys"],
        certificate=base / document["certificate"],
        key=base / document["key"],
        authority=base / document["authority"],
        state=base / document["state"],
        lease=float(document.get("lease_days", LEASE_DAYS)) * DAY,
        metrics=document.get("metrics"),
        proxy=proxy_of(document),
    )


class Node:
    """What a party's node has of its own, read and checked before it dials anybody; a broken policy means refusal."""

    def __init__(self, config: PartyConfig) -> None:
        self.config = config
        schema = load_schema(config.schema)
        self._policy = load_policy(config.policy, schema.names)
        self.manifests = ManifestFile(config.manifest, config.organiser_key)
        self.files = KeyFiles(config.name, config.keys, config.certificate, config.key)
        if self.manifests.exists():
            self.files.settle(self.manifests.current())
        self.keys = self.files.load()
        config.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        _log.info("the rows are looked at")
        rows = config.rows.open(schema, self._policy.rows_per_person).rows
        journal = Journal(config.state / JOURNAL_FILE)
        ledger = Ledger(config.state / LEDGER_FILE, self._policy.population)
        self._releases = ChargedReleases(config.name, rows, journal, ledger)
        self.metrics = PartyMetrics(CollectorRegistry(), ledger.spent, self._policy.total_epsilon)

    def engine(self) -> PartyEngine:
        """The engine under the manifest that is there."""
        transcripts = self.config.state / TRANSCRIPTS
        engine = PartyEngine(self._releases, self._policy, self.keys, self.manifests.current(), transcripts)
        engine.listener = self.metrics.step
        return engine

    def check_manifest(self, manifest: Manifest) -> None:
        """Refuse a manifest that this party cannot go by, before it takes the place of another.

        Raises:
            PrivityError: it names another schema, lists other keys, or is beyond the policy.
        """
        check_schema(self._releases, manifest)
        self.files.check(self.keys, manifest)
        self._policy.check_manifest(manifest.parties_per_person, self.config.name)

    def certificates(self) -> dict[str, str]:
        """This party's own certificate and the curator's, by ``ROLE/NAME``, as they are now."""
        found = {f"party/{self.config.name}": self.config.certificate.read_text(encoding="ascii")}
        if self.manifests.exists():
            curator = self.manifests.current().certificate_of("curator", CURATOR)
            if curator is not None:
                found[f"curator/{CURATOR}"] = curator
        return found

    def settle(self) -> bool:
        """Take the keys that are kept ready if the manifest lists them; whether it was so."""
        taken = self.files.settle(self.manifests.current())
        if taken is not None:
            self.keys.add(taken)
        return taken is not None

    def forget_keys(self, engine: PartyEngine) -> None:
        """Erase former keys that no open run needs."""
        needed = engine.keys_needed()
        self.keys.keep(needed)
        self.files.erase(needed)
