"""gRPC services of the curator: status codes and identities here, everything else behind."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import asdict

import grpc
import grpc.aio

from common.crypto.certificates import Role, identity_from_san, same_certificate
from common.errors import Catalogue, PrivityError
from common.protocol.manifest import Manifest
from common.protocol.manifest_file import ManifestFile
from common.wire.codec import CHUNK_BYTES, LARGEST_MESSAGE, MalformedMessageError, chunks
from common.wire.v1 import privity_pb2 as pb
from common.wire.v1 import privity_pb2_grpc as rpc
from curator.desk import Desk
from curator.metrics import CuratorMetrics, Unwelcome
from curator.runs import Run, Runs

LONGEST_WAIT_SECONDS = 60

_log = logging.getLogger("privity.curator")


async def abort(context: grpc.aio.ServicerContext, error: PrivityError) -> None:
    """End the call with the error's status; the text is from the catalogue."""
    await context.abort(getattr(grpc.StatusCode, error.status), f"{error.message}\n{error.remedy}")


def caller(context: grpc.aio.ServicerContext, role: Role | None, manifest: Manifest, metrics: CuratorMetrics) -> str:
    """Name of the caller, who must show the certificate that the manifest lists for it in this role, now.

    ``role`` None admits every member, in its own role.
    """
    shown = context.auth_context()
    try:
        found, name = identity_from_san(shown.get("x509_subject_alternative_name", []))
    except ValueError:
        metrics.call_refused(Unwelcome.NAMELESS)
        raise PrivityError(Catalogue.IDENTITY_UNKNOWN, identity="nobody") from None
    listed = manifest.certificate_of(found, name)
    (own,) = shown.get("x509_pem_cert", [b""])
    if role not in (None, found):
        why = Unwelcome.OTHER_ROLE
    elif listed is None:
        why = Unwelcome.UNLISTED
    elif not same_certificate(listed.encode(), own):
        why = Unwelcome.OTHER_CERTIFICATE
    else:
        return name
    holder = f"{found}/{name}"
    metrics.call_refused(why)
    _log.warning("a call is refused", extra={"holder": holder, "reason": why.value})
    raise PrivityError(Catalogue.IDENTITY_UNKNOWN, identity=f"{found} {name}")


class PartyLinkServicer(rpc.PartyLinkServicer):
    """What parties dial in to."""

    def __init__(self, desk: Desk, manifests: ManifestFile, metrics: CuratorMetrics) -> None:
        self._desk = desk
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
    ) -> AsyncIterator[pb.Chunk]:
        try:
            party = self._caller(context)
        except PrivityError as error:
            await abort(context, error)
            return
        message = await self._desk.next_step(party, min(request.wait_seconds, LONGEST_WAIT_SECONDS))
        if message is not None:
            for chunk in chunks(message):
                yield chunk

    async def SendReply(  # noqa: N802
        self, request_iterator: AsyncIterator[pb.Chunk], context: grpc.aio.ServicerContext
    ) -> pb.Receipt:
        try:
            party = self._caller(context)
            message = bytearray()
            async for chunk in request_iterator:
                message += chunk.data
                self._desk.alive(party)
                if len(message) > LARGEST_MESSAGE:
                    raise MalformedMessageError("too large")
            self._desk.deliver(party, bytes(message))
        except PrivityError as error:
            await abort(context, error)
        except MalformedMessageError:
            self._metrics.call_refused(Unwelcome.MALFORMED)
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not a reply of this protocol")
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

    def __init__(self, runs: Runs, manifests: ManifestFile, metrics: CuratorMetrics) -> None:
        self._runs = runs
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
    ) -> AsyncIterator[pb.RunEvent]:
        try:
            self._check(context)
            async for run in self._runs.watch(request.run):
                yield _event(run, ", ".join(self._runs.notes(run)))
        except PrivityError as error:
            await abort(context, error)

    async def Fetch(  # noqa: N802
        self, request: pb.RunName, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.FileChunk]:
        try:
            self._check(context)
            for path in self._runs.release_files(request.run):
                name = path.name
                with path.open("rb") as file:
                    while (data := file.read(CHUNK_BYTES)) or name:
                        yield pb.FileChunk(name=name, data=data)
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
