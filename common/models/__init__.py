"""What is learnt and released: models that can be sampled, saved and loaded."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from privity.common.schema import Schema
from privity.common.table import CodedTable


class Model(Protocol):
    """A joint distribution over the attributes of a schema."""

    schema: Schema

    @property
    def alone(self) -> frozenset[int]:
        """Attributes that the model takes to be independent of all others."""
        ...

    def sample(self, rows: int, generator: np.random.Generator) -> CodedTable:
        """Independent rows of the distribution."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The content of ``model.json``; ``privity.common.models.load.load_model`` reads it."""
        ...
