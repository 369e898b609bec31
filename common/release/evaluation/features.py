"""Codes as features of scikit-learn's classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from privity.common.data.coded_table import CodedTable


def one_hot(table: CodedTable, places: Sequence[int]) -> Any:
    """A sparse matrix of shape (rows, codes of these attributes): a 1 for each code, missing ones included."""
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(categories=[np.arange(table.schema.domain[place]) for place in places])
    return encoder.fit_transform(np.column_stack([table.columns[place] for place in places]).astype(np.int64))


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold the threads of scikit-learn's libraries to one.

    On two busy cores theirs wait for each other (docs/performance.md).
    """
    import sklearn.ensemble  # noqa: F401 - what is not loaded yet cannot be held

    with threadpool_limits(limits=1):
        yield
