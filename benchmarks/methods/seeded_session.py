"""One party whose noise is a function of a seed, and whose tables are counted once for hundreds of runs.

The session is the production's. Its releases are not: noise is rounded floating-point Laplace or Gaussian noise of the
production's scale, and draws are by exponential or Gumbel noise, which is the production's law in the limit of fine
scores. Nothing here is private. The same table gets the same standard noise, whatever was asked before, so that two
settings differ by what they do and hardly by luck.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_table
from privity.common.data.noisy_tables import Marginal
from privity.common.privacy.ledger import Allowance, Ledger
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.privacy.noise_distribution import GAUSSIAN
from privity.common.privacy.population import Population
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.session import Session
from privity.common.protocol.steps import SelectionStep, SelectTable
from privity.common.storage.journal import MEMORY, Journal
from privity.common.synthesis.inference.graphical_model import GraphicalModel, Propagation
from privity.common.synthesis.inference.junction_tree import JunctionTree
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import local_session
from privity.party.sources.rows import InMemory

RUN = "budgets"
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass
class Ground:
    """A table on which settings are tried."""

    name: str
    table: CodedTable
    _counts: dict[Marginal, Counts] = field(default_factory=dict)

    def counts(self, marginal: Marginal) -> Counts:
        """Of all cells, C order: int64 of shape (cells,). Counted once."""
        if marginal not in self._counts:
            self._counts[marginal] = contingency_table(self.table, marginal).ravel().astype(np.int64)
        return self._counts[marginal]


class SeededReleases(ChargedReleases):
    """What one party answers, with noise of a seed and without charges."""

    def __init__(self, ground: Ground, seed: int) -> None:
        ledger = Ledger.declare(MEMORY, Population(RUN, Fraction(100), Fraction(1)))
        super().__init__(RUN, InMemory(ground.table), Journal(MEMORY), ledger)
        self._ground, self._seed = ground, seed
        self._measured: Counter[Marginal] = Counter()
        self._draws = 0

    def noisy_vector(self, round_: Round, _quota: int, _allowance: Allowance, _position: int = 0) -> Counts:
        parts = []
        assert isinstance(round_.query, Tables)
        for table, weight in zip(round_.query.marginals, round_.query.weights, strict=True):
            self._measured[table] += 1
            generator = self._generator("table", *table, self._measured[table])
            counts, law = self._ground.counts(table), round_.noise.law(weight)
            if law.name == GAUSSIAN:
                noise = float(law.scale) ** 0.5 * generator.standard_normal(counts.size)
            else:
                noise = float(law.scale) * generator.laplace(size=counts.size)
            parts.append(counts + np.rint(noise).astype(np.int64))
        return np.concatenate(parts)

    def select(self, step: SelectionStep, _allowance: Allowance) -> int:
        if not isinstance(step, SelectTable):
            raise TypeError("only tables are drawn here")
        self._draws += 1
        tables, attributes = step.expected.tables, len(self.schema.domain)
        generator = self._generator("draw", self._draws)
        standard = generator.exponential if isinstance(step.mechanism, NoisyMax) else generator.gumbel
        # One variable for each pair there is, whichever of them are candidates.
        added = standard(size=attributes**2)[[a * attributes + b for a, b in tables]]
        scores = step.expected.scores([self._ground.counts(table) for table in tables], self.rows)
        return int(np.argmax(scores + 2 / float(step.mechanism.epsilon) * added))

    def _generator(self, *what: str | int) -> np.random.Generator:
        return np.random.default_rng([self._seed, zlib.crc32(repr(what).encode())])


def session_over(ground: Ground, epsilon: Fraction, delta: Fraction, seed: int) -> Session:
    """A session of one party over the table."""
    budget = RhoBudget(epsilon, delta) if delta else PureBudget(epsilon)
    return local_session(RUN, SeededReleases(ground, seed), Allowance(epsilon, delta, budget))


def mean_distance(ground: Ground, model: JunctionTreeModel) -> float:
    """Total variation distance of the model's probabilities from the rows, mean over pairs of attributes.

    Of the model and not of rows drawn from it: drawing adds the same chance to every setting.
    """
    expected = model_pairs(model, ground.table)
    pairs = combinations(range(len(ground.table.schema.domain)), 2)
    apart = [np.abs(ground.counts(p) / ground.table.rows - expected[p].ravel()).sum() / 2 for p in pairs]
    return float(np.mean(apart))


def model_pairs(model: JunctionTreeModel, table: CodedTable) -> Mapping[tuple[int, int], Floats]:
    """The model's probabilities of every pair of attributes."""
    cliques = [clique.attributes for clique in model.cliques]
    parents = [
        next((i for i in range(place) if clique.separator and set(clique.separator) <= set(cliques[i])), None)
        for place, clique in enumerate(model.cliques)
    ]
    propagation = Propagation(JunctionTree(tuple(cliques), tuple(parents)), table.schema.domain)
    beliefs = [clique.weights / clique.weights.sum() for clique in model.cliques]
    return GraphicalModel(propagation, beliefs).pairs
