"""What a fit of a graphical model will take, told before it begins; and which of the two fits is used.

Everything here follows from public numbers: which tables, over which domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.common.synthesis.algorithm_settings import choice
from privity.common.synthesis.inference.graphical_model import cells_of_tree, tree_over
from privity.common.synthesis.inference.pooled_codes import MOST_APART

TABLES, PGM = "tables", "pgm"
INFERENCES = (TABLES, PGM)

MOST_BYTES = 1 << 30
MOST_SECONDS = 120

ARRAYS = 12
"""Of 64-bit numbers for each cell of the cliques: potentials, sums, weights, probabilities, and copies of them."""

RELEASED = 2
"""Of the same, for each cell of the model with all codes told apart."""

SECONDS_A_CELL = 1e-7
SECONDS_A_TABLE = 6e-5
"""Of one evaluation on one core, for each table and each clique; both are above what was measured."""

EVALUATIONS_A_STEP = 1.2


@dataclass(frozen=True)
class Size:
    """What a fit takes.

    Attributes:
        cells: of the cliques of its junction tree.
        seconds: on one core, about.
    """

    cells: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class Inference:
    """Which fit was used.

    Attributes:
        method: ``PGM`` or ``TABLES``.
        asked: the same, as it was asked for.
        size: what the graphical model takes or would take; None if it was never asked for.
        reason: why not the one that was asked for; empty if it is.
    """

    method: str
    asked: str
    size: Size | None = None
    reason: str = ""

    def document(self) -> dict[str, Any]:
        """As it stands in ``marginals.json``."""
        size = self.size
        return {
            "method": self.method,
            "asked": self.asked,
            "cells": None if size is None else size.cells,
            "bytes": None if size is None else size.bytes,
            "seconds": None if size is None else round(size.seconds, 2),
            "reason": self.reason,
        }


def fit_setting(default: str, *, by_default: str = "") -> Any:
    """The setting ``inference`` of an algorithm that may end in either fit."""
    meaning = "fit of the noisy marginals: tables that agree with each other, or one graphical model"
    return choice(default, meaning, INFERENCES, by_default=by_default)


def size_of_fit(
    marginals: Sequence[Marginal], domain: Sequence[int], steps: int, apart: Sequence[int] | None = None
) -> Size:
    """Of a fit to tables over these attributes of the schema.

    Args:
        apart: how many codes of each attribute are told apart before the fit is done, the others being rare; if that is
            not known, as many as may be.
    """
    tree = tree_over(marginals, domain)
    cells = cells_of_tree(tree, domain)
    fitted = cells_of_tree(tree, apart or [min(size, MOST_APART) for size in domain])
    seconds = (
        steps * EVALUATIONS_A_STEP * (fitted * SECONDS_A_CELL + (len(marginals) + len(tree.cliques)) * SECONDS_A_TABLE)
    )
    return Size(cells, 8 * (ARRAYS * fitted + RELEASED * (cells - fitted)), seconds)


def choose_inference(
    asked: str, tables: Iterable[Marginal], schema: Schema, steps: int, apart: Sequence[int] | None = None
) -> Inference:
    """The fit that was asked for, or consistency post-processing where a graphical model is too large or impossible.

    Args:
        apart: as of ``size_of_fit``.
    """
    if asked == TABLES:
        return Inference(TABLES, asked)
    tables, base = list(tables), schema.derived.base
    bases = [tuple(base[a] for a in table) for table in tables]
    whole = {a for table in tables for a in table if base[a] == a}
    if len(whole) < len(schema.attributes) or any(len(set(table)) < len(table) for table in bases):
        return Inference(TABLES, asked, reason="tables of the bits of codes are not fitted as a graphical model")
    size = size_of_fit(bases, schema.domain, steps, apart)
    reason = ""
    if size.bytes > MOST_BYTES:
        reason = f"a graphical model of these tables would need {size.bytes:,} bytes, more than {MOST_BYTES:,}"
    elif size.seconds > MOST_SECONDS:
        reason = f"a graphical model of these tables would take about {size.seconds:,.0f} s, more than {MOST_SECONDS}"
    return Inference(TABLES if reason else PGM, asked, size, reason)
