"""gRPC services of the curator: status codes and identities here, everything else behind."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import asdict

import grpc
import grpc.aio
from google.protobuf.message import Message

from common.crypto.certificates import Role, identity_from_san, same_certificate
from common.errors import Catalogue, PrivityError
from common.node.progress import SILENCE_SECONDS, UNSEEN_SILENCES, StalledError, moving
from common.protocol.manifest import Manifest
from common.protocol.manifest_file import ManifestFile
from common.wire.codec import CHUNK_BYTES, MalformedMessageError, chunks
from common.wire.v1 import privity_pb2 as pb
from common.wire.v1 import privity_pb2_grpc as rpc
from curator.arrivals import Arrivals
from curator.desk import Desk
from curator.metrics import CuratorMetrics, Unwelcome
from curator.runs import Run, Runs

LONGEST_WAIT_SECONDS = 60
LONGEST_DETAILS = 2_000
EVENTS_A_SILENCE = 3
STALLED = (grpc.StatusCode.DEADLINE_EXCEEDED, "nothing moves on this connection")

_log = logging.getLogger("privity.curator")


async def abort(context: grpc.aio.ServicerContext, error: PrivityError) -> None:
    """End the call with the error's status; the text is from the catalogue."""
    # It may repeat what the caller sent; a longer text than gRPC carries would take its status with it.
    message = error.message if len(error.message) <= LONGEST_DETAILS else error.message[:LONGEST_DETAILS] + "..."
    await context.abort(getattr(grpc.StatusCode, error.status), f"{message}\n{error.remedy}")


async def _send(context: grpc.aio.ServicerContext, message: Message, silence: float) -> None:
    """Send one message of a stream, as slowly as the other end takes it; end the call if it takes nothing."""
    try:
        async with moving(UNSEEN_SILENCES * silence):
            await context.write(message)
    except StalledError:
        await context.abort(*STALLED)


def caller(context: grpc.aio.ServicerContext, role: Role | None, manifest: Manifest, metrics: CuratorMetrics) -> str:
    """Name of the caller, who must show the certificate that the manifest lists for it in this role, now.

    ``role`` None admits every member, in its own role.
    """
    shown = context.auth_context()
    try:
        found, name = identity_from_san(shown.get("x509_subject_alternative_name", []))
    except ValueError:
        metrics.call_refused(Unwelcome.NAMELESS)
        reason = "its certificate names no member"
        raise PrivityError(Catalogue.IDENTITY_UNKNOWN, identity="the caller", reason=reason) from None
    listed = manifest.certificate_of(found, name)
    (own,) = shown.get("x509_pem_cert", [b""])
    if role not in (None, found):
        why, reason = Unwelcome.OTHER_ROLE, f"only a member in the role {role} may call this"
    elif listed is None:
        why, reason = Unwelcome.UNLISTED, "the consortium's manifest does not list it, or no longer does"
    elif not same_certificate(listed.encode(), own):
        why, reason = Unwelcome.OTHER_CERTIFICATE, "the manifest lists another certificate for it now"
    else:
        return name
    holder = f"{found}/{name}"
    metrics.call_refused(why)
    if why is Unwelcome.OTHER_CERTIFICATE:
        # New connections are let in by the manifest alone: this one was there before the certificate was renewed.
        _log.info("a call under the certificate of before a renewal", extra={"holder": holder})
    else:
        _log.warning("a call is refused", extra={"holder": holder, "reason": why.value})
    raise PrivityError(Catalogue.IDENTITY_UNKNOWN, identity=f"{found} {name}", reason=reason)


class PartyLinkServicer(rpc.PartyLinkServicer):
    """What parties dial in to."""

    def __init__(
        self, desk: Desk, manifests: ManifestFile, metrics: CuratorMetrics, silence: float = SILENCE_SECONDS
    ) -> None:
        self._desk = desk
        self._arrivals = Arrivals(desk, metrics, silence)
        self._silence = silence
        self._manifests = manifests
        self._metrics = metrics

    def _caller(self, context: grpc.aio.ServicerContext) -> str:
        return caller(context, "party", self._manifests.current(), self._metrics)

    async def GetManifest(  # noqa: N802 - the service's own name
        self, request: pb.ManifestRequest, context: grpc.aio.ServicerContext
    ) -> pb.ManifestReply:
        try:
            self._caller(context)
            return pb.ManifestReply(document=self._manifests.document())
        except PrivityError as error:
            await abort(context, error)
            raise

    async def NextStep(  # noqa: N802 - the service's own name
        self, request: pb.NextStepRequest, context: grpc.aio.ServicerContext
    ) -> None:
        try:
            party = self._caller(context)
        except PrivityError as error:
            await abort(context, error)
            return
        message = await self._desk.next_step(party, min(request.wait_seconds, LONGEST_WAIT_SECONDS))
        if message is not None:
            for chunk in chunks(message):
                await _send(context, chunk, self._silence)
                # It takes what it is sent, however slowly.
                self._desk.alive(party)

    async def SendReply(  # noqa: N802
        self, request_iterator: AsyncIterator[pb.Chunk], context: grpc.aio.ServicerContext
    ) -> pb.Receipt:
        try:
            party = self._caller(context)
            message = await self._arrivals.collect(party, (chunk.data async for chunk in request_iterator))
            if message is not None:
                self._desk.deliver(party, message)
        except PrivityError as error:
            await abort(context, error)
        except StalledError:
            await context.abort(*STALLED)
        except MalformedMessageError:
            self._metrics.call_refused(Unwelcome.MALFORMED)
            await abort(context, PrivityError(Catalogue.MALFORMED, sender=party))
        return pb.Receipt()

    async def Alive(  # noqa: N802
        self, request: pb.AliveRequest, context: grpc.aio.ServicerContext
    ) -> pb.Receipt:
        try:
            self._desk.alive(self._caller(context))
        except PrivityError as error:
            await abort(context, error)
        return pb.Receipt()


class OperatorServicer(rpc.OperatorServicer):
    """What the operator's commands dial in to."""

    def __init__(
        self, runs: Runs, manifests: ManifestFile, metrics: CuratorMetrics, silence: float = SILENCE_SECONDS
    ) -> None:
        self._runs = runs
        self._silence = silence
        self._manifests = manifests
        self._metrics = metrics

    def _check(self, context: grpc.aio.ServicerContext) -> None:
        caller(context, "operator", self._manifests.current(), self._metrics)

    async def Submit(  # noqa: N802
        self, request: pb.SubmitRequest, context: grpc.aio.ServicerContext
    ) -> pb.SubmitReply:
        try:
            self._check(context)
            return pb.SubmitReply(run=self._runs.submit(request.token, request.request, request.name))
        except PrivityError as error:
            await abort(context, error)
            raise

    async def Watch(  # noqa: N802
        self, request: pb.RunName, context: grpc.aio.ServicerContext
    ) -> None:
        try:
            self._check(context)
            # Said again when nothing happens, or a watcher could not tell a long wait from a dead connection.
            async for run in self._runs.watch(request.run, self._silence / EVENTS_A_SILENCE):
                await _send(context, _event(run, ", ".join(self._runs.notes(run))), self._silence)
        except PrivityError as error:
            await abort(context, error)

    async def Fetch(  # noqa: N802
        self, request: pb.RunName, context: grpc.aio.ServicerContext
    ) -> None:
        try:
            self._check(context)
            for path in self._runs.release_files(request.run):
                name = path.name
                with path.open("rb") as file:
                    while (data := file.read(CHUNK_BYTES)) or name:
                        await _send(context, pb.FileChunk(name=name, data=data), self._silence)
                        name = ""
        except PrivityError as error:
            await abort(context, error)

    async def Stop(  # noqa: N802
        self, request: pb.StopRequest, context: grpc.aio.ServicerContext
    ) -> pb.Receipt:
        try:
            self._check(context)
            self._runs.stop(request.run, discard=request.discard)
        except PrivityError as error:
            await abort(context, error)
        return pb.Receipt()

    async def Resume(  # noqa: N802
        self, request: pb.RunName, context: grpc.aio.ServicerContext
    ) -> pb.Receipt:
        try:
            self._check(context)
            self._runs.resume(request.run)
        except PrivityError as error:
            await abort(context, error)
        return pb.Receipt()

    async def List(  # noqa: N802
        self, request: pb.ListRequest, context: grpc.aio.ServicerContext
    ) -> pb.RunList:
        try:
            self._check(context)
        except PrivityError as error:
            await abort(context, error)
        return pb.RunList(runs=[self._status(run) for run in self._runs.all()])

    async def Why(  # noqa: N802
        self, request: pb.RunName, context: grpc.aio.ServicerContext
    ) -> pb.RunStatus:
        try:
            self._check(context)
            return self._status(self._runs.get(request.run))
        except PrivityError as error:
            await abort(context, error)
            raise

    async def GetManifest(  # noqa: N802
        self, request: pb.ManifestRequest, context: grpc.aio.ServicerContext
    ) -> pb.ManifestReply:
        try:
            self._check(context)
            return pb.ManifestReply(document=self._manifests.document())
        except PrivityError as error:
            await abort(context, error)
            raise

    def _status(self, run: Run) -> pb.RunStatus:
        return pb.RunStatus(
            run=run.name,
            algorithm=run.request.algorithm,
            epsilon=str(run.request.epsilon),
            submitted=run.submitted,
            state=run.state,
            reason=run.reason,
            remedy=run.remedy,
            phase=run.progress.phase,
            awaited=[pb.Awaited(**asdict(awaited)) for awaited in self._runs.awaited(run)],
            last_error=run.last_error,
        )


def _event(run: Run, waits: str) -> pb.RunEvent:
    p = run.progress
    return pb.RunEvent(
        state=run.state,
        reason=run.reason,
        remedy=run.remedy,
        note=waits,
        phase=p.phase,
        done=p.done,
        parties=p.parties,
        cells=p.cells,
        ciphertexts=p.ciphertexts,
        bytes=p.bytes,
        epsilon=str(p.epsilon),
    )
