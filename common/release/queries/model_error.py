"""How far the model may be from the rows where nothing was measured: what the run itself has found out about that.

Outside what measured cells span, the rows' distribution is taken to differ from the model's at random: in a cell of
probability p with the variance kappa^2 p. A mean of a function is then off by kappa times the deviation of the
part that is not spanned. kappa is what measured tables show of it against a model that had not seen them: coarse tables
of all pairs, if the run measured such an overview, or else the tables that the last rounds selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

from privity.common.data.noisy_tables import NoisyTable
from privity.common.release.queries.evidence import Evidence, Numbers
from privity.common.synthesis.inference.maximum_likelihood import fit_model

LAST = 8
"""Tables of pairs that no earlier one had, by which the models before them are judged."""

STEPS, STEPS_MORE = 200, 50
"""Of the first fit of such a model, and of each that goes on from it."""

DOUBLED = 2.0
"""What kappa is taken times: tables of last rounds were selected, and the rest is no average of them."""

OVERVIEW, ROUNDS = "an overview of all pairs", "the tables that were selected last"


@dataclass(frozen=True)
class ModelError:
    """What is known of the model's error.

    Attributes:
        kappa: deviation of the rows' distribution from the model's, relative to that of sampling one row; doubled.
        source: what it was estimated from.
    """

    kappa: float
    source: str


def model_error(evidence: Evidence) -> ModelError | None:
    """What the run has found out; None if it has not measured anything that the model had not seen."""
    if evidence.overview:
        measured = evidence.pooled
        unseen = [
            table
            for table in evidence.overview
            if (pair := measured.of(*(evidence.schema.derived.base[i] for i in table.attributes))) is None
            or not pair.whole
        ]
        if not unseen:
            unseen = evidence.overview
        expected = [_shares(evidence, table) for table in unseen]
        return ModelError(_kappa(unseen, expected, evidence.rows), OVERVIEW)
    first_seen: dict[tuple[int, ...], NoisyTable] = {}
    for table in evidence.tables:
        first_seen.setdefault(tuple(sorted(table.attributes)), table)
    selected = {id(table) for table in evidence.selected}
    new = [table for table in first_seen.values() if id(table) in selected][-LAST:]
    if not new:
        return None
    places = {id(table): place for place, table in enumerate(evidence.tables)}
    fit, expected = None, []
    for table in new:
        # Each against a model of all that came before it.
        ahead = evidence.tables[: places[id(table)]]
        fit = fit_model(ahead, evidence.schema, evidence.rows, fit, STEPS if fit is None else STEPS_MORE)
        first, second = sorted(table.attributes)
        shares = fit.model.tables_of([(first, second)])[first, second]
        expected.append(shares if (first, second) == table.attributes else shares.T)
    return ModelError(_kappa(new, expected, evidence.rows), ROUNDS)


def _shares(evidence: Evidence, table: NoisyTable) -> Numbers:
    """A table's cells by the released model."""
    rows = evidence.model_rows
    cells = rows.cells(table.attributes)[: rows.own]
    return np.bincount(cells, minlength=table.counts.size).reshape(table.counts.shape) / rows.own


def _kappa(tables: Sequence[NoisyTable], expected: Sequence[Numbers], rows: int) -> float:
    """From squared interactions beyond what noise and sampling make of them; at least what these hide."""
    beyond = hidden = degrees = 0.0
    for table, shares in zip(tables, expected, strict=True):
        apart = table.counts / rows - shares
        # The margins are measured elsewhere.
        for axis in range(apart.ndim):
            apart = apart - apart.mean(axis=axis, keepdims=True)
        part = prod(1 - 1 / size for size in shares.shape)
        chance = table.variance / rows**2 + 1 / (rows * shares.size)
        free = part * shares.size
        beyond += float((apart**2).sum()) - free * chance
        hidden += 2 * free * chance**2
        degrees += part
    least = sqrt(hidden)
    return DOUBLED * sqrt(max(beyond, least) / max(degrees, 1e-300))
