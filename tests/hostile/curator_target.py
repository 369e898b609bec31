"""A production curator over real gRPC and TLS, called by a member that sends whatever it likes."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Self

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from privity.common.crypto.identity import Identity
from privity.common.errors import PrivityError
from privity.common.node.metrics_page import known_code
from privity.common.protocol.steps import Reply, Step
from privity.common.runs.published_limits import PublishedLimits
from privity.common.runs.run_limits import RunLimits
from privity.common.runs.signed_request import sign_request
from privity.common.wire.codec import CHUNK_BYTES, encode_reply
from privity.common.wire.v1 import privity_pb2 as pb
from privity.curator.call_quotas import Quota
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium, channel
from tests.hostile.mutations import Mutator
from tests.hostile.party_target import Answered
from tests.hostile.tally import HANGS_SECONDS, Tally, Timer

PARTY, OPERATOR = "party/party-2", "operator/boss"
REQUEST = (
    b'{"algorithm":"dp-subn","attributes":["A0","A1"],"delta":"0","epsilon":"1/3","format_version":1,"key_bits":null,'
    b'"rows":10,"secure_sum":"masks","settings":{"frontier":"always","theta":"6"},"tolerate":1}'
)
LINK, RUNS = "/common.wire.v1.PartyLink/", "/common.wire.v1.Operator/"


@dataclass(frozen=True)
class Rpc:
    """One method: who may call it, a valid message, and whether requests and answers are streams."""

    path: str
    holder: str
    kind: type
    valid: bytes
    streams: tuple[bool, bool] = (False, False)


def _rpc(path: str, holder: str, message, streams: tuple[bool, bool] = (False, False)) -> Rpc:
    return Rpc(path, holder, type(message), message.SerializeToString(), streams)


CRASHES = {code.name for code in (grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL)}
"""How a call ends in which the curator met what nobody foresaw."""
CONSORTIUM = make_consortium(3, domain=(2, 3), rows=20)
SIGNED = sign_request(json.loads(REQUEST), "run-7", CONSORTIUM.manifest, *CONSORTIUM.operator)
SUBMIT = pb.SubmitRequest(token="token", request=SIGNED.bytes())
LIMITS = PublishedLimits.signed(
    "test", "party-1", RunLimits(minimum_parties=2, algorithms=("mst",)), 1, Identity.generate()
).document()
LISTED = reflection_pb2.ServerReflectionRequest(list_services="")
RPCS = (
    _rpc(LINK + "NextStep", PARTY, pb.NextStepRequest(wait_seconds=1), (False, True)),
    _rpc(LINK + "Alive", PARTY, pb.AliveRequest(version="0.1")),
    _rpc(LINK + "GetManifest", PARTY, pb.ManifestRequest()),
    _rpc(LINK + "Publish", PARTY, pb.PublishRequest(document=LIMITS)),
    _rpc(LINK + "Statements", PARTY, pb.StatementsRequest(), (False, True)),
    _rpc(LINK + "Fetch", PARTY, pb.RunName(run="run-1"), (False, True)),
    _rpc(RUNS + "Submit", OPERATOR, SUBMIT),
    _rpc(RUNS + "Watch", OPERATOR, pb.RunName(run="run-1"), (False, True)),
    _rpc(RUNS + "Fetch", OPERATOR, pb.RunName(run="run-1"), (False, True)),
    _rpc(RUNS + "Stop", OPERATOR, pb.StopRequest(run="run-1", discard=True)),
    _rpc(RUNS + "Resume", OPERATOR, pb.RunName(run="run-1")),
    _rpc(RUNS + "List", OPERATOR, pb.ListRequest()),
    _rpc(RUNS + "Why", OPERATOR, pb.RunName(run="run-1")),
    _rpc(RUNS + "GetManifest", OPERATOR, pb.ManifestRequest()),
    _rpc(RUNS + "GetLimits", OPERATOR, pb.LimitsRequest()),
    _rpc(RUNS + "GetParties", OPERATOR, pb.PartiesRequest()),
    _rpc("/grpc.health.v1.Health/Check", PARTY, health_pb2.HealthCheckRequest(service="common.wire.v1.Operator")),
    _rpc("/grpc.health.v1.Health/Watch", PARTY, health_pb2.HealthCheckRequest(service="none"), (False, True)),
    _rpc("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", PARTY, LISTED, (True, True)),
    _rpc(LINK + "Nothing", PARTY, pb.AliveRequest()),
)
SEND = _rpc(LINK + "SendReply", PARTY, pb.Chunk(data=b"x"), (True, False))


class CuratorTarget:
    """Sends mutated messages to every method, as a party and as an operator that the manifest lists.

    Replies answer steps that lie at the desk at that moment, of every kind.
    """

    def __init__(self, folder: Path, seed: int, replies: Sequence[Answered]) -> None:
        self._network = NetworkConsortium(
            folder, make_consortium(3, domain=(2, 3), rows=20, tls=CONSORTIUM.tls), reflection=True
        )
        self._random = random.Random(seed)
        self._mutators = {rpc: Mutator(seed + place, [rpc.valid], rpc.kind) for place, rpc in enumerate((*RPCS, SEND))}
        honest = {step.key: (step, message) for (_, step), (_, message) in replies}
        # The last of each kind: a run's blocks and draws are alike.
        self._honest = list({type(step): (step, message) for step, message in honest.values()}.values())
        self._replies = Mutator(seed - 1, [message for _, message in self._honest], pb.Reply)
        self._asked: dict[str, asyncio.Task[Reply]] = {}
        self._channels: dict[str, grpc.aio.Channel] = {}

    async def __aenter__(self) -> Self:
        await self._network.__aenter__()
        quotas = self._network.server.quotas
        quotas.parties = quotas.others = Quota(10**9, 10**9)
        # Somebody else dials in as this party.
        await self._network.stop_agent("party-2")
        for holder in (PARTY, OPERATOR):
            self._channels[holder] = channel(self._network, self._network.consortium.tls.pairs[holder])
        for step, _ in self._honest:
            self._ask(step)
        return self

    async def __aexit__(self, *_error: object) -> None:
        for task in self._asked.values():
            task.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)
        for opened in self._channels.values():
            await opened.close()
        await self._network.__aexit__()

    def _ask(self, step: Step) -> None:
        self._asked[step.key] = asyncio.create_task(self._network.server.desk.ask("party-2", step, "fuzzed"))

    async def send(self, tally: Tally) -> None:
        """One mutated message to one method."""
        if self._random.random() < 0.4:
            await self._send_reply(tally)
            return
        rpc = self._random.choice(RPCS)
        holder = rpc.holder if self._random.random() < 0.9 else self._random.choice((PARTY, OPERATOR))
        kind, message = self._mutators[rpc].mutate(rpc.valid)
        await self._call(tally, rpc, holder, kind, [message])

    def _newest(self) -> str:
        """The number of a process that was not there before: older ones are refused."""
        return f"{self._random.getrandbits(128):032x}"

    async def _send_reply(self, tally: Tally) -> None:
        r = self._random
        _, honest = r.choice(self._honest)
        kind, message = self._replies.mutate(honest)
        process = self._newest()
        chunks = [
            pb.Chunk(data=message[at : at + CHUNK_BYTES], process=process).SerializeToString()
            for at in range(0, max(1, len(message)), CHUNK_BYTES)
        ]
        if r.random() < 0.15:
            kind, chunks[0] = self._mutators[SEND].mutate(chunks[0])
        await self._call(tally, SEND, PARTY, kind, chunks)
        await asyncio.sleep(0)
        for other, _ in self._honest:
            if (task := self._asked[other.key]).done():
                self._note_end(tally, kind, task, message)
                self._ask(other)
                await asyncio.sleep(0)

    def _note_end(self, tally: Tally, kind: str, task: asyncio.Task[Reply], message: bytes) -> None:
        """What the run hears of a reply that was taken."""
        try:
            answer = f"taken as {type(task.result()).__name__}"
        except PrivityError as error:
            answer = f"the step fails: {known_code(error.code)}"
        except BaseException:
            tally.crash("SendReply, the run", kind, message)
            return
        tally.outcomes[answer] += 1

    async def _call(self, tally: Tally, rpc: Rpc, holder: str, kind: str, messages: list[bytes]) -> None:
        name = rpc.path.rpartition("/")[2] if rpc.path.startswith("/common") else rpc.path
        name = f"{'Operator ' if rpc.path.startswith(RUNS) else ''}{name}"
        timer = Timer()
        try:
            answer = await asyncio.wait_for(self._answer(rpc, holder, messages), HANGS_SECONDS)
        except grpc.aio.AioRpcError as error:
            answer = error.code().name
        except BaseException:
            tally.crash(name, kind, messages[0])
            return
        if answer in CRASHES:
            tally.crash(name, kind, messages[0])
        else:
            tally.note(name, kind, answer, timer.seconds, messages[0])

    async def _answer(self, rpc: Rpc, holder: str, messages: list[bytes]) -> str:
        channel = self._channels[holder]

        async def stream() -> AsyncIterator[bytes]:
            for message in messages:
                yield message

        match rpc.streams:
            case (False, False):
                await channel.unary_unary(rpc.path)(messages[0])
            case (True, False):
                await channel.stream_unary(rpc.path)(stream())
            case (False, True):
                # The first answer is enough: what is watched goes on.
                call = channel.unary_stream(rpc.path)(messages[0])
                await call.read()
                if not call.done():
                    call.cancel()
                elif await call.code() is not grpc.StatusCode.OK:
                    return (await call.code()).name
            case (True, True):
                call = channel.stream_stream(rpc.path)(stream())
                await call.read()
                if await asyncio.wait_for(call.code(), HANGS_SECONDS) is not grpc.StatusCode.OK:
                    return (await call.code()).name
        return "answered"

    async def answers_honest_calls(self) -> None:
        """The service goes on: every step is still answered as it should be."""
        for step, honest in self._honest:
            chunk = pb.Chunk(data=honest, process=self._newest()).SerializeToString()
            await self._channels[PARTY].stream_unary(SEND.path)(_one(chunk))
            await asyncio.wait([self._asked[step.key]], timeout=HANGS_SECONDS)
            assert encode_reply(step.run, step.key, self._asked[step.key].result()) == honest
            self._ask(step)

    def charged(self) -> Fraction:
        parties = self._network.consortium.parties.values()
        return sum((party.ledger.spent() for party in parties), Fraction(0))


async def _one(message: bytes) -> AsyncIterator[bytes]:
    yield message
