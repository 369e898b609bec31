"""A curator that invents, alters or replays runs in an operator's name: every party refuses, and nothing is charged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privity.common.crypto.certificates import self_signed
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.steps import Close, Enrol, Refusal
from privity.common.runs.signed_request import SignedRequest, open_request, sign_request
from privity.curator.pending_steps import PartyRefusedError
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.ledgers import charged
from tests.harness.network import NetworkConsortium
from tests.harness.tls import OPERATOR

NAMES = ("party-1", "party-2", "party-3")


def request_for(consortium: TestConsortium, spec: RunSpec) -> SignedRequest:
    step = consortium.signed(Enrol(spec))
    assert isinstance(step, Enrol)
    return open_request(step.request)


def altered(consortium: TestConsortium, spec: RunSpec, **changes: object) -> bytes:
    signed = request_for(consortium, spec)
    return replace(signed, content={**signed.content, **changes}).bytes()


def signed_by_another(consortium: TestConsortium, spec: RunSpec) -> bytes:
    asked = request_for(consortium, spec).content["asked"]
    return sign_request(asked, spec.run, consortium.manifest, *self_signed(OPERATOR, "operator")).bytes()


def signed_otherwise(made: TestConsortium, spec: RunSpec, days: int = 30, **manifest: str) -> bytes:
    asked, other = request_for(made, spec).content["asked"], replace(made.manifest, **manifest)
    return sign_request(asked, spec.run, other, *made.operator, days=days).bytes()


def of_other(consortium: TestConsortium, spec: RunSpec, **changes: Any) -> bytes:
    """What an operator signed for another run."""
    return request_for(consortium, replace(spec, **changes)).bytes()


FORGERIES: dict[str, tuple[Callable[[TestConsortium, RunSpec], bytes], str]] = {
    "a run without a request": (lambda c, s: b"{}", "does not fit its format"),
    "a request that the curator signed itself": (signed_by_another, "did not sign this request"),
    "a request of nobody in the manifest": (lambda c, s: altered(c, s, operator="thief"), "lists no operator thief"),
    "a request with a later end": (lambda c, s: altered(c, s, expires="2999-01-01T00:00:00+00:00"), "did not sign"),
    "a request with a field too many": (lambda c, s: altered(c, s, more=1), "does not fit its format"),
    "a dearer run than was asked for": (
        lambda c, s: of_other(c, s, epsilon=Fraction(1, 2)),
        "not the run",
    ),
    "another algorithm": (lambda c, s: of_other(c, s, algorithm="mst", settings={}), "not the run"),
    "a run over other parties": (lambda c, s: of_other(c, s, members=NAMES[:2]), "not the run"),
    "a run of another name": (lambda c, s: of_other(c, s, run="spring"), "not the run"),
    "a request that is too old": (lambda c, s: signed_otherwise(c, s, days=-1), "expired"),
    "a request for another consortium": (lambda c, s: signed_otherwise(c, s, consortium="other"), "another consortium"),
    "a request for another schema": (lambda c, s: signed_otherwise(c, s, schema_digest="0" * 64), "another schema"),
}


@pytest.mark.process
def test_every_party_refuses_a_run_that_no_operator_asked_for_and_charges_nothing(tmp_path: Path) -> None:
    consortium = make_consortium(3, domain=(2, 3), rows=20, folder=tmp_path)

    async def whole() -> None:
        async with NetworkConsortium(tmp_path, consortium) as network:
            for number, (what, (forged, said)) in enumerate(FORGERIES.items()):
                spec = consortium.spec(f"run-{number}")
                for name in NAMES:
                    with pytest.raises(PartyRefusedError) as refused:
                        await network.server.desk.ask(name, Enrol(spec, forged(consortium, spec)), "enrolment")
                    assert said in str(refused.value), what
            assert all(charged(party.ledger) == [] for party in consortium.parties.values())
            honest = consortium.spec("honest")
            await network.begin(honest)

    asyncio.run(whole())
    for party in consortium.parties.values():
        filed = party.engine._approvals.of("honest")
        assert filed.submitter == OPERATOR
        assert json.loads(filed.request)["request"]["run"] == "honest", "the owner can see who asked for what"


def test_a_request_is_used_once() -> None:
    consortium = make_consortium(3, domain=(2, 3), rows=20)
    step = consortium.signed(Enrol(consortium.spec()))
    consortium.tell("party-1", step)
    consortium.tell("party-1", Close("run-1", "FAILED"))
    assert isinstance(consortium.tell("party-1", step), Refusal)


def test_a_renewed_certificate_of_another_member_fails_no_request() -> None:
    consortium = make_consortium(3, domain=(2, 3), rows=20)
    signed = request_for(consortium, consortium.spec())
    newer = replace(
        consortium.manifest, serial=2, certificates={**consortium.manifest.certificates, "party/party-2": "x"}
    )
    assert signed.fault(newer) == ""
    assert signed.asks_for(replace(consortium.spec(), manifest_digest=newer.digest), newer)
