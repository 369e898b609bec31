"""The party's outbound loop: dial the curator, take a step, answer it, again.

Nothing ever dials in. Each exchange is one call that can be repeated: the curator gives the same step
until its reply is in, and the engine gives the same reply to the same step.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from pathlib import Path

import grpc
import grpc.aio

from privity.common.errors import Catalogue, PrivityError, from_elsewhere
from privity.common.node.connection_silence import SILENCE_SECONDS, UNSEEN_SILENCES, StalledError, moving
from privity.common.node.curator_trust import any_host_of, curator_certificate, member_channel
from privity.common.node.metrics_page import observed
from privity.common.node.tls_check import Finding, Stage, certificate_shown, check_connection
from privity.common.protocol.steps import Close, Enrol, Pending, Step
from privity.common.wire.codec import LARGEST_STEP, MalformedMessageError, chunks, decode_step, encode_reply
from privity.common.wire.statements import given_back
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.party.config import Node
from privity.party.randomness_ahead import IdleTime
from privity.party.run_expiry import let_go_every
from privity.party.step_answers import OtherSchemaError, PartyEngine, log_misfit

VERSION = version("privity")
WAIT_SECONDS = 20
ALIVE_SECONDS = 5.0
SECOND_LOOK_SECONDS = 2.0
MANIFEST_SECONDS = 60.0
"""How often a party that has nothing to do asks for a newer manifest."""
POLICY_SECONDS = 2.0
"""How often a party looks whether its policy has changed; it does so besides before each step that it answers."""
RETRY_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
# Codes that another try will not change: this party is not known, or speaks another protocol.
FATAL = (grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNIMPLEMENTED)
OLDER = grpc.StatusCode.ALREADY_EXISTS  # said to the older one of two nodes under one certificate
NOT_TAKEN = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.DATA_LOSS,
)
"""What a curator says of published limits if it goes by another manifest than the party."""

_log = logging.getLogger("privity.party")


class NoStepError(PrivityError):
    """The curator sent what is no step: nothing could be answered, and the next that it sends may be one."""


class NotAcceptedError(PrivityError):
    """The curator or a proxy does not accept this party as it shows itself; waiting will not help."""


class Agent:
    """Serves one party until it is cancelled.

    Args:
        silence: seconds without progress after which a connection is given up.
    """

    def __init__(self, node: Node, silence: float = SILENCE_SECONDS) -> None:
        self._node = node
        self._silence = silence
        self._failures, self._trusted = 0, b""
        self._alive = pb.AliveRequest(version=VERSION, process=node.process)
        self._asking = pb.NextStepRequest(wait_seconds=WAIT_SECONDS, process=node.process)
        self._asked_back = False
        self._last_step: tuple[str, str] | None = None
        self._config = node.config
        self._engine = self._first_engine()
        self._told: set[str] = set()
        self._let_go_next = 0.0
        self._asked_at = -MANIFEST_SECONDS
        self._published: bytes | None = None
        self._misfit: tuple[bytes, str] = (b"", "")
        self._other_schema: OtherSchemaError | None = None
        if self._engine is not None:
            node.forget_keys(self._engine)

    def _first_engine(self) -> PartyEngine | None:
        """The engine under the manifest that is here; None if the curator's newest one is waited for."""
        # A party that has just joined has none yet.
        if not self._node.manifests.exists():
            return None
        try:
            return self._node.engine()
        except OtherSchemaError as error:
            # The schema may have been replaced before the manifest that names it has come.
            log_misfit(error)
            return None

    def _listed(self) -> bytes | None:
        """The only certificate that is taken for the curator's; None before the first manifest."""
        manifests = self._node.manifests
        return curator_certificate(manifests.current()) if manifests.exists() else None

    def _channel(self, trusted: bytes) -> grpc.aio.Channel:
        config = self._config
        return self._dialled(trusted, config.curator_name, config.certificate, config.key)

    def _dialled(self, trusted: bytes, name: str | None, certificate: Path, key: Path) -> grpc.aio.Channel:
        dial, config = grpc.aio.secure_channel, self._config
        return member_channel(dial, config.curator, trusted, certificate, key, config.proxy, name, self._silence)

    async def _ask_anyone(self, certificate: Path, key: Path) -> None:
        """Take a newer manifest from whoever answers at the curator's address: the organiser's signature counts.

        Raises:
            grpc.aio.AioRpcError, StalledError: nobody gives one.
            PrivityError: as ``_newest_engine``.
        """
        shown = await asyncio.to_thread(certificate_shown, self._config.curator, self._config.proxy)
        if isinstance(shown, Finding):
            raise StalledError
        async with self._dialled(shown, any_host_of(shown), certificate, key) as channel:
            await self._newest_engine(rpc.PartyLinkStub(channel))

    async def serve(self) -> None:
        """Answer steps for ever; a lost connection is tried again, an identity refused is fatal.

        Raises:
            PrivityError: the curator does not accept this party.
        """
        node = self._node
        with IdleTime(self._prepare) as idle:
            async with observed(self._config.metrics, node.metrics.registry, node.certificates, node.outbox):
                looking = asyncio.create_task(self._look_at_policy())
                try:
                    await self._connect_for_ever(idle)
                finally:
                    looking.cancel()

    async def _look_at_policy(self) -> None:
        """For ever: a change is noticed, and said, while nothing is asked, too."""
        while True:
            # What cannot be written or read now is another time; no answer depends on it.
            with contextlib.suppress(PrivityError, sqlite3.Error, OSError):
                await asyncio.to_thread(self._node.note_policy)
            await asyncio.sleep(POLICY_SECONDS)

    async def _connect_for_ever(self, idle: IdleTime) -> None:
        while True:
            shown = self._config.certificate.read_bytes()
            try:
                trusted = await self._first_listed()
                async with self._channel(trusted) as channel:
                    await self._exchange_while_listed(trusted, channel, idle)
            except NotAcceptedError:
                if not await self._renewed(shown):
                    raise
            except StalledError:
                # The channel would stay with its connection, on which nothing moves: a new one dials anew.
                self._node.metrics.disconnected()
                _log.warning("the connection to the curator is silent: connecting again")

    async def _first_listed(self) -> bytes:
        """The curator's certificate by the manifest here; without one, as soon as somebody gives the first.

        Raises:
            PrivityError: the curator does not accept this party, or what it gives is not the organiser's.
        """
        while (listed := self._listed()) is None:
            try:
                await self._ask_anyone(self._config.certificate, self._config.key)
            except StalledError:
                await self._failed_once(grpc.StatusCode.UNAVAILABLE)
            except grpc.aio.AioRpcError as error:
                if error.code() in FATAL:
                    raise self._failed(error) from None
                await self._failed_once(error.code())
        return listed

    async def _failed_once(self, code: grpc.StatusCode) -> None:
        """Explain the first failure of several, and wait a while."""
        if self._failures == 0:
            await self._explain(code)
        await self._wait_after_failure()

    async def _wait_after_failure(self) -> None:
        await asyncio.sleep(RETRY_SECONDS[min(self._failures, len(RETRY_SECONDS) - 1)])
        self._failures += 1

    async def _renewed(self, shown: bytes) -> bool:
        """Whether another certificate than the one shown is in use now: the one kept ready, if the curator knows it."""
        waiting, failures = self._node.files.next, 0
        while waiting.next_certificate.exists():
            try:
                await self._ask_anyone(waiting.next_certificate, waiting.next_key)
                break
            except StalledError:
                pass  # the next try is a connection of its own
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
        async with moving(UNSEEN_SILENCES * self._silence):
            reply = await link.GetManifest(pb.ManifestRequest())
        self._asked_at = time.monotonic()
        manifests = self._node.manifests
        try:
            # A manifest over another schema has all rows read.
            await asyncio.to_thread(
                manifests.offer, reply.document, "the curator's manifest", self._node.check_manifest
            )
        except PrivityError as error:
            if self._engine is None:
                raise
            # Runs that have begun go on under theirs; new ones wait for a manifest that fits.
            self._other_schema = error if isinstance(error, OtherSchemaError) else None
            if (reply.document, error.message) != self._misfit:
                self._misfit = (reply.document, error.message)
                log_misfit(error)
            return self._engine
        self._other_schema = None
        if self._node.settle():
            _log.info("the manifest lists the renewed certificate and keys: they are used from now on")
        if self._engine is None:
            _log.info("the first manifest of the consortium", extra={"serial": manifests.current().serial})
            self._node.take_schema()
            self._engine = self._node.engine()
        elif self._node.take_schema():
            _log.info("the rows are now read by the schema that the newest manifest names")
            self._engine = self._node.engine()
        else:
            self._engine.adopt(manifests.current())
        self._node.forget_keys(self._engine)
        return self._engine

    def _delayed(self, step: Step) -> bytes | None:
        """The reply to a run under a manifest over another schema than that of the rows: it waits; None to others."""
        other = self._other_schema
        if other is None or not isinstance(step, Enrol) or step.spec.manifest_digest != other.manifest_digest:
            return None
        return encode_reply(step.run, step.key, Pending(other.awaited))

    async def _exchange_while_listed(self, trusted: bytes, channel: grpc.aio.Channel, idle: IdleTime) -> None:
        """Until the newest manifest lists another certificate for the curator than this channel's."""
        link = rpc.PartyLinkStub(channel)
        self._trusted, connected = trusted, False
        while self._listed() == trusted:
            await self._let_go()
            try:
                if not connected:
                    async with moving(self._silence):
                        seen = await link.Alive(self._alive)
                    await self._note(seen)
                    connected = True
                    self._node.metrics.connected()
                    _log.info("connected to the curator")
                    if self._engine is None:
                        await self._newest_engine(link)
                    await self._ask_back(link)
                    self._published = None
                await self._publish(link)
                await self._exchange(link, idle)
                self._failures = 0
            except NoStepError as error:
                _log.error("the curator sent what is not a step of this protocol", extra={"reason": error.code})
                await self._wait_after_failure()
            except grpc.aio.AioRpcError as error:
                connected = False
                self._node.metrics.disconnected()
                if error.code() is OLDER:
                    raise self._node.other_nodes.stopped() from None
                if error.code() in FATAL:
                    raise self._failed(error) from None
                await self._failed_once(error.code())
        _log.info("the manifest lists another certificate for the curator: connecting again")

    async def _note(self, seen: pb.AliveReply) -> None:
        """Say that another node was there, and notice that this one was set back to a backup."""
        self._node.other_nodes.note(seen.other)
        if seen.key and self._engine is not None:
            await asyncio.to_thread(self._engine.check_answered, seen.run, seen.key, seen.digest)

    async def _ask_back(self, link: rpc.PartyLinkStub) -> None:
        """Once, before anything is answered: enter what this party signed and its ledger lacks."""
        if self._engine is not None and not self._asked_back:
            async with moving(UNSEEN_SILENCES * self._silence) as moved:
                handed = await given_back(link.Statements(pb.StatementsRequest()), moved)
            await asyncio.to_thread(self._engine.check_statements, handed)
            self._asked_back = True

    async def _publish(self, link: rpc.PartyLinkStub) -> None:
        """Give the curator the limits that the owner publishes, on every new connection and when they change."""
        document = await asyncio.to_thread(self._node.publication)
        if document is None or document == self._published:
            return
        try:
            async with moving(self._silence):
                await link.Publish(pb.PublishRequest(document=document))
        except grpc.aio.AioRpcError as error:
            if error.code() not in NOT_TAKEN:
                raise
            # Runs go on without: operators know less beforehand.
            _log.warning("the curator does not take this party's published limits", extra={"status": error.code().name})
        self._published = document

    async def _let_go(self) -> None:
        """Now and then, between steps: runs of which nothing is heard any more."""
        engine, now = self._engine, time.monotonic()
        if engine is None or now < self._let_go_next:
            return
        lease = self._config.lease
        self._let_go_next = now + let_go_every(lease)
        await asyncio.to_thread(engine.let_go, lease)
        self._node.forget_keys(engine)

    async def _explain(self, code: grpc.StatusCode) -> None:
        """Say why there is no connection; an identity that is not accepted will not be at another try either.

        Raises:
            PrivityError: connection-failed.
        """
        c = self._config
        look = self._look(c.certificate, c.key)
        found = await asyncio.to_thread(look)
        if found.stage is Stage.CURATOR:
            with contextlib.suppress(grpc.aio.AioRpcError, StalledError, PrivityError):
                await self._ask_anyone(c.certificate, c.key)
                found = await asyncio.to_thread(look)
        if found.of_identity:
            # A curator that was just then ending hangs up, too: it must be so a second time.
            await asyncio.sleep(SECOND_LOOK_SECONDS)
            found = await asyncio.to_thread(look)
        self._node.metrics.connection_ended(found.stage)
        if found.of_identity:
            reason, hint = found.reason, found.remedy
            raise NotAcceptedError(Catalogue.CONNECTION_FAILED, address=c.curator, reason=reason, hint=hint)
        _log.warning("no connection to the curator", extra={"status": code.name, "reason": found.stage.value})

    def _look(self, certificate: Path, key: Path) -> Callable[[], Finding]:
        c = self._config
        manifests = self._node.manifests

        def look() -> Finding:
            manifest = manifests.current() if manifests.exists() else None
            return check_connection(c.curator, c.curator_name, manifest, certificate, key, c.proxy)

        return look

    def _failed(self, error: grpc.aio.AioRpcError) -> PrivityError:
        reason, hint = from_elsewhere(error.details() or error.code().name)
        hint = hint or "Check this party's name and certificate against the manifest."
        return NotAcceptedError(Catalogue.CONNECTION_FAILED, address=self._config.curator, reason=reason, hint=hint)

    async def _exchange(self, link: rpc.PartyLinkStub, idle: IdleTime) -> None:
        async with contextlib.AsyncExitStack() as at_work:
            with idle.waiting():
                message = await self._receive(link, at_work)
            if message:
                await self._answer(link, message)
        if not message and time.monotonic() - self._asked_at >= MANIFEST_SECONDS:
            async with self._signs_of_life():
                await self._newest_engine(link)

    async def _receive(self, link: rpc.PartyLinkStub, at_work: contextlib.AsyncExitStack) -> bytes:
        """The next step, or nothing; signs of life are given from its first chunk on."""
        message = bytearray()
        async with moving(self._silence, WAIT_SECONDS + self._silence) as moved:
            async for chunk in link.NextStep(self._asking):
                moved()
                if not message:
                    # The curator has sent the rest long before it arrives over a slow line.
                    await at_work.enter_async_context(self._signs_of_life())
                message += chunk.data
                if len(message) > LARGEST_STEP:
                    raise NoStepError(Catalogue.TOO_LARGE, sender="the curator", limit=LARGEST_STEP)
        return bytes(message)

    async def _answer(self, link: rpc.PartyLinkStub, message: bytes) -> None:
        try:
            step = decode_step(message)
        except MalformedMessageError:
            raise NoStepError(Catalogue.MALFORMED, sender="the curator") from None
        if (step.run, step.key) != self._last_step:
            # Things go on, even over a network that ends every single call; one that waits for the owner comes again
            # every second.
            self._last_step, self._failures = (step.run, step.key), 0
            _log.info("a step", extra={"run": step.run, "step": step.key})
        engine = self._engine
        if engine is None or (isinstance(step, Enrol) and not engine.knows(step.spec.manifest_digest)):
            engine = await self._newest_engine(link)
        if self._listed() != self._trusted:
            return  # it came from one who is no longer the curator
        reply = self._delayed(step)
        if reply is None:
            reply = await asyncio.to_thread(engine.handle, step)
        if isinstance(step, Enrol) and engine.awaits(step.run) and step.run not in self._told:
            self._told.add(step.run)
            _log.warning("a run waits for approval: privity party show RUN", extra={"run": step.run})
        async with moving(UNSEEN_SILENCES * self._silence) as moved:
            await link.SendReply(_stream(reply, self._node.process, moved))
        if isinstance(step, Close):
            self._told.discard(step.run)
            self._node.forget_keys(engine)

    @contextlib.asynccontextmanager
    async def _signs_of_life(self) -> AsyncIterator[None]:
        """Tell the curator every few seconds that work goes on, so that only silence counts as death."""
        task = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            task.cancel()

    async def _beat(self) -> None:
        """For ever, over a connection of its own: the other one may die unnoticed during a long step."""
        while True:
            with contextlib.suppress(grpc.aio.AioRpcError, StalledError):
                async with self._channel(await self._first_listed()) as channel:
                    while True:
                        await asyncio.sleep(ALIVE_SECONDS)
                        async with moving(self._silence):
                            await rpc.PartyLinkStub(channel).Alive(self._alive)


async def _stream(message: bytes, process: str, moved: Callable[[], None]) -> AsyncIterator[pb.Chunk]:
    for chunk in chunks(message):
        moved()
        chunk.process = process
        yield chunk
    moved()
