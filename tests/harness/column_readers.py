"""Readers that look at a whole column: put in the place of ours, they must be found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd


def ranks_by_all(texts: Sequence[str]) -> np.ndarray:
    """Finding A1: the order of texts as integers if all of them are, else byte by byte."""
    try:
        return np.argsort(np.argsort([int(text) for text in texts]))
    except ValueError:
        return np.argsort(np.argsort(np.array(texts, dtype=object)))


def column_as_text(column: pd.Series) -> list[str]:
    """Finding A2: values as texts of the type that pandas chose for their column."""
    return column.map(str).tolist()
