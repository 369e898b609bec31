"""Parties that come back from a backup, over gRPC and mutual TLS: the curator shows them what they sent and signed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.ledger import Ledger
from privity.curator.run_state_machine import COMPLETED
from tests.curator.test_run_driver import end_of, request
from tests.curator.test_side_by_side import until
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium
from tests.party.test_restored_nodes import NAME, backed_up

pytestmark = pytest.mark.process


def is_frozen(ledger: Ledger) -> bool:
    try:
        ledger.check_not_frozen()
    except PrivityError as error:
        assert error.kind is Catalogue.POPULATION_FROZEN
        return True
    return False


def test_a_curator_that_was_restarted_still_tells_a_party_that_it_was_set_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, rows=20, folder=tmp_path)
        restore = backed_up(tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            network.server.runs.submit("token", request(), "autumn")
            assert await end_of(network.server.runs, "autumn") == (COMPLETED, "")
        restore(consortium)
        ledger = consortium.parties[NAME].ledger
        ledger.check_not_frozen()
        async with NetworkConsortium(tmp_path, consortium):
            await until(lambda: is_frozen(ledger))

    asyncio.run(scenario())
