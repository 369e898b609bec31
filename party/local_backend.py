"""One owner's rows, in its own process: what answers a session of a single party, or one that learns at a party alone.

The same charged releases as over the network, with one party whose share is the whole noise; no encryption, because
nothing leaves the process but the releases.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np

from privity.common.privacy.ledger import Allowance
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.round import Round
from privity.common.protocol.run_record import RunRecord
from privity.common.protocol.session import Backend, Session, complete
from privity.common.protocol.steps import Learn, SelectionStep
from privity.common.synthesis.algorithms import learn
from privity.common.synthesis.models import Model
from privity.party.charged_releases import ChargedReleases

ALONE = 1
Told = Callable[[str], None]


def _nobody(_phase: str) -> None:
    """Nobody is told."""


def new_run() -> str:
    """A name for a run of one owner in the ledger."""
    return f"local-{secrets.token_hex(8)}"


class LocalBackend(Backend):
    """One party, in process.

    Args:
        run: name of the run in ledger and journal; a new name is a new release.
        allowance: what the ledger may be charged.
        prefix: of the names of the steps, when they are part of a larger run.
        told: of each phase when it begins.
    """

    quota = ALONE

    def __init__(
        self, run: str, releases: ChargedReleases, allowance: Allowance, prefix: str = "", told: Told = _nobody
    ) -> None:
        self.members = (releases.party,)
        self.party_rows = (releases.rows,)
        self.coin = f"{run}/{releases.party}/{prefix}"
        people = releases.ledger.population
        self.population, self.rows_per_person = people.name, (people.rows_per_person,)
        self._releases = releases
        self._allowance = allowance
        self._told = told
        self.categories = lambda names, mechanism: releases.categories(run, names, mechanism, allowance)
        if releases.recodes:
            self.recode = lambda schema, prefix: LocalBackend(run, releases.recoded(schema), allowance, prefix, told)

    async def reveal(self, round_: Round) -> np.ndarray:
        return self._releases.noisy_vector(round_, ALONE, self._allowance)

    async def select(self, _party: int, step: SelectionStep) -> int:
        return self._releases.select(step, self._allowance)

    def recorded(self, phase: str, record: RunRecord, answers: int) -> None:
        self._told(phase)

    async def learn(self, step: Learn) -> list[Model]:
        return [learn_alone(step, self._releases, self._allowance)]


def local_session(
    run: str, releases: ChargedReleases, allowance: Allowance, prefix: str = "", told: Told = _nobody
) -> Session:
    """A session over one owner's rows; the allowance says what its algorithm may spend."""
    if allowance.budget is None:
        raise ValueError("a session needs the budget of its run")
    return Session(LocalBackend(run, releases, allowance, prefix, told), releases.schema, allowance.budget, run, prefix)


def learn_alone(step: Learn, releases: ChargedReleases, allowance: Allowance) -> Model:
    """A model of one party's rows, learnt for the pure loss that the step states."""
    budget = PureBudget(step.loss.epsilon)
    own = Allowance(allowance.epsilon, budget.delta, budget)
    session = local_session(step.run, releases, own, f"{step.name}/")
    return complete(learn(session, step.algorithm, step.settings))
