"""The party's outbound loop: dial the curator, take a step, answer it, again.

Nothing ever dials in. Each exchange is one call that can be repeated: the curator gives the same step
until its reply is in, and the engine gives the same reply to the same step.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import grpc.aio

from common.errors import Catalogue, PrivityError
from common.node.metrics import observed
from common.node.proxy import channel_options
from common.node.tls_check import Finding, check_connection
from common.protocol.steps import Close, Enrol
from common.wire.codec import LARGEST_MESSAGE, MalformedMessageError, chunks, decode_step
from common.wire.v1 import privity_pb2 as pb
from common.wire.v1 import privity_pb2_grpc as rpc
from party.config import Node
from party.engine import PartyEngine
from party.idle import IdleTime

WAIT_SECONDS = 20
ALIVE_SECONDS = 5.0
SECOND_LOOK_SECONDS = 2.0
RETRY_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
# Codes that another try will not change: this party is not known, or speaks another protocol.
FATAL = (grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNIMPLEMENTED)

_log = logging.getLogger("privity.party")


class NotAcceptedError(PrivityError):
    """The curator or a proxy does not accept this party as it shows itself; waiting will not help."""


class Agent:
    """Serves one party until it is cancelled."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._config = node.config
        # A party that has just joined has no manifest yet: the first one comes from the curator.
        self._engine = node.engine() if node.manifests.exists() else None
        self._told: set[str] = set()
        if self._engine is not None:
            node.forget_keys(self._engine)

    def _channel(self, certificate: Path, key: Path) -> grpc.aio.Channel:
        config = self._config
        credentials = grpc.ssl_channel_credentials(
            root_certificates=config.authority.read_bytes(),
            private_key=key.read_bytes(),
            certificate_chain=certificate.read_bytes(),
        )
        options = channel_options(config.proxy)
        if config.curator_name:
            options.append(("grpc.ssl_target_name_override", config.curator_name))
        return grpc.aio.secure_channel(config.curator, credentials, options=options)

    async def serve(self) -> None:
        """Answer steps for ever; a lost connection is tried again, an identity refused is fatal.

        Raises:
            PrivityError: the curator does not accept this party.
        """
        node = self._node
        with IdleTime(self._prepare) as idle:
            async with observed(self._config.metrics, node.metrics.registry, node.certificates):
                await self._connect_for_ever(idle)

    async def _connect_for_ever(self, idle: IdleTime) -> None:
        while True:
            shown = self._config.certificate.read_bytes()
            try:
                async with self._channel(self._config.certificate, self._config.key) as channel:
                    await self._exchange_for_ever(channel, idle)
            except NotAcceptedError:
                if not await self._renewed(shown):
                    raise

    async def _renewed(self, shown: bytes) -> bool:
        """Whether another certificate than the one shown is in use now: the one kept ready, if the curator knows it."""
        waiting, failures = self._node.files.next, 0
        while waiting.next_certificate.exists():
            try:
                async with self._channel(waiting.next_certificate, waiting.next_key) as channel:
                    await self._newest_engine(rpc.PartyLinkStub(channel))
                break
            except grpc.aio.AioRpcError as error:
                look = self._look(waiting.next_certificate, waiting.next_key)
                if error.code() in FATAL or (await asyncio.to_thread(look)).of_identity:
                    return False
            await asyncio.sleep(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
            failures += 1
        return self._config.certificate.read_bytes() != shown

    def _prepare(self) -> bool:
        return self._engine is not None and self._engine.prepare()

    async def _newest_engine(self, link: rpc.PartyLinkStub) -> PartyEngine:
        """The engine under the manifest that the organiser sealed last, as far as the curator has it.

        Raises:
            PrivityError: the first one is not the organiser's, or does not fit this party.
        """
        reply = await link.GetManifest(pb.ManifestRequest())
        manifests = self._node.manifests
        try:
            newer = manifests.offer(reply.document, "the curator's manifest", self._node.check_manifest)
        except PrivityError as error:
            if self._engine is None:
                raise
            # Runs that have begun go on under theirs; new ones wait for a manifest that fits.
            _log.error("the newest manifest does not fit this party: privity doctor", extra={"reason": error.code})
            return self._engine
        if newer:
            _log.info("a newer manifest of the consortium", extra={"serial": manifests.current().serial})
        if self._node.settle():
            _log.info("the manifest lists the renewed certificate and keys: they are in use from now on")
        if self._engine is None:
            self._engine = self._node.engine()
        else:
            self._engine.adopt(manifests.current())
        self._node.forget_keys(self._engine)
        return self._engine

    async def _exchange_for_ever(self, channel: grpc.aio.Channel, idle: IdleTime) -> None:
        link = rpc.PartyLinkStub(channel)
        failures, connected = 0, False
        while True:
            try:
                if not connected:
                    await link.Alive(pb.AliveRequest())
                    connected = True
                    self._node.metrics.connected()
                    _log.info("connected to the curator")
                await self._exchange(link, idle)
                failures = 0
            except grpc.aio.AioRpcError as error:
                connected = False
                self._node.metrics.disconnected()
                if error.code() in FATAL:
                    raise self._failed(error) from None
                if failures == 0:
                    await self._explain(error)
                await asyncio.sleep(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
                failures += 1

    async def _explain(self, error: grpc.aio.AioRpcError) -> None:
        """Say why there is no connection; an identity that is not accepted will not be at another try either.

        Raises:
            PrivityError: connection-failed.
        """
        c = self._config
        look = self._look(c.certificate, c.key)
        found = await asyncio.to_thread(look)
        if found.of_identity:
            # A curator that was just then ending hangs up, too: it must be so a second time.
            await asyncio.sleep(SECOND_LOOK_SECONDS)
            found = await asyncio.to_thread(look)
        self._node.metrics.connection_ended(found.stage)
        if found.of_identity:
            reason, hint = found.reason, found.remedy
            raise NotAcceptedError(Catalogue.CONNECTION_FAILED, address=c.curator, reason=reason, hint=hint)
        _log.warning("no connection to the curator", extra={"status": error.code().name, "reason": found.stage.value})

    def _look(self, certificate: Path, key: Path) -> Callable[[], Finding]:
        c = self._config
        return lambda: check_connection(c.curator, c.curator_name, c.authority, certificate, key, c.proxy)

    def _failed(self, error: grpc.aio.AioRpcError) -> PrivityError:
        return NotAcceptedError(
            Catalogue.CONNECTION_FAILED,
            address=self._config.curator,
            reason=error.details() or error.code().name,
            hint="Check this party's name and certificate against the manifest.",
        )

    def _protocol_error(self) -> PrivityError:
        return PrivityError(
            Catalogue.CONNECTION_FAILED,
            address=self._config.curator,
            reason="it sent bytes that are no step of this protocol",
            hint="Run the same version of Privity on both sides.",
        )

    async def _exchange(self, link: rpc.PartyLinkStub, idle: IdleTime) -> None:
        message = bytearray()
        with idle.waiting():
            async for chunk in link.NextStep(pb.NextStepRequest(wait_seconds=WAIT_SECONDS)):
                message += chunk.data
                if len(message) > LARGEST_MESSAGE:
                    raise self._protocol_error()
        if not message:
            return
        try:
            step = decode_step(bytes(message))
        except MalformedMessageError:
            # No reply could name the step, and asking again would bring the same bytes.
            raise self._protocol_error() from None
        _log.info("a step", extra={"run": step.run, "step": step.key})
        engine = self._engine
        if engine is None or (isinstance(step, Enrol) and not engine.knows(step.spec.manifest_digest)):
            engine = await self._newest_engine(link)
        async with _signs_of_life(link):
            reply = await asyncio.to_thread(engine.handle, step)
        if isinstance(step, Enrol) and engine.awaits(step.run) and step.run not in self._told:
            self._told.add(step.run)
            _log.warning("a run waits for approval: privity party show RUN", extra={"run": step.run})
        await link.SendReply(_stream(reply))
        if isinstance(step, Close):
            self._node.forget_keys(engine)


@contextlib.asynccontextmanager
async def _signs_of_life(link: rpc.PartyLinkStub) -> AsyncIterator[None]:
    """Tell the curator every few seconds that work goes on, so that only silence counts as death."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(ALIVE_SECONDS)
            with contextlib.suppress(grpc.aio.AioRpcError):
                await link.Alive(pb.AliveRequest())

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()


async def _stream(message: bytes) -> AsyncIterator[pb.Chunk]:
    for chunk in chunks(message):
        yield chunk
