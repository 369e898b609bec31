"""Columns of a synthetic table in the types that somebody asks for, such as those of the real table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from privity.common.data.schema import Schema
from privity.common.data.written_values import as_pandas, as_texts
from privity.common.errors import Catalogue, PrivityError
from privity.common.text.first_few import first_few
from privity.common.text.short_values import shorten

if TYPE_CHECKING:
    import pandas as pd


def as_types(frame: pd.DataFrame, schema: Schema, dtypes: Mapping[str, Any] | None) -> pd.DataFrame:
    """Decoded rows as pandas has such values, some columns in other types.

    A type of texts gives values as they stand in a file. Floats may round; nothing else changes a value.

    Args:
        dtypes: by column; ``real.dtypes`` is one.

    Raises:
        PrivityError: bad-option: a column that there is not, or a type that does not hold its values.
    """
    found = as_pandas(frame, schema)
    asked = {} if dtypes is None else {str(name): dtype for name, dtype in dtypes.items()}
    if unknown := [name for name in asked if name not in found.columns]:
        raise _refused(f"the table has no {first_few(unknown)}", f"Columns: {first_few(list(map(str, found)))}.")
    texts = as_texts(frame, schema) if asked else frame
    for name, dtype in asked.items():
        found[name] = _cast(name, found[name], texts[name], dtype)
    return found


def _cast(name: str, column: pd.Series, texts: pd.Series, dtype: Any) -> pd.Series:
    import pandas as pd

    try:
        kind = pd.api.types.pandas_dtype(dtype)
        if not isinstance(kind, np.dtype) and pd.api.types.is_string_dtype(kind):
            return texts.astype(object).mask(column.isna().to_numpy(), None).astype(kind)
        if isinstance(kind, pd.CategoricalDtype) and kind.categories is not None:
            # Texts of a file may be the categories of what is a date or a truth value here.
            of_texts = pd.api.types.is_string_dtype(kind.categories.dtype) and not pd.api.types.is_string_dtype(column)
            column = texts.astype(object).mask(column.isna().to_numpy(), None) if of_texts else column
            if not column.dropna().isin(kind.categories).all():
                raise _refused(f"{shorten(name)} has values that are no categories of the type", _remedy(column))
        cast = column.astype(kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise _refused(f"{shorten(name)} does not go into {dtype}: {error}", _remedy(column)) from None
    if kind.kind not in "fcO":
        gone = cast.isna().to_numpy() != column.isna().to_numpy()
        changed = gone.any() or not (cast.astype(object) == column.astype(object))[~column.isna()].all()
        if changed:
            raise _refused(f"{shorten(name)} has values that {dtype} does not hold", _remedy(column))
    return cast


def _remedy(column: pd.Series) -> str:
    return f"Its type is {column.dtype}; leave it out, or name a type that holds its values."


def _refused(reason: str, hint: str) -> PrivityError:
    return PrivityError(Catalogue.BAD_OPTION, option="dtypes", reason=reason, hint=hint)
