"""What party.toml says of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from privity.common.data.dialect import dialect_problems
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import declared_keys as declare
from privity.party.sources.address import Address, parse_address
from privity.party.sources.held_rows import Access, Hold, default_memory
from privity.party.sources.history_rows import Histories, open_histories
from privity.party.sources.open_rows import Opened, open_rows
from privity.party.sources.sql_queries import Slots, Survey


def slots_of(schema: Schema, person: str | None, order: str | None, rows_per_person: int) -> Slots | None:
    """The places of each person, of a table anywhere; None: each row is a person.

    Args:
        person, order: columns with the key of a person, and the number of a row among theirs.

    Raises:
        PrivityError: bad-option: a person may have several rows or absent ones, and nothing says which are whose.
    """
    if (person is None) != (order is None):
        raise PrivityError(
            Catalogue.BAD_OPTION, option="person", reason="person and order go together",
            hint="Name the column of the person's key, and the one that numbers each person's rows.",
        )  # fmt: skip
    if person is not None and order is not None:
        return Slots(person, order, rows_per_person)
    hint = "Name the column of the person's key, and in order the one that numbers each person's rows."
    if rows_per_person > 1:
        reason = f"a person may have {rows_per_person} rows, but no column says whose a row is"
        raise PrivityError(Catalogue.BAD_OPTION, option="person", reason=reason, hint=hint)
    if schema.absent_rows:
        reason = "the schema has absent rows, but no column says whose a row is"
        hint = f'{hint} If each row is a person, take "absentRows" out of the schema.'
        raise PrivityError(Catalogue.BAD_OPTION, option="person", reason=reason, hint=hint)
    return None


@dataclass(frozen=True)
class RowSettings:
    """Where the rows are, and how they are held.

    Attributes:
        base: folder to which a path in ``data`` is relative. An address may hold a password.
        cache: folder for coded rows.
    """

    data: str = declare.text(
        "the rows (docs/sources.md): a path relative to this file (CSV, Parquet, Arrow, a folder or a pattern of them),"
        " `s3://BUCKET/FOLDER`, `duckdb:///FILE#TABLE`, `postgresql://USER@HOST/DATABASE#TABLE`, or a URL of ibis with"
        " `#TABLE`", 10_000, secret=True,
    )  # fmt: skip
    base: Path = Path()
    hold: Hold = declare.choice(
        "where the node keeps coded rows: in memory, in a file of the state folder (`cache`), nowhere (`store`), or as"
        " fits best (`auto`)", Hold, default=Hold.AUTO.value,
    )  # fmt: skip
    memory_gb: float | None = declare.positive(
        "GB that coded rows may take", 1_000_000, default=None,
        by_default="a quarter of the memory of the machine, or of the container if that may take less",
    )  # fmt: skip
    person: str | None = declare.text(
        "column of the person's key; required, with `order`, if a person of the population has several rows, or the"
        " schema has absent rows", 10_000, default=None,
    )  # fmt: skip
    order: str | None = declare.text(
        "column that numbers each person's rows; the first ones count, as many as the population has rows a person",
        10_000, default=None,
    )  # fmt: skip
    events: str | None = declare.text(
        "of histories (docs/histories.md): where the table of events is, as `data`, which has the persons then", 10_000,
        secret=True, default=None,
    )  # fmt: skip
    dialect: Mapping[str, Any] = declare.table(
        "how these rows are written, a table at the end of the file. Each key replaces that key of the schema's dialect"
        " (docs/schema.md); `privity data inspect FILE` shows how a file is written",
        lambda value, _folder: value, lambda found, file: dialect_problems(found["dialect"], file),
        by_default="as the schema says",
        example='[dialect]\ndelimiter = ";"\nencoding = "cp1252"\ndecimalChar = ","',
    )  # fmt: skip
    map: Path | None = declare.path(
        "path of `map.json`: what this table calls the columns, codes and units of the schema (docs/own_words.md)",
        default=None, by_default="the rows are in the schema's words", example='"map.json"',
    )  # fmt: skip
    cache: Path | None = None

    def address(self) -> Address:
        """The address; raises as ``parse_address``."""
        return parse_address(self.data, self.base, self.dialect, self.map)

    def access(self, schema: Schema, rows_per_person: int) -> Access:
        """How the rows are to be read; raises as ``slots_of``."""
        memory = default_memory() if self.memory_gb is None else int(self.memory_gb * 10**9)
        return Access(self.hold, memory, slots_of(schema, self.person, self.order, rows_per_person), self.cache)

    def histories(self, schema: Schema, rows_per_person: int) -> Histories:
        """The rows of persons and their events; raises as ``open_histories``."""
        hint = "Give data and events for a schema of two tables, and data alone for one of one table."
        if schema.history is None:
            reason = "the schema is of one table, and a table of events is given"
            raise PrivityError(Catalogue.BAD_OPTION, option="events", reason=reason, hint=hint)
        if self.events is None:
            reason = f"the schema is of {' and '.join(schema.history.names)}, and no table of events is given"
            raise PrivityError(Catalogue.BAD_OPTION, option="events", reason=reason, hint=hint)
        if self.map is not None or self.person is not None or self.order is not None:
            reason = "of two tables the schema says whose an event is, and they are in its own words"
            raise PrivityError(Catalogue.BAD_OPTION, option="events", reason=reason, hint="Leave them out.")
        both = (self.data, self.events)
        addresses = (parse_address(where, self.base, self.dialect) for where in both)
        return open_histories(schema, dict(zip(schema.history.names, addresses, strict=True)), rows_per_person)

    def open(self, schema: Schema, rows_per_person: int, *, tidy: bool = True) -> Opened:
        """The rows; raises as ``open_rows`` and ``open_histories``."""
        if schema.history is not None or self.events is not None:
            rows = self.histories(schema, rows_per_person).rows
            return Opened(rows, Survey(rows.rows, rows.rows, (0,) * len(schema.attributes), 0), None)
        return open_rows(self.address(), schema, replace(self.access(schema, rows_per_person), tidy=tidy))
