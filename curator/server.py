"""The curator's process: configuration, TLS, services, and the loop that drives runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import grpc
import grpc.aio
from prometheus_client import CollectorRegistry

from privity.common import pages
from privity.common.consortium.key_renewal import Next, fitting_key
from privity.common.consortium.manifest import CURATOR
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.schema_file import SchemaFile
from privity.common.data.schema import Schema, load_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import declared_keys as declare
from privity.common.node.connection_silence import SILENCE_SECONDS, serving_options
from privity.common.node.metrics_page import observed
from privity.common.node.process import at_interrupt, open_files, stay_alone
from privity.common.notices.channels import Channel, notices_key
from privity.common.release.report import TEMPLATES
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.curator.call_errors import NamedErrors
from privity.curator.call_quotas import CallQuotas
from privity.curator.connections import Connections
from privity.curator.grpc_services import OperatorServicer, PartyLinkServicer, caller
from privity.curator.health_and_reflection import MemberHealth, add_health, add_reflection
from privity.curator.leases import DAY
from privity.curator.metrics import CuratorMetrics
from privity.curator.pending_steps import Desk
from privity.curator.run_queue import RUNS_AT_ONCE, Runs

LAST_SECONDS = 2.0
BOUNDS = (("grpc.max_receive_message_length", 2 << 20), ("grpc.max_concurrent_streams", 32))
"""Most bytes of one message of a call, which a chunk and a run request are below; calls of one connection at a time."""

_log = logging.getLogger("privity.curator")


@dataclass(frozen=True, kw_only=True)
class CuratorConfig:
    """curator.toml."""

    FILE: ClassVar = declare.SettingsFile(
        "curator", "curator.toml: the curator's server"
    )  # fmt: skip

    listen: str = declare.of_form(
        declare.ADDRESS,
        "address to bind, `host:port`; port 0 takes a free one, which `--port-file FILE` writes to a file",
    )
    key: Path = declare.path(
        "path of the private key (PEM) of the certificate that the manifest lists for the curator", start="tls.key"
    )
    manifest: Path = declare.path(
        "path of `manifest.json`, which comes from the organiser: `privity curator accept FILE`", start="manifest.json"
    )
    organiser_key: Path = declare.path("path of the organiser's public signing key (base64)", start="organiser.pub")
    schema: Path = declare.path("path of the schema; its digest must match the manifest's", start="schema.json")
    state: Path = declare.path(
        "folder of `journal.sqlite` and of `releases/RUN/`; created if absent. It must survive restarts: back it up",
        start="state",
    )
    patience: float = declare.positive(
        "seconds: if a party that was asked something gives no sign of life for so long, the run stops and names it."
        " `privity run resume` continues the run", start=60.0,
    )  # fmt: skip
    lease_days: float = declare.positive(
        "days for which a run may stand still, stopped or waiting for somebody, before it expires", default=14,
        example="14",
    )  # fmt: skip
    runs_at_once: int = declare.whole(
        "runs that work side by side; those that wait for people do not count. A party keeps randomness and tables of"
        " powers for two keys", 1, 16, default=RUNS_AT_ONCE,
    )  # fmt: skip
    metrics: str | None = declare.of_form(
        declare.ADDRESS, "address of the metrics for Prometheus over plain HTTP, `host:port` (docs/observability.md)",
        default=None, by_default="none", example='"127.0.0.1:9464"',
    )  # fmt: skip
    reflection: bool = declare.flag(
        "whether members may ask which services and messages there are", default=False, example="true"
    )
    notices: tuple[Channel, ...] = notices_key()


def load_config(file: Path) -> CuratorConfig:
    """Read curator.toml; every fault at once."""
    return CuratorConfig(**declare.read_settings(CuratorConfig, file))


class Certificates:
    """What a new connection is met with: the curator's certificate, and those of all who may call."""

    def __init__(self, manifests: ManifestFile, key: Path) -> None:
        self._manifests, self._key = manifests, key
        self._lock = threading.Lock()
        self._manifest = manifests.current()

    def now(self) -> Any:
        """The configuration for gRPC."""
        own = self._manifest.certificate_of("curator", CURATOR)
        if own is None:
            reason = "it lists no certificate for the curator"
            raise PrivityError(Catalogue.TAMPERED, what=self._manifests.path, reason=reason)
        fitting = fitting_key(own, self._key)
        if fitting is None:
            reason = f"the curator's certificate in it is not that of {self._key}"
            raise PrivityError(Catalogue.TAMPERED, what=self._manifests.path, reason=reason)
        if fitting != self._key:
            Next(self._key).take()
            _log.info("the manifest lists the certificate of the renewed key: it is in use from now on")
        pair = (self._key.read_bytes(), own.encode())
        return grpc.ssl_server_certificate_configuration([pair], root_certificates=self._manifest.callers)

    def changed(self) -> Any:
        """The same if the manifest is another one since, None if it is not: gRPC asks at every connection."""
        with self._lock:
            manifest = self._manifests.current()
            if manifest is self._manifest:
                return None
            self._manifest = manifest
            try:
                return self.now()
            except PrivityError as error:
                # Better the certificate before than none.
                _log.error("the newest manifest lists no certificate of this key", extra={"reason": error.code})
                return None


class CuratorServer:
    """gRPC over mutual TLS: every caller shows the certificate that the manifest lists for it.

    Certificates come from the manifest, which is read again when its file changes: for new connections at once.

    Args:
        silence: seconds without progress after which a connection or a stream is given up.
    """

    def __init__(
        self, config: CuratorConfig, manifests: ManifestFile, schema: Schema, silence: float = SILENCE_SECONDS
    ) -> None:
        self.metrics = CuratorMetrics(CollectorRegistry())
        self.quotas = CallQuotas(self.metrics)
        self.desk = Desk(config.patience, metrics=self.metrics)
        schemas = SchemaFile(config.schema, schema)
        lease, at_once = config.lease_days * DAY, config.runs_at_once
        self.runs = Runs(
            config.state, manifests, schemas, self.desk, self.metrics, lease, at_once, config.notices, config.key
        )
        # What goes beyond is hung up on, so that journals and files of the node's own can be opened at any time.
        self._most_connections = open_files() // 2
        self.connections = Connections(self._most_connections, manifests.current, self.metrics)
        self.metrics.follow(self.runs.numbers, self._connected, self.connections.held)
        self._config = config
        self._silence = silence
        self._manifests = manifests
        self._server: grpc.aio.Server | None = None
        self._workers: list[asyncio.Task[None]] = []
        self._health: MemberHealth | None = None
        self._open = contextlib.AsyncExitStack()

    def _certificates(self) -> dict[str, str]:
        return self._manifests.current().certificates

    def _connected(self) -> dict[str, bool]:
        return {party: self.desk.connected(party) for party in self._manifests.current().members}

    async def _admit(self, context: grpc.aio.ServicerContext) -> None:
        """For services that every member may call."""
        caller(context, None, self._manifests.current(), self.metrics)

    async def start(self, interceptors: tuple[grpc.aio.ServerInterceptor, ...] = ()) -> int:
        """Bind and serve; returns the port."""
        config = self._config
        shown = Certificates(self._manifests, config.key)
        credentials = grpc.dynamic_ssl_server_credentials(
            shown.now(), shown.changed, require_client_authentication=True
        )
        silence, manifests = self._silence, self._manifests
        at_once = ("grpc.max_allowed_incoming_connections", self._most_connections)
        checked = (NamedErrors(self.metrics, self.quotas), self.connections, *interceptors)
        server = grpc.aio.server(interceptors=checked, options=[*BOUNDS, at_once, *serving_options(silence)])
        rpc.add_PartyLinkServicer_to_server(
            PartyLinkServicer(self.desk, self.runs, manifests, self.metrics, silence), server
        )
        rpc.add_OperatorServicer_to_server(
            OperatorServicer(self.desk, self.runs, manifests, self.metrics, silence), server
        )
        self._health = await add_health(server, self._admit)
        if config.reflection:
            add_reflection(server, self._admit)
        try:
            port = server.add_secure_port(config.listen, credentials)
        except RuntimeError:
            port = 0
        if not port:
            raise PrivityError(
                Catalogue.CONNECTION_FAILED, address=config.listen, reason="cannot listen there",
                hint="Choose a free port of this machine.",
            )  # fmt: skip
        await self._open.enter_async_context(
            observed(config.metrics, self.metrics.registry, self._certificates, self.runs.outbox)
        )
        await server.start()
        self._server = server
        self._workers = [asyncio.create_task(self.runs.work()), asyncio.create_task(self.runs.expire())]
        self._workers.append(asyncio.create_task(self.connections.watch(port)))
        _log.info("the curator serves")
        return port

    async def stop(self) -> None:
        """Stop the run at work, then the services."""
        if self._health:
            await self._health.enter_graceful_shutdown()
        if self._workers:
            await self.runs.close()
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)
        if self._server:
            await self._server.stop(grace=1)
        await self._open.aclose()


def load_server(config: CuratorConfig) -> CuratorServer:
    """Read what the configuration names and check that it belongs together."""
    manifests = ManifestFile(config.manifest, config.organiser_key)
    schemas = SchemaFile(config.schema)
    schemas.settle(manifests.current())
    schema = load_schema(config.schema)
    if schema.digest != manifests.current().schema_digest:
        raise PrivityError(
            Catalogue.TAMPERED, what=config.schema, reason="the schema is not the one that the manifest names"
        )
    return CuratorServer(config, manifests, schema)


async def serve(config: CuratorConfig, port_file: Path | None) -> None:
    """Serve until SIGINT or SIGTERM; the port bound is written to ``port_file``, whole or not at all."""
    # A template that cannot be read must show now, not when a run has cost its epsilon.
    pages.read_all(TEMPLATES)
    server = load_server(config)
    with stay_alone(config.state):
        port = await server.start()
        if port_file:
            scratch = port_file.with_suffix(".part")
            scratch.write_text(str(port), encoding="ascii")
            scratch.rename(port_file)
        stopped = asyncio.Event()
        at_interrupt(stopped.set)
        await stopped.wait()
        await server.stop()
    # Calls that were cut off end by themselves; when the loop ends before them, gRPC writes tracebacks of it.
    if rest := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(rest, timeout=LAST_SECONDS)
