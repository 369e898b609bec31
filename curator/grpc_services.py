"""gRPC services of the curator: status codes and identities here, everything else behind."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict
from pathlib import Path

import grpc
import grpc.aio
from google.protobuf.message import Message

from privity.common.consortium.manifest import Manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.crypto.certificates import Role, identity_from_san, same_certificate
from privity.common.errors import Catalogue, PrivityError
from privity.common.node.connection_silence import SILENCE_SECONDS, UNSEEN_SILENCES, moving
from privity.common.release.release_contents import ATTESTATIONS
from privity.common.text.visible import cut
from privity.common.wire.codec import CHUNK_BYTES, MalformedMessageError, chunks
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.curator.call_quotas import Beside
from privity.curator.incoming_replies import Arrivals
from privity.curator.metrics import CuratorMetrics, Unwelcome
from privity.curator.pending_steps import Desk
from privity.curator.run_queue import Runs
from privity.curator.run_state import Run

LONGEST_WAIT_SECONDS = 60
EVENTS_A_SILENCE = 3
LARGEST_LIST = 1 << 22
"""Most bytes of a list of runs: some 20,000 of them."""
LONGEST_VERSION = 32

_log = logging.getLogger("privity.curator")


async def _send(context: grpc.aio.ServicerContext, message: Message, silence: float) -> None:
    """Send one message of a stream, as slowly as the other end takes it.

    Raises:
        StalledError: it takes nothing.
    """
    async with moving(UNSEEN_SILENCES * silence):
        await context.write(message)


def _part(path: Path, start: int) -> bytes:
    """A part of a file, which is open for no longer: a reader that is slow, or does not read, holds no file.

    Whoever fetches checks every file against its digest, so parts of two files never pass for one.
    """
    with path.open("rb") as file:
        file.seek(start)
        return file.read(CHUNK_BYTES)


async def _send_files(context: grpc.aio.ServicerContext, files: Iterable[Path], silence: float) -> None:
    """One after another; the name of each stands in its first chunk."""
    for path in files:
        name, sent = path.name, 0
        if name == ATTESTATIONS:
            # It is written anew when a party signs: parts of two would be none.
            for chunk in chunks(path.read_bytes()):
                await _send(context, pb.FileChunk(name=name, data=chunk.data), silence)
                name = ""
            continue
        while (data := _part(path, sent)) or name:
            await _send(context, pb.FileChunk(name=name, data=data), silence)
            name, sent = "", sent + len(data)


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
        _log.info("a call under the certificate from before a renewal", extra={"holder": holder})
    else:
        _log.warning("a call is refused", extra={"holder": holder, "reason": why.value})
    raise PrivityError(Catalogue.IDENTITY_UNKNOWN, identity=f"{found} {name}", reason=reason)


class PartyLinkServicer(rpc.PartyLinkServicer):
    """What parties dial in to."""

    def __init__(
        self,
        desk: Desk,
        runs: Runs,
        manifests: ManifestFile,
        metrics: CuratorMetrics,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        self._desk = desk
        self._runs = runs
        self._arrivals = Arrivals(desk, metrics, silence)
        self._silence = silence
        self._manifests = manifests
        self._metrics = metrics
        self._beside = Beside()

    def _caller(self, context: grpc.aio.ServicerContext) -> str:
        return caller(context, "party", self._manifests.current(), self._metrics)

    async def GetManifest(  # noqa: N802 - the service's own name
        self, request: pb.ManifestRequest, context: grpc.aio.ServicerContext
    ) -> pb.ManifestReply:
        self._caller(context)
        return pb.ManifestReply(document=self._manifests.document())

    async def NextStep(  # noqa: N802 - the service's own name
        self, request: pb.NextStepRequest, context: grpc.aio.ServicerContext
    ) -> None:
        party, process = self._caller(context), request.process
        self._desk.of_process(party, process)
        message = await self._desk.next_step(party, min(request.wait_seconds, LONGEST_WAIT_SECONDS))
        # Another node may have come while this one waited. If it is still at work, its next call is refused; a process
        # that has ended, and a line that does not know it yet, are no second node.
        if message is not None and self._desk.is_newest(party, process):
            for chunk in chunks(message):
                await _send(context, chunk, self._silence)
                # It takes what it is sent, however slowly.
                self._desk.alive(party)

    async def SendReply(  # noqa: N802
        self, request_iterator: AsyncIterator[pb.Chunk], context: grpc.aio.ServicerContext
    ) -> pb.Receipt:
        party = self._caller(context)
        message = await self._arrivals.collect(party, ((chunk.process, chunk.data) async for chunk in request_iterator))
        try:
            if message is not None:
                await self._desk.read_and_deliver(party, message)
        except MalformedMessageError:
            self._metrics.call_refused(Unwelcome.MALFORMED)
            raise PrivityError(Catalogue.MALFORMED, sender=party) from None
        return pb.Receipt()

    async def Alive(  # noqa: N802
        self, request: pb.AliveRequest, context: grpc.aio.ServicerContext
    ) -> pb.AliveReply:
        party = self._caller(context)
        self._desk.of_process(party, request.process)
        desk = self._desk.alive(party)
        desk.version = cut(request.version, LONGEST_VERSION)
        last = self._desk.last_reply(party)
        return pb.AliveReply(run=last.run, key=last.key, digest=last.digest, other=desk.other)

    async def Fetch(  # noqa: N802
        self, request: pb.RunName, context: grpc.aio.ServicerContext
    ) -> None:
        files = self._runs.release_files(request.run, self._caller(context))
        await _send_files(context, files, self._silence)

    async def Publish(  # noqa: N802
        self, request: pb.PublishRequest, context: grpc.aio.ServicerContext
    ) -> pb.Receipt:
        party = self._caller(context)
        limits = await self._beside.run(party, self._runs.limits.read, party, request.document)
        self._runs.limits.keep(limits, request.document)
        return pb.Receipt()

    async def Statements(  # noqa: N802
        self, request: pb.StatementsRequest, context: grpc.aio.ServicerContext
    ) -> None:
        party = self._caller(context)
        for run in self._runs.all():
            statement = await self._beside.run(party, self._runs.statements.of, party, run)
            if statement is not None:
                await _send(context, statement.message(), self._silence)


class OperatorServicer(rpc.OperatorServicer):
    """What the operator's commands dial in to."""

    def __init__(
        self,
        desk: Desk,
        runs: Runs,
        manifests: ManifestFile,
        metrics: CuratorMetrics,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        self._desk = desk
        self._runs = runs
        self._silence = silence
        self._manifests = manifests
        self._metrics = metrics
        self._beside = Beside()

    def _caller(self, context: grpc.aio.ServicerContext) -> str:
        return caller(context, "operator", self._manifests.current(), self._metrics)

    def _check_submitter(self, context: grpc.aio.ServicerContext, run: str) -> None:
        self._runs.check_submitter(run, self._caller(context))

    async def Submit(  # noqa: N802
        self, request: pb.SubmitRequest, context: grpc.aio.ServicerContext
    ) -> pb.SubmitReply:
        operator = self._caller(context)
        signed = await self._beside.run(operator, self._runs.read, request.request, operator)
        return pb.SubmitReply(run=self._runs.take(request.token, signed))

    async def Watch(  # noqa: N802
        self, request: pb.RunName, context: grpc.aio.ServicerContext
    ) -> None:
        self._caller(context)
        # Said again when nothing happens, or a watcher could not tell a long wait from a dead connection.
        async for run in self._runs.watch(request.run, self._silence / EVENTS_A_SILENCE):
            # The manifest may have changed since.
            self._caller(context)
            await _send(context, _event(run, "; ".join(self._runs.notes(run))), self._silence)

    async def Fetch(  # noqa: N802
        self, request: pb.RunName, context: grpc.aio.ServicerContext
    ) -> None:
        self._check_submitter(context, request.run)
        await _send_files(context, self._runs.release_files(request.run), self._silence)

    async def Stop(  # noqa: N802
        self, request: pb.StopRequest, context: grpc.aio.ServicerContext
    ) -> pb.Receipt:
        self._check_submitter(context, request.run)
        self._runs.stop(request.run, discard=request.discard)
        return pb.Receipt()

    async def Resume(  # noqa: N802
        self, request: pb.RunName, context: grpc.aio.ServicerContext
    ) -> pb.Receipt:
        self._check_submitter(context, request.run)
        self._runs.resume(request.run)
        return pb.Receipt()

    async def List(  # noqa: N802
        self, request: pb.ListRequest, context: grpc.aio.ServicerContext
    ) -> pb.RunList:
        self._caller(context)
        runs, found, size = self._runs.all(), list[pb.RunStatus](), 0
        for run in reversed(runs):
            status = self._status(run)
            size += status.ByteSize()
            if size > LARGEST_LIST and found:
                break
            found.append(status)
        return pb.RunList(runs=reversed(found), left_out=len(runs) - len(found))

    async def Why(  # noqa: N802
        self, request: pb.RunName, context: grpc.aio.ServicerContext
    ) -> pb.RunStatus:
        self._caller(context)
        return self._status(self._runs.get(request.run))

    async def GetManifest(  # noqa: N802
        self, request: pb.ManifestRequest, context: grpc.aio.ServicerContext
    ) -> pb.ManifestReply:
        self._caller(context)
        return pb.ManifestReply(document=self._manifests.document())

    async def GetLimits(  # noqa: N802
        self, request: pb.LimitsRequest, context: grpc.aio.ServicerContext
    ) -> pb.LimitsReply:
        self._caller(context)
        return pb.LimitsReply(documents=self._runs.limits.all())

    async def GetParties(  # noqa: N802
        self, request: pb.PartiesRequest, context: grpc.aio.ServicerContext
    ) -> pb.PartiesReply:
        self._caller(context)
        manifest = self._manifests.current()
        links = self._desk.links(manifest.members)
        paused = manifest.paused
        return pb.PartiesReply(parties=[pb.PartyStatus(**asdict(one), paused=one.party in paused) for one in links])

    def _status(self, run: Run) -> pb.RunStatus:
        return pb.RunStatus(
            run=run.name,
            algorithm=run.request.algorithm,
            epsilon=str(run.request.epsilon),
            submitted=run.submitted,
            submitter=run.submitter,
            state=run.state,
            reason=run.reason,
            remedy=run.remedy,
            phase=run.progress.phase,
            awaited=[pb.Awaited(**asdict(awaited)) for awaited in self._runs.awaited(run)],
            last_error=run.last_error,
            refusals=[pb.Refused(**asdict(refused)) for refused in run.refusals],
            since=self._runs.since(run),
            done=run.progress.done,
            parties=run.progress.parties,
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
