"""The declared attributes of a table: a Table Schema (Frictionless v2), read and checked.

A schema is public and is never inferred silently from rows. ``missingValues`` on a field replaces
those at the top level, as in Frictionless v2, and ``[]`` says that the field has none; where neither is
written there are none (Frictionless would take the empty text). See ``privity.common.data.attribute`` for the codes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import rfc8785

from privity.common import formats
from privity.common.data.attribute import PLAIN_KEYS, UNDECLARED, Attribute, Group, Value
from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.dialect import COMMON, PLAIN, Dialect, NumberMarks, dialect_problems
from privity.common.data.discoveries import discoveries_of, discovery_problems
from privity.common.data.history import History
from privity.common.data.history_document import is_history, parse_history
from privity.common.data.row_constraints import RowConstraint, read_constraints
from privity.common.data.schema_document import (
    exact_text,
    field_document,
    nested_lists,
    plain_document,
    points_in_words,
)
from privity.common.data.schema_fields import FieldReader
from privity.common.data.table_map import NO_MAP, TableMap
from privity.common.data.unread_columns import (
    UnreadColumn,
    constants_read_off_rows,
    is_unread_column,
    read_unread_column,
    with_made,
)
from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.formats.line_numbers import json_lines
from privity.common.privacy.discovery import Discovery, joined, read_discovery
from privity.common.storage.safe_files import read_regular
from privity.common.text.first_few import first_few
from privity.common.text.short_values import shorten

__all__ = ["Attribute", "Group", "Schema", "Value", "load_schema", "parse_schema"]

FORMAT_VERSION = 1
AS_STORED = "as stored"
"""Of ``types``: a person declared that the types which the columns were stored with are public."""
CARRIED = ("$schema", "title", "description", "source", "license")  # kept, of no meaning for the codes


@dataclass(frozen=True)
class Schema:
    """The attributes of a table in order.

    Attributes:
        carried: the schema's texts that no code needs.
        row_constraints: what each synthetic row must meet.
        unread: columns of a synthetic table that are no attributes.
        left_out: other columns that a table may have; they are not read.
        dialect: how the rows are written down.
        extra_columns: whether columns that are no attributes are ignored, instead of a reason to refuse the table.
        discoveries: what was derived from rows at a cost, and is added to what a release by this schema costs.
        stored_types: whether the types are those that the columns of a table were stored with, which whoever discovered
            the schema declared to be public; otherwise a person wrote each of them.
        table_map: what the rows call its columns and values, if they have words of their own.
        history: the two tables of which rows are steps, if they are (``privity.common.data.history``).

    Raises:
        ValueError: some of the attributes have a code for absent rows, and others have none.
    """

    name: str
    attributes: tuple[Attribute, ...]
    carried: tuple[tuple[str, str], ...] = ()
    row_constraints: tuple[RowConstraint, ...] = ()
    unread: tuple[UnreadColumn, ...] = ()
    left_out: tuple[str, ...] = ()
    dialect: Dialect = COMMON
    extra_columns: bool = False
    discoveries: tuple[Discovery, ...] = ()
    stored_types: bool = False
    table_map: TableMap = NO_MAP
    history: History[Schema] | None = None
    _index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        index = {attribute.name: place for place, attribute in enumerate(self.attributes)}
        object.__setattr__(self, "_index", index)
        # A domain may have been discovered since.
        known = {attribute.name: attribute for attribute in self.attributes}
        object.__setattr__(self, "unread", tuple(column.over(known) for column in self.unread))
        if len({attribute.absent for attribute in self.attributes}) > 1:
            raise ValueError("a row is absent as a whole: all attributes have a code for it, or none")

    def over(self, names: Collection[str] | None) -> Schema:
        """The schema of some attributes, in this one's order; None stands for all. ``KeyError`` for a name it lacks.

        It has the constraints all of whose attributes it has.
        """
        if names is None:
            return self
        attributes = tuple(self.attributes[i] for i in sorted(map(self.index, names)))
        kept = tuple(rule for rule in self.row_constraints if set(rule.attributes) <= set(names))
        places = [self.index(attribute.name) for attribute in attributes]
        unread = tuple(
            replace(column, before=sum(place < column.before for place in places))
            for column in self.unread
            if column.made is None or set(column.made.sources) <= set(names)
        )
        discoveries = discoveries_of(self.discoveries, names)
        return replace(self, attributes=attributes, row_constraints=kept, unread=unread, discoveries=discoveries)

    def discovered(self, attributes: Iterable[Attribute], by: Discovery, before: Discovery | None = None) -> Schema:
        """The schema with these attributes, whose domains were open and were derived from rows at a cost.

        Args:
            before: an earlier part of the same discovery, with which this one has all of its attributes in common.

        Raises:
            ValueError: they are not those of the discovery, or a domain was not open, or still is.
        """
        found = {attribute.name: attribute for attribute in attributes}
        known = [found.get(attribute.name, attribute) for attribute in self.attributes]
        both = zip(self.attributes, known, strict=True)
        closed = tuple(before.name for before, now in both if before.discover and not now.discover)
        of_before = () if before is None else before.attributes
        if {*closed, *of_before} != {*by.attributes} or found.keys() != {*closed}:
            raise ValueError("a discovery closes the domains that it is of, and no others")
        by_name = {attribute.name: attribute for attribute in known}
        rules = tuple(rule.over(by_name) for rule in self.row_constraints)
        discoveries = joined((*(one for one in self.discoveries if one != before), by))
        return replace(self, attributes=tuple(known), row_constraints=rules, discoveries=discoveries)

    def signed(self, run: str, release: str) -> Schema:
        """The same, its discoveries by this run being named as those of the release of this digest."""
        return replace(
            self,
            discoveries=tuple(replace(one, release=release) if one.run == run else one for one in self.discoveries),
        )

    @property
    def signed_discoveries(self) -> tuple[str, ...]:
        """Digests of the releases that its discoveries were taken from."""
        return tuple(dict.fromkeys(one.release for one in self.discoveries if one.release is not None))

    @property
    def _fields(self) -> tuple[Attribute | UnreadColumn, ...]:
        both = () if self.history is None else (*self.history.persons.unread, *self.history.events.unread)
        return (*self.attributes, *self.unread, *both)

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Columns of which something was read off rows that nobody has declared public yet."""
        return tuple(a.name for a in self._fields if a.read_off_rows == UNDECLARED)

    @property
    def stated(self) -> dict[str, Any]:
        """What a privacy statement says of it: what it cost, and on which declarations the guarantee rests."""
        declared: dict[str, list[str]] = {}
        for column in self._fields:
            if column.read_off_rows is not None:
                declared.setdefault(column.read_off_rows, []).append(column.name)
        return {
            "absent_rows": self.absent_rows,
            **({} if self.history is None else {"histories": list(self.history.names)}),
            "stored_types": self.stored_types,
            "discoveries": [discovery.document() for discovery in self.discoveries],
            "read_off_rows": [{"attributes": names, "declared_by": role} for role, names in declared.items()],
        }

    @property
    def absent_rows(self) -> bool:
        """Whether a table may hold absent rows: places of people that no row of theirs fills."""
        return any(attribute.absent for attribute in self.attributes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    def columns_of(self, there: Collection[str]) -> tuple[tuple[str, bool], ...]:
        """For each attribute its column in a table of such columns, and whether the attribute is computed of it.

        A difference is computed of this column and of the one that it is less.
        """
        names = set(there)
        return tuple(self.table_map.place_of(attribute, names) for attribute in self.attributes)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read of a table, in the order of the fields: where attributes are, or their sources."""
        return self.columns_read(())

    def columns_read(self, there: Collection[str]) -> tuple[str, ...]:
        """The columns that are read of a table of such columns, each once."""
        both = zip(self.attributes, self.columns_of(there), strict=True)
        return tuple(
            dict.fromkeys(
                each
                for attribute, (column, computed) in both
                for each in (self.table_map.sources_of(attribute) if computed else (column,))
            )
        )

    @cached_property
    def known_columns(self) -> frozenset[str]:
        """Columns that a table may have: of attributes, of what these are computed of, and some that are not read."""
        sources = (source for a in self.attributes if a.compute is not None for source in a.compute.sources)
        beside = (column.name for column in self.unread)
        return self.table_map.known((*self.names, *sources, *beside, *self.left_out))

    @cached_property
    def domain(self) -> tuple[int, ...]:
        """The number of codes of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @cached_property
    def ordered_codes(self) -> dict[int, int]:
        """Attributes whose codes stand in an order, with the number of codes that do (a missing one does not)."""
        return {place: a.values for place, a in enumerate(self.attributes) if a.edges or a.ordered}

    @cached_property
    def derived(self) -> DerivedAttributes:
        """The attributes together with everything that may be counted in their place."""
        return DerivedAttributes(self.attributes)

    @cached_property
    def marks(self) -> tuple[NumberMarks, ...]:
        """How the numbers of each attribute are written as texts; one with its own decimal mark has its own groups."""
        groups = [a.group_char or (None if a.decimal_char else self.dialect.group) or "" for a in self.attributes]
        return tuple(
            NumberMarks(a.decimal_char or self.dialect.decimal or PLAIN.decimal, group, a.bare_number)
            for a, group in zip(self.attributes, groups, strict=True)
        )

    def in_dialect(self, document: Mapping[str, Any]) -> Schema:
        """The schema of a table that is written in another dialect, as far as a checked document says so."""
        attributes = tuple(
            replace(
                attribute,
                decimal_char=None if "decimalChar" in document else attribute.decimal_char,
                group_char=None if "groupChar" in document else attribute.group_char,
            )
            for attribute in self.attributes
        )
        return replace(self, dialect=self.dialect.changed(document), attributes=attributes)

    @property
    def released(self) -> Schema:
        """The schema of a synthetic table: CSV as Privity writes it, with these attributes and no other columns."""
        plain = {name: each.default for name, each in PLAIN_KEYS.items() if each.of_rows}
        attributes = tuple(replace(attribute, **plain) for attribute in self.attributes)
        history = self.history and self.history.released
        return replace(
            self, dialect=COMMON, extra_columns=False, attributes=attributes, table_map=NO_MAP, history=history
        )

    def index(self, name: str) -> int:
        """Return the position of the attribute ``name``; ``KeyError`` if there is none."""
        return self._index[name]

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, over RFC 8785 JSON of all that decides a value's code, or how it is drawn.

        Defaults are written out, a number of bins as the edges it gives, a taxonomy as lists (the order of groups
        matters), and every number as a text ("343/16"), as RFC 8785 has no exact ones. A schema without a key that came
        later has the digest of one for which it does not exist. Not in it: names and texts of the table;
        rowConstraints, which decide no value's code; and how rows are written down and in which words, which may be
        different at each party. docs/schema.md has the whole list.
        """
        attributes = [
            {
                "name": attribute.name,
                "type": attribute.type,
                "categories": [exact_text(value) for value in attribute.categories],
                "ordered": attribute.ordered,
                "edges": [] if attribute.discover else [str(edge) for edge in attribute.edges],
                "taxonomy": nested_lists(attribute.taxonomy),
                "missing": list(attribute.missing),
                "outOfDomain": attribute.out_of_domain,
                "other": None if attribute.other is None else exact_text(attribute.other),
            }
            | points_in_words(attribute)
            | ({} if attribute.compute is None else {"compute": dict(attribute.compute.document)})
            | plain_document(attribute, digest=True)
            for attribute in self.attributes
        ]
        document: dict[str, Any] = {"format_version": FORMAT_VERSION, "attributes": attributes}
        if self.absent_rows:
            document["absentRows"] = True
        if self.stored_types:
            document["types"] = AS_STORED
        if constants := constants_read_off_rows(self.unread):
            document["constants"] = constants
        if self.history is not None:
            document["history"] = self.history.digested()
        if self.discoveries:
            document["discoveries"] = [discovery.document() for discovery in self.discoveries]
        return hashlib.sha256(rfc8785.dumps(document)).hexdigest()

    def table_schema(self) -> dict[str, Any]:
        """Return the Table Schema, ready for JSON, that ``parse_schema`` reads back as an equal schema.

        Of histories it is the document of both tables.
        """
        if self.history is not None:
            return {"format_version": FORMAT_VERSION, **self.history.document()}
        fields = [field_document(attribute) for attribute in self.attributes]
        for column in reversed(self.unread):
            fields.insert(column.before, dict(column.document))
        name = {"name": self.name} if self.name else {}
        absent = {"absentRows": True} if self.absent_rows else {}
        rules = {"rowConstraints": [rule.rule for rule in self.row_constraints]} if self.row_constraints else {}
        left = {"leaveOut": list(self.left_out)} if self.left_out else {}
        types = {"types": AS_STORED} if self.stored_types else {}
        written = {"dialect": dialect} if (dialect := self.dialect.document()) else {}
        extra = {"extraColumns": "ignore"} if self.extra_columns else {}
        found = {"discoveries": [discovery.document() for discovery in self.discoveries]} if self.discoveries else {}
        return {
            "format_version": FORMAT_VERSION,
            **name,
            **types,
            **dict(self.carried),
            **written,
            **extra,
            **absent,
            **left,
            "fields": fields,
            **rules,
            **found,
        }

    def require_reviewed(self, file: Path | str | None) -> None:
        """Refuse a draft of which somebody still has to say what is public.

        Args:
            file: where it stands; None for an object.

        Raises:
            PrivityError: bad-option.
        """
        if self.undeclared:
            named, mark = (file, f"privity schema review {file}") if file else ("it", "schema.reviewed(NAME, ...)")
            reason = f"{named} is a draft: values of {first_few(self.undeclared)} were read off the rows"
            hint = f"Replace them by what is publicly known, or declare them public field by field: {mark}"
            raise PrivityError(Catalogue.BAD_OPTION, option="schema", reason=reason, hint=hint)


def load_schema(path: Path | str) -> Schema:
    """Read a schema. Raises ``PrivityError`` if it is not JSON, ``ProblemsFound`` with every fault."""
    data = read_regular(path)
    try:
        return parse_schema(formats.parse_json(data, str(path)), str(path))
    except ProblemsFound as error:
        raise ProblemsFound(formats.located(error.problems, json_lines, data.decode("utf-8-sig"))) from None


def parse_schema(document: object, file: str) -> Schema:
    """Check a schema (parsed JSON) as a whole; raise ``ProblemsFound`` with every fault at once.

    A number may be ``int``, ``Decimal`` or ``float``; a float stands for its shortest decimal. Two tables give the
    schema of the steps of histories.
    """
    if is_history(document):
        assert isinstance(document, dict)
        history = parse_history(document, file, parse_schema)
        return Schema(document.get("name", ""), history.steps, history=history)
    problems = formats.check(document, "table_schema", file)
    unread = any(problem.rule in formats.UNREAD for problem in problems)
    if unread or not isinstance(document, dict) or not isinstance(document.get("fields"), list):
        raise ProblemsFound(problems)
    # The rules below need a field of the right form; a malformed one is already reported.
    malformed = {int(found[1]) for problem in problems if (found := re.match(r"fields\[(\d+)\]", problem.field))}
    if isinstance(document.get("dialect"), dict):
        problems += dialect_problems(document["dialect"], file)
    top_missing = document.get("missingValues")
    if any(problem.field.startswith("missingValues") for problem in problems):
        top_missing = None
    well_formed = {item["name"]: item for place, item in enumerate(document["fields"]) if place not in malformed}
    attributes: list[Attribute] = []
    columns: list[UnreadColumn] = []
    first_of: dict[str, int] = {}
    for place, item in enumerate(document["fields"]):
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and first_of.setdefault(name, place) != place:
            message = f"the name {shorten(name)} is that of fields[{first_of[name]}] already."
            remedy = "Give every attribute its own name."
            problems.append(Problem(file, f"fields[{place}].name", "duplicate-name", message, remedy))
        if place not in malformed and is_unread_column(item):
            column, faults = read_unread_column(item, place, len(attributes), file)
            columns.append(column)
            problems += faults
        elif place not in malformed:
            reader = FieldReader(file, place, item, top_missing or [], well_formed)
            attributes.append(replace(reader.read(), absent=document.get("absentRows") is True))
            problems += reader.problems
    if not problems and not attributes:
        message, remedy = "no column of it is read.", "Declare an attribute."
        problems.append(Problem(file, "fields", "no-attribute", message, remedy))
    if not problems:
        known = {attribute.name: attribute for attribute in attributes}
        for which, column in enumerate(columns):
            columns[which], faults = with_made(column, first_of[column.name], top_missing or [], known, file)
            problems += faults
    left_out = document.get("leaveOut", [])
    for name in (name for name in left_out if name in first_of) if not problems else ():
        message, remedy = f"{shorten(name)} is a field, too.", "Keep it in one of the two places."
        problems.append(Problem(file, "leaveOut", "duplicate-name", message, remedy))
    dialect = COMMON
    if not problems:
        dialect = dialect.changed(document.get("dialect", {}))
        problems += _mark_problems(Schema("", tuple(attributes), dialect=dialect), file)
        problems += discovery_problems(document.get("discoveries", ()), {a.name for a in attributes}, file)
    rules: tuple[RowConstraint, ...] = ()
    # A rule is about attributes, and says nothing while one of them is at fault.
    if not problems:
        discovered = {name for entry in document.get("discoveries", ()) for name in entry["attributes"]}
        rules, problems = read_constraints(document.get("rowConstraints", []), attributes, file, discovered)
    if problems:
        raise ProblemsFound(problems)
    carried = tuple((key, document[key]) for key in CARRIED if key in document)
    return Schema(
        document.get("name", ""),
        tuple(attributes),
        carried,
        rules,
        tuple(columns),
        tuple(left_out),
        dialect,
        document.get("extraColumns") == "ignore",
        tuple(read_discovery(entry) for entry in document.get("discoveries", ())),
        "types" in document,
    )


def _mark_problems(schema: Schema, file: str) -> list[Problem]:
    """Fields whose decimal mark is that of groups, too."""
    message, remedy = "decimal mark and groupChar are the same.", "Declare both, two different ones."
    both = enumerate(zip(schema.names, schema.marks, strict=True))
    same = [(f"fields[{place}].groupChar", name) for place, (name, marks) in both if marks.decimal == marks.group]
    return [Problem(file, where, "same-character", f"attribute {name!r}: {message}", remedy) for where, name in same]
