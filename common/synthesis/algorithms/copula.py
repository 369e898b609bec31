"""The Gaussian copula: noisy marginals of all pairs of attributes, and a normal variable for each category.

Deviations from the paper:

- One full table for each pair of attributes, with the noise of one: the paper's Lemma 2 counts the four cells of each
  pair of categories as if the other cells did not move, and falls short of its epsilon by 2 (|A| + |B| - 2).
- The 1-way tables have a share of the budget of their own, and all tables are made consistent first.
- Besides pure epsilon and the paper's advanced composition there is (epsilon, delta) with discrete Gaussian noise under
  the run's budget in rho.
- A pair of categories that the noise cannot tell from an independent one counts as independent (``certainty``).
  Without that the matrix of correlations is mostly noise, and what is nearest to it among correlation matrices is
  far away.
- Categories of one attribute exclude each other as far as normal variables can, and one of them wins: see
  common/synthesis/models/copula_model.py. Rates are set so that categories win as often as their noisy shares say.
- Correlations by Owen's function (``bivariate_normal``); the nearest correlation matrix by statsmodels (Higham 2002).

It needs sums only: over K parties all tables are revealed in one round.

Privacy: all tables compose, as the round's terms or accounting say. All else looks at noisy marginals only.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.contingency_tables import counting_bytes
from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.protocol.step_limits import count_cells
from privity.common.synthesis.algorithm_settings import choice, weight
from privity.common.synthesis.algorithms.algorithm import Algorithm
from privity.common.synthesis.inference.estimation import nearest_counts
from privity.common.synthesis.inference.pair_consistency import ConsistentPairs, PairStack
from privity.common.synthesis.learning.bivariate_normal import correlation_for, orthant
from privity.common.synthesis.learning.countable_pairs import check_all_pairs
from privity.common.synthesis.models.copula_model import CopulaModel, blocks_of, columns_of, rates_for
from privity.common.synthesis.single_threaded_blas import one_blas_thread

TABLES = "one-way and pair tables"
BASIC, CONCENTRATED, ADVANCED = "basic", "zcdp", "advanced"
COMPOSITIONS = (BASIC, CONCENTRATED, ADVANCED)
LARGEST_TERM = 64
"""Of the ratio of two weights."""

COLUMNS = 4096
"""Most normal variables of all attributes together: a matrix of 128 MiB, of which eigenvectors are taken."""

PROJECTIONS = 50
"""Most steps towards the nearest correlation matrix; what is left is clipped."""

LEAST_PROJECTIONS = 1
PROJECTION_WORK = PROJECTIONS * 1000**3
"""Steps of a matrix times the cube of its side: beyond it there are fewer steps, as one takes seconds."""

LEAST_EIGENVALUE = 1e-7
DECIMALS = 9
"""Of the correlations: far less than an eigenvalue that counts, and half as much to write as all digits."""

WEAKENED = 0.1
"""Total variation distance between what was wanted of a pair and what its correlations give, from which on the pair
is named: far above noise."""

RARE = 1e-6
"""Share that stands for 0, so that its quantile is finite: less than a row of a million."""

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Settings:
    """Settings of the copula, all public."""

    one_way: Fraction = weight(
        "3/10", "approximate share of the budget for the 1-way tables; 0 derives them from pairs", "9/10", zero=True
    )
    certainty: Fraction = weight("3", "standard deviations of noise within which categories count as independent")
    composition: str | None = choice(
        None, "how all tables are charged; discrete Gaussian noise with zcdp, else Laplace noise", COMPOSITIONS,
        by_default="zcdp with a delta, basic without",
    )  # fmt: skip


class GaussianCopula(Algorithm[Settings]):
    """The Gaussian copula: noisy marginals of all pairs of attributes, and a normal variable for each category."""

    name = "copula"
    all_pairs = True
    paper = (
        "Asghar, Ding, Rakotoarivelo, Mrabet, Kaafar, Differentially Private Release of High-Dimensional Datasets "
        "using the Gaussian Copula (2019)"
    )
    settings = Settings

    def check_domain(self, schema: Schema, chosen: Settings) -> None:
        """Pairs of attributes that are too large, and too many categories in all."""
        check_all_pairs(schema)
        columns = sum(map(columns_of, schema.domain))
        if columns > COLUMNS:
            everything = f"all {len(schema.attributes)} attributes together"
            raise PrivityError(Catalogue.DOMAIN_TOO_LARGE, attributes=everything, cells=columns, limit=COLUMNS)

    def spends_at_once(self, settings: Mapping[str, Any]) -> bool:
        return settings.get("composition") == ADVANCED

    def check_delta(self, settings: Mapping[str, Any], delta: Fraction) -> None:
        """Refuse a composition that does not go with the delta."""
        chosen = settings.get("composition") or (CONCENTRATED if delta else BASIC)
        if (chosen == BASIC) != (delta == 0):
            reason = "basic composition spends no delta" if delta else f"the composition {chosen} needs a delta above 0"
            hint = "Give a delta with the compositions zcdp and advanced, and none with basic."
            raise PrivityError(Catalogue.BAD_OPTION, option="delta", reason=reason, hint=hint)

    def memory(self, schema: Schema) -> int:
        """About how many bytes counting and fitting take besides the table: from public quantities."""
        pairs = list(combinations(range(len(schema.attributes)), 2))
        cells = count_cells(pairs, schema.domain)
        columns = sum(map(columns_of, schema.domain))
        # Counts, noise, their sum, shares, thresholds, places: some 100 bytes a cell; a dozen square matrices; Python's
        # own objects for each table.
        fitting = 100 * cells + 12 * 8 * columns**2 + 300 * len(pairs)
        return counting_bytes(math.prod(sorted(schema.domain)[-2:])) + fitting

    async def run(self, session: Session, share: Share, chosen: Settings) -> CopulaModel:
        """Measure all 1-way and pair tables for the share, and fit the copula."""
        schema = session.schema
        attributes = range(len(schema.attributes))
        single: list[Marginal] = [(a,) for a in attributes]
        pairs: list[Marginal] = list(combinations(attributes, 2))
        if pairs and not chosen.one_way:
            single = []
        weights = _weights(len(single), len(pairs), chosen.one_way, pure=not share.budget.delta)
        revealed = await session.measure(TABLES, [*single, *pairs], share, weights)
        session.all_asked()
        consistent = ConsistentPairs(revealed, schema.domain, session.rows)
        return fit(schema, consistent, session.rows, float(chosen.certainty))


def _weights(single: int, pairs: int, share: Fraction, *, pure: bool) -> list[int]:
    """One for each 1-way table and each pair: the 1-way tables get about this share of the budget.

    A table's share of epsilon goes with its weight, of rho with its square.
    """
    if not single or not pairs:
        return [1] * (single + pairs)
    ratio = share / (1 - share) * pairs / single
    if not pure:
        ratio = Fraction(math.sqrt(ratio))
    # Small whole numbers keep exact scales short.
    ratio = min(max(ratio, Fraction(1, LARGEST_TERM)), Fraction(LARGEST_TERM)).limit_denominator(8)
    ratio = max(ratio, Fraction(1, 8))
    return [ratio.numerator] * single + [ratio.denominator] * pairs


def fit(schema: Schema, pairs: ConsistentPairs, rows: int, certainty: float) -> CopulaModel:
    """The copula of consistent tables of all pairs."""
    from scipy.special import ndtri

    domain = schema.domain
    blocks = blocks_of(domain)
    shares = [_shares(marginal, rows) for marginal in pairs.marginals]
    thresholds = [ndtri(np.clip(share[: columns_of(share.size)], RARE, 1 - RARE)) for share in shares]
    correlations = np.eye(blocks[-1].stop)
    for block, threshold in zip(blocks, thresholds, strict=True):
        correlations[block, block] = _exclusive(threshold)
    wanted = [_Wanted.of(stack, shares, thresholds, blocks, rows, certainty) for stack in pairs.stacks()]
    for some in wanted:
        found = some.latent()
        correlations[some.rows, some.columns] = correlations[some.columns, some.rows] = found
    nearest = np.round(nearest_correlations(correlations), DECIMALS)
    weakened = sorted(pair for some in wanted for pair in some.weakened(nearest))
    rates = [rates_for(share, nearest[block, block]) for share, block in zip(shares, blocks, strict=True)]
    return CopulaModel(schema, rates, nearest, weakened)


def _shares(marginal: Numbers, rows: int) -> Numbers:
    counts = nearest_counts(marginal, float(rows))
    return counts / counts.sum() if counts.sum() > 0 else np.full(counts.size, 1 / counts.size)


def _exclusive(thresholds: Numbers) -> Numbers:
    """Correlations of one attribute's variables such that no two of them are below their thresholds together."""
    first, second = np.meshgrid(thresholds, thresholds, indexing="ij")
    found = correlation_for(first, second, np.zeros_like(first))
    np.fill_diagonal(found, 1.0)
    return found


@dataclass(frozen=True)
class _Wanted:
    """What correlations of many pairs of attributes are to give: arrays of shape (pairs, columns, columns).

    Attributes:
        first, second: attributes.
        rows, columns: places in the matrix of correlations.
        low, high: thresholds.
        shares: of rows in which both variables are below their thresholds.
        independent: whether that is what it would be without correlation.
        doubled: how many cells of a table a difference stands for: the other category of two has its opposite.
    """

    first: Places
    second: Places
    rows: Places
    columns: Places
    low: Numbers
    high: Numbers
    shares: Numbers
    independent: npt.NDArray[np.bool_]
    doubled: int

    @classmethod
    def of(
        cls,
        stack: PairStack,
        shares: Sequence[Numbers],
        thresholds: Sequence[Numbers],
        blocks: Sequence[slice],
        rows: int,
        certainty: float,
    ) -> _Wanted:
        first, second = stack.first.tolist(), stack.second.tolist()
        a, b = np.stack([shares[x] for x in first]), np.stack([shares[y] for y in second])
        left, right = columns_of(a.shape[1]), columns_of(b.shape[1])
        wanted, independent = _wanted(stack, a, b, rows, certainty)
        places = [np.array([blocks[x].start for x in some])[:, None, None] for some in (first, second)]
        low = np.stack([thresholds[x] for x in first])[:, :, None]
        high = np.stack([thresholds[y] for y in second])[:, None, :]
        shape = (len(first), left, right)
        return cls(
            stack.first,
            stack.second,
            np.broadcast_to(places[0] + np.arange(left)[:, None], shape),
            np.broadcast_to(places[1] + np.arange(right), shape),
            np.broadcast_to(low, shape),
            np.broadcast_to(high, shape),
            wanted[:, :left, :right],
            independent[:, :left, :right],
            a.shape[1] * b.shape[1] // (left * right),
        )

    def latent(self) -> Numbers:
        """Correlations that give the wanted shares; 0 where these are those of independence."""
        found = np.zeros(self.shares.shape)
        away = ~self.independent
        found[away] = correlation_for(self.low[away], self.high[away], self.shares[away])
        return found

    def weakened(self, correlations: Numbers) -> list[tuple[int, int]]:
        """Pairs of which these correlations give something else."""
        given = orthant(self.low, self.high, correlations[self.rows, self.columns])
        apart = np.abs(given - self.shares).sum(axis=(1, 2)) * self.doubled / 2
        return [(int(self.first[i]), int(self.second[i])) for i in np.flatnonzero(apart > WEAKENED)]


def _wanted(
    stack: PairStack, first: Numbers, second: Numbers, rows: int, certainty: float
) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Shares of the pairs' cells, and which of them are those of independence.

    A table's own shares are taken where it is clearly away from independence.
    """
    independent = first[:, :, None] * second[:, None, :]
    away = stack.counts / max(rows, 1) - independent
    noise = certainty * np.sqrt(stack.variances)[:, None, None] / max(rows, 1)
    kept = np.where(np.abs(away) > noise, away, 0.0)
    most = np.minimum(first[:, :, None], second[:, None, :])
    least = np.maximum(first[:, :, None] + second[:, None, :] - 1, 0.0)
    wanted = np.clip(independent + kept, least, most)
    return wanted, np.isclose(wanted, independent, rtol=1e-9, atol=1e-15)


def nearest_correlations(matrix: Numbers) -> Numbers:
    """A correlation matrix without small eigenvalues near this symmetric one with a diagonal of ones."""
    # Half a second to load, and needed here alone: every command would pay for it.
    from scipy.sparse.csgraph import connected_components
    from statsmodels.stats.correlation_tools import corr_clipped, corr_nearest
    from statsmodels.tools.sm_exceptions import IterationLimitWarning

    number, block_of = connected_components(matrix != 0, directed=False)
    nearest = np.zeros_like(matrix)
    order = np.argsort(block_of, kind="stable")
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", IterationLimitWarning)  # what is left is clipped
        # Variables without a correlation to the others of a block stay so: each block by itself.
        for places in np.split(order, np.searchsorted(block_of[order], np.arange(1, number))):
            block = np.ix_(places, places)
            found = matrix[block]
            if len(places) > 1:
                steps = max(LEAST_PROJECTIONS, min(PROJECTIONS, PROJECTION_WORK // len(places) ** 3))
                found = corr_nearest(found, threshold=LEAST_EIGENVALUE, n_fact=(steps + 0.5) / len(places))
                found = corr_clipped(found, threshold=LEAST_EIGENVALUE)
            nearest[block] = found
    nearest = (nearest + nearest.T) / 2
    np.fill_diagonal(nearest, 1.0)
    return nearest
