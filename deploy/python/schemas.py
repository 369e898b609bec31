"""Schemas from Python: drafted, discovered or written, edited as objects, shown as tables, saved as JSON."""

from __future__ import annotations

import copy
import csv
import json
import tempfile
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from privity.common.data import schema as read
from privity.common.data.file_look import look_at
from privity.common.data.frame_values import MISSING, read_column
from privity.common.data.schema_draft import drafted
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import load
from privity.common.privacy.budget import Number
from privity.common.public_names import public
from privity.common.storage.safe_files import write_text
from privity.deploy.python import given
from privity.deploy.python.html import table_in_html

LONGEST_SHOWN = 60

KEYS = frozenset(load("table_schema")["$defs"]["field"]["properties"])
"""Of a field (docs/schema.md)."""


class Field(MutableMapping[str, Any]):
    """The declaration of one attribute: the keys of a field (docs/schema.md), as items and as attributes.

    ``field.missing_values`` is the key ``missingValues``. Setting a key to None removes it. Every change is checked at
    once together with the rest of the schema; what only fits together is changed together, by ``field.update(...)``.
    """

    _schema: Schema
    _name: str

    def __init__(self, schema: Schema, name: str) -> None:
        self.__dict__.update(_schema=schema, _name=name)

    def _document(self) -> dict[str, Any]:
        for each in self._schema._document["fields"]:
            if each["name"] == self._name:
                return each
        raise KeyError(f"the schema has no attribute {self._name!r} any more")

    def __getitem__(self, key: str) -> Any:
        return copy.deepcopy(self._document()[key])

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def __delitem__(self, key: str) -> None:
        self[key]
        self.update({key: None})

    def __iter__(self) -> Iterator[str]:
        return iter(self._document())

    def __len__(self) -> int:
        return len(self._document())

    def update(self, *documents: Mapping[str, Any], **keys: Any) -> None:  # type: ignore[override]
        """Change several keys at once.

        Raises:
            ProblemsFound: what does not fit; nothing is changed then.
        """
        changes = {**{k: v for each in documents for k, v in each.items()}, **{_camel(k): v for k, v in keys.items()}}
        self._document()
        document = copy.deepcopy(self._schema._document)
        for field in document["fields"]:
            if field["name"] == self._name:
                field.update(changes)
                for key in [key for key, value in field.items() if value is None]:
                    del field[key]
        self._schema._set(document)
        self.__dict__["_name"] = changes.get("name", self._name)

    def __getattr__(self, name: str) -> Any:
        if _camel(name) not in KEYS:
            raise AttributeError(f"a field has no key {name!r}: there are {', '.join(sorted(KEYS))}")
        return self.get(_camel(name))

    def __setattr__(self, name: str, value: Any) -> None:
        self.update({_camel(name): value})

    def __repr__(self) -> str:
        return f"Field({dict(self)!r})"


@public
class Schema:
    """The declared attributes of a table and their domains.

    Args:
        source: a Table Schema as a mapping, the path of one, or another schema.

    Raises:
        ProblemsFound: every fault of it at once.
    """

    def __init__(self, source: given.Schema) -> None:
        parsed = given.given_schema(source)
        match source:
            case str() | Path():
                document = json.loads(Path(source).read_text(encoding="utf-8"))
            case Mapping():
                document = dict(source)
            case _:
                document = source.table_schema()
        self._document, self._parsed = copy.deepcopy(document), parsed
        self._findings: tuple[str, ...] = ()

    @classmethod
    def draft(cls, table: given.Table, name: str = "table") -> Schema:
        """A draft from the table's own rows, for what is publicly known: **not private**, and refused by every fit.

        Review each field, replace what the rows gave by what is publicly known, and then: ``schema.reviewed()``. What
        stood out, such as a column that was left out because it looks like an identifier, is shown with the draft.

        Args:
            table: a table in memory, or the path of a CSV file.
        """
        if (frame := given.frame_of(table)) is not None:
            with tempfile.TemporaryDirectory(prefix="privity-") as folder:
                look = look_at(_written(frame, Path(folder) / f"{name}.csv"), {})
        elif isinstance(table, str | Path):
            look = look_at(table)
        else:
            given.coded_by(table)
            hint = "Give a table in memory, or the path of a CSV file."
            raise PrivityError(Catalogue.BAD_OPTION, option="table", reason="its rows are coded", hint=hint)
        draft = cls(drafted(look))
        draft._findings = look.findings
        return draft

    @classmethod
    def discover(
        cls,
        table: given.Table,
        schema: given.Schema | None = None,
        *,
        epsilon: Number,
        population: str,
        delta: Number = 0,
        ledger: Path | str | None = None,
    ) -> Schema:
        """A schema whose domains are discovered in the table's rows under differential privacy: a charged release.

        Args:
            schema: what is declared, with the domains to discover left open (``"domain": "discover"``). By default all
                are: every column is an attribute, its type is that of the frame's column, and any value may be missing.
                So names and types of the columns are taken to be public.
            epsilon, delta, population, ledger: as of a fit. Texts have categories only if a delta is granted.

        Raises:
            ProblemsFound, PrivityError: as of a fit; bad-option: domains below the noise, with what would do.
        """
        from privity.deploy.python.discovery import Discover  # which shows its result as a Schema

        if schema is None:
            schema = open_schema(table)
        found = Discover(epsilon, delta=delta, population=population, ledger=ledger).fit(table, schema)
        return found.schema_

    def reviewed(self) -> Schema:
        """The same, marked as reviewed by a person: releases may be made by it."""
        kept = {key: value for key, value in self._document.items() if key != "reviewed"}
        return Schema({**kept, "reviewed": True})

    @property
    def names(self) -> tuple[str, ...]:
        """Of the attributes, in their order."""
        return tuple(field["name"] for field in self._document["fields"])

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides a value's code, in hexadecimal."""
        return self._parsed.digest

    def __getitem__(self, name: str) -> Field:
        if name not in self.names:
            raise KeyError(f"{name!r} is no attribute: there are {', '.join(self.names)}")
        return Field(self, name)

    def __iter__(self) -> Iterator[Field]:
        return (Field(self, name) for name in self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._document == other._document

    __hash__ = None  # type: ignore[assignment]

    def over(self, names: list[str]) -> Schema:
        """The schema of some of its attributes, in this order of its own."""
        if isinstance(names, str):
            names = [names]
        for name in names:
            self[name]
        kept = [field for field in self._document["fields"] if field["name"] in names]
        given_ = zip(self._document.get("rowConstraints", ()), self._parsed.row_constraints, strict=True)
        rules = [text for text, rule in given_ if set(rule.attributes) <= set(names)]
        return Schema({**self._document, "fields": kept, **({"rowConstraints": rules} if rules else {})})

    def table_schema(self) -> dict[str, Any]:
        """The document: a Table Schema."""
        return copy.deepcopy(self._document)

    def save(self, path: Path | str) -> None:
        """Write it as JSON; raises FileExistsError instead of replacing a file."""
        if Path(path).exists():
            raise FileExistsError(f"{path} exists: choose another name, or remove it first")
        write_text(json.dumps(self._document, indent=2, ensure_ascii=False) + "\n", Path(path))

    def _set(self, document: dict[str, Any]) -> None:
        self._parsed = read.parse_schema(document, "schema")
        self._document = document

    def _rows(self) -> list[tuple[str, str, str, str]]:
        told = []
        for attribute in self._parsed.attributes:
            missing = ", ".join(map(repr, attribute.missing))
            told.append((attribute.name, attribute.type, _domain(attribute), missing))
        return told

    def __repr__(self) -> str:
        rows = [("attribute", "type", "domain", "missing values"), *self._rows()]
        widths = [max(len(row[place]) for row in rows) for place in range(4)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *self._notes()])

    def _repr_html_(self) -> str:
        title = "; ".join([f"Schema of {len(self)} attributes", *self._notes()])
        return table_in_html(title, self._rows(), ("attribute", "type", "domain", "missing values"))

    def _notes(self) -> list[str]:
        if self._parsed.reviewed:
            return []
        return ["a draft: not private, and not reviewed (schema.reviewed())", *self._findings]


def open_schema(table: given.Table) -> Schema:
    """Every column of a table in memory as an attribute whose domain is yet to be discovered.

    Raises:
        PrivityError: bad-option: no table in memory, or a column of a type whose domain cannot be discovered.
    """
    frame = given.frame_of(table)
    if frame is None:
        hint = "Give a schema whose domains are open."
        raise PrivityError(Catalogue.BAD_OPTION, option="schema", reason="it is missing", hint=hint)
    fields: list[dict[str, Any]] = []
    for name, column in frame.items():
        kind = _type_of(column)
        opened = {} if kind == "boolean" else {"domain": "discover"}
        zone = {} if kind != "datetime" or (found := _zone_of(column)) is None else {"timezone": found}
        fields.append({"name": str(name), "type": kind, **opened, **zone, "missingValues": [""]})
    return Schema({"fields": fields})


def _type_of(column: pd.Series) -> str:
    kinds = pd.api.types
    if kinds.is_bool_dtype(column.dtype):
        return "boolean"
    if kinds.is_integer_dtype(column.dtype):
        return "integer"
    if kinds.is_numeric_dtype(column.dtype):
        return "number"
    if isinstance(column.dtype, pd.ArrowDtype):
        kind = column.dtype.pyarrow_dtype
        tests = {"date": pa.types.is_date, "time": pa.types.is_time, "duration": pa.types.is_duration}
        if found := next((name for name, fits in tests.items() if fits(kind)), None):
            return found
    if kinds.is_datetime64_any_dtype(column.dtype) or kinds.is_timedelta64_dtype(column.dtype):
        return "duration" if column.dtype.kind == "m" else "datetime"
    if kinds.is_string_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
        return "string"
    reason = f"the column {column.name!r} holds {column.dtype}, for which nothing can be discovered"
    raise PrivityError(Catalogue.BAD_OPTION, option="schema", reason=reason, hint="Declare it in a schema of your own.")


def _zone_of(column: pd.Series) -> str | None:
    """The time zone of a column of times, as a schema declares it; None if they have none."""
    zone = column.dt.tz
    return None if zone is None else str(zone).removeprefix("UTC") or "UTC"


def _written(frame: pd.DataFrame, path: Path) -> Path:
    """A CSV file of the values, each as it is read."""
    columns = [read_column(frame.iloc[:, place]) for place in range(len(frame.columns))]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(map(str, frame.columns))
        for row in zip(*columns, strict=True):
            writer.writerow(
                value if isinstance(value, str) else "" if value == MISSING else value.text for value in row
            )
    return path


def _domain(attribute: Any) -> str:
    """A domain in a few words."""
    if attribute.discover:
        return "to be discovered"
    if attribute.edges:
        low, high = (attribute.name_of(edge) for edge in (attribute.edges[0], attribute.edges[-1]))
        return f"{low} to {high} in {len(attribute.edges) - 1} bins"
    values = ", ".join(attribute.name_of(value) for value in attribute.categories) or "false, true"
    return values if len(values) <= LONGEST_SHOWN else f"{len(attribute.categories)} categories"


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
