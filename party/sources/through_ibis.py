"""Any backend of ibis, among them Spark for tables beyond one machine: counts are taken where the rows are.

Questions are written once, in DuckDB's dialect; ibis (sqlglot) puts them into the backend's own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from common.errors import Catalogue, PrivityError
from common.table import code_type
from party.sources.address import Address
from party.sources.coding import quoted, text_literal
from party.sources.columns import Column, Kind
from party.sources.store import Codes

try:
    import ibis
    import ibis.expr.datatypes as dt
except ImportError:  # the extra is not installed
    ibis = None

WITHOUT_GROUPING_SETS = ("sqlite", "mysql", "impala", "datafusion", "druid", "exasol", "risingwave", "flink")
VIEW = "privity_rows"
SETTINGS = {
    "pyspark": (
        "SET spark.sql.variable.substitute=false",  # ${...} in a text would be replaced
        "SET spark.sql.parser.escapedStringLiterals=false",
    ),
}
"""By backend: what makes a text in a statement mean what ibis writes it for, whatever the configuration says."""

FILES = (".parquet", ".pq")
ODD_TEXT = "'\\' \\\\ \" \n $1 ${x} %s {} ; -- /* \\n"


class IbisStore:
    """A ``Store`` of ``party.sources.store``.

    Raises:
        PrivityError: source-unreachable, source-refused.
    """

    counts = True
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
            for setting in SETTINGS.get(self._backend.name, ()):
                self._backend.raw_sql(setting)
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
        return {name: _column(name, kind) for name, kind in self._table.schema().items()}

    def value(self, column: Column) -> str:
        name = quoted(column.name)
        # What is made of a column has no collation of the column's own.
        return f"({name} || '')" if column.kind is Kind.TEXT else name

    def rows(self, query: str) -> Sequence[Sequence[Any]]:
        with self._asked() as backend:
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
            hint = "See that the backend runs, knows the table, and that its extra of ibis is installed."
            reason = f"{reason} ({type(error).__name__})"
            raise PrivityError(kind, source=self.name, reason=reason, hint=hint) from None


def _column(name: str, kind: dt.DataType) -> Column:
    return Column(name, _kind(kind), str(kind), kind.scale if kind.is_decimal() else None)


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
