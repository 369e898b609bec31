"""The same run again and again: the same consortium, rows and noise, so that only the network differs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from privity.common.crypto import paillier
from privity.common.crypto.identity import Identity
from privity.common.errors import PrivityError
from privity.curator.run_state_machine import COMPLETED
from tests.harness.consortium import TestConsortium, make_schema, make_table
from tests.harness.ledgers import charged
from tests.harness.network import NetworkConsortium
from tests.harness.tls import TestTls

RELEASED = ("synthetic.csv", "model.json", "marginals.json", "privacy.json")
RUN = "run-1"
NOISE_SEED, SAMPLING_SEED = 11, b"7"
PAILLIER_BITS = 2048
SILENCE_SECONDS = 1.0

MASKS: dict[str, Any] = {"algorithm": "one-way", "secure_sum": "masks"}
PAILLIER: dict[str, Any] = {"algorithm": "one-way", "secure_sum": "paillier", "key_bits": PAILLIER_BITS}
DRAWS: dict[str, Any] = {"algorithm": "dp-subn", "secure_sum": "masks"}

Between = Callable[[NetworkConsortium], AbstractAsyncContextManager[Any]]
"""What stands between the parties and the curator: a relay with a ``port``; made once the curator serves."""


@dataclass(frozen=True)
class Outcome:
    """What must not depend on the network.

    Attributes:
        charges: by party, in no order: two steps may be given either way round.
    """

    files: Mapping[str, bytes]
    charges: Mapping[str, list[tuple[str, ...]]]


@lru_cache(maxsize=1)
def _secret() -> bytes:
    """A Paillier key as the curator's journal holds it."""
    return json.dumps(paillier.secret_to_dict(paillier.generate_keypair(PAILLIER_BITS)[1])).encode()


class RepeatedRun:
    """One consortium, met again by each call as if nothing had happened yet.

    Args:
        request: of the operator, but for what all have in common.
    """

    def __init__(
        self, request: Mapping[str, Any], *, parties: int = 3, domain: tuple[int, ...] = (2, 3, 2), rows: int = 30
    ) -> None:
        schema = make_schema(domain)
        self._tables = {f"party-{k}": make_table(schema, rows, seed=k) for k in range(1, parties + 1)}
        self._identities = {name: Identity.generate() for name in self._tables}
        self._tls = TestTls.of(self._tables)
        self._request = {"format_version": 1, "epsilon": "1", "tolerate": 1, **request}

    async def outcome(
        self,
        folder: Path,
        between: Between | None = None,
        *,
        runs: tuple[str, ...] = (RUN,),
        patience: float = 20.0,
        silence: float = SILENCE_SECONDS,
    ) -> Outcome:
        """Run it, with this between the parties and the curator; the outcome of the last of the runs."""
        folder.mkdir()  # noqa: ASYNC240 - tests wait for nobody
        consortium = TestConsortium(self._tables, seed=NOISE_SEED, identities=self._identities, tls=self._tls)
        network = NetworkConsortium(folder, consortium, patience=patience, silence=silence, dialling=False)
        async with network, between(network) if between else nullcontext() as middle:
            dialled = {"curator": f"127.0.0.1:{middle.port}"} if middle else {}
            keepers = [asyncio.create_task(_keep_serving(network, name, dialled)) for name in self._tables]
            try:
                for run in runs:
                    await self._complete(network, run)
            finally:
                for keeper in keepers:
                    keeper.cancel()
                await asyncio.gather(*keepers, return_exceptions=True)
        release = folder / "curator" / "releases" / runs[-1]
        charges = {
            name: sorted(
                (
                    e.charge.run,
                    e.charge.step,
                    str(e.charge.loss),
                    str(e.added),
                    str(e.answered),
                )
                for e in charged(party.ledger)
            )
            for name, party in consortium.parties.items()
        }
        return Outcome({file: (release / file).read_bytes() for file in RELEASED}, charges)

    async def _complete(self, network: NetworkConsortium, name: str) -> None:
        runs = network.server.runs
        runs._journal.record(f"{name}/seed", "seed", SAMPLING_SEED)
        if "key_bits" in self._request:
            runs._journal.record(f"{name}/secret", "secret", _secret())
        runs.submit(name, json.dumps(self._request).encode(), name)
        async for run in runs.watch(name):
            last = run
        assert last.state == COMPLETED, f"{last.state}: {last.reason}"


async def _keep_serving(network: NetworkConsortium, name: str, dialled: Mapping[str, str]) -> None:
    """Start the party, and start it again if it ends, as whatever keeps services running does."""
    while True:
        try:
            await network.start_agent(name, **dialled)
        except PrivityError:
            await asyncio.sleep(0.2)
