"""Which table a model explains worst: what MST and AIM select, and what makes the candidates comparable.

A candidate's score is the total variation distance of a party's own table from what the model expects, less what the
distance would be if the model were right: the error of the table's own noise, were it measured, and the chance with
which rows of one party differ from all rows. All of it but the party's table is public.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.privacy.run_budget import Share
from privity.common.privacy.structure_scores import DISTANCE
from privity.common.protocol.expected_tables import LARGEST_PENALTY, ExpectedTables
from privity.common.protocol.selection_series import SelectionSeries
from privity.common.protocol.session import Session
from privity.common.protocol.step_limits import SELECTION_CELLS, TABLE_CELLS
from privity.common.synthesis.inference.graphical_model import GraphicalModel
from privity.common.synthesis.inference.groups import condense
from privity.common.synthesis.inference.pooled_estimates import (
    MEAN_OF_NORMAL,
    Pooled,
    PooledEstimates,
    noise_distance,
)
from privity.common.synthesis.inference.stacked_pairs import Pair, StackedPairs
from privity.common.synthesis.learning.countable_pairs import cells_of_pairs, pairs_within

Numbers = npt.NDArray[np.float64]
Allowed = npt.NDArray[np.bool_]
MODEL_ROWS = 1 << 20
"""Of the whole numbers in which a model's probabilities are sent."""

PARTIES, JOINT = "parties", "joint"
SELECTIONS = (PARTIES, JOINT)

OVERVIEW_FROM = 0.4
"""Noise of a selection over that of an overview from which on the overview is asked. On public tables whose rows are
split at random the two are as good there (docs/benchmarks/many_parties.md); where parties are heterogeneous, selections
may be far off."""

PENALTY = 0.3
"""Part of what noise and chance would show that a table must be apart: the fit takes some of the noise away.
Tried in docs/benchmarks/budgets.md."""

COARSE = 4
"""Groups of a generalised attribute in an overview."""


class Chooser:
    """Chooses tables one after another, by selections at the parties or by a noisy overview of all pairs.

    Attributes:
        candidates: pairs that may be chosen.
    """

    def __init__(
        self,
        session: Session,
        series: SelectionSeries | None,
        overview: Sequence[NoisyTable],
        candidates: Sequence[Pair],
    ) -> None:
        self._session, self._series, self._overview = session, series, overview
        self.candidates = candidates
        self._pooled = PooledEstimates([], session.schema.derived, session.noise_variables)
        self._seen = 0
        self._known: dict[Pair, Pooled | None] = {}
        self._expected, self._variance = StackedPairs([], session.schema.domain), 0.0
        self._scores = np.zeros(len(candidates))

    @classmethod
    async def start(cls, session: Session, phase: str, selections: int, share: Share, selection: str | None) -> Chooser:
        """One that will choose at most so many tables for the share.

        Args:
            selection: a name in ``SELECTIONS``; None for the one that public numbers speak for.
        """
        candidates = candidate_pairs(session)
        if (selection or selection_for(session, selections, share)) == JOINT:
            overview = await session.measure(phase, coarse_pairs(session, candidates, COARSE), share)
            return cls(session, None, list(overview), candidates)
        return cls(session, session.selection(phase, selections, share, score=DISTANCE), [], candidates)

    async def expect(self, model: GraphicalModel, variance: float) -> None:
        """Choose from now on by how far tables are from what the model expects of them.

        An overview is read together with all that the run has revealed.

        Args:
            variance: of the noise on a cell of a table, were it measured.
        """
        self._variance = variance
        self._expected = await self._session.compute(partial(model.tables_of, self.candidates))
        if self._series is None and not self._session.backend.only_tells:
            estimates = self._estimates(self._expected)
            self._scores = await self._session.compute(partial(distances, estimates, self._expected, variance))

    async def choose(self, allowed: Allowed) -> Pair:
        """One of the candidates that are marked, at least one of them: shape (candidates,)."""
        if self._series is None:
            open_ = np.flatnonzero(allowed)
            return self.candidates[int(open_[self._scores[open_].argmax()])]
        among = self._expected.only(allowed)
        return await select_farthest(self._series, among, self._variance, self._session.rows)

    def _estimates(self, pairs: Iterable[Pair]) -> dict[Pair, Pooled]:
        """Of the pairs, from everything that was revealed."""
        revealed = self._session.record.measured
        changed = frozenset[int]().union(*(self._pooled.add(table) for _, table in revealed[self._seen :]))
        self._seen = len(revealed)
        found = {}
        for pair in pairs:
            if pair not in self._known or not changed.isdisjoint(pair):
                self._known[pair] = self._pooled.of(*pair)
            estimate = self._known[pair]
            if estimate is not None:
                found[pair] = estimate
        return found

    def within(self, pairs: Iterable[Pair]) -> list[NoisyTable]:
        """The tables of the overview that are over these pairs: they tell about them, too."""
        wanted, base = set(pairs), self._session.schema.derived.base
        return [table for table in self._overview if tuple(sorted(base[a] for a in table.attributes)) in wanted]


def may_select(settings: Mapping[str, Any]) -> bool:
    """Whether a run with these settings of MST or AIM may select at the parties."""
    return settings.get("selection") != JOINT


def selection_for(session: Session, selections: int, share: Share) -> str:
    """Who tells which table is worst explained, by public numbers alone.

    One party selects for itself: its rows are all rows.
    """
    alone = len(session.party_rows) == 1
    return PARTIES if alone or noise_of_selections(session, selections, share) < OVERVIEW_FROM else JOINT


def noise_of_selections(session: Session, selections: int, share: Share) -> float:
    """Of a selection at one party over that of a table of an overview, in total variation distance.

    The more parties, the fewer rows a selection is made by; the fewer values attributes have, the clearer is an
    overview.
    """
    overview = coarse_pairs(session, candidate_pairs(session), COARSE)
    domain = session.schema.derived.domain
    cells = sum(domain[a] * domain[b] for a, b in overview) / len(overview)
    deviation = math.sqrt(session.noise_variance(len(overview), share))
    of_overview = noise_distance(cells * deviation, session.rows)
    # Most selections are at the party with the most rows.
    of_selection = 2 / session.selection_epsilon(selections, share) / max(session.party_rows)
    return of_selection / of_overview


async def select_farthest(series: SelectionSeries, pairs: StackedPairs, variance: float, rows: int) -> Pair:
    """A selection at the party whose turn it is.

    Args:
        rows: of all parties.
    """
    counts = np.rint(pairs.vector * MODEL_ROWS).astype(np.int64)
    chances = np.rint(MODEL_ROWS * _by_chance(pairs, variance, rows, series.rows_next))
    # A table of which so little would be seen is no candidate however much larger its score penalty is.
    penalties = tuple(np.minimum(chances, LARGEST_PENALTY).astype(np.int64).tolist())
    names = list(pairs)
    return names[await series.select_farthest(ExpectedTables(tuple(names), counts, MODEL_ROWS, penalties))]


def _by_chance(pairs: StackedPairs, variance: float, rows: int, own: int) -> Numbers:
    """Distances of measured tables by their noise, and of ``own`` of all ``rows`` by chance; in part."""
    noise = pairs.sizes * math.sqrt(variance) / rows
    spread = pairs.sums(np.sqrt(pairs.vector * np.maximum(0.0, 1 - pairs.vector)))
    drawn = spread * math.sqrt(max(0.0, 1 / own - 1 / rows))
    return np.asarray(PENALTY * MEAN_OF_NORMAL * (noise + drawn) / 2)


def distances(estimates: Mapping[Pair, Pooled], pairs: StackedPairs, variance: float) -> Numbers:
    """How far each pair's table, as it is estimated over all parties, is from these probabilities.

    Args:
        variance: of the noise on a cell of the table, were it measured.

    Returns:
        Shape (pairs,): total variation distances, less what noise shows; minus infinity where nothing was revealed.
    """
    scores = np.full(len(pairs), -np.inf)
    for place, pair in enumerate(pairs):
        if (estimate := estimates.get(pair)) is None:
            continue
        expected = pairs[pair]
        for axis, grouping in enumerate(estimate.groupings):
            if not grouping.whole:
                expected = condense(expected, axis, grouping.labels)
        apart = float(np.abs(estimate.counts / estimate.rows - expected).sum()) / 2
        own = noise_distance(pairs[pair].size * math.sqrt(variance), estimate.rows)
        scores[place] = apart - estimate.distance - PENALTY * own
    return scores


def coarse_pairs(session: Session, pairs: Sequence[Pair], size: int) -> list[Marginal]:
    """Each pair's table at generalisations of at most ``size`` groups, or the coarsest that the schema has."""
    derived = session.schema.derived

    def coarse(a: int) -> int:
        levels = derived.levels(a)
        return next((level for level in levels if derived.domain[level] <= size), levels[-1])

    return [(coarse(a), coarse(b)) for a, b in pairs]


def candidate_pairs(session: Session) -> list[Pair]:
    """All pairs of attributes that fit a table, or of more cells than a selection may have the smallest."""
    domain = session.schema.domain
    pairs = pairs_within(domain, TABLE_CELLS)
    cells = cells_of_pairs(pairs, domain)
    if cells.sum() > SELECTION_CELLS:
        # What is wide and below the noise floor is not missed.
        by_size = np.argsort(cells, kind="stable")
        pairs = pairs[np.sort(by_size[: int(np.searchsorted(cells[by_size].cumsum(), SELECTION_CELLS, side="right"))])]
    return [(a, b) for a, b in pairs.tolist()]


def most_edges(candidates: Sequence[Pair]) -> int:
    """Edges of a spanning forest of the candidates; some attributes may be in none."""
    import networkx as nx

    graph = nx.Graph(candidates)
    return len(graph) - nx.number_connected_components(graph)
