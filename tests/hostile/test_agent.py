"""A party's node that dials a hostile curator: it refuses by name, waits, and serves on."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import grpc
import grpc.aio
import pytest

from privity.common.consortium.manifest import sign_manifest
from privity.common.protocol.steps import Enrol, Refusal, Reply
from privity.common.wire.codec import CHUNK_BYTES, LARGEST_STEP, decode_reply, encode_step
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.ledgers import charged
from tests.harness.network import NetworkConsortium
from tests.hostile.mutations import Mutator
from tests.hostile.party_target import World

pytestmark = pytest.mark.process

WAIT_SECONDS = 30


class HostileCurator(rpc.PartyLinkServicer):
    """Under the curator's own certificate: sends whatever a test lays down, and keeps what is answered."""

    def __init__(self, consortium: TestConsortium, document: bytes) -> None:
        self._consortium, self.document = consortium, document
        self.steps: asyncio.Queue[bytes | AsyncIterator[pb.Chunk]] = asyncio.Queue()
        self.answers: asyncio.Queue[Reply] = asyncio.Queue()
        self.port = 0

    async def __aenter__(self) -> Self:
        certificate, key = self._consortium.tls.pairs["curator/curator"]
        callers = "".join(self._consortium.manifest.certificates.values()).encode()
        credentials = grpc.ssl_server_credentials([(key, certificate)], callers, require_client_auth=True)
        self._server = grpc.aio.server()
        rpc.add_PartyLinkServicer_to_server(self, self._server)
        self.port = self._server.add_secure_port("127.0.0.1:0", credentials)
        await self._server.start()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._server.stop(grace=0)

    async def NextStep(self, _request: Any, _context: Any) -> AsyncIterator[pb.Chunk]:  # noqa: N802 - the service's own
        step = await self.steps.get()
        if isinstance(step, bytes):
            yield pb.Chunk(data=step)
        else:
            async for chunk in step:
                yield chunk

    async def SendReply(self, requests: AsyncIterator[pb.Chunk], _context: Any) -> pb.Receipt:  # noqa: N802
        self.answers.put_nowait(decode_reply(b"".join([chunk.data async for chunk in requests]))[2])
        return pb.Receipt()

    async def Alive(self, _request: Any, _context: Any) -> pb.Receipt:  # noqa: N802
        return pb.Receipt()

    async def Publish(self, _request: Any, _context: Any) -> pb.Receipt:  # noqa: N802
        return pb.Receipt()

    async def Statements(self, _request: Any, _context: Any) -> AsyncIterator[pb.Statement]:  # noqa: N802
        yield pb.Statement(attestation=b"{}")

    async def GetManifest(self, _request: Any, _context: Any) -> pb.ManifestReply:  # noqa: N802
        return pb.ManifestReply(document=self.document)

    async def answer(self) -> Reply:
        return await asyncio.wait_for(self.answers.get(), WAIT_SECONDS)


class Scene:
    """One party's production agent that dials the hostile curator."""

    def __init__(self, folder: Path) -> None:
        self.consortium = make_consortium(2)
        self._network = NetworkConsortium(folder, self.consortium)
        document = json.dumps(sign_manifest(self.consortium.manifest, self.consortium.tls.organiser)).encode()
        (folder / "party-1-manifest.json").write_bytes(document)
        self.curator = HostileCurator(self.consortium, document)

    async def __aenter__(self) -> Self:
        await self.curator.__aenter__()
        self._network.port = self.curator.port
        self.agent = self._network.start_agent("party-1")
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._network.stop_agent("party-1")
        await self.curator.__aexit__()

    async def serves_on(self, run: str = "run-9") -> None:
        self.curator.steps.put_nowait(encode_step(self.consortium.signed(Enrol(self.consortium.spec(run=run)))))
        reply = await self.curator.answer()
        assert not isinstance(reply, Refusal), reply
        assert not self.agent.done()
        assert charged(self.consortium.parties["party-1"].ledger) == []


def named(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.reason for record in caplog.records if "not a step" in record.message]


def test_bytes_that_are_no_step_are_refused_by_name_and_the_party_serves_on(tmp_path: Path, caplog) -> None:
    async def scenario() -> None:
        async with Scene(tmp_path) as scene:
            for junk in (b"\xff" * 1_000, encode_step(Enrol(scene.consortium.spec()))[:-7], b"\x0b" * 9_999):
                scene.curator.steps.put_nowait(junk)
            await scene.serves_on()

    with caplog.at_level(logging.ERROR, "privity.party"):
        asyncio.run(scenario())
    assert named(caplog) == ["malformed-message"] * 3


def test_a_step_without_end_is_let_go_of(tmp_path: Path, caplog) -> None:
    sent = 0

    async def endless() -> AsyncIterator[pb.Chunk]:
        nonlocal sent
        while True:
            sent += CHUNK_BYTES
            yield pb.Chunk(data=b"\x00" * CHUNK_BYTES)

    async def scenario() -> None:
        async with Scene(tmp_path) as scene:
            scene.curator.steps.put_nowait(endless())
            await scene.serves_on()

    with caplog.at_level(logging.ERROR, "privity.party"):
        asyncio.run(scenario())
    assert named(caplog) == ["message-too-large"]
    assert LARGEST_STEP < sent < 2 * LARGEST_STEP


def test_a_manifest_that_is_none_changes_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Scene(tmp_path) as scene:
            sealed, manifest = scene.curator.document, (tmp_path / "party-1-manifest.json").read_bytes()
            for document in (b"", b"[" * 100_000, b"{}", sealed.replace(b'"serial": 1', b'"serial": 2'), b"\xff"):
                assert document != sealed
                scene.curator.document = document
                # It asks for a newer manifest when a run is under one that it does not know.
                spec = replace(scene.consortium.spec(), manifest_digest="0" * 64)
                scene.curator.steps.put_nowait(encode_step(Enrol(spec)))
                reply = await scene.curator.answer()
                assert isinstance(reply, Refusal)
                assert "another manifest" in reply.message
            assert (tmp_path / "party-1-manifest.json").read_bytes() == manifest
            await scene.serves_on()

    asyncio.run(scenario())


def test_mutated_steps_over_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privity.party.agent.RETRY_SECONDS", (0.001,))
    world = World(tmp_path / "world", "dp-subn")
    steps = [message for _, message in world.steps]
    mutator = Mutator(5, steps, pb.Step)

    async def scenario() -> None:
        async with Scene(tmp_path) as scene:
            for _ in range(300):
                scene.curator.steps.put_nowait(mutator.mutate(mutator.random.choice(steps))[1] or b"\xff")
            await asyncio.wait_for(_taken(scene.curator), 60)
            while not scene.curator.answers.empty():
                scene.curator.answers.get_nowait()
            await scene.serves_on()

    asyncio.run(scenario())


async def _taken(curator: HostileCurator) -> None:
    while not curator.steps.empty():
        await asyncio.sleep(0.05)
    # The last one may still be at work.
    await asyncio.sleep(0.5)
