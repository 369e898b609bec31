"""Parties that come back from a backup, over gRPC and mutual TLS: the curator shows them what they sent and signed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.ledger import Ledger
from privity.curator.run_state_machine import COMPLETED, FAILED, WAITING
from privity.party.policy import Approval
from tests.curator.test_run_driver import end_of, request
from tests.curator.test_side_by_side import approve, until
from tests.harness.consortium import make_consortium, open_policy
from tests.harness.network import NetworkConsortium
from tests.party.test_restored_nodes import NAME, backed_up

pytestmark = pytest.mark.process


def is_frozen(ledger: Ledger) -> bool:
    try:
        ledger.check_not_frozen()
    except PrivityError as error:
        return error.kind is Catalogue.POPULATION_FROZEN
    return False


def test_a_curator_that_was_restarted_still_tells_a_party_that_it_was_set_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, rows=20, folder=tmp_path)
        restore = backed_up(tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            network.submit("token", request(), "autumn")
            assert await end_of(network.server.runs, "autumn") == (COMPLETED, "")
        restore(consortium)
        ledger = consortium.parties[NAME].ledger
        ledger.check_not_frozen()
        async with NetworkConsortium(tmp_path, consortium):
            await until(lambda: is_frozen(ledger))

    asyncio.run(scenario())


def test_a_restored_party_gets_back_what_it_signed_of_a_release_and_of_a_run_that_goes_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        policies = {"party-2": open_policy(approval=Approval.MANUAL)}
        consortium = make_consortium(2, rows=20, folder=tmp_path, policies=policies, simulation=False)
        restore = backed_up(tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs, ledger = network.server.runs, consortium.parties[NAME].ledger
            network.submit("token-1", request(), "autumn")
            await until(lambda: runs.get("autumn").state == WAITING)
            approve(consortium, "autumn")
            assert await end_of(runs, "autumn") == (COMPLETED, "")
            spent = ledger.spent("autumn")
            network.submit("token-2", request(), "winter")
            # The one is enrolled, as the curator knows, and the other has yet to approve.
            await until(lambda: runs._journal.content(f"winter/answer/enrol/{NAME}"))
            await until(lambda: runs.get("winter").state == WAITING)
            await network.stop_agent(NAME)
            restore(consortium)
            ledger = consortium.parties[NAME].ledger
            assert ledger.spent() == 0, "it is all forgotten"
            network.start_agent(NAME)
            await until(lambda: ledger.spent("winter"))
            assert ledger.spent("autumn") == spent > 0
            assert ledger.spent("winter") == runs.get("winter").request.epsilon
            assert is_frozen(ledger)
            approve(consortium, "winter")
            state, _ = await end_of(runs, "winter")
            assert state == FAILED, "no step of it is answered here"
            assert ledger.spent() == spent + runs.get("winter").request.epsilon

    asyncio.run(scenario())
