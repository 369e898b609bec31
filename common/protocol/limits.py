"""Public limits on what a step may ask for, checked before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from common.errors import Catalogue, PrivityError
from common.privacy.noise import LARGEST_SCALE, LARGEST_TERM
from common.statistics import Marginal

TABLE_CELLS = 1 << 20
"""Largest contingency table that is counted or released."""

ROUND_CELLS = 1 << 24
"""Most cells of one round: 128 MiB as 64-bit counts."""


def check_scale(scale: Fraction) -> None:
    """Refuse a noise scale that the exact integer samplers do not serve, before anything is charged.

    Raises:
        PrivityError: step-refused.
    """
    if scale.numerator > LARGEST_TERM or scale.denominator > LARGEST_TERM or scale > LARGEST_SCALE:
        reason = "the noise would be too large, or epsilon has too many digits, for exact integer noise"
        raise PrivityError(Catalogue.STEP_REFUSED, step="noise", reason=reason)


def count_cells(tables: Sequence[Marginal], domain: Sequence[int]) -> int:
    """Cells of all tables together."""
    return sum(math.prod(domain[a] for a in table) for table in tables)


def check_tables(tables: Sequence[Marginal], names: Sequence[str], domain: Sequence[int]) -> None:
    """Refuse tables that the schema does not have, or that are too large, naming their attributes.

    Raises:
        PrivityError: step-refused or domain-too-large; nothing has been charged.
    """
    if not tables:
        raise PrivityError(Catalogue.STEP_REFUSED, step="tables", reason="it asks for no table")
    for table in tables:
        if not table or len(set(table)) != len(table) or not all(0 <= a < len(domain) for a in table):
            reason = "a table names attributes that the schema does not have, or one twice"
            raise PrivityError(Catalogue.STEP_REFUSED, step="tables", reason=reason)
        cells = math.prod(domain[a] for a in table)
        if cells > TABLE_CELLS:
            attributes = ", ".join(names[a] for a in table)
            raise PrivityError(Catalogue.DOMAIN_TOO_LARGE, attributes=attributes, cells=cells, limit=TABLE_CELLS)
    total = count_cells(tables, domain)
    if total > ROUND_CELLS:
        raise PrivityError(
            Catalogue.DOMAIN_TOO_LARGE, attributes=f"{len(tables)} tables", cells=total, limit=ROUND_CELLS
        )
