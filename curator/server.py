"""The curator's process: configuration, TLS, services, and the loop that drives runs."""

from __future__ import annotations

import asyncio
import math
import signal
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio

from common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from common.protocol.manifest import Manifest, read_manifest
from common.schema import Schema, load_schema
from common.toml_file import read_toml
from common.wire.v1 import privity_pb2_grpc as rpc
from curator.desk import Desk
from curator.runs import Runs
from curator.servicer import OperatorServicer, PartyLinkServicer


@dataclass(frozen=True)
class CuratorConfig:
    """curator.toml; paths are relative to the file.

    Attributes:
        listen: address to bind, ``host:port``; port 0 takes a free one.
        patience: seconds without a sign of life from a party before the run fails.
    """

    listen: str
    certificate: Path
    key: Path
    authority: Path
    manifest: Path
    organiser_key: Path
    schema: Path
    state: Path
    patience: float


def load_config(path: Path) -> CuratorConfig:
    """Read curator.toml; every fault at once."""
    document = read_toml(path, "curator")
    patience = float(document["patience"])
    if not math.isfinite(patience):
        problem = Problem(str(path), "patience", "finite", "it is not a number of seconds.", "Write for instance 60.")
        raise ProblemsFound([problem])
    base = path.parent
    return CuratorConfig(
        listen=document["listen"],
        certificate=base / document["certificate"],
        key=base / document["key"],
        authority=base / document["authority"],
        manifest=base / document["manifest"],
        organiser_key=base / document["organiser_key"],
        schema=base / document["schema"],
        state=base / document["state"],
        patience=patience,
    )


class CuratorServer:
    """gRPC over mutual TLS: every caller shows a certificate of the consortium's authority."""

    def __init__(self, config: CuratorConfig, manifest: Manifest, schema: Schema) -> None:
        self.desk = Desk(config.patience)
        self.runs = Runs(config.state, manifest, schema, self.desk)
        self._config = config
        self._members = tuple(manifest.members)
        self._server: grpc.aio.Server | None = None
        self._worker: asyncio.Task[None] | None = None

    async def start(self, interceptors: tuple[grpc.aio.ServerInterceptor, ...] = ()) -> int:
        """Bind and serve; returns the port."""
        config = self._config
        credentials = grpc.ssl_server_credentials(
            [(config.key.read_bytes(), config.certificate.read_bytes())],
            root_certificates=config.authority.read_bytes(),
            require_client_auth=True,
        )
        server = grpc.aio.server(interceptors=interceptors)
        rpc.add_PartyLinkServicer_to_server(PartyLinkServicer(self.desk, self._members), server)
        rpc.add_OperatorServicer_to_server(OperatorServicer(self.runs), server)
        try:
            port = server.add_secure_port(config.listen, credentials)
        except RuntimeError:
            port = 0
        if not port:
            raise PrivityError(
                Catalogue.CONNECTION_FAILED, address=config.listen, reason="cannot listen there",
                hint="Choose a free port of this machine.",
            )  # fmt: skip
        await server.start()
        self._server = server
        self._worker = asyncio.create_task(self.runs.work())
        return port

    async def stop(self) -> None:
        """Stop the run at work, then the services."""
        if self._worker:
            await self.runs.close()
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        if self._server:
            await self._server.stop(grace=1)


def load_server(config: CuratorConfig) -> CuratorServer:
    """Read what the configuration names and check that schema and manifest belong together."""
    manifest = read_manifest(config.manifest, config.organiser_key)
    schema = load_schema(config.schema)
    if schema.digest != manifest.schema_digest:
        raise PrivityError(
            Catalogue.TAMPERED, what=config.schema, reason="the schema is not the one that the manifest names"
        )
    return CuratorServer(config, manifest, schema)


async def serve(config: CuratorConfig, port_file: Path | None) -> None:
    """Serve until SIGINT or SIGTERM; the port bound is written to ``port_file``, whole or not at all."""
    server = load_server(config)
    port = await server.start()
    if port_file:
        scratch = port_file.with_suffix(".part")
        scratch.write_text(str(port), encoding="ascii")
        scratch.rename(port_file)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()
    await server.stop()
