"""K parties in one process: production releases and ledgers, no encryption.

For rehearsals on invented tables (``deploy/planning/rehearsal.py``) and for the benchmarks. The revealed values have
the same law as over the network: every party adds its own share to its own counts, and the shares come from the
production sampler. What is left out (packing, masks, Paillier, sealing, the wire) changes no value.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import Marginal
from privity.common.data.parent_set_tables import Request
from privity.common.privacy.ledger import Allowance, Ledger
from privity.common.privacy.population import Population
from privity.common.privacy.run_record import OWN_MODEL, Cost, RunRecord
from privity.common.privacy.zcdp_budget import RhoBudget
from privity.common.protocol.public_coin import public_coin
from privity.common.protocol.round import Round
from privity.common.protocol.round_session import RoundSession
from privity.common.protocol.selection_series import SelectionSeries
from privity.common.protocol.steps import SelectionStep
from privity.common.storage.journal import MEMORY, Journal
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models import Model
from privity.party.charged_releases import ChargedReleases
from privity.party.local_session import LocalSession
from privity.party.rows import Counts, InMemory

RUN = "rehearsal"


class Repeated(InMemory):
    """Rows of which each stands there several times over."""

    def __init__(self, table: CodedTable, times: int) -> None:
        super().__init__(table)
        self.rows = table.rows * times
        self._times = times

    def count(self, marginals: Sequence[Marginal]) -> Counts:
        return InMemory(self.table).count(marginals) * self._times

    def joint_counts(self, requests: Sequence[Request]) -> Iterator[list[Counts]]:
        return ([counts * self._times for counts in found] for found in super().joint_counts(requests))


class InProcessSession(RoundSession):
    """A Session of ``privity.common.protocol.session`` over the tables of K parties.

    Args:
        tolerate: t; 1 if it is left out, 0 for one party alone.
        times: how often each row of the tables stands there: rows of one kind are counted once.
        account: in rho, if the run has one.
    """

    def __init__(
        self,
        tables: Sequence[CodedTable],
        epsilon: Fraction,
        tolerate: int | None = None,
        delta: Fraction = Fraction(0),
        times: int = 1,
        rho_budget: RhoBudget | None = None,
    ) -> None:
        super().__init__(RUN, rho_budget=rho_budget)
        self.schema = tables[0].schema
        self._rows = [InMemory(table) if times == 1 else Repeated(table, times) for table in tables]
        self.party_rows = tuple(part.rows for part in self._rows)
        self.rows = sum(self.party_rows)
        tolerated = (1 if len(tables) > 1 else 0) if tolerate is None else tolerate
        self._quota = len(tables) - tolerated
        self.noise_variables = Fraction(len(tables), self._quota)
        self.record = RunRecord(rho_budget=rho_budget)
        self.names = tuple(f"party-{k}" for k in range(1, len(tables) + 1))
        self.releases = [
            ChargedReleases(name, part, Journal(MEMORY), Ledger.declare(MEMORY, Population(RUN, epsilon, delta)))
            for name, part in zip(self.names, self._rows, strict=True)
        ]
        self.delta = delta
        self._times = times
        self._allowance = Allowance(epsilon, delta, rho_budget)
        self._coin = secrets.token_hex(8)
        self._running: np.ndarray | int = 0

    def public_coin(self, purpose: str, sides: int) -> int:
        return public_coin(self._coin, purpose, sides)

    def _revealed_sum(self, round_: Round) -> np.ndarray:
        """What the curator of a run would reveal: the sum of the counts, with the noise of every party."""
        parts = [r.noisy_vector(round_, self._quota, self._allowance, place) for place, r in enumerate(self.releases)]
        vector = np.sum(parts, axis=0)
        if round_.replacement is not None and round_.replacement.previous is not None:
            vector = vector + self._running
        self._running = vector
        return vector

    async def _reveal(self, round_: Round) -> np.ndarray:
        vector = self._revealed_sum(round_)
        self.record.add_cost(self._cost(round_, self.names))
        return vector

    async def learn_apart(
        self, phase: str, algorithm: str, settings: Mapping[str, Any], epsilon: Fraction
    ) -> list[Model]:
        self.record.add_cost(Cost(phase, OWN_MODEL, epsilon, self.names))
        sessions = [LocalSession(RUN, self.schema, r, self._allowance) for r in self.releases]
        return [await ALGORITHMS[algorithm].learn(session, epsilon, settings) for session in sessions]

    def selection(
        self, phase: str, selections: int, epsilon: Fraction, *, balanced: bool = False, score: str = "R"
    ) -> SelectionSeries:
        series = self._series(phase, selections, epsilon, balanced, score, self._ask)
        for cost in series.costs(self.names):
            self.record.add_cost(cost)
        return series

    async def _ask(self, party: int, step: SelectionStep) -> int:
        return self.releases[party].select(step, self._allowance)
