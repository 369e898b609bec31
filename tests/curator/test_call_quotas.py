"""How often a certificate may call, and that the curator goes on while it reads what a member sent."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress
from pathlib import Path

import grpc
import grpc.aio
import pytest
from prometheus_client import CollectorRegistry

from privity.common.errors import PrivityError
from privity.common.runs.signed_request import open_request
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.curator import submissions
from privity.curator.call_quotas import PARSED, CallQuotas, Quota
from privity.curator.metrics import CuratorMetrics
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium, channel
from tests.harness.tls import OPERATOR

LIST, NEXT_STEP = "/common.wire.v1.Operator/List", "/common.wire.v1.PartyLink/NextStep"


def shown(name: str) -> dict[str, list[bytes]]:
    """What gRPC knows of a caller."""
    return {"x509_pem_cert": [name.encode()], "x509_subject_alternative_name": [name.encode()]}


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def refused(metrics: CuratorMetrics) -> float:
    return metrics.registry.get_sample_value("privity_curator_calls_refused_total", {"reason": "too-many"}) or 0.0


def test_a_certificate_may_call_so_often_and_no_other_pays_for_it(caplog: pytest.LogCaptureFixture) -> None:
    metrics, clock = CuratorMetrics(CollectorRegistry()), Clock()
    quotas = CallQuotas(metrics, Quota(5, 1), Quota(2, 1), clock)
    one, other = shown("privity:party/one"), shown("privity:party/other")

    def taken(method: str, who: dict[str, list[bytes]], calls: int) -> int:
        count = 0
        for _ in range(calls):
            with suppress(PrivityError):
                quotas.take(method, who)
                count += 1
        return count

    with caplog.at_level(logging.WARNING):
        assert taken(NEXT_STEP, one, 9) == 5
        assert taken(NEXT_STEP, other, 9) == 5
        assert taken(LIST, one, 9) == 2, "the quota of people is another one"
        assert {taken(method, shown(method), 9) for method in PARSED} == {2}, "as is that of calls with a document"
        clock.seconds = 3
        assert taken(NEXT_STEP, one, 9) == 3
    assert refused(metrics) == 4 + 4 + 7 + 7 * len(PARSED) + 6
    told = [record for record in caplog.records if getattr(record, "holder", "") == "party/one"]
    assert len(told) == 2, "one line for a certificate and a quota, however many calls"
    assert {record.reason for record in told} == {"too-many"}  # type: ignore[attr-defined]


@pytest.mark.process
def test_the_curator_answers_others_while_it_reads_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, answered = threading.Event(), threading.Event()

    def slow(data: bytes) -> object:
        reading.set()
        assert answered.wait(20), "nobody else was answered meanwhile"
        return open_request(data)

    monkeypatch.setattr(submissions, "open_request", slow)

    async def scenario() -> grpc.StatusCode:
        consortium = make_consortium(2, domain=(2, 3), rows=20)
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            network.server.quotas.others = Quota(2, 0.0)
            async with channel(network, consortium.tls.pairs[f"operator/{OPERATOR}"]) as link:
                stub = rpc.OperatorStub(link)
                submitted = stub.Submit(pb.SubmitRequest(token="t", request=b"[]"))
                await asyncio.to_thread(reading.wait, 20)
                await stub.GetManifest(pb.ManifestRequest(), timeout=20)
                answered.set()
                with pytest.raises(grpc.aio.AioRpcError) as wrong:
                    await submitted
                assert wrong.value.code() == grpc.StatusCode.INVALID_ARGUMENT
                with pytest.raises(grpc.aio.AioRpcError) as beyond:
                    await stub.GetManifest(pb.ManifestRequest(), timeout=20)
                assert refused(network.server.metrics) == 1
                return beyond.value.code()

    assert asyncio.run(scenario()) == grpc.StatusCode.RESOURCE_EXHAUSTED
