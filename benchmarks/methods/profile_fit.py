"""The numbers of profiles, fitted on public tables: how even margins are, and how strong dependence is.

For each table: the evenness of its attributes, and the communality with which stand-ins that have the table's own
margins reach the table's own mean distance of pairs from independence. Profiles take quantiles over tables; spread and
number of factors are those whose stand-ins have, over pairs, the distances of most tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy.special import expit, logit

from privity.assessment.planning.invented_tables import ATTRIBUTES, ROWS, Profile, sample, sample_loadings
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_table

MOST_ROWS, MOST_ATTRIBUTES = 5000, 18
"""Of a table that are looked at: enough for means, and quick."""

STEPS = np.linspace(0, 1, 11)
DECILES = np.linspace(0.1, 0.9, 9)
PLACES = {"weak": (0.25, 0.1), "typical": (0.5, 0.5), "strong": (0.75, 0.9)}
"""Quantiles over tables of the evenness and of the communality. The two are hardly correlated over tables."""

SHAPES = tuple(product((1.5, 2.5, 4.0), (0.05, 0.1)))
"""Spreads of the communality, and factors for each attribute, that are tried."""

LEAST, MOST, BISECTIONS, REPEATS = -6.0, 6.0, 9, 2


@dataclass(frozen=True)
class TableFit:
    """What a table says about profiles.

    Attributes:
        rows: how many it has.
        evenness: of its attributes.
        communality: for each of ``SHAPES``.
        loss: for each of them, how far the deciles over pairs of the distance from independence then are from the
            table's, on average, over their mean.
    """

    rows: int
    evenness: tuple[float, ...]
    communality: tuple[float, ...]
    loss: tuple[float, ...]


def fit_table(table: CodedTable, seed: int = 0) -> TableFit:
    """What the table says."""
    part = part_of(table, np.random.default_rng(seed))
    own = distances_from_independence(part)
    communalities, losses = [], []
    for spread, factors in SHAPES:
        low, high = LEAST, MOST
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            reached = stand_in_distances(part, Profile((), middle, spread, factors)).mean()
            low, high = (middle, high) if reached < own.mean() else (low, middle)
        found = stand_in_distances(part, Profile((), (low + high) / 2, spread, factors))
        apart = np.abs(np.quantile(found, DECILES) - np.quantile(own, DECILES)).mean()
        communalities.append((low + high) / 2)
        losses.append(float(apart / own.mean()))
    return TableFit(table.rows, evenness(table), tuple(communalities), tuple(losses))


def profiles_of(fits: Sequence[TableFit]) -> dict[str, Profile]:
    """The profiles of several tables; each weighs the same, however many attributes it has.

    Evenness falls with the number of attributes, and communality with that of rows: robust lines say how much, and
    quantiles are taken of what is left.
    """
    shape = int(np.argmin(np.median([fit.loss for fit in fits], axis=0)))
    spread, factors = SHAPES[shape]
    wider = np.log([len(fit.evenness) / ATTRIBUTES for fit in fits])
    longer = np.log([fit.rows / ROWS for fit in fits])
    levels = logit([np.clip(np.mean(fit.evenness), 0.01, 0.99) for fit in fits])
    communalities = np.array([fit.communality[shape] for fit in fits])
    (thinner,) = _slopes(levels, wider)
    looser, weaker = _slopes(communalities, wider, longer)
    curves = np.array(
        [
            expit(logit(np.clip(np.quantile(fit.evenness, STEPS), 0.001, 0.999)) - thinner * by)
            for fit, by in zip(fits, wider, strict=True)
        ]
    )
    communalities = communalities - looser * wider - weaker * longer
    return {
        name: Profile(
            tuple(round(float(x), 3) for x in np.quantile(curves, of_evenness, axis=0)),
            round(float(np.quantile(communalities, of_communality)), 2),
            spread,
            factors,
            round(thinner, 3),
            round(looser, 3),
            round(weaker, 3),
        )
        for name, (of_evenness, of_communality) in PLACES.items()
    }


def _slopes(values: np.ndarray, *by: np.ndarray) -> list[float]:
    """Slopes of a line that is fitted robustly (Huber)."""
    # It takes a second to load.
    from statsmodels.robust.robust_linear_model import RLM

    design = np.column_stack([np.ones(len(values)), *by])
    return [float(slope) for slope in RLM(values, design).fit().params[1:]]


def evenness(table: CodedTable) -> tuple[float, ...]:
    """The entropy of each attribute over the logarithm of its number of codes."""
    found = []
    for column, size in zip(table.columns, table.schema.domain, strict=True):
        shares = np.bincount(column, minlength=size) / table.rows
        held = shares[shares > 0]
        found.append(abs(float((held * np.log(held)).sum() / np.log(size))))
    return tuple(found)


def distances_from_independence(table: CodedTable) -> np.ndarray:
    """Total variation distance of each pair's table from the product of its margins."""
    found = []
    for pair in combinations(range(len(table.columns)), 2):
        shares = contingency_table(table, pair) / table.rows
        found.append(np.abs(shares - np.outer(shares.sum(axis=1), shares.sum(axis=0))).sum() / 2)
    return np.array(found)


def part_of(table: CodedTable, generator: np.random.Generator) -> CodedTable:
    """Some rows and attributes of a table, at random."""
    names = table.schema.names
    if len(names) > MOST_ATTRIBUTES:
        table = table.over([names[i] for i in generator.permutation(len(names))[:MOST_ATTRIBUTES]])
    return table.take(generator.permutation(table.rows)[:MOST_ROWS])


def stand_in_distances(table: CodedTable, profile: Profile) -> np.ndarray:
    """Distances from independence in stand-ins that have the table's own margins."""
    margins = [
        np.bincount(column, minlength=size) / table.rows
        for column, size in zip(table.columns, table.schema.domain, strict=True)
    ]
    found = []
    for seed in range(REPEATS):
        generator = np.random.default_rng(seed)
        loadings = sample_loadings(profile, len(margins), generator)
        found.append(distances_from_independence(sample(table.schema, table.rows, margins, loadings, generator)))
    return np.concatenate(found)
