"""Column shapes and pair trends as SDMetrics defines them, from that library.

Bins are the values: a release says nothing about where in its bin a number lies. Numbers are taken as ordered
(by bin, or by their value), everything else as categories, and so is a number that may be missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable, Column


@dataclass(frozen=True)
class Score:
    """The score of a column or a pair, 0 to 1, 1 for equal; None where the library defines none."""

    attributes: tuple[str, ...]
    metric: str
    score: float | None


def numeric(attribute: Attribute) -> bool:
    """Whether values are compared as numbers: bins, and categories that are numbers, unless any may be no value."""
    return attribute.type in ("integer", "number") and attribute.apart == 0


def values_of(attribute: Attribute, codes: Column) -> Any:
    """The column as the libraries take it, shape (rows,): floats for numbers, else one short text for each code."""
    if not numeric(attribute):
        return pd.Series(np.array([f"c{code}" for code in range(attribute.size)], dtype=object)[codes])
    if attribute.edges:
        return pd.Series(codes.astype(np.float64))
    return pd.Series(np.array([float(value) for value in attribute.categories])[codes])


def column_shapes(real: CodedTable, synthetic: CodedTable) -> list[Score]:
    """1 - the Kolmogorov-Smirnov statistic of a number, 1 - total variation distance of a category."""
    from sdmetrics.single_column import KSComplement, TVComplement

    found = []
    for attribute, mine, theirs in zip(real.schema.attributes, real.columns, synthetic.columns, strict=True):
        metric = KSComplement if numeric(attribute) else TVComplement
        score = metric.compute(values_of(attribute, mine), values_of(attribute, theirs))
        found.append(Score((attribute.name,), metric.__name__, _defined(score)))
    return found


def pair_trends(real: CodedTable, synthetic: CodedTable) -> list[Score]:
    """Of two numbers 1 - half the difference of their correlations, of any others 1 - distance of their tables."""
    from sdmetrics.column_pairs import ContingencySimilarity, CorrelationSimilarity
    from sdmetrics.errors import ConstantInputError

    attributes = real.schema.attributes
    mine, theirs = (
        [values_of(attribute, column) for attribute, column in zip(attributes, table.columns, strict=True)]
        for table in (real, synthetic)
    )
    found = []
    for a, b in combinations(range(len(attributes)), 2):
        both = numeric(attributes[a]) and numeric(attributes[b])
        metric = CorrelationSimilarity if both else ContingencySimilarity
        frames = (pd.DataFrame({"a": side[a], "b": side[b]}) for side in (mine, theirs))
        try:
            score = metric.compute(*frames)
        except ConstantInputError:
            score = math.nan
        found.append(Score((attributes[a].name, attributes[b].name), metric.__name__, _defined(score)))
    return found


def _defined(score: float) -> float | None:
    return None if math.isnan(score) else min(1.0, max(0.0, float(score)))
