"""One member, or a stranger, holds as many connections as it can: others come through meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from pathlib import Path

import grpc
import grpc.aio
import pytest

from privity.common.node.curator_trust import member_channel
from privity.common.protocol.steps import Close
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.curator import connections, server
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.tls import HOST, OPERATOR

pytestmark = pytest.mark.process

FILES = 128
"""Of which half may be connections: 32 of parties, 16 of operators, 16 silent ones."""
FLOOD = 60
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"


@pytest.fixture(autouse=True)
def _few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "open_files", lambda: FILES)


def context_of(network: NetworkConsortium, role: str, name: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=network.consortium.tls.authority.cert_pem.decode())
    context.load_cert_chain(*network.consortium.tls.files(network.folder, role, name))
    context.set_alpn_protocols(["h2"])
    return context


async def until(condition, what: str) -> None:
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.05)


async def party_is_heard(network: NetworkConsortium) -> None:
    """Its node dials anew, and answers."""
    await network.stop_agent("party-1")
    network.start_agent("party-1")
    await asyncio.wait_for(network.server.desk.ask("party-1", Close("no-run", "FAILED"), "close"), 15)


def held(network: NetworkConsortium, pool: connections.Pool) -> int:
    return network.server.connections.held()[pool]


def test_silent_connections_of_a_member_keep_nobody_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, make_consortium(2)) as network:
            context, writers = context_of(network, "operator", OPERATOR), []

            async def flood() -> None:
                while True:
                    with contextlib.suppress(OSError):
                        _, writer = await asyncio.open_connection(HOST, network.port, ssl=context)
                        writer.write(PREFACE)
                        writers.append(writer)
                    await asyncio.sleep(0.002)

            task = asyncio.create_task(flood())
            await until(lambda: len(writers) > FLOOD, "a flood")
            await party_is_heard(network)
            task.cancel()
            await until(lambda: held(network, connections.Pool.SILENT) <= FILES // 8, "as many as the pool has")
            for writer in writers:
                writer.transport.abort()

    asyncio.run(scenario())
    lines = [line.__dict__["holder"] for line in caplog.records if "connections" in line.message]
    assert lines == ["silent"]


def test_a_certificate_has_its_share_of_its_roles_pool(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, make_consortium(2)) as network:
            tls = network.consortium.tls
            address, curator = f"{HOST}:{network.port}", tls.pairs["curator/curator"][0]
            files = tls.files(tmp_path, "operator", OPERATOR)
            channels = [member_channel(grpc.aio.secure_channel, address, curator, *files) for _ in range(40)]
            for channel in channels:
                with contextlib.suppress(grpc.aio.AioRpcError):
                    await rpc.OperatorStub(channel).List(pb.ListRequest(), timeout=5)
            await until(lambda: held(network, connections.Pool.OPERATOR) == FILES // 8, "its share")
            await party_is_heard(network)
            assert "privity_curator_connections_ended_total" in page(network)
            for channel in channels:
                await channel.close()

    asyncio.run(scenario())
    assert [line.__dict__["holder"] for line in caplog.records if "connections" in line.message].count(
        "operator/boss"
    ) == 1


def page(network: NetworkConsortium) -> dict[str, float]:
    return {
        sample.name: sample.value
        for metric in network.server.metrics.registry.collect()
        for sample in metric.samples
        if sample.labels.get("pool") == "operator" and sample.value
    }


def test_a_connection_over_which_no_call_comes_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SILENT_SECONDS", 0.5)

    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, make_consortium(2)) as network:
            reader, writer = await asyncio.open_connection(
                HOST, network.port, ssl=context_of(network, "operator", OPERATOR)
            )
            writer.write(PREFACE)
            await asyncio.wait_for(reader.read(), 10)
            writer.close()
            await party_is_heard(network)

    asyncio.run(scenario())
