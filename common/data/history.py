"""Histories: a table of persons and a table of what happened to them, declared by two resources of a Data Package.

What is learnt is one table with one row a person: a *step*. It holds the person's attributes, how many events there
are, and one of the person's own events with its position, what was before it, and the gap to the event before. So a row
is a person, whatever the number of events. The schema of steps is an ordinary ``Schema``; it carries the ``History``
that it follows from.

An event's attributes, and what was before, have one more code for "there is none", the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, Protocol, Self, TypeVar

from privity.common.data.attribute import Attribute
from privity.common.data.made_columns import Total
from privity.common.data.row_constraints import RowConstraint
from privity.common.data.unread_columns import UnreadColumn

RESOURCES = "resources"
"""The key of a document that declares histories."""

PREVIOUS, SO_FAR = "previous", "so far"
REMEMBERED = (PREVIOUS, SO_FAR)
"""What a step may know of the events before: the last one; of attributes in an order their mean."""

NUMBER, POSITION, GAP, FIRST = "number", "position", "gap", "first"
"""Attributes of a step beside those of persons and events, whose names have a dot."""


class Declared(Protocol):
    """The schema of one of the two tables (``privity.common.data.schema.Schema``)."""

    @property
    def attributes(self) -> tuple[Attribute, ...]: ...

    @property
    def unread(self) -> tuple[UnreadColumn, ...]: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def ordered_codes(self) -> Mapping[int, int]: ...

    @property
    def absent_rows(self) -> bool: ...

    @property
    def digest(self) -> str: ...

    @property
    def released(self) -> Self: ...

    def index(self, name: str) -> int: ...

    def table_schema(self) -> dict[str, Any]: ...


Table = TypeVar("Table", bound=Declared)


@dataclass(frozen=True)
class History(Generic[Table]):
    """Two tables and how they belong together.

    Attributes:
        persons, events: their schemas. Keys are columns that are not read.
        names: of the two resources.
        key: the column of a person's key in the table of persons; reference: in that of events.
        order: the column of events by which they follow one another: an attribute, or their position.
        most: events of a person that count; the first ones.
        before: what a step knows of the events before it, of ``REMEMBERED``.
        gap: how far an event is from the one before, in points of the order; None where that is a position.
        until: the last point of the order that there may be; None where it is a position.
        rules: what each event must meet, with its person (``patients.born``) and the event before (``previous.ward``).
        carried: the document's texts that no code needs.
    """

    persons: Table
    events: Table
    names: tuple[str, str]
    key: str
    reference: str
    order: str
    most: int
    before: tuple[str, ...]
    gap: Attribute | None
    until: int | None
    rules: tuple[RowConstraint, ...] = ()
    carried: tuple[tuple[str, str], ...] = field(default=())

    @cached_property
    def happening(self) -> tuple[int, ...]:
        """Attributes of events that a step has: all but the order, which is kept as gaps."""
        return tuple(a for a, name in enumerate(self.events.names) if name != self.order)

    @cached_property
    def averaged(self) -> tuple[int, ...]:
        """Of those, the ones whose mean so far a step has."""
        if SO_FAR not in self.before:
            return ()
        return tuple(a for a in self.happening if a in self.events.ordered_codes)

    @property
    def order_attribute(self) -> Attribute:
        """The order, where it is an attribute."""
        return self.events.attributes[self.events.index(self.order)]

    @cached_property
    def steps(self) -> tuple[Attribute, ...]:
        """The attributes of a step, in the order in which ``history_steps`` codes them."""
        persons, events = self.names
        about = [_part(a, f"{persons}.{a.name}") for a in self.persons.attributes]
        counts = tuple(range(self.most + 1))
        number, position = (Attribute(name, "integer", categories=counts, ordered=True) for name in (NUMBER, POSITION))
        first = [] if self.gap is None else [_part(self.order_attribute, f"{FIRST}.{self.order}", none=True)]
        happening = [self.events.attributes[a] for a in self.happening]
        past = happening if PREVIOUS in self.before else []
        return (
            *about,
            number,
            *first,
            position,
            *(_part(a, f"{PREVIOUS}.{a.name}", none=True) for a in past),
            *(_part(self.events.attributes[a], f"{SO_FAR}.{self.events.names[a]}", mean=True) for a in self.averaged),
            *(_part(a, f"{events}.{a.name}", none=True) for a in happening),
            *([] if self.gap is None else [replace(self.gap, none=True)]),
        )

    @property
    def released(self) -> History[Table]:
        """Of the synthetic tables."""
        return replace(self, persons=self.persons.released, events=self.events.released)

    @property
    def ruled(self) -> dict[str, Attribute]:
        """Attributes that rules of events may be about, by the names that they have there."""
        return ruled_attributes(self.persons, self.events, self.names[0])

    def digested(self) -> dict[str, Any]:
        """What its schema's digest holds beside the attributes of steps."""
        return {
            "persons": self.persons.digest,
            "events": self.events.digest,
            "keys": [self.key, self.reference],
            "order": self.order,
            "until": self.until,
        }

    def document(self) -> dict[str, Any]:
        """The keys of a Data Package that ``parse_history`` reads back."""
        settings: dict[str, Any] = {"order": self.order, "most": self.most, "before": list(self.before)}
        if self.gap is not None and self.until is not None:
            order = self.order_attribute
            settings["gap"] = {
                "edges": [f"P{edge}D" if order.type == "date" else _written(self.gap, edge) for edge in self.gap.edges]
            }
            settings["until"] = _written(order, Fraction(self.until) * (order.point or 1))
        persons, events = _without_version(self.persons), _without_version(self.events)
        of_keys = {"generate", "start", "pattern"}
        events["fields"] = [
            {key: value for key, value in item.items() if item["name"] != self.reference or key not in of_keys}
            for item in events["fields"]
        ]
        rules = {"rowConstraints": [rule.rule for rule in self.rules]} if self.rules else {}
        link = {"fields": self.reference, "reference": {"resource": self.names[0], "fields": self.key}}
        return {
            **dict(self.carried),
            RESOURCES: [
                {"name": self.names[0], "schema": {"primaryKey": self.key, **persons}},
                {
                    "name": self.names[1],
                    "schema": {"foreignKeys": [link], "history": settings, **events, **rules},
                },
            ],
        }


def _part(attribute: Attribute, name: str, *, none: bool = False, mean: bool = False) -> Attribute:
    """An attribute of one of the tables as it stands in a step; a mean is not missing."""
    kept = replace(attribute, name=name, none=none or mean, compute=None)
    return replace(kept, missing=(), read_off_rows=None) if mean else kept


def ruled_attributes(persons: Declared, events: Declared, name: str) -> dict[str, Attribute]:
    """By the names of rules: attributes and totals of events, of persons, and of the event before, if there is one."""
    totals = [replace(made.attribute, name=each.name) for each in events.unread if isinstance(made := each.made, Total)]
    of_event = [*events.attributes, *totals]
    found = {each.name: each for each in of_event}
    found |= {f"{name}.{each.name}": replace(each, name=f"{name}.{each.name}") for each in persons.attributes}
    for each in of_event:
        nothing = each.missing or ("",)
        found[f"{PREVIOUS}.{each.name}"] = replace(each, name=f"{PREVIOUS}.{each.name}", missing=nothing)
    return found


def _written(attribute: Attribute, value: Fraction) -> str | int | float:
    """A value for JSON."""
    if attribute.temporal is not None:
        return attribute.name_of(value)
    return int(value) if value.denominator == 1 else float(value)


def _without_version(schema: Declared) -> dict[str, Any]:
    document = schema.table_schema()
    return {key: value for key, value in document.items() if key not in ("format_version", "name")}
