"""What a hostile party may answer: the run fails by name, and the next run completes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from privity.common.protocol.run_spec import Enrolment
from privity.common.protocol.steps import (
    Begin,
    Contribute,
    Done,
    Enrol,
    Enrolled,
    Learn,
    Learned,
    Refusal,
    Reply,
    SealBlock,
    Sealed,
    Select,
    Selected,
    Step,
    Sum,
)
from privity.common.wire.codec import decode_reply, encode_reply
from privity.common.wire.v1 import privity_pb2 as pb
from privity.curator.run_state_machine import COMPLETED, FAILED
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.network import NetworkConsortium

pytestmark = pytest.mark.process

REQUEST = {"format_version": 1, "epsilon": "1", "tolerate": 1, "key_bits": None, "secure_sum": "masks"}
Lie = Callable[[TestConsortium, Step, bytes], bytes]
"""(consortium, step, honest answer) -> what is sent."""


def instead(reply: Reply) -> Lie:
    return lambda _consortium, step, _honest: encode_reply(step.run, step.key, reply)


def of_another_party(consortium: TestConsortium, step: Step, _honest: bytes) -> bytes:
    assert isinstance(step, Enrol)
    other = consortium.parties["party-1"]
    enrolment = Enrolment.signed("party-1", step.spec, other.table.rows, other.identity)
    return encode_reply(step.run, step.key, Enrolled(enrolment.to_dict()))


def with_more_rows(_consortium: TestConsortium, step: Step, honest: bytes) -> bytes:
    reply = decode_reply(honest)[2]
    assert isinstance(reply, Enrolled)
    return encode_reply(step.run, step.key, Enrolled({**reply.enrolment, "rows": 10**6}))


def enrolled_with(rows: int) -> Lie:
    """An enrolment with so many rows that it is signed for."""

    def lie(consortium: TestConsortium, step: Step, _honest: bytes) -> bytes:
        assert isinstance(step, Enrol)
        enrolment = Enrolment.signed("party-2", step.spec, rows, consortium.parties["party-2"].identity)
        return encode_reply(step.run, step.key, Enrolled(enrolment.to_dict()))

    return lie


def model_bytes(change: Callable[[bytes], bytes]) -> Lie:
    """The bytes of a model that is made to be no document."""

    def lie(_consortium: TestConsortium, step: Step, honest: bytes) -> bytes:
        message = pb.Reply.FromString(honest)
        message.learned.model = change(message.learned.model)
        return message.SerializeToString()

    return lie


def first_number(text: bytes) -> Callable[[bytes], bytes]:
    def change(model: bytes) -> bytes:
        document = json.loads(model)
        node = document["nodes"][0] if "nodes" in document else document
        key = next(key for key, value in node.items() if isinstance(value, list) and value)
        node[key] = "HERE"
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode().replace(b'"HERE"', text)

    return change


LIES: dict[str, tuple[str, type, Lie, str]] = {
    "an enrolment of another kind": ("one-way", Enrol, instead(Done()), "another kind of reply"),
    "an enrolment of another party": ("one-way", Enrol, of_another_party, "not exactly the run's members"),
    "an enrolment that was changed": ("one-way", Enrol, with_more_rows, "does not hold"),
    "a beginning of another kind": ("one-way", Begin, instead(Sum(b"x")), "another kind of reply"),
    "a contribution of another kind": ("one-way", Contribute, instead(Sum(b"x")), "another kind of reply"),
    "a block of another kind": ("one-way", SealBlock, instead(Selected(1)), "another kind of reply"),
    "a draw of another kind": ("dp-subn", Select, instead(Done()), "another kind of reply"),
    "a choice that there is not": ("dp-subn", Select, instead(Selected(2**32 - 1)), "none of the candidates"),
    "a model of another kind": ("independent", Learn, instead(Selected(0)), "another kind of reply"),
    "no model": ("independent", Learn, instead(Learned({})), "the model of party-2"),
    "a model of numbers that are none": (
        "independent",
        Learn,
        model_bytes(first_number(b"NaN")),
        "not a message of this",
    ),
    "a model of infinite numbers": (
        "independent",
        Learn,
        model_bytes(first_number(b"[1e999]")),
        "not a message of this",
    ),
    "a model nested too deep": ("independent", Learn, model_bytes(lambda _m: b"[" * 9_999), "not a message of this"),
    "more rows than can be": ("one-way", Enrol, enrolled_with(10**11), "(party-2 100000000000), and a release of"),
    "a model of a million lists": (
        "independent",
        Learn,
        model_bytes(lambda _m: b"[" + b"[]," * 10**6 + b"0]"),
        "not a message of this",
    ),
    "silence in another's name": (
        "one-way",
        Contribute,
        instead(Refusal("no-progress", "nothing came from party-1", "")),
        "party-2 says: nothing came",
    ),
    "a refusal in another's name that names its sender": (
        "one-way",
        Contribute,
        instead(Refusal("rejected-by-owner", "party-1 refuses the run: its owner rejected it (not party-2)", "")),
        "party-2 says: party-1 refuses",
    ),
    "a refusal in words of its own": ("one-way", Contribute, instead(Refusal("x" * 900, "no " * 400, "")), "no no no"),
}


@pytest.mark.parametrize("what", LIES)
def test_a_lie_fails_its_run_by_name_and_the_next_run_completes(tmp_path: Path, what: str) -> None:
    algorithm, kind, lie, said = LIES[what]

    async def scenario() -> None:
        consortium = make_consortium(3, domain=(2, 3, 2), rows=30)
        # Which party makes a draw is the algorithm's choice.
        liars = consortium.parties if kind is Select else ("party-2",)
        engines = [consortium.parties[party].engine for party in liars]

        def lying(honest: Callable[[Step], bytes]) -> Callable[[Step], bytes]:
            def handle(step: Step) -> bytes:
                answer = honest(step)
                return lie(consortium, step, answer) if isinstance(step, kind) else answer

            return handle

        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            for engine in engines:
                engine.handle = lying(engine.handle)
            lied = network.submit("lied", request(algorithm))
            state, reason = await end(runs, lied)
            assert state == FAILED
            assert said in reason
            assert not (tmp_path / "curator" / "releases" / lied).exists()
            for engine in engines:
                del engine.handle
            assert await end(runs, network.submit("honest", request(algorithm))) == (COMPLETED, "")

    asyncio.run(scenario())


def test_a_block_that_is_none_is_asked_of_its_party_once_more_and_then_fails(tmp_path: Path) -> None:
    """A combiner that is brought what it cannot open says whose it is."""

    async def scenario() -> None:
        consortium = make_consortium(3, domain=(2, 3, 2), rows=30)
        engine = consortium.parties["party-2"].engine
        honest = engine.handle

        def lying(step: Step) -> bytes:
            answer = honest(step)
            if not isinstance(step, SealBlock):
                return answer
            reply = decode_reply(answer)[2]
            assert isinstance(reply, Sealed)
            changed = bytes([reply.blob.ciphertext[0] ^ 1]) + reply.blob.ciphertext[1:]
            blob = type(reply.blob)(changed, reply.blob.signature)
            return encode_reply(step.run, step.key, Sealed(blob))

        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            engine.handle = lying
            state, reason = await end(runs, network.submit("lied", request("one-way")))
            assert state == FAILED
            assert "the blob of party-2: bad signature" in reason
            engine.handle = honest
            assert await end(runs, network.submit("honest", request("one-way"))) == (COMPLETED, "")

    asyncio.run(scenario())


def request(algorithm: str) -> bytes:
    return json.dumps({**REQUEST, "algorithm": algorithm}).encode()


async def end(runs: Any, name: str) -> tuple[str, str]:
    async def watched() -> tuple[str, str]:
        async for run in runs.watch(name):
            state, reason = run.state, run.reason
        return state, reason

    return await asyncio.wait_for(watched(), 60)
