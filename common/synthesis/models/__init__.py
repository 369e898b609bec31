"""What is learnt and released: models that can be sampled, saved and loaded.

A model holds what was revealed and nothing of rows, so that sampling is free.

Open ``bayesian_network.py``, ``junction_tree_model.py``, ``copula_model.py`` and ``mixture_model.py`` for the models,
``conditioning.py`` for rows under conditions, ``given_codes.py`` for what follows the codes that a row has already,
and ``load_model.py`` for ``model.json``.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema


class Model(Protocol):
    """A joint distribution over the attributes of a schema."""

    schema: Schema

    @property
    def alone(self) -> frozenset[int]:
        """Attributes that the model takes to be independent of all others."""
        ...

    def sample(self, rows: int, generator: np.random.Generator, *, independent: bool = False) -> CodedTable:
        """Rows of the distribution: one by one, or together, so that their counts are nearer to it."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The content of ``model.json``; ``privity.common.synthesis.models.load_model.load_model`` reads it."""
        ...
