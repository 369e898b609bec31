"""Any backend of ibis: counts are taken where the rows are. Spark has more of its own (``spark_store.py``).

Questions are written once, in DuckDB's dialect; ibis (sqlglot) puts them into the backend's own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from privity.common.data.coded_table import code_type
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.address import Address
from privity.party.sources.sql_coding import quoted, text_literal
from privity.party.sources.store import Codes
from privity.party.sources.store_columns import FLOATS, Column, Kind

try:
    import ibis
    import ibis.expr.datatypes as dt
    import sqlglot
except ImportError:  # the extra is not installed
    ibis = None

WITHOUT_GROUPING_SETS = ("sqlite", "mysql", "impala", "datafusion", "druid", "exasol", "risingwave", "flink")
VIEW = "privity_rows"
COPIED = (
    "Copy the rows into a table that declares a type for each column: "
    "CREATE TABLE typed ({name} TEXT, ...); INSERT INTO typed SELECT {name}, ... FROM the table."
)
"""What to do about a column of SQLite: a view does not help, as an expression of a view has no declared type."""

FILES = (".parquet", ".pq")
ODD_TEXT = "'\\' \\\\ \" \n $1 ${x} %s {} ; -- /* \\n"


class IbisStore:
    """A ``Store`` of ``privity.party.sources.store``.

    Raises:
        PrivityError: source-unreachable, source-refused.
    """

    counts = True
    one_state = False
    fence = ""

    def __init__(self, address: Address) -> None:
        self.name = address.name
        if ibis is None:
            reason, hint = "ibis is not installed", "Install the extra: pip install 'privity[ibis]'."
            raise PrivityError(Catalogue.SOURCE_REFUSED, source=self.name, reason=reason, hint=hint)
        self._address = address
        self._backend: Any = None
        self._connect()

    def _connect(self) -> None:
        with self._told("it cannot be connected to"):
            self._backend = ibis.connect(self._address.url)
            self._set_up()
        table = self._address.table
        with self._told("it has no such table", Catalogue.SOURCE_REFUSED):
            if table.endswith(FILES) or "/" in table:
                # What a cluster reads: a folder or a pattern of Parquet files.
                self._table = self._backend.read_parquet(table, table_name=VIEW)
            else:
                *schema, name = table.split(".")
                self._table = self._backend.table(name, **({"database": ".".join(schema)} if schema else {}))
        self.relation = self._named()
        self.grouping_sets = self._backend.name not in WITHOUT_GROUPING_SETS
        # Of each connection: settings are a session's.
        self._check_texts()

    def _set_up(self) -> None:
        """Set what a session of the backend needs."""

    def _named(self) -> str:
        operation = self._table.op()
        space = getattr(operation, "namespace", None)
        parts = [getattr(space, "catalog", None), getattr(space, "database", None), operation.name]
        return ".".join(quoted(part) for part in parts if part)

    def _check_texts(self) -> None:
        """Backends have escapes of their own in texts, and settings that change them: texts must arrive as they are."""
        same = "CASE WHEN 'a' = 'A' OR 'a' = 'a ' THEN 1 ELSE 0 END"
        if self.rows(f"SELECT {text_literal(ODD_TEXT)} AS found, {same} AS same") != [(ODD_TEXT, 0)]:
            reason, hint = "it reads or compares texts in a way of its own", "Use another backend for these rows."
            raise PrivityError(Catalogue.SOURCE_REFUSED, source=self.name, reason=reason, hint=hint)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        columns = {name: _column(name, kind) for name, kind in self._table.schema().items()}
        if self._is_sqlite:
            columns |= {name: Column(name, Kind.OTHER, "", key=False) for name in self._without_type()}
        columns |= self._without_infinities(columns)
        if self._is_sqlite:
            columns |= {c.name: replace(c, number="", loose=True) for c in columns.values()}
            unread = [column for column in columns.values() if column.kind is Kind.OTHER]
            columns |= {c.name: replace(c, remedy=COPIED.format(name=quoted(c.name))) for c in unread}
        return columns

    def _without_infinities(self, columns: Mapping[str, Column]) -> Mapping[str, Column]:
        """Columns of floats, if the backend reads an infinity as another number."""
        floats = [column for column in columns.values() if column.kind in FLOATS]
        infinite = "CAST('Infinity' AS FLOAT8) > CAST('1e308' AS FLOAT8)"
        if floats and self.rows(f"SELECT CASE WHEN {infinite} THEN 1 ELSE 0 END AS found") != [(1,)]:
            # SQLite reads it as 0, which would then count as an infinity.
            declared = "of which this backend cannot name the infinities"
            return {c.name: Column(c.name, Kind.OTHER, f"{c.declared}, {declared}") for c in floats}
        return {}

    @property
    def _is_sqlite(self) -> bool:
        return bool(self._backend.name == "sqlite")

    def _without_type(self) -> list[str]:
        """Columns of a SQLite table without a declared type; ibis takes the type of the value in the first row."""
        operation = self._table.op()
        space = getattr(operation.namespace, "database", None) or "main"
        listed = f"SELECT name, type FROM pragma_table_info({text_literal(operation.name)}, {text_literal(space)})"
        with self._asked() as backend, contextlib.closing(backend.raw_sql(listed)) as cursor:
            return [name for name, declared in cursor.fetchall() if not declared.strip()]

    def value(self, column: Column) -> str:
        name = quoted(column.name)
        if column.kind is Kind.TEXT:
            # What is made of a column has no collation of the column's own.
            return f"({name} || '')"
        # In SQLite a column of any type may hold texts, and have a collation.
        return f'({name} COLLATE "binary")' if self._is_sqlite else name

    def rows(self, query: str) -> Sequence[Sequence[Any]]:
        with self._asked() as backend:
            if self._is_sqlite:
                # ibis would take the types of the answer from its first row.
                query = in_dialect(backend, query)
                # Bytes that are no UTF-8 are that row's fault alone.
                backend.con.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
                with contextlib.closing(backend.raw_sql(query)) as cursor:
                    return [tuple(row) for row in cursor.fetchall()]
            found = backend.sql(query, dialect="duckdb").to_pyarrow()
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def batches(self, query: str, sizes: Sequence[int]) -> Iterator[list[Codes]]:
        with self._asked() as backend:
            for batch in backend.sql(query, dialect="duckdb").to_pyarrow_batches():
                yield [
                    batch.column(i).to_numpy(zero_copy_only=False).astype(code_type(size + 1))
                    for i, size in enumerate(sizes)
                ]

    def state(self) -> str:
        return ""

    def close(self) -> None:
        if self._backend is not None:
            with contextlib.suppress(Exception):
                self._backend.disconnect()
            self._backend = None

    @contextmanager
    def _asked(self) -> Iterator[Any]:
        """The backend for one question; after a failure the next one finds a new connection."""
        if self._backend is None:
            self._connect()
        try:
            with self._told("a question failed"):
                yield self._backend
        except PrivityError:
            self.close()
            raise

    @contextmanager
    def _told(self, reason: str, kind: Catalogue = Catalogue.SOURCE_UNREACHABLE) -> Iterator[None]:
        # Backends have errors of all kinds, whose texts may quote values and addresses.
        try:
            yield
        except Exception as error:
            raise self._failure(error, reason, kind) from None

    def _failure(self, error: Exception, reason: str, kind: Catalogue) -> PrivityError:
        """What the owner is told of an error."""
        hint = "See that the backend runs, knows the table, and that its extra of ibis is installed."
        return PrivityError(kind, source=self.name, reason=f"{reason} ({type(error).__name__})", hint=hint)


def in_dialect(backend: Any, query: str) -> str:
    """A question in the backend's own dialect."""
    (text,) = sqlglot.transpile(query, read="duckdb", write=backend.dialect)
    return text


def _column(name: str, kind: dt.DataType) -> Column:
    # Backends tell a time's number in ways of their own; SQLite has no dates.
    number = f"DATE_DIFF('day', DATE '1970-01-01', {quoted(name)})" if kind.is_date() else ""
    return Column(name, _kind(kind), str(kind), kind.scale if kind.is_decimal() else None, number=number)


def _kind(kind: dt.DataType) -> Kind:
    by_kind = (
        (kind.is_string() or kind.is_uuid(), Kind.TEXT),
        (kind.is_boolean(), Kind.BOOLEAN),
        (kind.is_integer() and str(kind).lstrip("!") != "uint64", Kind.INTEGER),
        (kind.is_float32(), Kind.SINGLE),
        (kind.is_float64(), Kind.DOUBLE),
        (kind.is_decimal() and kind.scale is not None, Kind.DECIMAL),
        (kind.is_date(), Kind.DATE),
        (kind.is_timestamp() and kind.timezone is None, Kind.TIMESTAMP),
    )
    return next((found for fits, found in by_kind if fits), Kind.OTHER)
