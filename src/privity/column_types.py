"""The types of a table's columns, for a schema whose domains are open: written by a person, or declared as stored.

Readers of pandas, polars and Arrow infer the type of a column from all of its values, nullable types too: one row more
with a ``?`` makes texts of integers. So no such type speaks by itself. Whoever calls may declare that the types as
stored are public, and the schema then says that they did (``types``).
"""

from __future__ import annotations

import pprint
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privity import given
from privity.common.data.schema import AS_STORED
from privity.common.errors import Catalogue, PrivityError
from privity.common.text.first_few import first_few
from privity.common.text.short_values import shorten
from privity.party.sources.address import Form
from privity.party.sources.held_rows import default_memory
from privity.party.sources.open_rows import connect
from privity.party.sources.source_settings import RowSettings
from privity.party.sources.store_columns import Column, Kind

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Keys = Mapping[str, Any]
"""Of a field, its type among them."""

Types = Mapping[str, str | Keys] | str
"""By column its type, or keys of its field such as type and timezone; or ``"as stored"``."""

DOMAINS = ("categories", "bins", "edges", "domain")
TEXT: Keys = {"type": "string"}

NOT_PRIVATE = "# Read from the table and its rows: not private. Check each type before you declare it."

_STORED = {
    Kind.TEXT: "string", Kind.BOOLEAN: "boolean", Kind.INTEGER: "integer", Kind.SINGLE: "number",
    Kind.DOUBLE: "number", Kind.DATE: "date", Kind.TIMESTAMP: "datetime", Kind.TIME: "time", Kind.DURATION: "duration",
}  # fmt: skip


def open_schema(table: given.Table, types: Types | None, *keys: str | None) -> dict[str, Any]:
    """A schema in which the domain of every column is yet to be discovered, and any value may be missing.

    Args:
        keys: columns of persons and of their order, if there are any: a person's places may be empty then.

    Raises:
        PrivityError: bad-option: nobody declared the types; they are to be as stored, and a column is stored with none.
    """
    absent = {"absentRows": True} if any(keys) else {}
    if types is None:
        raise _undeclared(table)
    if isinstance(types, Mapping):
        return {**absent, "fields": [_open_field(name, kind) for name, kind in types.items()]}
    if types != AS_STORED:
        hint = f'Write {{"COLUMN": "integer", ...}}, or "{AS_STORED}".'
        raise PrivityError(Catalogue.BAD_OPTION, option="types", reason=f"it is {types!r}", hint=hint)
    stored = {name: of_field for name, of_field in _as_stored(table).items() if name not in keys}
    return {"types": AS_STORED, **absent, "fields": [_open_field(name, of_field) for name, of_field in stored.items()]}


def drafted_types(table: given.Table) -> str:
    """What a person may check and paste as ``types``; read from the table and its rows, so **not private**.

    Raises:
        PrivityError: bad-option: its columns have no types that could be looked at.
    """
    if (frame := given.frame_of(table)) is None:
        found, lacking = {name: keys for name, (keys, _) in _of_store(table).items() if keys}, []
    else:
        looked = {str(name): _looked_at(column) for name, column in frame.items()}
        found = {name: keys for name, keys in looked.items() if keys}
        lacking = [name for name in looked if name not in found]
    short = {name: keys["type"] if len(keys) == 1 else dict(keys) for name, keys in found.items()}
    left = [f"# Left out, as no attribute can be of their type: {first_few(list(map(repr, lacking)))}."]
    return "\n".join([NOT_PRIVATE, *(left if lacking else []), pprint.pformat(short, sort_dicts=False, width=100)])


def _open_field(name: str, kind: str | Keys) -> dict[str, Any]:
    """A field of any domain, as far as its keys say nothing else."""
    keys = dict(kind) if isinstance(kind, Mapping) else {"type": str(kind)}
    closed = keys.get("type") == "boolean" or any(key in keys for key in DOMAINS)
    return {"name": name, **keys, **({} if closed else {"domain": "discover"}), "missingValues": [""]} | keys


def _undeclared(table: given.Table) -> PrivityError:
    """Nobody declared the types."""
    frame = given.frame_of(table)
    columns = list(map(str, frame.columns)) if frame is not None else list(_of_store(table))
    named = first_few([shorten(name) for name in columns])
    reason = f"nobody declared those of {named}, and one row can change the types that a table has by itself"
    hint = "print(Schema.draft_types(table)) shows them: check them, and give them as types={...}. Or give a schema."
    return PrivityError(Catalogue.BAD_OPTION, option="types", reason=reason, hint=hint)


def _as_stored(table: given.Table) -> dict[str, Keys]:
    """Types as the table has them: the caller says that they are public."""
    frame = given.frame_of(table)
    if frame is None:
        found = _of_store(table)
    else:
        found = {str(name): (_of_dtype(column.dtype), str(column.dtype)) for name, column in frame.items()}
    if lacking := [f"{shorten(name)} ({stored})" for name, (keys, stored) in found.items() if not keys]:
        reason = f"{first_few(lacking)}: no type of an attribute is stored"
        hint = "Declare types={...}: print(Schema.draft_types(table)) shows them."
        raise PrivityError(Catalogue.BAD_OPTION, option="types", reason=reason, hint=hint)
    return {name: keys for name, (keys, _) in found.items() if keys}


def _of_dtype(dtype: Any) -> Keys | None:
    """The type that a type of pandas stands for, which Arrow knows; None of ``object`` and what no attribute can be."""
    import pandas as pd
    import pyarrow as pa

    match dtype:
        case pd.ArrowDtype():
            return _of_arrow(dtype.pyarrow_dtype)
        case pd.CategoricalDtype():
            return _of_dtype(dtype.categories.dtype) or TEXT
        case pd.SparseDtype():
            return _of_dtype(dtype.subtype)
    try:
        return _of_arrow(pa.array(pd.Series([], dtype=dtype)).type)
    except (pa.ArrowException, ValueError, TypeError):
        return None


def _of_arrow(kind: pa.DataType) -> Keys | None:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _of_arrow(kind.value_type)
    if pa.types.is_timestamp(kind):
        return {"type": "datetime", **({} if kind.tz is None else {"timezone": _zone(kind.tz)})}
    if pa.types.is_decimal(kind):
        return {"type": "number" if kind.scale > 0 else "integer"}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return TEXT
    others = {
        "boolean": pa.types.is_boolean, "integer": pa.types.is_integer, "number": pa.types.is_floating,
        "date": pa.types.is_date, "time": pa.types.is_time, "duration": pa.types.is_duration,
    }  # fmt: skip
    return next(({"type": name} for name, fits in others.items() if fits(kind)), None)


def _zone(name: str) -> str:
    """A time zone as a schema declares it."""
    return name.removeprefix("UTC") or "UTC"


def _looked_at(column: pd.Series) -> Keys | None:
    """The type that the values of a column seem to have; None of what no attribute can be."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(column.dtype, pd.ArrowDtype):
        return TEXT if pa.types.is_null(column.dtype.pyarrow_dtype) else _of_dtype(column.dtype)
    try:
        kind = pa.array(column.convert_dtypes(), from_pandas=True).type
    except (pa.ArrowException, ValueError, TypeError, OverflowError):  # values of several types
        return TEXT if column.dtype == object else _of_dtype(column.dtype)
    return TEXT if pa.types.is_null(kind) else _of_arrow(kind)


def _of_store(table: given.Table) -> dict[str, tuple[Keys | None, str]]:
    """By column of a table at an address its type, if it has one, and what its store calls it.

    Raises:
        PrivityError: bad-option: no table, or a CSV file, which holds texts; source-unreachable, source-refused.
    """
    if not isinstance(table, str | Path):
        given.coded_by(table)
        hint = "Give the table itself, or a schema."
        raise PrivityError(Catalogue.BAD_OPTION, option="types", reason="the rows are coded", hint=hint)
    address = RowSettings(str(table), Path()).address()
    if address.form is Form.CSV:
        reason = "nobody declared them, and a CSV file has none"
        hint = 'Give types={"COLUMN": "integer", ...}, or a schema: Schema.draft(file) reads one, which is not private.'
        raise PrivityError(Catalogue.BAD_OPTION, option="types", reason=reason, hint=hint)
    with closing(connect(address, default_memory())) as store:
        return {name: (_of_column(column), column.declared or "none") for name, column in store.columns.items()}


def _of_column(column: Column) -> Keys | None:
    if column.kind is Kind.DECIMAL:
        return {"type": "integer" if column.scale == 0 else "number"}
    if column.kind is Kind.INSTANT:
        return {"type": "datetime", "timezone": "UTC"}
    return {"type": _STORED[column.kind]} if column.kind in _STORED else None
