"""Rows of text as rules look at them: a number counts with all of its digits, whatever its bin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np
import pandas as pd

from privity.common.data.attribute import Attribute, read_number
from privity.common.data.constraints.expression import Rows, Values
from privity.common.data.constraints.row_constraints import RowConstraint


def of_texts(constraints: Iterable[RowConstraint], attributes: Mapping[str, Attribute], frame: pd.DataFrame) -> Rows:
    """Rows of the attributes that these rules are about.

    A category is the one that the schema codes the text as. What the schema gives no code, and None, is missing.

    Args:
        frame: of texts, one column an attribute, others left alone.
    """
    rows = {}
    for name in dict.fromkeys(name for constraint in constraints for name in constraint.attributes):
        places, texts = pd.factorize(frame[name].to_numpy(dtype=object), use_na_sentinel=False)
        found = [_value(attributes[name], text) for text in texts]
        values = np.empty(len(found), dtype=object)
        values[:] = [0 if value is None else value for value in found]
        missing = np.array([value is None for value in found], dtype=np.bool_)
        rows[name] = Values(values[places], missing[places])
    return rows


def _value(attribute: Attribute, text: object) -> int | Fraction | None:
    """A code of a text or a boolean, the number itself of a number; None if it is missing."""
    if not isinstance(text, str) or text in attribute.missing:
        return None
    if attribute.edges:
        return read_number(text)
    code = attribute.code_of(text)
    if code is None or attribute.type in ("string", "boolean"):
        return code
    value = attribute.categories[code]
    assert not isinstance(value, str)
    return value
