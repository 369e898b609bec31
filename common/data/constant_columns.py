"""Columns in which every row has the same value: declared, never read, and exact in each synthetic row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privity.common.data.attribute import Attribute, Value, value_text
from privity.common.data.schema_fields import FieldReader
from privity.common.errors import Problem

if TYPE_CHECKING:
    import pandas as pd

CONSTANT = frozenset(("constant", "format", "timezone", "decimals", "readOffRows"))
"""Keys of such a field beside those of every field."""


@dataclass(frozen=True)
class Constant:
    """A value that every row has.

    Attributes:
        value: as the only category, or one of the two truth values.
        attribute: what its values are.
    """

    value: Value
    attribute: Attribute

    @property
    def sources(self) -> tuple[str, ...]:
        return ()

    def values(self, frame: pd.DataFrame, _: Mapping[str, Attribute]) -> Any:
        """Of decoded rows."""
        value = self.value
        if isinstance(value, str) or self.attribute.type == "boolean":
            return [value_text(value)] * len(frame)
        if self.attribute.type == "number":
            return np.full(len(frame), float(value))
        whole = int(value)
        return np.full(len(frame), whole, dtype=np.int64 if abs(whole) < 2**63 else object)


def read_constant(item: Mapping[str, Any], place: int, file: str) -> tuple[Constant, list[Problem]]:
    """Read ``constant`` of a field, with every fault of it: a category alone."""
    value = item["constant"]
    boolean = item["type"] == "boolean"
    kept = {key: item[key] for key in item.keys() - {"constant"}}
    reader = FieldReader(file, place, kept | ({} if boolean else {"categories": [value]}), [])
    attribute = reader.read()
    if isinstance(value, bool) != boolean:
        message = f"a constant of type {item['type']} is {'true or false' if boolean else 'no truth value'}."
        reader.fault("constant", "constant", message, "Write a value of the field's type.")
    problems = [replace(one, field=one.field.replace(".categories", ".constant")) for one in reader.problems]
    found = value if boolean else next(iter(attribute.categories), "")
    return Constant(found, attribute), problems
