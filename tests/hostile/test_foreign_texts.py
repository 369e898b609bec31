"""A party, or a curator, that writes to terminals of others: what these show does nothing, and forges no line."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import grpc
import pytest

from privity.common.exit_codes import Exit
from privity.common.protocol.steps import Enrol, Pending, Refusal, Reply, Step
from privity.common.text.visible import LONGEST_TEXT
from privity.common.wire.codec import encode_reply
from privity.common.wire.v1 import privity_pb2 as pb
from privity.curator.grpc_services import OperatorServicer
from tests.harness.command import privity
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium
from tests.interfaces.cli.test_run import OPTIONS, operator_of

pytestmark = pytest.mark.process

FORGED = "Release written to release."
EVIL = f"{FORGED}\x1b]0;title\x07\x1b[2J\x1b[1;32mCOMPLETED\x1b[0m \x9b2J \u202eevil\u200b\r\n{FORGED}\u2028{FORGED}"
SHOWN = rf"\u001b[2J\u001b[1;32mCOMPLETED\u001b[0m \u009b2J \u202eevil\u200b\r\n{FORGED}\u2028{FORGED}"


def check(said: str) -> None:
    """Nothing in it acts, hides, or is a line that somebody else wrote."""
    assert all(line.isprintable() for line in said.split("\n")), said
    assert not [line for line in said.split("\n") if line.startswith(FORGED)]


async def command(config: Path, *arguments: str | Path) -> tuple[int, str, str]:
    done = await asyncio.to_thread(privity, "run", *arguments, "--config", config)
    check(done.stdout)
    check(done.stderr)
    return done.returncode, done.stdout, done.stderr


def answering(engine: Any, reply: Reply) -> None:
    """From now on the party answers every enrolment so."""
    answer = engine.handle

    def handle(step: Step) -> bytes:
        if isinstance(step, Enrol):
            return encode_reply(step.run, step.key, reply)
        return answer(step)

    engine.handle = handle


def test_a_refusal_does_nothing_to_the_terminal_of_the_operator(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, domain=(2, 3), rows=20)
        answering(consortium.parties["party-2"].engine, Refusal("refused-by-policy", EVIL, EVIL))
        async with NetworkConsortium(tmp_path, consortium) as network:
            config = operator_of(network)
            code, _, told = await command(config, "submit", *OPTIONS, "--name", "autumn", "--out", tmp_path / "out")
            assert code == Exit.FAILED
            assert SHOWN in told
            code, told, _ = await command(config, "why", "autumn")
            assert code == Exit.DONE
            assert re.match(r"autumn is FAILED, since \S+: ", told)
            assert told.count(SHOWN) == 2, "the reason and the remedy"
            assert len(told.splitlines()) == 3, "the reason, whose run it is, the remedy"
            code, _, told = await command(config, "watch", "autumn")
            assert (code, told.count(SHOWN)) == (Exit.FAILED, 2)
            code, told, _ = await command(config, "list")
            assert code == Exit.DONE
            assert SHOWN in told
            done = await asyncio.to_thread(privity, "run", "why", "autumn", "--config", config, "--json")
            assert done.stdout.isascii()
            found = json.loads(done.stdout)
            assert [found[key] for key in ("reason", "remedy")] == [f"party-2 says: {EVIL}"] * 2, "told exactly"

    asyncio.run(scenario())


def test_a_long_note_of_a_party_is_cut_and_its_gap_shown(tmp_path: Path) -> None:
    note = f"the approval of its owner{' ' * 90}{FORGED}{'x' * 12_000}"

    async def scenario() -> None:
        consortium = make_consortium(2, domain=(2, 3), rows=20)
        answering(consortium.parties["party-2"].engine, Pending(note))
        async with NetworkConsortium(tmp_path, consortium) as network:
            config = operator_of(network)
            await command(config, "submit", *OPTIONS, "--name", "autumn")
            told = ""
            while "the approval of its owner" not in told:
                _, told, _ = await command(config, "why", "autumn")
            assert r"its owner   \u0020\u0020" in told
            assert "    " not in told
            done = await asyncio.to_thread(privity, "run", "why", "autumn", "--config", config, "--json")
            (awaited,) = [one for one in json.loads(done.stdout)["awaited"] if one["party"] == "party-2"]
            assert awaited["note"] == f"{note[: LONGEST_TEXT - 3]}..."

    asyncio.run(scenario())


def test_long_texts_of_a_curator_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * 100_000

    async def why(_servicer: OperatorServicer, request: pb.RunName, _context: Any) -> pb.RunStatus:
        awaited = [pb.Awaited(party=long, step=long, note=long)]
        return pb.RunStatus(run=request.run, state="RUNNING", reason=long, last_error=long, awaited=awaited)

    async def watch(_servicer: OperatorServicer, _request: pb.RunName, _context: Any) -> Any:
        yield pb.RunEvent(state="FAILED", reason=long, remedy=long, note=long)

    async def scenario() -> None:
        monkeypatch.setattr(OperatorServicer, "Why", why)
        monkeypatch.setattr(OperatorServicer, "Watch", watch)
        async with NetworkConsortium(tmp_path, make_consortium(2, domain=(2, 3), rows=20)) as network:
            config = operator_of(network)
            for asked in ("why", "watch"):
                _, out, err = await command(config, asked, "autumn")
                found = re.findall("x{9,}", out + err)
                assert {len(text) for text in found} == {LONGEST_TEXT - len("...")}, asked

    asyncio.run(scenario())


def test_details_of_a_curator_do_nothing_to_the_terminal_of_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def evil(_servicer: OperatorServicer, _request: Any, context: Any) -> None:
        await context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"{EVIL}\n{EVIL}\n{EVIL}")

    async def scenario() -> None:
        for call in ("Submit", "Why", "List"):
            monkeypatch.setattr(OperatorServicer, call, evil)
        async with NetworkConsortium(tmp_path, make_consortium(2, domain=(2, 3), rows=20)) as network:
            config = operator_of(network)
            for asked in (("submit", *OPTIONS), ("why", "autumn"), ("list",)):
                code, _, told = await command(config, *asked)
                assert code == Exit.REFUSED
                assert told.startswith("error [curator-refused]: ")

    asyncio.run(scenario())
