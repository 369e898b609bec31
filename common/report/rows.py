"""Synthetic rows as codes: of a frame, or of the file that it was written to; the same codes of both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from common.attribute import Attribute
from common.errors import Catalogue, PrivityError
from common.schema import Schema
from common.table import CodedTable


def code_frame(frame: pd.DataFrame, schema: Schema, file: str) -> CodedTable:
    """Codes of the values that ``common.table.decode`` gives, or of their texts.

    Raises:
        PrivityError: tampered, for other columns or for a value outside the domain.
    """
    if list(frame.columns) != list(schema.names) or not len(frame):
        raise PrivityError(
            Catalogue.TAMPERED, what=file, reason="it does not have the columns of the schema, or no row"
        )
    try:
        return CodedTable(schema, tuple(_codes(a, frame[a.name]) for a in schema.attributes))
    except (ValueError, OverflowError) as error:
        raise PrivityError(Catalogue.TAMPERED, what=file, reason=str(error)) from error


def read_synthetic(path: Path, schema: Schema) -> CodedTable:
    """Codes of a release's rows.

    Raises:
        PrivityError: as ``code_frame``, or a file that cannot be read.
    """
    kinds: Mapping[Any, Any] = {a.name: _kind(a) for a in schema.attributes}
    try:
        frame = pd.read_csv(
            path,
            dtype=dict(kinds),
            keep_default_na=False,
            na_filter=False,
            skip_blank_lines=False,
            encoding="utf-8",
        )
        # Each text to its nearest double, which not every version of pandas does.
        numbers = {
            a.name: frame[a.name].to_numpy(dtype=object).astype(np.float64)
            for a in schema.attributes
            if a.edges and a.type == "number" and not a.missing
        }
    except OSError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=error.strerror or error) from error
    except (ValueError, KeyError, OverflowError) as error:
        raise PrivityError(Catalogue.TAMPERED, what=str(path), reason=str(error)) from error
    return code_frame(frame.assign(**numbers), schema, str(path))


def _kind(attribute: Attribute) -> type:
    """How a column is read: integers where every value is one, texts otherwise."""
    whole = attribute.edges and attribute.type == "integer" and not attribute.missing
    return np.int64 if whole else str


def _codes(attribute: Attribute, column: pd.Series) -> Any:
    if not attribute.categories and pd.api.types.is_numeric_dtype(column.dtype):
        return _bins(attribute, column.to_numpy())
    places, distinct = pd.factorize(column.to_numpy(dtype=object), use_na_sentinel=False)
    texts = [str(value) for value in distinct]
    if attribute.categories:
        found = [attribute.code_of(text) for text in texts]
        if None in found:
            raise ValueError(f"a value of {attribute.name!r} lies outside its domain")
        return np.array(found, dtype=np.int64)[places]
    absent = np.array([text in attribute.missing for text in texts], dtype=bool)
    numbers = [text for text, missing in zip(texts, absent, strict=True) if not missing]
    codes = np.full(len(texts), attribute.missing_code or 0, dtype=np.int64)
    codes[~absent] = _bins(attribute, np.array(numbers).astype(np.int64 if attribute.type == "integer" else np.float64))
    return codes[places]


def _bins(attribute: Attribute, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The bin of each number, exactly as ``Attribute.code_of`` has it."""
    if attribute.type == "integer":
        edges: npt.NDArray[Any] = np.array(attribute.integer_edges, dtype=np.int64)
        if values.size and not edges[0] <= values.min() <= values.max() < edges[-1]:
            raise ValueError(f"a value of {attribute.name!r} lies outside its domain")
        return (np.searchsorted(edges, values, side="right") - 1).astype(np.int64)
    edges = np.array([float(edge) for edge in attribute.edges])
    codes = (np.searchsorted(edges, values, side="right") - 1).astype(np.int64)
    # Doubles of two numbers are in the order of the numbers, or equal: only then is the exact reading needed.
    for place in np.flatnonzero(np.isin(values, edges) | ~np.isfinite(values)):
        code = attribute.code_of(repr(float(values[place])))
        codes[place] = -1 if code is None else code
    if values.size and not 0 <= codes.min() <= codes.max() < attribute.values:
        raise ValueError(f"a value of {attribute.name!r} lies outside its domain")
    return codes
