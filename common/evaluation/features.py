"""Codes as features of scikit-learn's classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from common.table import CodedTable


def one_hot(table: CodedTable, places: Sequence[int]) -> Any:
    """A sparse matrix of shape (rows, codes of these attributes): a 1 for each code, missing ones included."""
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(categories=[np.arange(table.schema.domain[place]) for place in places])
    return encoder.fit_transform(code_matrix(table, places))


def code_matrix(table: CodedTable, places: Sequence[int]) -> npt.NDArray[np.int64]:
    """The codes themselves, shape (rows, attributes): for trees, which ask only for the order of values."""
    return np.column_stack([table.columns[place] for place in places]).astype(np.int64)
