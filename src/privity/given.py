"""What people hand to the Python face: tables of any kind, and schemas in any form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from privity.common.data import schema as read
from privity.common.data.coded_table import CodedTable
from privity.common.errors import Catalogue, PrivityError
from privity.common.release.rule_forecast import unkept_rules
from privity.common.text.short_values import listed
from privity.common.text.terminal import warn
from privity.party.sources.address import Address, parse_address
from privity.party.sources.frame_rows import open_frame
from privity.party.sources.history_rows import open_histories
from privity.party.sources.rows import InMemory, Rows
from privity.party.sources.source_settings import RowSettings, slots_of

if TYPE_CHECKING:
    import pandas as pd

Table = Any
"""A pandas, polars or Arrow table, a relation of DuckDB, or anything else that speaks Arrow's stream interface; a path
or an address (docs/sources.md); two tables of histories by name; rows that are coded already, or a function that codes
them by a schema."""


@runtime_checkable
class HasSchema(Protocol):
    """What can be written as a Table Schema."""

    def table_schema(self) -> dict[str, Any]:
        """The document."""
        ...


Schema = read.Schema | HasSchema | Mapping[str, Any] | Path | str
"""A ``privity.Schema``, a Table Schema as a mapping, or the path of one."""


def given_schema(schema: Schema | None) -> read.Schema:
    """The schema, checked.

    Raises:
        ProblemsFound: every fault of it.
        PrivityError: bad-option: it is none, or nobody gave one; file-missing and the like.
    """
    match schema:
        case None:
            reason = "nobody says which values may occur, and no row may decide it"
            hint = "Draft one, and check it: Schema.draft(TABLE); or discover domains privately: Schema.discover(...)."
            raise PrivityError(Catalogue.BAD_OPTION, option="schema", reason=reason, hint=hint)
        case read.Schema():
            return schema
        case HasSchema():
            return read.parse_schema(schema.table_schema(), "schema")
        case Mapping():
            return read.parse_schema(dict(schema), "schema")
        case Path() | str():
            return read.load_schema(schema)
    hint = "Give a privity.Schema, a Table Schema as a dictionary, or the path of one."
    raise PrivityError(Catalogue.BAD_OPTION, option="schema", reason=f"a {_kind(schema)} is no schema", hint=hint)


def warn_of_unkept_rules(schema: read.Schema, *, calls: int = 1) -> None:
    """Warn of rules that rows of a model will hardly meet, if there are any.

    Args:
        calls: how many calls above this one the warning is about.
    """
    for told in unkept_rules(schema):
        warn(told, calls=calls + 1)


def plain(value: Any) -> Any:
    """A setting as a document has it: an exact number as its text."""
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}" if value.denominator > 1 else str(value.numerator)
    if isinstance(value, float | Decimal):
        return str(value)
    # A whole number of NumPy is one of Python's.
    return int(value) if hasattr(value, "__index__") and not isinstance(value, bool) else value


def frame_of(table: Table) -> pd.DataFrame | None:
    """The table as a DataFrame, each value as it is; None of what is no table in memory.

    Raises:
        PrivityError: bad-option: a column of a type that Arrow does not have.
    """
    import pandas as pd
    import pyarrow as pa

    if isinstance(table, pd.DataFrame):
        return table
    if hasattr(table, "collect") and not hasattr(table, "__arrow_c_stream__"):
        table = table.collect()  # of polars, which has not looked at its rows yet
    if not hasattr(table, "__arrow_c_stream__"):
        return None
    try:
        return pa.table(table).to_pandas(types_mapper=pd.ArrowDtype)
    except pa.ArrowInvalid:
        reason, hint = "Arrow does not have the type of one of its columns", "Make it integers of 64 bits, or texts."
        raise PrivityError(Catalogue.BAD_OPTION, option="table", reason=reason, hint=hint) from None


def coded_by(table: Table, person: str | None = None, order: str | None = None) -> Callable[[read.Schema, int], Rows]:
    """What gives the table's rows by a schema, for so many rows a person at the most.

    Args:
        person, order: columns, where people may have several rows or absent ones.

    Raises:
        PrivityError: bad-option: it is no table, or its rows are coded and columns are named.
    """
    if isinstance(table, Mapping):
        return _histories(table, person, order)
    if (frame := frame_of(table)) is not None:
        return lambda schema, most: open_frame(frame, schema, slots_of(schema, person, order, most))
    if isinstance(table, str | Path):
        settings = RowSettings(str(table), Path(), person=person, order=order)
        return lambda schema, rows_per_person: settings.open(schema, rows_per_person).rows
    if person is not None or order is not None:
        reason, hint = "the rows are coded, each place of a person one of them", "Give the table itself."
        raise PrivityError(Catalogue.BAD_OPTION, option="person", reason=reason, hint=hint)
    if isinstance(table, CodedTable):
        return lambda schema, _rows: _checked(InMemory(table), schema)
    if callable(table):
        return lambda schema, _rows: _checked(table(schema), schema)
    if hasattr(table, "joint_counts"):
        return lambda schema, _rows: _checked(table, schema)
    hint = "Give a pandas, polars or Arrow table, a relation of DuckDB, or the path or address of a table."
    raise PrivityError(Catalogue.BAD_OPTION, option="table", reason=f"a {_kind(table)} is no table", hint=hint)


def both_of(table: Table, schema: read.Schema) -> list[Table]:
    """The table, or persons and events, if the schema is of both.

    Raises:
        PrivityError: bad-option: other tables than it is of.
    """
    if schema.history is None and not isinstance(table, Mapping):
        return [table]
    names = () if schema.history is None else schema.history.names
    if not isinstance(table, Mapping) or {*table} != {*names}:
        wanted = f"Give both by name: {listed(list(names))}." if names else "Give one table."
        raise PrivityError(Catalogue.BAD_OPTION, option="table", reason="the schema is of other tables", hint=wanted)
    return [table[name] for name in names]


def _histories(
    tables: Mapping[str, Table], person: str | None, order: str | None
) -> Callable[[read.Schema, int], Rows]:
    """Two tables by name; what links and orders them is in the schema."""
    if person is not None or order is not None:
        reason, hint = "of two tables the schema says whose an event is", "Leave person and order out."
        raise PrivityError(Catalogue.BAD_OPTION, option="person", reason=reason, hint=hint)
    read_from: dict[str, pd.DataFrame | Address] = {}
    for name, table in tables.items():
        frame = frame_of(table)
        if frame is None and not isinstance(table, str | Path):
            hint = "Give a table for each name: of pandas, polars or Arrow, or the path of a CSV file."
            raise PrivityError(Catalogue.BAD_OPTION, option="table", reason=f"a {_kind(table)} is no table", hint=hint)
        read_from[name] = parse_address(str(table), Path()) if frame is None else frame

    def opened(schema: read.Schema, most: int) -> Rows:
        if schema.history is None:
            reason, hint = "the schema is of one table, and several are given", "Declare both in one schema."
            raise PrivityError(Catalogue.BAD_OPTION, option="table", reason=reason, hint=f"{hint} (docs/histories.md).")
        return open_histories(schema, read_from, most).rows

    return opened


def can_be_recoded(table: Table) -> bool:
    """Whether the rows can be coded by one schema after another."""
    return not (isinstance(table, CodedTable) or (hasattr(table, "joint_counts") and not callable(table)))


def _checked(rows: Rows, schema: read.Schema) -> Rows:
    if rows.schema.digest != schema.digest:
        raise PrivityError(Catalogue.TAMPERED, what="table", reason="it is coded under another schema")
    return rows


def _kind(value: object) -> str:
    return type(value).__name__
