"""The questions that a store is asked, in SQL: what its rows are like, how often cells occur, the coded rows.

The rows are those of a table or, where a person may have several, its first ``most`` by a declared column, chosen
without a look at any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privity.common.data.attribute import Attribute
from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.party.sources.fingerprint import cube_sql, mixed_sql
from privity.party.sources.several_columns import difference_sql, joined_sql
from privity.party.sources.sql_coding import Numbers, code_sql, derived_sql, outside, part_sql, quoted
from privity.party.sources.store import Store
from privity.party.sources.store_columns import Column, Kind, has_parts, is_moment

SLOT = "privity_slot"

_FIGURES = f"CAST(COUNT(*) AS BIGINT) AS n, CAST(SUM({cube_sql('q')}) AS BIGINT) AS f"
"""Of mixed rows: how many there are, and their fingerprint."""

NO_PERSON = ("rows without a person.", "Give each row the key of its person.")
NO_ORDER = ("rows without a place in the order.", "Give each row a value by which a person's rows stand.")
TIED = ("rows of one person that it does not tell apart.", "Name a column that numbers each person's rows.")
"""What may be wrong with persons and their rows, and what to do."""


@dataclass(frozen=True)
class Slots:
    """One person, many rows.

    Attributes:
        person: column that tells persons apart.
        order: column by which a person's rows stand; none of them has a value twice.
        most: rows of a person that count, m.
    """

    person: str
    order: str
    most: int


@dataclass(frozen=True)
class Survey:
    """What a pass over all rows has shown; for their owner.

    Attributes:
        rows: that count.
        persons: that have any; as many as rows if a row is a person.
        misses: rows outside the domain, by attribute.
        fingerprint: of the rows that count.
    """

    rows: int
    persons: int
    misses: tuple[int, ...]
    fingerprint: int


class Questions:
    """About the rows of one store under one schema.

    Attributes:
        schema: all attributes that the rows are coded by.
    """

    def __init__(self, store: Store, schema: Schema, texts: Mapping[str, Numbers], slots: Slots | None) -> None:
        self.schema = schema
        self._store, self._slots = store, slots
        self._slot = SLOT
        # Stores do not tell upper and lower case apart in the names of columns.
        while any(name.lower().startswith(self._slot) for name in store.columns):
            self._slot += "_"
        # What is made of a column is computed once a row, and named.
        self._made: dict[str, str] = {}
        self._read = [(store.columns[name], computed) for name, computed in schema.columns_of(store.columns)]
        self._codes = [
            self._code(place, attribute, column, computed, texts.get(attribute.name))
            for place, (attribute, (column, computed)) in enumerate(zip(schema.attributes, self._read, strict=True))
        ]

    def _code(self, place: int, attribute: Attribute, column: Column, computed: bool, texts: Numbers | None) -> str:
        """SQL of an attribute's code."""
        made = f"{self._slot}_{place}"
        table_map = self.schema.table_map
        own, sources = table_map.of(attribute, computed=computed), table_map.sources_of(attribute)
        if own is not None and own.codes is not None:
            return code_sql(attribute, column, self._store.value(column), texts, own)
        if computed and attribute.compute is not None and attribute.compute.less is not None:
            self._made[made], column = difference_sql(attribute, *(self._store.columns[name] for name in sources))
            attribute, column = attribute.of_difference, replace(column, name=made)
            self._read[place] = column, True
        elif computed and attribute.compute is not None and attribute.compute.beside:
            found = [self._store.columns[name] for name in sources]
            values = [self._store.value(one) for one in found]
            self._made[made] = joined_sql(attribute, list(zip(found, values, strict=True)))
            attribute, column = replace(attribute, compute=None), replace(column, name=made, kind=Kind.TEXT)
            self._read[place] = column, True
        elif computed and attribute.compute is not None and attribute.compute.log is not None:
            attribute = attribute.of_source
        elif computed and has_parts(attribute, column):
            self._made[made] = part_sql(attribute, column)
            column = replace(column, kind=Kind.INTEGER)
        elif is_moment(attribute, column):
            self._made[made] = column.number
        value = quoted(made) if made in self._made and column.kind is not Kind.TEXT else self._store.value(column)
        return code_sql(attribute, column, value, texts, own)

    def column(self, attribute: int) -> tuple[Column, bool]:
        """The column that the attribute is read from, and whether it is computed of it."""
        return self._read[attribute]

    @property
    def row_by_row(self) -> bool:
        """Whether each row is read without another: a person has one row."""
        return self._slots is None

    def coded(self, attributes: Sequence[int]) -> str:
        """All rows, with the codes of these attributes of the schema as a0, a1, ..."""
        return self._coded(attributes, ())

    def coded_with_first(self) -> str:
        """All rows, with the code of every attribute and, as the last one, 1 for the first row of a person, else 0."""
        places = range(len(self.schema.attributes))
        return self._coded(places, [f"{self._first} AS a{len(places)}"])

    @property
    def _first(self) -> str:
        return f"CASE WHEN {self._slot} = 1 THEN 1 ELSE 0 END" if self._slots else "1"

    def _coded(self, attributes: Sequence[int], also: Sequence[str]) -> str:
        codes = [f"{self._codes[a]} AS a{place}" for place, a in enumerate(attributes)]
        return f"SELECT {', '.join([*codes, *also])} FROM {self._rows()}"

    def _rows(self) -> str:
        relation = self._store.relation
        if self._made:
            made = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in self._made.items())
            relation = f"(SELECT *, {made} FROM {relation}) AS made"
        if self._slots is None:
            return relation
        person, order = self._key_value(self._slots.person), self._key_value(self._slots.order)
        names = map(quoted, dict.fromkeys((*(column.name for column, _ in self._read), *self._made)))
        number = f"ROW_NUMBER() OVER (PARTITION BY {person} ORDER BY {order}) AS {self._slot}"
        numbered = f"SELECT {', '.join([*names, number])} FROM {relation}"
        return f"({numbered}) AS numbered WHERE {self._slot} <= {self._slots.most}"

    def _key_value(self, name: str) -> str:
        """SQL of a column that tells persons or their rows apart, and stands in one order in every store."""
        return self._store.value(self._store.columns[name])

    def _mixed(self, keys: Sequence[str], also: Mapping[str, str]) -> str:
        """Rows of codes with what the fingerprint is made of as q.

        Args:
            keys: SQL over a0, a1, ...
            also: SQL over the columns, by name.
        """
        store, everything = self._store, range(len(self.schema.attributes))
        coded = f"{self._coded(everything, [f'{sql} AS {name}' for name, sql in also.items()])} {store.fence}"
        mixed = mixed_sql([f"a{a}" for a in everything], self.schema)
        kept = ", ".join([*keys, *also, f"{mixed} AS q"])
        return f"SELECT {kept} FROM ({coded}) AS coded {store.fence}"

    def all_rows(self) -> str:
        """One row: how many rows there are."""
        return f"SELECT COUNT(*) AS n FROM {self._store.relation}"

    def survey(self) -> str:
        """One row: rows, persons, fingerprint, then for each attribute how many rows are outside its domain."""
        places = range(len(self.schema.attributes))
        sums = [f"CASE WHEN a{a} = {outside(self.schema.attributes[a])} THEN 1 ELSE 0 END" for a in places]
        parts = enumerate(["1", self._first, cube_sql("q"), *sums])
        found = ", ".join(f"CAST(COALESCE(SUM({part}), 0) AS BIGINT) AS s{place}" for place, part in parts)
        mixed = self._mixed([f"a{a}" for a in places], {self._slot: self._slot} if self._slots else {})
        return f"SELECT {found} FROM ({mixed}) AS mixed"

    def without(self, name: str) -> str:
        """One row: how many rows have nothing in the column of persons or of their order."""
        column = self._store.columns[name]
        nothing = f"{quoted(name)} IS NULL"
        if column.kind is Kind.TEXT:
            nothing += f" OR {self._store.value(column)} = ''"
        return f"SELECT COUNT(*) AS n FROM {self._store.relation} WHERE {nothing}"

    def order_ties(self) -> str:
        """One row: how many persons' rows the order does not tell apart."""
        assert self._slots is not None
        keys = [self._key_value(name) for name in (self._slots.person, self._slots.order)]
        listed = ", ".join(f"{key} AS key{place}" for place, key in enumerate(keys))
        rows = f"(SELECT {listed} FROM {self._store.relation}) AS keyed"
        tied = f"SELECT key0, key1 FROM {rows} GROUP BY key0, key1 HAVING COUNT(*) > 1"
        return f"SELECT COUNT(*) AS n FROM ({tied}) AS tied"

    def misses(self, attribute: int, most: int) -> str:
        """Some different values outside an attribute's domain in the rows that count, as texts."""
        a = self.schema.attributes[attribute]
        column, _ = self._read[attribute]
        text = f"CAST({quoted(column.name)} AS VARCHAR)"
        where = f"{'AND' if self._slots else 'WHERE'} {self._codes[attribute]} = {outside(a)}"
        return f"SELECT DISTINCT {text} AS found FROM {self._rows()} {where} LIMIT {most}"

    def texts(self, attribute: int) -> str:
        """How often each value of an attribute's column occurs in the rows that count: its text, count, fingerprint.

        Texts are told apart byte by byte, whatever collation the column has.
        """
        column, _ = self._read[attribute]
        value, text = self._store.value(column), f"{self._slot}_text"
        rows = self._mixed([], {text: value if column.kind is Kind.TEXT else f"CAST({value} AS VARCHAR)"})
        return f"SELECT {text}, {_FIGURES} FROM ({rows}) AS mixed GROUP BY {text}"

    def counts(self, tables: Sequence[Marginal], schema: Schema) -> str:
        """How often each cell of each table occurs: codes (-1 for attributes of other tables), count, fingerprint.

        One statement, so that all of it is about one state of the rows; a line without any code is that of all rows.

        Args:
            tables: of different attributes of ``schema``, derived ones included; each table once.
            schema: of some of the attributes.
        """
        used = attributes_of(tables)
        keys = [f"{self._key(a, schema)} AS k{place}" for place, a in enumerate(used)]
        rows = f"({self._mixed(keys, {})}) AS mixed"
        sets = [[f"k{used.index(a)}" for a in table] for table in tables if table] + [[]]
        names = [f"k{place}" for place in range(len(used))]
        if self._store.grouping_sets:
            grouped = ", ".join(f"({', '.join(some)})" for some in sets)
            shown = [f"COALESCE({name}, -1) AS {name}" for name in names]
            return f"SELECT {', '.join([*shown, _FIGURES])} FROM {rows} GROUP BY GROUPING SETS ({grouped})"
        parts = []
        for some in sets:
            shown = [name if name in some else f"-1 AS {name}" for name in names]
            group = f" GROUP BY {', '.join(some)}" if some else ""
            parts.append(f"SELECT {', '.join([*shown, _FIGURES])} FROM {rows}{group}")
        return " UNION ALL ".join(parts)

    def _key(self, attribute: int, schema: Schema) -> str:
        derived = schema.derived
        base = derived.base[attribute]
        code = f"a{self.schema.index(schema.names[base])}"
        if attribute == base:
            return code
        return derived_sql(code, derived.derive(attribute, np.arange(schema.domain[base])).tolist())


def attributes_of(tables: Sequence[Marginal]) -> list[int]:
    """The attributes of some tables, ascending."""
    return sorted({a for table in tables for a in table})


def surveyed(row: Sequence[Any]) -> Survey:
    """What the answer to ``Questions.survey`` says."""
    rows, persons, fingerprint, *misses = map(int, row)
    return Survey(rows, persons, tuple(misses), fingerprint)


def together(parts: Sequence[Survey]) -> Survey:
    """What all rows are like, if each part has rows of its own and a row is a person."""
    misses = tuple(map(sum, zip(*(part.misses for part in parts), strict=True)))
    rows, persons = sum(part.rows for part in parts), sum(part.persons for part in parts)
    return Survey(rows, persons, misses, sum(part.fingerprint for part in parts))
