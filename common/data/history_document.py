"""Reads the document of two tables that make histories, as a whole: a ``History``, or every rule that it breaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Generic

from privity.common import formats
from privity.common.data.attribute import Attribute
from privity.common.data.field_form import FieldForm
from privity.common.data.history import (
    FIRST,
    GAP,
    PREVIOUS,
    REMEMBERED,
    RESOURCES,
    SO_FAR,
    Declared,
    History,
    Table,
    ruled_attributes,
)
from privity.common.data.row_constraints import RowConstraint, read_constraints
from privity.common.data.schema_fields import FieldReader
from privity.common.data.unread_columns import UnreadColumn
from privity.common.errors import Problem, ProblemsFound
from privity.common.text.short_values import listed, shorten

OF_RESOURCE = ("primaryKey", "foreignKeys", "history")
"""Keys of a resource's schema that say how the two tables belong together."""

ORDERED_TYPES = ("date", "datetime", "integer", "number")

SECONDS_OF_A_DAY = 86_400


def is_history(document: object) -> bool:
    """Whether a document declares histories, and not one table."""
    return isinstance(document, dict) and RESOURCES in document


def parse_history(document: Mapping[str, Any], file: str, parse: Callable[[object, str], Table]) -> History[Table]:
    """Check a document of two resources as a whole.

    Args:
        parse: reads the schema of one table.

    Raises:
        ProblemsFound: every fault at once.
    """
    formats.require(document, "history", file)
    return _HistoryReader(document, file, parse).read()


class _HistoryReader(Generic[Table]):
    """Reads a well-formed document, or finds every rule that it breaks."""

    def __init__(self, document: Mapping[str, Any], file: str, parse: Callable[[object, str], Table]) -> None:
        self._document, self._file, self._parse = document, file, parse
        self._problems: list[Problem] = []
        self._schemas: list[Mapping[str, Any]] = [each["schema"] for each in document[RESOURCES]]
        self._names = [each["name"] for each in document[RESOURCES]]

    def read(self) -> History[Table]:
        with_history = [place for place, schema in enumerate(self._schemas) if "history" in schema]
        if len(with_history) != 1:
            remedy = "Write it into the schema of the table of events, and not into that of persons."
            self._fault("", "history", f"{len(with_history)} of the two resources have 'history'.", remedy)
            raise ProblemsFound(self._problems)
        events, persons = with_history[0], 1 - with_history[0]
        key, reference = self._keys(persons, events)
        if self._problems:
            raise ProblemsFound(self._problems)
        names = self._names[persons], self._names[events]
        declared = self._stand_in(events, reference).get("type")
        if declared != (wanted := self._stand_in(persons, key).get("type")):
            message = f"{shorten(reference)} is of type {declared}, and the key of persons of type {wanted}."
            self._fault(self._of(events, "fields"), "history", message, "Give both the same type.")
            raise ProblemsFound(self._problems)
        of_persons = self._table(persons, {})
        of_events = self._table(events, {reference: self._stand_in(persons, key)})
        if of_persons is None or of_events is None:
            raise ProblemsFound(self._problems)
        for place, schema in ((persons, of_persons), (events, of_events)):
            self._check_closed(place, schema)
        self._check_names(events, of_events, names[0])
        self._check_key(persons, of_persons, key)
        settings = self._schemas[events]["history"]
        gap, until = self._order(events, of_events, settings)
        rules = self._rules(events, of_persons, of_events, names[0])
        if self._problems:
            raise ProblemsFound(self._problems)
        return History(
            of_persons,
            of_events,
            names,
            key,
            reference,
            settings["order"],
            settings["most"],
            tuple(one for one in REMEMBERED if one in settings.get("before", REMEMBERED)),
            gap,
            until,
            rules,
            tuple((each, self._document[each]) for each in ("name", "title", "description") if each in self._document),
        )

    def _fault(self, where: str, rule: str, message: str, remedy: str) -> None:
        self._problems.append(Problem(self._file, where, rule, message, remedy))

    def _of(self, place: int, key: str) -> str:
        return f"{RESOURCES}[{place}].schema.{key}"

    def _keys(self, persons: int, events: int) -> tuple[str, str]:
        """The columns of a person's key in the two tables."""
        names, reserved = self._names, (PREVIOUS, SO_FAR, FIRST)
        for place, name in enumerate(names):
            if name in reserved:
                message = f"{shorten(name)} has a meaning in rules."
                self._fault(f"{RESOURCES}[{place}].name", "history", message, "Give the table another name.")
        if names[0] == names[1]:
            self._fault(RESOURCES, "duplicate-name", "both resources have one name.", "Give each its own.")
        key = _one(self._schemas[persons].get("primaryKey"))
        if key is None:
            message = "the table of persons has no 'primaryKey' of one column."
            self._fault(self._of(persons, "primaryKey"), "history", message, "Name the column of a person's key.")
        if "foreignKeys" in self._schemas[persons]:
            message = "the table of persons refers to another one."
            remedy = "Leave 'foreignKeys' out: histories are of two tables."
            self._fault(self._of(persons, "foreignKeys"), "history", message, remedy)
        links = self._schemas[events].get("foreignKeys", [])
        link = links[0] if len(links) == 1 else {}
        reference = _one(link.get("fields"))
        to = link.get("reference", {})
        if reference is None or to.get("resource") != names[persons] or _one(to.get("fields")) != key:
            message = "the table of events does not refer to a person by one column."
            remedy = f"Give one entry: its own column, and the resource {shorten(names[persons])} with its primaryKey."
            self._fault(self._of(events, "foreignKeys"), "history", message, remedy)
        elif reference not in _field_names(self._schemas[events]):
            message = f"no field is called {shorten(reference)}."
            self._fault(self._of(events, "foreignKeys"), "history", message, "Declare it with its type.")
        return key or "", reference or ""

    def _stand_in(self, persons: int, key: str) -> Mapping[str, Any]:
        """How the key of a person is declared."""
        fields = self._schemas[persons].get("fields", [])
        found = next((item for item in fields if isinstance(item, dict) and item.get("name") == key), {})
        return {name: found[name] for name in ("type", "generate", "start", "pattern") if name in found}

    def _table(self, place: int, keys: Mapping[str, Mapping[str, Any]]) -> Table | None:
        """The schema of one table, whose references are columns that are not read."""
        document = {key: value for key, value in self._schemas[place].items() if key not in OF_RESOURCE}
        if keys:
            document.pop("rowConstraints", None)
            document["fields"] = [
                {"name": item["name"], "type": item["type"], "generate": "number", **keys[item["name"]]}
                if isinstance(item, dict) and item.get("name") in [*keys] and "type" in item
                else item
                for item in document["fields"]
            ]
        try:
            return self._parse({**document, "format_version": 1, "name": self._names[place]}, self._file)
        except ProblemsFound as found:
            self._problems += [replace(each, field=self._of(place, each.field)) for each in found.problems]
            return None

    def _check_closed(self, place: int, schema: Declared) -> None:
        """Refuse what steps cannot have."""
        if schema.absent_rows:
            message, remedy = "a person without events has no absent rows.", "Leave 'absentRows' out."
            self._fault(self._of(place, "absentRows"), "history", message, remedy)
        if found := [each.name for each in schema.attributes if each.discover]:
            message = f"{listed(found)}: the domain is yet to be discovered."
            remedy = "Discover it in each of the two tables by itself, or declare it."
            self._fault(self._of(place, "fields"), "history", message, remedy)

    def _check_names(self, events: int, schema: Declared, persons: str) -> None:
        """Refuse fields of events that are called as rules call others."""
        names = [*schema.names, *(column.name for column in schema.unread)]
        if found := [name for name in names if name.startswith((f"{PREVIOUS}.", f"{persons}."))]:
            message = f"{listed(found)}: in rules such a name means the event before, or the person."
            self._fault(self._of(events, "fields"), "history", message, "Give the field another name.")

    def _check_key(self, persons: int, schema: Declared, key: str) -> None:
        column = _unread(schema, key)
        if column is None or column.generate is None:
            message = f"the primaryKey {shorten(key)} is no column of keys that are made anew."
            remedy = 'Declare it as a field with "generate": "number" or "uuid"; keys of real persons are never read.'
            self._fault(self._of(persons, "primaryKey"), "history", message, remedy)

    def _order(self, place: int, events: Declared, settings: Mapping[str, Any]) -> tuple[Attribute | None, int | None]:
        """The gap between two events, and the last value of the order."""
        where, order = self._of(place, "history"), settings["order"]
        if order not in events.names:
            column = _unread(events, order)
            if column is None or column.generate != "number":
                message = f"the order {shorten(order)} is no field of the table of events."
                remedy = 'Name a date, a time or a number; or a position, declared with "generate": "number".'
                self._fault(f"{where}.order", "history", message, remedy)
                return None, None
            for key in sorted({"gap", "until"} & settings.keys()):
                remedy = f"Leave {key!r} out, or order the events by a date, a time or a number."
                self._fault(f"{where}.{key}", "history", f"{key!r} does not go with a position.", remedy)
            return None, None
        attribute = events.attributes[events.index(order)]
        exact = attribute.type in ORDERED_TYPES and attribute.point is not None
        if not exact or attribute.missing or attribute.compute is not None:
            message = f"the order {shorten(order)} is no date, time or number with bins, in each row of its own."
            remedy = "Declare 'edges' or 'bins' and no missingValues; of numbers 'decimals', too."
            self._fault(f"{where}.order", "history", message, remedy)
            return None, None
        if "gap" not in settings:
            message = "nothing says how the gap between two events is coded."
            remedy = 'Declare its edges, such as "gap": {"edges": ["P0D", "P8D", "P31D", "P366D"]}.'
            self._fault(f"{where}.gap", "history", message, remedy)
            return None, None
        return self._gap(f"{where}.gap", attribute, settings["gap"]), self._until(f"{where}.until", attribute, settings)

    def _gap(self, where: str, order: Attribute, declared: Mapping[str, Any]) -> Attribute | None:
        kind = "duration" if order.temporal is not None else order.type
        item: dict[str, Any] = {"name": GAP, "type": kind, "edges": declared["edges"], "outOfDomain": "edge"}
        if order.decimals:
            item["decimals"] = order.decimals
        reader = FieldReader(self._file, 0, item, [])
        found = reader.read()
        if reader.problems:
            self._problems += [replace(each, field=f"{where}.edges") for each in reader.problems]
            return None
        if order.type == "date":
            found = replace(found, type="integer", edges=tuple(edge / SECONDS_OF_A_DAY for edge in found.edges))
            if any(edge.denominator != 1 for edge in found.edges):
                message = "the order is a date, and an edge is no number of days."
                self._fault(f"{where}.edges", "history", message, "Write days, such as P8D.")
                return None
        if found.edges[0] < 0:
            self._fault(f"{where}.edges", "history", "a gap below 0 cannot be.", "Begin with 0 or more.")
        return found

    def _until(self, where: str, order: Attribute, settings: Mapping[str, Any]) -> int:
        last = order.point_edges[-1] - 1
        if "until" not in settings:
            return last
        form = FieldForm(self._file, 0, {"name": GAP, "type": order.type}, [])
        value = settings["until"]
        if order.temporal is not None:
            found = order.temporal.read_iso(value) if isinstance(value, str) else None
        else:
            found = None if isinstance(value, str) or form.problems else Fraction(str(value)) / (order.point or 1)
        if found is None or found.denominator != 1 or not order.point_edges[0] <= found <= last:
            first, end = (order.name_of(edge) for edge in (order.edges[0], order.edges[-1]))
            message = f"{shorten(value)} is no value of the order, from {first} to {end}."
            self._fault(where, "history", message, "Give the last one that there may be.")
            return last
        return int(found)

    def _rules(self, place: int, persons: Declared, events: Declared, name: str) -> tuple[RowConstraint, ...]:
        known = ruled_attributes(persons, events, name)
        listed_rules = self._schemas[place].get("rowConstraints", [])
        rules, faults = read_constraints(listed_rules, list(known.values()), self._file)
        self._problems += [replace(each, field=self._of(place, each.field)) for each in faults]
        return rules


def _one(columns: object) -> str | None:
    """The one column of a key, which a Data Package may write as a list."""
    if isinstance(columns, str):
        return columns
    return columns[0] if isinstance(columns, list) and len(columns) == 1 else None


def _field_names(schema: Mapping[str, Any]) -> list[str]:
    return [str(item.get("name")) for item in schema.get("fields", []) if isinstance(item, dict)]


def _unread(schema: Declared, name: str) -> UnreadColumn | None:
    return next((column for column in schema.unread if column.name == name), None)
