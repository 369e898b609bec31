"""The Gaussian copula: noisy tables of all pairs of attributes, and a normal variable for each category.

Source: Asghar, Ding, Rakotoarivelo, Mrabet, Kaafar, "Differentially Private Release of High-Dimensional Datasets using
the Gaussian Copula" (2019). Deviations:

- One full table for each pair of attributes, with the noise of one: the paper's Lemma 2 counts the four cells of each
  pair of categories as if the other cells did not move, and falls short of its epsilon by 2 (|A| + |B| - 2).
- The 1-way tables have a part of the budget of their own, and all tables are made consistent first.
- Besides pure epsilon there are (epsilon, delta) with discrete Gaussian noise, and with Laplace noise under two
  compositions, of which the paper has one (``common.privacy.composition``).
- A pair of categories that the noise cannot tell from an independent one counts as independent (``certainty``).
  Without that the matrix of correlations is mostly noise, and what is nearest to it among correlation matrices is
  far away.
- Categories of one attribute exclude each other as far as normal variables can, and one of them wins: see
  common/models/copula.py. Rates are set so that categories win as often as their noisy shares say.
- Correlations by Owen's function (``bivariate_normal``); the nearest correlation matrix by statsmodels (Higham 2002).

It needs sums only: over K parties all tables are opened in one round.

Privacy: all tables compose, as the round's accounting says. All else looks at noisy tables only.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from statsmodels.stats.correlation_tools import corr_clipped, corr_nearest
from statsmodels.tools.sm_exceptions import IterationLimitWarning

from common.algorithms.bivariate_normal import correlation_for, orthant
from common.algorithms.consistency import make_consistent
from common.algorithms.dependency_graph import check_all_pairs
from common.algorithms.estimation import Estimate, collect, nearest_counts
from common.algorithms.settings import SettingsReader
from common.errors import Catalogue, PrivityError
from common.models.copula import CopulaModel, rates_for
from common.privacy.composition import COMPOSITIONS, calibrate
from common.protocol.session import Session
from common.schema import Schema
from common.statistics import Marginal

TABLES = "one-way and pair tables"
BASIC = "basic"
LARGEST_TERM = 64
"""Of the ratio of two weights."""

COLUMNS = 4096
"""Most categories of all attributes together: a matrix of 128 MiB, of which eigenvectors are taken."""

PROJECTIONS = 50
"""Most steps towards the nearest correlation matrix; what is left is clipped."""

LEAST_EIGENVALUE = 1e-7
WEAKENED = 0.1
"""Total variation distance between what was wanted of a pair and what its correlations give, from which on the pair
is named: far above noise."""

RARE = 1e-6
"""Share that stands for 0, so that its quantile is finite: less than a row of a million."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """Settings of the copula, all public.

    Attributes:
        one_way: part of the budget (of epsilon, or of rho) for the 1-way tables, about; 0 derives them from the
            pair tables.
        composition: ``basic`` without a delta; with one ``zcdp``, ``pld`` or ``advanced``.
        certainty: standard deviations of noise within which a pair of categories counts as independent; a thousandth
            is as good as none. Adult, K = 1, mean 2-way distance with 2, 3, 4: .0699, .0683, .0699 at eps 1; .0462,
            .0423, .0421 at 5.
    """

    one_way: Fraction = Fraction(3, 10)
    certainty: Fraction = Fraction(3)
    composition: str | None = None

    @classmethod
    def read(cls, settings: Mapping[str, Any], _schema: Schema) -> Settings:
        """From the plain document of a run spec; every fault at once."""
        reader = SettingsReader("copula", settings)
        default = cls()
        read = cls(
            one_way=reader.share("one_way", default.one_way, Fraction(9, 10)),
            certainty=reader.weight("certainty", default.certainty),
            composition=reader.choice("composition", None, [BASIC, *COMPOSITIONS]),
        )
        reader.finish()
        return read


def check(settings: Mapping[str, Any], schema: Schema) -> Settings:
    """Refuse bad settings, pairs of attributes that are too large, and too many categories in all."""
    chosen = Settings.read(settings, schema)
    check_all_pairs(schema)
    columns = sum(schema.domain)
    if columns > COLUMNS:
        everything = f"all {len(schema.attributes)} attributes together"
        raise PrivityError(Catalogue.DOMAIN_TOO_LARGE, attributes=everything, cells=columns, limit=COLUMNS)
    return chosen


def check_delta(settings: Mapping[str, Any], delta: Fraction) -> None:
    """Refuse a composition that does not go with the delta, or whose library is not there."""
    chosen = settings.get("composition") or (BASIC if not delta else "zcdp")
    if (chosen == BASIC) != (delta == 0):
        reason = "basic composition spends no delta" if delta else f"the composition {chosen} needs a delta above 0"
        hint = "Give a delta with the compositions zcdp, pld and advanced, and none with basic."
        raise PrivityError(Catalogue.BAD_OPTION, option="delta", reason=reason, hint=hint)
    if chosen != BASIC:
        COMPOSITIONS[chosen].holds(Fraction(10**6), [1], Fraction(1), delta)


async def learn(session: Session, epsilon: Fraction, settings: Mapping[str, Any]) -> CopulaModel:
    """Measure all 1-way and pair tables for ``epsilon`` and the session's delta in all, and fit the copula."""
    schema = session.schema
    chosen = check(settings, schema)
    attributes = range(len(schema.attributes))
    single: list[Marginal] = [(a,) for a in attributes]
    pairs: list[Marginal] = list(combinations(attributes, 2))
    if pairs and not chosen.one_way:
        single = []
    weights = _weights(len(single), len(pairs), chosen.one_way, pure=not session.delta)
    accounting = None
    if session.delta:
        quota = int(len(session.party_rows) / session.noise_variables)
        accounting = calibrate(chosen.composition or "zcdp", weights, epsilon, session.delta, quota)
    opened = await session.measure(TABLES, [*single, *pairs], epsilon, weights, accounting)
    consistent = make_consistent(collect(opened), session.rows)
    return fit(schema, consistent, session.rows, float(chosen.certainty))


def _weights(single: int, pairs: int, share: Fraction, *, pure: bool) -> list[int]:
    """One for each 1-way table and each pair: the 1-way tables get about this share of the budget.

    A table's part of epsilon goes with its weight, of rho with its square.
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


def fit(schema: Schema, tables: Mapping[Marginal, Estimate], rows: int, certainty: float) -> CopulaModel:
    """The copula of consistent tables of all pairs, or of the 1-way table of a single attribute."""
    shares = _one_way(schema, tables, rows)
    thresholds = [ndtri(np.clip(share, RARE, 1 - RARE)) for share in shares]
    starts = np.cumsum([0, *schema.domain])
    correlations = np.eye(int(starts[-1]))
    for attribute, threshold in enumerate(thresholds):
        block = slice(int(starts[attribute]), int(starts[attribute + 1]))
        correlations[block, block] = _exclusive(threshold)
    wanted_shares: dict[tuple[int, int], Numbers] = {}
    for pair, estimate in tables.items():
        if len(pair) == 2:
            a, b = pair
            wanted = wanted_shares[a, b] = _wanted(estimate, shares[a], shares[b], rows, certainty)
            found = _latent(thresholds[a], thresholds[b], shares[a], shares[b], wanted)
            across = slice(int(starts[a]), int(starts[a + 1])), slice(int(starts[b]), int(starts[b + 1]))
            correlations[across], correlations[across[::-1]] = found, found.T
    nearest = nearest_correlations(correlations)
    weakened = []
    for a, b in sorted(wanted_shares):
        across = slice(int(starts[a]), int(starts[a + 1])), slice(int(starts[b]), int(starts[b + 1]))
        x, y = np.meshgrid(thresholds[a], thresholds[b], indexing="ij")
        if np.abs(orthant(x, y, nearest[across]) - wanted_shares[a, b]).sum() / 2 > WEAKENED:
            weakened.append((a, b))
    rates = []
    for attribute, share in enumerate(shares):
        block = slice(int(starts[attribute]), int(starts[attribute + 1]))
        rates.append(rates_for(share, nearest[block, block]))
    return CopulaModel(schema, rates, nearest, weakened)


def _one_way(schema: Schema, tables: Mapping[Marginal, Estimate], rows: int) -> list[Numbers]:
    """Shares of each attribute's categories. Tables are consistent, so any one that holds the attribute tells."""
    shares: dict[int, Numbers] = {}
    for marginal, estimate in tables.items():
        for axis, attribute in enumerate(marginal):
            if attribute not in shares:
                others = tuple(other for other in range(len(marginal)) if other != axis)
                counts = nearest_counts(estimate.counts.sum(axis=others), float(rows))
                shares[attribute] = counts / counts.sum() if counts.sum() > 0 else np.full(counts.size, 1 / counts.size)
    return [shares[attribute] for attribute in range(len(schema.attributes))]


def _exclusive(thresholds: Numbers) -> Numbers:
    """Correlations of one attribute's variables such that no two of them are below their thresholds together."""
    first, second = np.meshgrid(thresholds, thresholds, indexing="ij")
    found = correlation_for(first, second, np.zeros_like(first))
    np.fill_diagonal(found, 1.0)
    return found


def _wanted(estimate: Estimate, first: Numbers, second: Numbers, rows: int, certainty: float) -> Numbers:
    """Shares of the pair's cells: those of independence, or what the table says where it is clearly away from them."""
    independent = np.outer(first, second)
    away = estimate.counts / max(rows, 1) - independent
    noise = certainty * np.sqrt(estimate.variance) / max(rows, 1)
    kept = np.where(np.abs(away) > noise, away, 0.0)
    most = np.minimum(first[:, None], second[None, :])
    least = np.maximum(first[:, None] + second[None, :] - 1, 0.0)
    return np.clip(independent + kept, least, most)


def _latent(low: Numbers, high: Numbers, first: Numbers, second: Numbers, wanted: Numbers) -> Numbers:
    """Correlations that give the wanted shares; 0 where these are those of independence, or a category never is."""
    x, y = np.meshgrid(low, high, indexing="ij")
    found = correlation_for(x, y, wanted)
    same = np.isclose(wanted, np.outer(first, second), rtol=1e-9, atol=1e-15)
    return np.where(same, 0.0, found)


def nearest_correlations(matrix: Numbers) -> Numbers:
    """A correlation matrix without small eigenvalues near this symmetric one with a diagonal of ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IterationLimitWarning)  # what is left is clipped
        found = corr_nearest(matrix, threshold=LEAST_EIGENVALUE, n_fact=PROJECTIONS / len(matrix))
    found = corr_clipped(found, threshold=LEAST_EIGENVALUE)
    found = (found + found.T) / 2
    np.fill_diagonal(found, 1.0)
    return np.asarray(found, dtype=np.float64)
