"""A mixture: each synthetic row comes from one of several models, in fixed proportions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privity.common.data.apportionment import quotas
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema
from privity.common.synthesis.models import Model

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Part:
    """A model of some rows: its weight is their public number."""

    rows: int
    model: Model


class Mixture:
    """Models side by side, as when the owners of parts of a table learn each their own.

    Raises:
        ValueError: no parts, a part without rows, or parts of different schemas.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        if not parts or any(part.rows < 1 for part in parts):
            raise ValueError("a mixture needs parts, each with rows")
        if len({part.model.schema.digest for part in parts}) != 1:
            raise ValueError("the parts of a mixture have different schemas")
        self.parts = tuple(parts)
        self.schema: Schema = parts[0].model.schema

    @property
    def alone(self) -> frozenset[int]:
        """Attributes that stand alone in every part."""
        return frozenset.intersection(*(part.model.alone for part in self.parts))

    def sample(self, rows: int, generator: np.random.Generator, *, independent: bool = False) -> CodedTable:
        """Rows in the parts' proportions (largest remainders, if they are not independent), shuffled."""
        sizes = [part.rows for part in self.parts]
        whole = sum(sizes)
        drawn = generator.multinomial(rows, [size / whole for size in sizes]) if independent else quotas(rows, sizes)
        tables = [
            part.model.sample(int(count), generator, independent=independent)
            for part, count in zip(self.parts, drawn, strict=True)
        ]
        columns = (np.concatenate(parts) for parts in zip(*(table.columns for table in tables), strict=True))
        return CodedTable(self.schema, tuple(columns)).take(generator.permutation(rows))

    def to_dict(self) -> dict[str, Any]:
        return {
            "format_version": FORMAT_VERSION,
            "kind": "mixture",
            "schema_digest": self.schema.digest,
            "parts": [{"rows": part.rows, "model": part.model.to_dict()} for part in self.parts],
        }
