"""A run that is stopped at any moment and resumed ends as one that nobody stopped: same tables, same charges."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from privity.common.protocol.secure_sum_method import Method
from privity.curator.run_state_machine import COMPLETED, STOPPED
from tests.curator.test_run_driver import consortium_for_runs, end_of, request
from tests.harness.ledgers import charged
from tests.harness.network import NetworkConsortium

pytestmark = pytest.mark.process

REQUEST = {"secure_sum": Method.MASKS.value, "key_bits": None}


async def once(folder: Path, stop_after: int | None) -> tuple[bytes, list, int]:
    """The tables of one run, the charges of its parties, and how much was written of it; stopped once, and resumed."""
    folder.mkdir()  # noqa: ASYNC240 - nothing waits for it
    consortium = consortium_for_runs(seed=7, folder=folder)
    async with NetworkConsortium(folder, consortium) as network:
        runs = network.server.runs
        store, written = runs._journal._store, 0
        loop = asyncio.get_running_loop()

        def counted(key: str, digest: str, payload: bytes, at: float) -> bool:
            nonlocal written
            is_new = store(key, digest, payload, at)
            if key.startswith("the-run/"):
                written += 1
                if written == stop_after:
                    loop.call_soon(runs.stop, "the-run")
            return is_new

        runs._journal._store = counted
        network.submit("token", request(**REQUEST), "the-run")
        state, _ = await end_of(runs, "the-run")
        if stop_after is not None and state != COMPLETED:
            assert state == STOPPED, runs.get("the-run").reason
            runs.resume("the-run")
            state, _ = await end_of(runs, "the-run")
        assert state == COMPLETED, runs.get("the-run").reason
        (tables,) = [file for file in runs.release_files("the-run") if file.name == "marginals.json"]
        charges = [[(e.charge, e.added) for e in charged(party.ledger)] for party in consortium.parties.values()]
        return tables.read_bytes(), charges, written


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.long)])
def test_a_stop_at_every_write_of_a_run_changes_nothing(tmp_path: Path, every: int) -> None:
    """In ``make test`` at every twelfth."""

    async def scenario() -> None:
        tables, charges, written = await once(tmp_path / "whole", None)
        assert written > 12
        for after in range(1, written + 1, every):
            stopped_tables, stopped_charges, _ = await once(tmp_path / str(after), after)
            assert stopped_tables == tables, after
            assert stopped_charges == charges, after

    asyncio.run(scenario())
