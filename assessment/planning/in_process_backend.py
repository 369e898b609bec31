"""K parties in one process: production releases and ledgers, no encryption.

For rehearsals on invented tables (``rehearsal.py``) and for the benchmarks. The revealed values have the same law as
over the network: every party adds its own share to its own counts, and the shares come from the production sampler.
What is left out (packing, masks, Paillier, sealing, the wire) changes no value.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import Marginal
from privity.common.privacy.ledger import Allowance, Ledger
from privity.common.privacy.population import Population
from privity.common.privacy.run_budget import RunBudget
from privity.common.protocol.round import Round
from privity.common.protocol.session import Backend, Session
from privity.common.protocol.steps import Learn, SelectionStep
from privity.common.storage.journal import MEMORY, Journal
from privity.common.synthesis.models import Model
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import learn_alone
from privity.party.sources.rows import Counts, InMemory

RUN = "rehearsal"


class Repeated(InMemory):
    """Rows of which each stands there several times over."""

    def __init__(self, table: CodedTable, times: int) -> None:
        super().__init__(table)
        self.rows = table.rows * times
        self._times = times

    def count(self, marginals: Sequence[Marginal]) -> Counts:
        return InMemory(self.table).count(marginals) * self._times


class InProcessBackend(Backend):
    """The tables of K parties.

    Args:
        budget: of the run: the ledger of each party has so much.
        tolerate: t; 1 if it is left out, 0 for one party alone.
        times: how often each row of the tables stands there: rows of one kind are counted once.
    """

    def __init__(
        self, tables: Sequence[CodedTable], budget: RunBudget, tolerate: int | None = None, times: int = 1
    ) -> None:
        self.rows = [InMemory(table) if times == 1 else Repeated(table, times) for table in tables]
        self.party_rows = tuple(part.rows for part in self.rows)
        tolerated = (1 if len(tables) > 1 else 0) if tolerate is None else tolerate
        self.quota = len(tables) - tolerated
        self.members = tuple(f"party-{k}" for k in range(1, len(tables) + 1))
        self.coin = secrets.token_hex(8)
        people = Population(RUN, budget.epsilon, budget.delta)
        self.population, self.rows_per_person = people.name, (people.rows_per_person,) * len(tables)
        self.releases = [
            ChargedReleases(name, part, Journal(MEMORY), Ledger.declare(MEMORY, people))
            for name, part in zip(self.members, self.rows, strict=True)
        ]
        self._budget, self._times = budget, times
        self._allowance = Allowance(budget.epsilon, budget.delta, budget)
        self._running: np.ndarray | int = 0

    def session(self) -> Session:
        """A session over these parties."""
        return Session(self, self.rows[0].schema, self._budget, RUN)

    async def reveal(self, round_: Round) -> np.ndarray:
        parts = [r.noisy_vector(round_, self.quota, self._allowance, place) for place, r in enumerate(self.releases)]
        vector = np.sum(parts, axis=0)
        if round_.replacement is not None and round_.replacement.previous is not None:
            vector = vector + self._running
        self._running = vector
        return vector

    async def select(self, party: int, step: SelectionStep) -> int:
        return self.releases[party].select(step, self._allowance)

    async def learn(self, step: Learn) -> list[Model]:
        return [learn_alone(step, releases, self._allowance) for releases in self.releases]
