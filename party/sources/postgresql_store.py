"""PostgreSQL: counts are taken by the server; only codes and counts ever come from it.

The account needs SELECT on the table and nothing else; every session is read only. Passwords may be where libpq looks
for them (a passfile, a service file, the environment), so that no file of ours needs to hold one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.address import Address
from privity.party.sources.packed_codes import taken_apart, word_sql, words
from privity.party.sources.sql_coding import quoted
from privity.party.sources.store import Codes
from privity.party.sources.store_columns import Column, Kind

if TYPE_CHECKING:
    from psycopg.abc import PQGen
    from psycopg.pq.abc import PGconn

try:
    import psycopg
    from psycopg.generators import copy_from
except ImportError:  # the extra is not installed
    psycopg = None  # type: ignore[assignment]

BATCH_BYTES = 1 << 22
CONNECT_SECONDS = 15
SETTINGS = (
    "-c default_transaction_read_only=on -c standard_conforming_strings=on -c DateStyle=ISO,YMD "
    "-c extra_float_digits=3 -c work_mem=262144 -c idle_in_transaction_session_timeout=0 -c statement_timeout=0 "
    "-c parallel_tuple_cost=0"
)
"""The last has the server code rows on as many cores as its owner allows: a row costs more to code than to hand on."""

KINDS = {
    "text": Kind.TEXT,
    "varchar": Kind.TEXT,
    "bpchar": Kind.TEXT,
    "name": Kind.TEXT,
    "uuid": Kind.TEXT,
    "bool": Kind.BOOLEAN,
    "int2": Kind.INTEGER,
    "int4": Kind.INTEGER,
    "int8": Kind.INTEGER,
    "float4": Kind.SINGLE,
    "float8": Kind.DOUBLE,
    "numeric": Kind.DECIMAL,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamptz": Kind.INSTANT,
    "time": Kind.TIME,
    "interval": Kind.DURATION,
}
FAR = 2**62
"""A number that stands for an infinite time, or for months: beyond every domain."""

TIME_PART = "CAST(EXTRACT({part} FROM {value}) AS BIGINT)"
PART = f"CASE WHEN ISFINITE({{value}}) THEN {TIME_PART} WHEN {{value}} IS NOT NULL THEN {FAR} END"


NO_DATABASE = re.compile(r'database ".*" does not exist')
NO_ACCOUNT = re.compile(r'authentication failed|no password supplied|role ".*" does not exist')
"""What goes wrong while a connection is made has no code: libpq's text is all there is."""

COPY_HEADER = 19
"""Bytes before the first row of a binary COPY: signature, flags, length of an extension that is not there."""


class PostgresqlStore:
    """A ``Store`` of ``privity.party.sources.store``.

    Raises:
        PrivityError: source-unreachable, source-refused.
    """

    counts = True
    one_state = True
    grouping_sets = True
    fence = "OFFSET 0"

    def __init__(self, address: Address) -> None:
        if psycopg is None:
            raise PrivityError(
                Catalogue.SOURCE_REFUSED, source=address.name, reason="the client of PostgreSQL is not installed",
                hint="Install the extra: pip install 'privity[postgresql]'.",
            )  # fmt: skip
        self.name = address.name
        self.relation = ".".join(quoted(part) for part in address.table.split("."))
        self._url = address.url

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        with self._open() as connection:
            found = connection.execute(f"SELECT * FROM {self.relation} LIMIT 0").description or []
            oids = [column.type_code for column in found]
            kinds = connection.execute("SELECT oid::int8, typname, typtype FROM pg_type WHERE oid = ANY(%s)", (oids,))
            types = {oid: (name, sort) for oid, name, sort in kinds.fetchall()}
        return {column.name: _column(column.name, *types[column.type_code]) for column in found}

    def value(self, column: Column) -> str:
        name = quoted(column.name)
        return f'CAST({name} AS TEXT) COLLATE "C"' if column.kind is Kind.TEXT else name

    def rows(self, query: str) -> Sequence[Sequence[Any]]:
        with self._open() as connection:
            return connection.execute(query).fetchall()

    def batches(self, query: str, sizes: Sequence[int]) -> Iterator[list[Codes]]:
        held = [size + 1 for size in sizes]
        packed = words(held)
        made = ", ".join(word_sql([f"a{p}" for p in places], [held[p] for p in places]) for places in packed)
        # Integers that are never NULL: every row of the binary form has the same length.
        fields = [("fields", ">i2")]
        for place in range(len(packed)):
            fields += [(f"length{place}", ">i4"), (f"word{place}", ">i8")]
        row = np.dtype(fields)
        copied = f"COPY (SELECT {made} FROM ({query}) AS coded) TO STDOUT (FORMAT BINARY)"
        waiting, start, more = bytearray(), COPY_HEADER, True
        with self._open() as connection, connection.cursor() as cursor, cursor.copy(copied):
            while more:
                part, more = connection.wait(_received(connection.pgconn))
                waiting += part
                # The last two bytes say that there are no more rows.
                whole = (len(waiting) - start) // row.itemsize * row.itemsize
                yield _codes(bytes(waiting[start : start + whole]), row, held)
                del waiting[: start + whole]
                start = 0

    def state(self) -> str:
        return ""

    def close(self) -> None:
        """Nothing is held between questions."""

    @contextmanager
    def _open(self) -> Iterator[psycopg.Connection]:
        try:
            with psycopg.connect(
                self._url, options=SETTINGS, client_encoding="UTF8", connect_timeout=CONNECT_SECONDS,
                application_name="privity",
            ) as connection:  # fmt: skip
                yield connection
        except psycopg.Error as error:
            raise self._told(error) from None

    def _told(self, error: psycopg.Error) -> PrivityError:
        """What is wrong, in words of our own: the server's may quote values."""
        state = error.sqlstate or ""
        if state == "42P01":
            return self._refused("it has no such table", "Name one of its tables or views, with its schema if need be.")
        if state == "42501":
            return self._refused("the account has no right to read it", "GRANT SELECT on the table to the account.")
        if state == "3D000" or NO_DATABASE.search(str(error)):
            return self._refused("there is no such database", "Correct the name of the database in the URL.")
        if state.startswith("28") or NO_ACCOUNT.search(str(error)):
            reason = "it does not accept the account or its password"
            return self._refused(reason, "Correct the user in the URL, and the password where libpq finds it.")
        if not state and isinstance(error, psycopg.ProgrammingError):
            return self._refused("its URL is none that libpq reads", "Write what is not a letter or digit as %40.")
        if not state or state.startswith(("08", "57P", "53")):
            hint = "See that the server runs and lets this host in (pg_hba.conf). A run that waits then goes on."
            return PrivityError(
                Catalogue.SOURCE_UNREACHABLE, source=self.name, reason="no connection to its server", hint=hint
            )
        return self._refused(f"PostgreSQL met an error ({state})", "See the server's log.")

    def _refused(self, reason: str, hint: str) -> PrivityError:
        return PrivityError(Catalogue.SOURCE_REFUSED, source=self.name, reason=reason, hint=hint)


def _received(wire: PGconn) -> PQGen[tuple[bytearray, bool]]:
    """Many rows of a COPY, and whether there may be more; for ``Connection.wait``.

    ``Copy`` of psycopg waits for each row by itself, which takes longer than the rows take. It still starts the COPY,
    and cancels one that is left early.
    """
    found = bytearray()
    while len(found) < BATCH_BYTES:
        part = yield from copy_from(wire)
        if not isinstance(part, memoryview):
            return found, False
        found += part
    return found, True


def _codes(rows: bytes, row: np.dtype[Any], sizes: Sequence[int]) -> list[Codes]:
    table = np.frombuffer(rows, dtype=row)
    return taken_apart([table[f"word{i}"].astype(np.int64) for i in range(len(words(sizes)))], sizes)


def _column(name: str, kind: str, sort: str) -> Column:
    found = Kind.TEXT if sort == "e" else KINDS.get(kind, Kind.OTHER)
    # Digits and scale of a numeric are those of its declaration; without one it has no limit, and no kind needs one.
    part = TIME_PART if found is Kind.TIME else PART if found in (Kind.DATE, Kind.TIMESTAMP, Kind.INSTANT) else ""
    return Column(name, found, kind, number=_number(name, found), part=part)


def _number(name: str, kind: Kind) -> str:
    """What a date is in days, a time in microseconds."""
    value = quoted(name)
    microseconds = f"CAST(EXTRACT(EPOCH FROM {value}) * 1000000 AS BIGINT)"
    match kind:
        case Kind.DATE:
            made = f"({value} - DATE '1970-01-01')::BIGINT"
        case Kind.TIMESTAMP | Kind.INSTANT:
            made = microseconds
        case Kind.TIME:
            return microseconds
        case Kind.DURATION:
            # A month is of no fixed length.
            no_month = f"EXTRACT(YEAR FROM {value}) = 0 AND EXTRACT(MONTH FROM {value}) = 0"
            return f"CASE WHEN {no_month} THEN {microseconds} WHEN {value} IS NOT NULL THEN {FAR} END"
        case _:
            return ""
    infinite = f"WHEN {value} > '1970-01-01' THEN {FAR} WHEN {value} IS NOT NULL THEN -{FAR}"
    return f"CASE WHEN ISFINITE({value}) THEN {made} {infinite} END"
