"""What the curator keeps of the limits that parties publish, and how they come and go over the network."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import grpc
import pytest

from privity.common.consortium.manifest_file import ManifestFile
from privity.common.errors import PrivityError
from privity.common.runs.published_limits import LARGEST_LIMITS, PublishedLimits
from privity.common.runs.run_limits import RunLimits
from privity.common.storage.journal import Journal
from privity.curator.grpc_services import PartyLinkServicer
from privity.curator.limits_of_parties import LimitsOfParties
from privity.deploy.operator.foreseen_refusals import forecast
from tests.curator.test_run_driver import REQUEST
from tests.curator.test_submissions import client_of
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.network import NetworkConsortium
from tests.harness.tls import OPERATOR

STRICT = open_policy(epsilon_per_run=Fraction(1, 2), published=("epsilon_per_run", "algorithms"))


def document(consortium: TestConsortium, name: str, limits: RunLimits, signer: str = "") -> bytes:
    identity = consortium.parties[signer or name].identity
    return PublishedLimits.signed(consortium.manifest.consortium, name, limits, 1, identity).document()


@pytest.fixture
def kept(tmp_path: Path) -> tuple[TestConsortium, LimitsOfParties, Journal]:
    consortium = make_consortium(2, rows=20)
    network = NetworkConsortium(tmp_path, consortium, dialling=False)
    manifests = ManifestFile(tmp_path / "manifest.json", tmp_path / "organiser.pub")
    journal = network.server.runs._journal
    return consortium, LimitsOfParties(journal, manifests), journal


def test_the_newest_of_each_party_is_kept_and_outlives_a_restart(kept, tmp_path: Path) -> None:
    consortium, limits, journal = kept
    first, second = (document(consortium, "party-2", RunLimits(minimum_parties=n)) for n in (2, 3))
    limits.take("party-2", first)
    limits.take("party-2", second)
    limits.take("party-2", second)
    limits.take("party-1", document(consortium, "party-1", RunLimits()))
    again = LimitsOfParties(Journal(tmp_path / "curator" / "journal.sqlite"), limits._manifests)
    assert [json.loads(one)["published"]["party"] for one in again.all()] == ["party-1", "party-2"]
    assert again.all()[1] == second
    assert journal.count("#limits/") == 2


def test_nothing_is_kept_that_is_not_the_partys_own_or_beyond_reason(kept) -> None:
    consortium, limits, journal = kept
    huge = RunLimits(attributes=tuple(f"{number:0300d}" for number in range(LARGEST_LIMITS // 300)))
    for said, content in (
        ("not signed", document(consortium, "party-1", RunLimits(), signer="party-2")),
        ("are those of party-2", document(consortium, "party-2", RunLimits())),
        (f"more than {LARGEST_LIMITS} bytes", document(consortium, "party-1", huge)),
        ("published limits", b"\xff"),
    ):
        with pytest.raises(PrivityError, match=said):
            limits.take("party-1", content)
    assert journal.count("#limits/") == 0


@pytest.mark.process
def test_they_are_published_on_connecting_and_when_they_change(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, domain=(2, 3), rows=20, policies={"party-1": STRICT})
        async with NetworkConsortium(tmp_path, consortium) as network:
            client = client_of(network, OPERATOR)

            async def reasons(party: str) -> tuple[str, ...]:
                found = forecast(await asyncio.to_thread(client.limits), consortium.manifest, REQUEST)
                assert found.ignored == ()
                return next(one.reasons for one in found.parties if one.party == party)

            async def until(wanted: tuple[str, ...]) -> None:
                async with asyncio.timeout(60):
                    while await reasons("party-1") != wanted:
                        await asyncio.sleep(0.05)

            await until(("epsilon 1 is above 0.5 a run",))
            assert await reasons("party-2") == (), "it publishes nothing"
            consortium.policies["party-1"] = replace(STRICT, algorithms=("mst",))
            await network.stop_agent("party-1")
            network.start_agent("party-1")
            await until(("algorithm 'one-way' is not among those allowed", "epsilon 1 is above 0.5 a run"))
            consortium.policies["party-1"] = replace(STRICT, published=())
            # Noticed without a new connection, at the next step.
            name = network.submit("token", json.dumps(REQUEST).encode())
            async for _ in network.server.runs.watch(name):
                pass
            await until(())

    asyncio.run(scenario())


@pytest.mark.process
def test_a_curator_that_takes_no_limits_is_served_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def unknown(_self: object, _request: object, context: grpc.aio.ServicerContext) -> Any:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no such document")

    monkeypatch.setattr(PartyLinkServicer, "Publish", unknown)
    caplog.set_level(logging.INFO, "privity")

    async def scenario() -> None:
        consortium = make_consortium(2, domain=(2, 3), rows=20)
        async with NetworkConsortium(tmp_path, consortium) as network:
            assert (await network.begin()).parties == 2

    asyncio.run(scenario())
    assert "the curator does not take this party's published limits" in caplog.text
