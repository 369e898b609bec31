"""party.toml: where this node finds its rows, keys and policy, and whom it dials."""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from prometheus_client import CollectorRegistry

from privity.common.consortium.manifest import CURATOR, Manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.schema_file import END_AWAITED, SchemaFile
from privity.common.data.schema import Schema, load_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import declared_keys as declare
from privity.common.node.proxy import Proxy, proxy_key
from privity.common.notices.channels import Channel, notices_key
from privity.common.notices.outbox import Outbox
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.privacy.population import Population
from privity.common.protocol.steps import Pending, Refusal, Step
from privity.common.runs.published_limits import PublishedLimits
from privity.common.storage.journal import Journal
from privity.common.storage.safe_files import write_private
from privity.party.charged_releases import ChargedReleases
from privity.party.keys import KeyFiles
from privity.party.ledger_rollback import KnownLedger
from privity.party.metrics import PartyMetrics
from privity.party.other_nodes import OtherNodes
from privity.party.owner_notices import OwnerNotices
from privity.party.policy import Policy, load_policy
from privity.party.policy_file import PolicyFile, note_policy
from privity.party.run_expiry import LastHeard
from privity.party.sources.rows import Rows
from privity.party.sources.source_settings import RowSettings
from privity.party.step_answers import OtherSchemaError, PartyEngine, check_schema
from privity.party.transcript import TRANSCRIPTS

CODED = "coded"
"""Folder of coded rows in that of the state."""

_log = logging.getLogger("privity.party")

NODE_FILE = "node-id"
"""In the state folder: what tells this node's charges from those of others in one ledger."""

JOURNAL_FILE = "journal.sqlite"
AT_WORK_SECONDS = 3600.0
"""A run that was heard of within so long, and has not ended, is taken to be at work."""

DAY = 86400.0


@dataclass(frozen=True, kw_only=True)
class PartyConfig:
    """party.toml."""

    FILE: ClassVar = declare.SettingsFile(
        "party", "party.toml: a data owner's node", together={"person": ["order"], "order": ["person"]},
    )  # fmt: skip

    name: str = declare.of_form(declare.NAME, "this party's name in the manifest")
    curator: str = declare.of_form(declare.ADDRESS, "address to connect to, `host:port`")
    curator_name: str | None = declare.text(
        "host name in the curator's certificate, if it differs from the address", default=None
    )
    proxy: Proxy | None = proxy_key()
    rows: RowSettings = declare.part(RowSettings)
    schema: Path = declare.path("path of the schema; its digest must match the manifest's", start="schema.json")
    policy: Path = declare.path("path of `policy.toml`", start="policy.toml")
    manifest: Path = declare.path(
        "path of `manifest.json`, which comes from the curator and is signed by the organiser", start="manifest.json"
    )
    organiser_key: Path = declare.path("path of the organiser's public signing key (base64)", start="organiser.pub")
    keys: Path = declare.path(
        "folder of `signing.pem`, `sealing.pem` and `agreement.pem`, which must match the manifest", start="keys"
    )
    certificate: Path = declare.path("path of the TLS client certificate (PEM)", start="tls.pem")
    key: Path = declare.path("path of the certificate's private key (PEM)", start="tls.key")
    state: Path = declare.path(
        "folder of `journal.sqlite`, `node-id` and `transcripts/`; created if absent. It must survive restarts: back"
        " it up", start="state",
    )  # fmt: skip
    ledger: Path | None = declare.path(
        "path of the population's ledger. Several nodes may name the same one", default=None,
        by_default="the one of the user account (`privity population list`)", example='"/srv/privity/people.sqlite"',
    )  # fmt: skip
    lease_days: float = declare.positive(
        "the party erases what it keeps of a run after so many days without news of it. Its charges stay. Make it"
        " longer than the curator's: what that still drives must be here", default=30, example="30",
    )  # fmt: skip
    metrics: str | None = declare.of_form(
        declare.ADDRESS, "address of the metrics for Prometheus over plain HTTP, `host:port` (docs/observability.md)",
        default=None, by_default="none", example='"127.0.0.1:9465"',
    )  # fmt: skip
    notices: tuple[Channel, ...] = notices_key()

    @property
    def lease(self) -> float:
        """Seconds without a word about a run after which what is kept of it is erased."""
        return self.lease_days * DAY


def load_config(file: Path) -> PartyConfig:
    """Read party.toml; every fault at once."""
    values = declare.read_settings(PartyConfig, file)
    rows = {name: values.pop(name) for name in declare.keys_of(RowSettings) if name in values}
    return PartyConfig(rows=RowSettings(**rows, base=file.parent, cache=values["state"] / CODED), **values)


def read_policy(config: PartyConfig, known: Sequence[str] | None = None) -> Policy:
    """This party's policy, with the population as its ledger declares it now. Nothing is charged or changed.

    Args:
        known: names of the schema's attributes, where there is a schema.

    Raises:
        PrivityError, ProblemsFound: as ``load_policy`` and ``open_ledger``.
    """

    def declared(name: str) -> Population:
        with closing(open_ledger(name, config.ledger)) as ledger:
            return ledger.population

    return load_policy(config.policy, declared, known)


def node_id(state: Path) -> str:
    """What tells the charges of the node with this state folder from those of others; made on first use."""
    file = state / NODE_FILE
    if not file.exists():
        scratch = state / f".{NODE_FILE}-{secrets.token_hex(8)}"
        write_private(scratch, secrets.token_hex(16).encode())
        with suppress(FileExistsError):
            # Whole or not at all, and the first one stays.
            os.link(scratch, file)
        scratch.unlink()
    node = file.read_text(encoding="ascii")
    if not node:
        reason = "it is empty, and without it this node's charges are not told from those of others"
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=file, reason=reason)
    return node


def outbox_of(config: PartyConfig, journal: Journal) -> Outbox:
    """The notices of this node."""
    return Outbox(journal, config.name, config.notices)


def ledger_of(config: PartyConfig, population: str) -> Ledger:
    """The ledger of a population, to be charged by this node."""
    return open_ledger(population, config.ledger, node_id(config.state))


def open_books(config: PartyConfig, population: str) -> tuple[Journal, Ledger]:
    """The journal of this node and the ledger of a population, if the ledger has every line that the journal knows.

    Raises:
        PrivityError: population-undeclared; ledger-unusable; no-room.
    """
    journal = Journal(config.state / JOURNAL_FILE)
    try:
        ledger = ledger_of(config, population)
        KnownLedger(journal, ledger).check()
    except BaseException:
        journal.close()
        raise
    return journal, ledger


class Node:
    """What a party's node has of its own, read and checked before it dials anybody; a broken policy means refusal.

    Attributes:
        process: the number of this process: two nodes from copies of one folder differ by it.
    """

    def __init__(self, config: PartyConfig) -> None:
        self.process = secrets.token_hex(16)
        self.config = config
        self.manifests = ManifestFile(config.manifest, config.organiser_key)
        self.schemas = SchemaFile(config.schema)
        self.files = KeyFiles(config.name, config.keys, config.certificate, config.key)
        if self.manifests.exists():
            self.schemas.settle(self.manifests.current())
        schema = load_schema(config.schema)
        self._names = schema.names
        self.policies = PolicyFile(config.policy, config.name, lambda: read_policy(config, self._names))
        policy = self.policies.current()
        if self.manifests.exists():
            self.files.settle(self.manifests.current())
            policy.check_manifest(self.manifests.current().parties_per_person, config.name)
        self.keys = self.files.load()
        config.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        _log.info("checking the rows")
        self._rows_per_person = policy.population.rows_per_person
        rows = self._open(schema)
        self._journal, ledger = open_books(config, policy.population.name)
        self.other_nodes = OtherNodes(config.name, self._journal)
        self.other_nodes.check()
        self._releases = ChargedReleases(config.name, rows, self._journal, ledger, recode=self._opened_anew)
        self.metrics = PartyMetrics(CollectorRegistry(), ledger)
        self.outbox = outbox_of(config, self._journal)
        self._notices = OwnerNotices(
            self.outbox, self._journal, ledger, lambda: self.policies.current().epsilon_per_run
        )

    def note_policy(self) -> None:
        """Keep which policy this node obeys, and since when, for ``policy_obeyed``."""
        note_policy(self._journal, self.policies.obeyed())

    def publication(self) -> bytes | None:
        """The signed document of the limits that the owner publishes; None while there is nobody to sign it as.

        The same bytes for as long as nothing in it changes.
        """
        try:
            limits, of_person = self.policies.current().publication()
            manifest = self.manifests.current()
            identity = self.keys.of(manifest)
        except PrivityError:
            return None
        said = (limits, of_person, manifest.consortium, identity.public())
        if self._publication is None or self._publication[0] != said:
            signed = PublishedLimits.signed(manifest.consortium, self.config.name, limits, of_person, identity)
            self._publication = said, signed.document()
        return self._publication[1]

    _publication: tuple[object, bytes] | None = None

    _recoded: tuple[str, Rows] | None = None
    """The rows by the schema of a manifest that is about to be taken, and its digest."""

    def _open(self, schema: Schema, *, tidy: bool = True) -> Rows:
        return self.config.rows.open(schema, self._rows_per_person, tidy=tidy).rows

    def _opened_anew(self, schema: Schema) -> Rows:
        """By another schema; files of coded rows stay those of the engine at work."""
        return self._open(schema, tidy=False)

    def engine(self) -> PartyEngine:
        """The engine under the manifest that is there."""
        transcripts = self.config.state / TRANSCRIPTS
        engine = PartyEngine(
            self._releases, self.policies.current, self.keys, self.manifests.current(), transcripts, self.process
        )
        engine.listener, engine.expired = self._answered, self._notices.expired
        return engine

    def _answered(self, step: Step, reply: Refusal | Pending | None) -> None:
        self.metrics.step(step, reply)
        try:
            self._notices.answered(step, reply)
        except (PrivityError, sqlite3.Error) as error:
            # No answer depends on what is told of it.
            _log.error("a notice cannot be kept", extra={"error": type(error).__name__})

    def check_manifest(self, manifest: Manifest) -> None:
        """Refuse a manifest that this party cannot go by, before it takes the place of another.

        Raises:
            PrivityError: it names a schema that is not here or does not fit, lists other keys, or is beyond the policy.
        """
        self._recoded = None
        self.files.check(self.keys, manifest)
        self.policies.current().check_manifest(manifest.parties_per_person, self.config.name)
        schema = self._releases.schema
        if manifest.schema_digest != schema.digest:
            schema = self.schemas.named(manifest) or schema
            check_schema(schema, manifest)
            self._check_idle(manifest)
            _log.info("checking the rows against the schema that the newest manifest names")
            self._recoded = manifest.digest, self._opened_anew(schema)

    def _check_idle(self, manifest: Manifest) -> None:
        """Refuse to code the rows anew while a run is at work: it could not go on."""
        heard = LastHeard(self._releases.journal)
        times = {run: heard.at(run) for run in heard.runs()}
        if busy := [run for run, at in times.items() if at is not None and time.time() - at < AT_WORK_SECONDS]:
            reason = f"{', '.join(sorted(busy))} began over the schema of before, and has not ended"
            hint = "Wait for its end; if it was stopped, have the operator resume or discard it."
            raise OtherSchemaError(manifest, reason, hint, END_AWAITED)

    def take_schema(self) -> bool:
        """Go by the schema that the manifest names from now on; whether that is another one than before."""
        recoded, self._recoded = self._recoded, None
        manifest = self.manifests.current()
        if recoded is None or recoded[0] != manifest.digest:
            return False
        self.schemas.settle(manifest)
        before = self._releases
        self._names = recoded[1].schema.names
        self._releases = ChargedReleases(
            before.party, recoded[1], before.journal, before.ledger, recode=self._opened_anew
        )
        return True

    def certificates(self) -> dict[str, str]:
        """This party's own certificate and the curator's, by ``ROLE/declare.NAME``, as they are now."""
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
