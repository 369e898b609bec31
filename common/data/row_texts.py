"""Rows of a source as rules look at them: a number counts with all of its digits, whatever its bin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.constant_columns import Constant
from privity.common.data.expression import Rows, Values
from privity.common.data.frame_values import Cell, Value, code_of, number_of
from privity.common.data.made_columns import Lookup, Total
from privity.common.data.row_constraints import RowConstraint
from privity.common.data.unread_columns import UnreadColumn

if TYPE_CHECKING:
    import pandas as pd


def of_values(constraints: Iterable[RowConstraint], attributes: Mapping[str, Attribute], frame: pd.DataFrame) -> Rows:
    """Rows of the attributes that these rules are about.

    A category is the one that the schema codes the value as. What the schema gives no code, and None, is missing.

    Args:
        frame: of values that ``frame_values`` read, one column an attribute, others left alone.
    """
    import pandas as pd

    rows = {}
    for name in dict.fromkeys(name for constraint in constraints for name in constraint.attributes):
        places, distinct = pd.factorize(frame[name].to_numpy(dtype=object), use_na_sentinel=False)
        found = [_value(attributes[name], value) for value in distinct]
        values = np.empty(len(found), dtype=object)
        values[:] = [0 if value is None else value for value in found]
        missing = np.array([value is None for value in found], dtype=np.bool_)
        rows[name] = Values(values[places], missing[places])
    return rows


def disagreeing(
    column: UnreadColumn, rows: Mapping[str, Sequence[Value]], attributes: Mapping[str, Attribute]
) -> npt.NDArray[np.bool_]:
    """Which rows have another value in this column than the one that follows, shape (rows,).

    Args:
        rows: what ``frame_values`` read, of this column and of those that it follows from.
    """
    made = column.made
    assert made is not None
    listed = list(zip(*(rows[name] for name in (*made.sources, column.name)), strict=True))
    known = {row: _disagrees(made, [attributes[name] for name in made.sources], row) for row in set(listed)}
    return np.fromiter((known[row] for row in listed), np.bool_, len(listed))


def _disagrees(made: Total | Lookup | Constant, sources: Sequence[Attribute], row: Sequence[Value]) -> bool:
    """Whether the last value of the row is another one than what follows from the others."""
    own = _value(made.attribute, row[-1])
    if isinstance(made, Constant):
        attribute = made.attribute
        wanted: Any = made.value
        if attribute.type in ("string", "boolean"):
            wanted = attribute.categories.index(made.value)
        return own is None or own != wanted
    found = [_value(attribute, value) for attribute, value in zip(sources, row, strict=False)]
    known = [value for value in found if value is not None]
    if len(known) < len(found):
        return own is not None
    if isinstance(made, Total):
        return own != sum(made.signed(known))
    code = code_of(sources[0], row[0])
    return own is None or code_of(made.attribute, row[-1]) != made.attribute.categories.index(made.of_code[code or 0])


def _value(attribute: Attribute, value: object) -> int | Fraction | None:
    """A code of a text or a boolean, the number itself of a number; None if it is missing."""
    if not isinstance(value, str | Cell):
        return None
    code = code_of(attribute, value)
    if code is not None and code == attribute.missing_code:
        return None
    if attribute.edges:
        return number_of(attribute, value)
    if code is None or attribute.type in ("string", "boolean"):
        return code
    category = attribute.categories[code]
    assert not isinstance(category, str)
    return category
