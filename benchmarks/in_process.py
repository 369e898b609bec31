"""K parties in one process for sweeps of accuracy: production releases and ledgers, no encryption.

The opened values have the same law as over the network: every party adds its own share to its own counts,
and the shares come from the production sampler. What is left out (packing, masks, Paillier, sealing, the
wire) changes no value.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from common.algorithms import ALGORITHMS
from common.journal import MEMORY, Journal
from common.models import Model
from common.privacy.cost import quotas
from common.privacy.ledger import Allowance, Ledger
from common.privacy.record import OWN_MODEL, Cost, RunRecord, noise_in, noisy_max_on
from common.protocol.draws import DrawSeries
from common.protocol.lots import public_lot
from common.protocol.round import Round
from common.protocol.round_session import RoundSession
from common.protocol.steps import Select
from common.table import CodedTable
from party.local import LocalSession
from party.releases import ChargedReleases
from party.rows import InMemory


class InProcessSession(RoundSession):
    """A Session of ``common.protocol.session`` over the tables of K parties."""

    def __init__(
        self,
        tables: Sequence[CodedTable],
        epsilon: Fraction,
        tolerate: int | None = None,
        delta: Fraction = Fraction(0),
    ) -> None:
        super().__init__("benchmark")
        self.schema = tables[0].schema
        self.party_rows = tuple(table.rows for table in tables)
        self.rows = sum(self.party_rows)
        tolerated = (1 if len(tables) > 1 else 0) if tolerate is None else tolerate
        self._quota = len(tables) - tolerated
        self.noise_variables = Fraction(len(tables), self._quota)
        self.record = RunRecord()
        self.names = tuple(f"party-{k}" for k in range(1, len(tables) + 1))
        self.releases = [
            ChargedReleases(name, InMemory(table), Journal(MEMORY), Ledger(MEMORY, "benchmark"))
            for name, table in zip(self.names, tables, strict=True)
        ]
        self.delta = delta
        self._allowance = Allowance(epsilon, epsilon, delta, delta)
        self._lots = secrets.token_hex(8)
        self._running: np.ndarray | int = 0

    def lot(self, purpose: str, sides: int) -> int:
        return public_lot(self._lots, purpose, sides)

    async def _open(self, round_: Round) -> np.ndarray:
        parts = [r.noisy_vector(round_, self._quota, self._allowance, place) for place, r in enumerate(self.releases)]
        vector = np.sum(parts, axis=0)
        if round_.replacement is not None and round_.replacement.previous is not None:
            vector = vector + self._running
        self._running = vector
        covered = [place for place in range(len(self.releases)) if round_.covers(place)]
        payers = tuple(self.names[place] for place in covered)
        mechanism = noise_in(bool(round_.scores), round_.accounting, shared=True)
        self.record.add_cost(Cost(round_.phase, mechanism, round_.cost, payers, round_.delta, round_.rho))
        return vector

    async def learn_apart(
        self, phase: str, algorithm: str, settings: Mapping[str, Any], epsilon: Fraction
    ) -> list[Model]:
        self.record.add_cost(Cost(phase, OWN_MODEL, epsilon, self.names))
        sessions = [LocalSession("benchmark", self.schema, r, self._allowance) for r in self.releases]
        return [await ALGORITHMS[algorithm].learn(session, epsilon, settings) for session in sessions]

    def selection(
        self, phase: str, draws: int, epsilon: Fraction, *, balanced: bool = False, score: str = "R"
    ) -> DrawSeries:
        counts = quotas(draws, self.party_rows, balanced=balanced)
        payers = tuple(name for name, count in zip(self.names, counts, strict=True) if count)
        self.record.add_cost(Cost(phase, noisy_max_on(score), epsilon, payers))
        name = self._next_name(phase)
        return DrawSeries("benchmark", phase, name, draws, epsilon, self.party_rows, balanced, self._ask, score)

    async def _ask(self, party: int, step: Select) -> int:
        return self.releases[party].select(step, self._allowance)
