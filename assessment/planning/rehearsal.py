"""Rehearsals: an algorithm run on invented tables, with real noise, to see how far off its table would be.

A rehearsal is the production algorithm on a session of K parties, with the production's noise and selections, over a
stand-in (``invented_tables.py``). Its *error* is the total variation distance between the stand-in and
the released table, which has as many rows, the mean over pairs of attributes. The same run once more, with tables that
are revealed without noise while all else is as before, leaves the *model's part*: dependence that the model leaves out
at this epsilon, selections that went wrong, and the sampling of the release. The *noise's part* is the rest.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.assessment.planning.invented_tables import Profile, invent
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.steps import Learn
from privity.common.synthesis.algorithms import ALGORITHMS, learn
from privity.common.synthesis.models import Model

MOST_DIFFERENT_ROWS = 50_000
"""Rows of a stand-in that are drawn; a longer one has each of them several times over, so that noise is that of the
declared number of rows."""

MOST_PAIRS = 250
"""Pairs of attributes that are compared, drawn at random if there are more."""

LARGEST_PAIR = 10_000_000
"""Cells of a pair's table that may be compared."""


@dataclass(frozen=True)
class Shape:
    """What is declared of a table and of a run over it.

    Attributes:
        party_rows: n_k, one number for each of the K parties.
        tolerate: t; 0 for one party alone.
    """

    schema: Schema
    party_rows: tuple[int, ...]
    tolerate: int

    @property
    def rows(self) -> int:
        return sum(self.party_rows)

    def among(self, parties: int) -> Shape:
        """The same rows among another number of parties, in equal parts; t as before as far as it can be."""
        if parties == len(self.party_rows):
            return self
        part, rest = divmod(self.rows, parties)
        counts = tuple(part + (place < rest) for place in range(parties))
        return Shape(self.schema, counts, min(max(self.tolerate, 1), parties - 1))


@dataclass(frozen=True)
class Rehearsal:
    """One thing to try.

    Attributes:
        dependence: a name of a profile.
        seed: of the stand-in; noise has none.
    """

    algorithm: str
    settings: Mapping[str, Any]
    epsilon: Fraction
    delta: Fraction
    parties: int
    dependence: str
    seed: int


@dataclass(frozen=True)
class Outcome:
    """How far off the released table was: total variation distance over pairs of attributes.

    Attributes:
        error: the mean over pairs; noise and model add up to it.
        largest: over pairs.
        seconds: that the rehearsal took.
    """

    error: float
    model: float
    largest: float
    seconds: float

    @property
    def noise(self) -> float:
        return self.error - self.model


@dataclass(frozen=True)
class StandIn:
    """An invented table, each row of which stands there ``times`` times over."""

    table: CodedTable
    times: int

    @classmethod
    def of(cls, shape: Shape, profile: Profile, seed: int) -> StandIn:
        times = math.ceil(shape.rows / MOST_DIFFERENT_ROWS)
        rows = max(1, round(shape.rows / times))
        generator = np.random.default_rng(seed)
        here = profile.at(len(shape.schema.attributes), shape.rows)
        return cls(invent(shape.schema, rows, here, generator), times)

    def among(self, party_rows: Sequence[int]) -> list[CodedTable]:
        """The rows of each party: about as many as declared, and at least one."""
        ends = np.round(np.cumsum(party_rows) * self.table.rows / sum(party_rows)).astype(int)
        starts = np.concatenate([[0], ends[:-1]])
        return [
            self.table.take(np.arange(start, max(end, start + 1)) % self.table.rows)
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]


class _NoiselessTables(InProcessBackend):
    """Reveals tables without noise and declares the noise as ever; selections are as ever.

    For invented tables, which are made in this file and nowhere else: nothing is protected here.
    """

    async def reveal(self, round_: Round) -> np.ndarray:
        covered = [rows for place, rows in enumerate(self.rows) if round_.covers(place)]
        assert isinstance(round_.query, Tables)
        return np.sum([rows.count(round_.query.marginals) for rows in covered], axis=0)

    async def learn(self, step: Learn) -> list[Model]:
        budget = PureBudget(step.loss.epsilon)
        alone = [_NoiselessTables([rows.table], budget, 0, self._times).session() for rows in self.rows]
        return [await learn(session, step.algorithm, step.settings) for session in alone]


def rehearse_on_stand_in(shape: Shape, profiles: Mapping[str, Profile], task: Rehearsal) -> Outcome:
    """Rehearse one thing once: with noise, and once more without noise in the tables."""
    started = time.perf_counter()
    stand_in = StandIn.of(shape, profiles[task.dependence], task.seed)
    generator = np.random.default_rng(task.seed)
    pairs = compared_pairs(shape.schema, generator)
    spread = shape.among(task.parties)
    tables = stand_in.among(spread.party_rows)
    found = []
    budget = ALGORITHMS[task.algorithm].budget(task.settings, task.epsilon, task.delta)
    for kind in (InProcessBackend, _NoiselessTables):
        session = kind(tables, budget, spread.tolerate, stand_in.times).session()
        model = asyncio.run(learn(session, task.algorithm, task.settings))
        released = model.sample(shape.rows, generator)
        found.append(pair_distances(stand_in.table, released, pairs))
    noisy, noiseless = found
    error = float(noisy.mean())
    model_part = min(error, float(noiseless.mean()))
    return Outcome(error, model_part, float(noisy.max()), time.perf_counter() - started)


def compared_pairs(schema: Schema, generator: np.random.Generator) -> list[tuple[int, int]]:
    """All pairs of attributes, or some of them at random."""
    pairs = list(combinations(range(len(schema.attributes)), 2))
    if len(pairs) <= MOST_PAIRS:
        return pairs
    return [pairs[place] for place in np.sort(generator.permutation(len(pairs))[:MOST_PAIRS])]


def pair_distances(first: CodedTable, second: CodedTable, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """Total variation distance of the two tables' shares, for each pair."""
    domain = first.schema.domain
    return np.array([np.abs(_shares(first, p, domain) - _shares(second, p, domain)).sum() / 2 for p in pairs])


def _shares(table: CodedTable, pair: tuple[int, int], domain: Sequence[int]) -> np.ndarray:
    a, b = pair
    cells = table.columns[a].astype(np.int64) * domain[b] + table.columns[b]
    return np.bincount(cells, minlength=domain[a] * domain[b]) / table.rows
