"""How far the model may be from the rows where nothing was measured: what the run itself has found out about that.

Outside what measured cells span, the rows' distribution is taken to differ from the model's by random amounts: that of
a cell of probability p has the variance kappa^2 p. A mean of a function is then off by kappa times the deviation of the
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
"""Selected tables by which the model before them is judged."""

STEPS = 200
"""Of the fit of that model."""

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
    last = evidence.selected[-LAST:]
    if not last:
        return None
    first = next(place for place, table in enumerate(evidence.tables) if table is last[0])
    ahead = evidence.tables[:first]
    seen = {table.attributes for table in ahead}
    new = [table for table in last if table.attributes not in seen] or last
    model = fit_model(ahead, evidence.schema, evidence.rows, None, STEPS).model
    pairs = [(min(t.attributes), max(t.attributes)) for t in new]
    tables = model.tables_of(sorted(set(pairs)))
    expected = [
        tables[pair] if pair == table.attributes else tables[pair].T for pair, table in zip(pairs, new, strict=True)
    ]
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
