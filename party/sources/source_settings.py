"""What party.toml says of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.address import Address, parse_address
from privity.party.sources.held_rows import Access, Hold, default_memory
from privity.party.sources.open_rows import Opened, open_rows
from privity.party.sources.sql_queries import Slots


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
        data: an address as it was written; paths are relative to ``base``. It may hold a password.
        memory: bytes; None is a share of the machine's.
        person, order: columns, where a person may have several rows.
        cache: folder for coded rows.
        dialect: how these rows are written, where it is not as the schema says.
    """

    data: str = field(repr=False)
    base: Path
    hold: Hold = Hold.AUTO
    memory: int | None = None
    person: str | None = None
    order: str | None = None
    cache: Path | None = None
    dialect: Mapping[str, Any] = field(default_factory=dict)

    def address(self) -> Address:
        """The address; raises as ``parse_address``."""
        return parse_address(self.data, self.base, self.dialect)

    def access(self, schema: Schema, rows_per_person: int) -> Access:
        """How the rows are to be read; raises as ``slots_of``."""
        memory = default_memory() if self.memory is None else self.memory
        return Access(self.hold, memory, slots_of(schema, self.person, self.order, rows_per_person), self.cache)

    def open(self, schema: Schema, rows_per_person: int, *, tidy: bool = True) -> Opened:
        """The rows; raises as ``open_rows``."""
        return open_rows(self.address(), schema, replace(self.access(schema, rows_per_person), tidy=tidy))


def row_settings(document: Mapping[str, Any], base: Path, cache: Path) -> RowSettings:
    """Those of a checked party.toml."""
    memory = document.get("memory_gb")
    return RowSettings(
        data=document["data"],
        base=base,
        hold=Hold(document.get("hold", Hold.AUTO.value)),
        memory=None if memory is None else int(memory * 10**9),
        person=document.get("person"),
        order=document.get("order"),
        cache=cache,
        dialect=document.get("dialect", {}),
    )
