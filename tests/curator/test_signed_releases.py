"""Releases that the curator and three parties sign, over gRPC and TLS: who is away, who is killed, who comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from privity.common.consortium.manifest import CURATOR
from privity.common.crypto.certificates import issue
from privity.common.crypto.identity import Identity
from privity.common.protocol.steps import Attest, Attested, Close, Done, Refusal
from privity.common.release.attestations import FIGURES, Published, read_attestations, signed_by_party
from privity.common.release.release_contents import ATTESTATIONS, PRIVACY, RUN
from privity.common.release.release_folder import verify_release
from privity.common.release.verification.release_verification import check_release, check_signed_release
from privity.common.release.verification.signature_verification import check_signatures
from privity.common.storage.canonical_json import b64
from privity.common.wire.codec import encode_reply
from privity.curator.run_state_machine import COMPLETED
from privity.party.approvals import attested_key
from privity.party.step_answers import PartyEngine
from tests.curator.test_run_driver import end_of, request
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.network import HOST, NetworkConsortium

pytestmark = pytest.mark.process

WAITS_SECONDS = 30.0


def a_real_consortium(folder: Path | None = None) -> TestConsortium:
    """Three parties that are no simulation, by their manifest."""
    return make_consortium(3, domain=(2, 3), rows=20, folder=folder, simulation=False)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAITS_SECONDS):
        while not holds():
            await asyncio.sleep(0.01)


def release(folder: Path, run: str = "autumn") -> Path:
    return folder / "curator" / "releases" / run


def signers(folder: Path) -> list[str]:
    document = read_attestations(release(folder))
    assert document is not None
    return [signed["statement"]["party"] for signed in document["parties"]]


def test_everybody_signs_and_the_root_is_all_that_a_reader_needs(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, a_real_consortium()) as network:
            runs = network.server.runs
            assert await end_of(runs, network.submit("t", request(), "autumn")) == (COMPLETED, "")
            await until(lambda: len(signers(tmp_path)) == 3)
            assert ATTESTATIONS in {file.name for file in runs.release_files("autumn")}

    asyncio.run(scenario())
    lines = list(check_signed_release(release(tmp_path), tmp_path / "organiser.pub"))
    assert "All 3 parties and the curator agree." in lines
    assert [line.split(":")[0] for line in lines if "attests this run" in line] == ["party-1", "party-2", "party-3"]
    assert any(line.startswith("Nobody attests that the curator computed the table honestly") for line in lines)
    assert "was not checked" in check_release(release(tmp_path))[-1]
    (tmp_path / "other.pub").write_text(b64(Identity.generate().public().signing))
    rules = {problem.rule for problem in check_signatures(release(tmp_path), tmp_path / "other.pub").problems}
    assert rules == {"root", "not-in-manifest"}


def test_a_party_that_is_away_holds_up_nothing_and_signs_when_it_is_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, a_real_consortium()) as network:
            runs = network.server.runs
            name = network.submit("t", request(), "autumn")
            tell = network.server.desk.tell

            def away(party: str, step: object) -> asyncio.Future:
                # It goes in the moment in which the run ends.
                if isinstance(step, Attest) and party == "party-2" and "party-2" in network._agents:
                    network._agents["party-2"].cancel()
                return tell(party, step)

            network.server.desk.tell = away
            assert await end_of(runs, name) == (COMPLETED, "")
            await until(lambda: signers(tmp_path) == ["party-1", "party-3"])
            lines = list(check_signed_release(release(tmp_path), tmp_path / "organiser.pub", ["party-2"]))
            assert "2 of 3 parties agree with the curator; not party-2." in lines
            assert any(line.startswith("party-2: MISSING, which was allowed: it was away") for line in lines)
            network.server.desk.tell = tell
            await network.stop_agent("party-2")
            network.start_agent("party-2")
            await until(lambda: not runs._marks.untold())
            assert signers(tmp_path) == ["party-1", "party-2", "party-3"]
            assert network.consortium.parties["party-2"].journal.keys("autumn/") == []
            assert runs._signed._open == {}
            assert runs._announcements._telling == {}

    asyncio.run(scenario())
    assert check_signatures(release(tmp_path), tmp_path / "organiser.pub").problems == []
    verify_release(release(tmp_path))


def test_a_curator_that_ends_while_one_is_away_asks_it_after_the_next_start(tmp_path: Path) -> None:
    async def first(consortium: TestConsortium) -> None:
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            name = network.submit("t", request(), "autumn")
            tell = network.server.desk.tell

            def away(party: str, step: object) -> asyncio.Future:
                if party == "party-3" and isinstance(step, Attest) and "party-3" in network._agents:
                    network._agents["party-3"].cancel()
                return tell(party, step)

            network.server.desk.tell = away
            await end_of(runs, name)
            await until(lambda: signers(tmp_path) == ["party-1", "party-2"])

    async def second(consortium: TestConsortium) -> None:
        async with NetworkConsortium(tmp_path, consortium) as network:
            await until(lambda: not network.server.runs._marks.untold())

    consortium = a_real_consortium()
    asyncio.run(first(consortium))
    asyncio.run(second(consortium))
    assert signers(tmp_path) == ["party-1", "party-2", "party-3"]


def test_a_party_killed_after_it_signed_says_the_same_again_also_once_the_run_is_closed(tmp_path: Path) -> None:
    (tmp_path / "parties").mkdir()
    consortium = a_real_consortium(tmp_path / "parties")
    handle, killed = PartyEngine.handle, list[bytes]()

    def dying(self: PartyEngine, step: object) -> bytes:
        answer = handle(self, step)
        if isinstance(step, Attest) and self.party == "party-1" and not killed:
            # The reply is on disk, and never leaves.
            killed.append(answer)
            raise asyncio.CancelledError
        return answer

    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            name = network.submit("t", request(), "autumn")
            await end_of(runs, name)
            await until(lambda: signers(tmp_path) == ["party-2", "party-3"])
            await network.stop_agent("party-1")
            consortium.restart("party-1")
            network.start_agent("party-1")
            await until(lambda: not runs._marks.untold())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartyEngine, "handle", dying)
        asyncio.run(scenario())
    assert signers(tmp_path) == ["party-1", "party-2", "party-3"]
    folder = release(tmp_path)
    step = Attest("autumn", (folder / RUN).read_bytes(), (folder / PRIVACY).read_bytes())
    engine = consortium.parties["party-1"].engine
    assert engine.handle(step) == killed[0], "the run is closed, and the statement is what it was"
    assert isinstance(consortium.tell("party-1", Attest("autumn", b"{}", b"{}")), Refusal)


def test_a_statement_that_does_not_hold_is_left_out_and_named(tmp_path: Path) -> None:
    """A party that signs another digest spoils no release, and its operator reads whose statement is missing."""
    handle = PartyEngine.handle

    def lying(self: PartyEngine, step: object) -> bytes:
        if isinstance(step, Attest) and self.party == "party-2":
            own = json.loads(step.run_document)
            published = replace(Published.of(step.run_document, own), digest="0" * 64)
            charges = dict.fromkeys(FIGURES[:4], "1")
            identity = consortium.parties["party-2"].identity
            signed = signed_by_party(published, self._admission.manifest, "party-2", charges, identity)
            return encode_reply(step.run, step.key, Attested(signed))
        return handle(self, step)

    consortium = a_real_consortium()

    async def scenario() -> str:
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            name = network.submit("t", request(), "autumn")
            await end_of(runs, name)
            # It is told of the end all the same.
            await until(lambda: not consortium.parties["party-2"].journal.keys("autumn/"))
            await until(lambda: signers(tmp_path) == ["party-1", "party-3"])
            return runs.get(name).last_error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartyEngine, "handle", lying)
        said = asyncio.run(scenario())
    assert said.startswith("the release lacks the attestation of party-2: party-2 signed another digest")
    assert signers(tmp_path) == ["party-1", "party-3"]
    assert check_signatures(release(tmp_path), tmp_path / "organiser.pub", ["party-2"]).problems == []


def test_who_does_not_attest_is_named_after_a_restart_too_until_it_attests(tmp_path: Path) -> None:
    handle = PartyEngine.handle

    def faulty(self: PartyEngine, step: object) -> bytes:
        if isinstance(step, Attest) and self.party != "party-1":
            answer = Refusal("not-attested", "its ledger was charged 2", "") if self.party == "party-2" else Done()
            return encode_reply(step.run, step.key, answer)
        return handle(self, step)

    consortium = a_real_consortium()

    async def first() -> str:
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs, tell = network.server.runs, network.server.desk.tell

            def away(party: str, step: object) -> asyncio.Future:
                # It goes before it is told of the end.
                if party == "party-2" and isinstance(step, Close) and "party-2" in network._agents:
                    network._agents["party-2"].cancel()
                return tell(party, step)

            network.server.desk.tell = away
            name = network.submit("t", request(), "autumn")
            await end_of(runs, name)
            await until(lambda: runs._marks.untold() == [("autumn", "party-2")])
            return runs.get(name).last_error

    async def second() -> tuple[str, str]:
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            runs = network.server.runs
            said = runs.get("autumn").last_error
            network.start_agent("party-2")
            await until(lambda: not runs._marks.untold())
            return said, runs.get("autumn").last_error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartyEngine, "handle", faulty)
        said = asyncio.run(first())
    other = "the release lacks the attestation of party-3: party-3 answered with another kind of reply"
    assert said == f"the release lacks the attestation of party-2: party-2 says: its ledger was charged 2; {other}"
    # Now party-2 agrees, and party-3 is not asked again.
    assert asyncio.run(second()) == (said, other)
    assert signers(tmp_path) == ["party-1", "party-2"]


def test_a_curator_whose_key_was_renewed_during_the_run_signs_by_the_newer_manifest(tmp_path: Path) -> None:
    consortium = a_real_consortium()

    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs, manifests = network.server.runs, network.server._manifests
            sign = runs._signed.sign

            def after_a_renewal(run: str, sealed: bytes | None) -> None:
                certificate, key = issue(consortium.tls.authority, CURATOR, "curator", (HOST, "127.0.0.1"))
                certificates = {**consortium.manifest.certificates, f"curator/{CURATOR}": certificate.decode()}
                network.seal(replace(consortium.manifest, serial=2, certificates=certificates))
                runs._signed._key.write_bytes(key)
                assert manifests.current().serial == 2
                sign(run, sealed)

            runs._signed.sign = after_a_renewal
            assert (await end_of(runs, network.submit("t", request(), "autumn")))[0] == COMPLETED
            await until(lambda: len(signers(tmp_path)) == 3)

    asyncio.run(scenario())
    document = read_attestations(release(tmp_path))
    assert [sealed["manifest"]["serial"] for sealed in document["manifests"]] == [1, 2]
    found = check_signatures(release(tmp_path), tmp_path / "organiser.pub")
    assert found.problems == []
    assert "All 3 parties and the curator agree." in found.lines


def test_a_release_that_cannot_be_signed_is_published_all_the_same(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, a_real_consortium()) as network:
            runs = network.server.runs
            runs._signed._key = tmp_path / "nowhere.key"
            assert (await end_of(runs, network.submit("t", request(), "autumn")))[0] == COMPLETED
            await until(lambda: len(signers(tmp_path)) == 3)

    asyncio.run(scenario())
    assert signers(tmp_path) == ["party-1", "party-2", "party-3"]
    rules = [problem.rule for problem in check_signatures(release(tmp_path), tmp_path / "organiser.pub").problems]
    assert rules == ["not-signed"]


def test_parties_of_a_run_that_failed_are_asked_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = a_real_consortium()
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            network.submit("t", request(), "autumn")
            runs.stop("autumn", discard=True)
            await end_of(runs, "autumn")
            for party in consortium.parties.values():
                assert party.journal.content(attested_key("autumn")) is None

    asyncio.run(scenario())
    assert not release(tmp_path).exists()
