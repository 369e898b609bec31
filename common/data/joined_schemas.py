"""One schema of several that differ in their categories alone: those of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from privity.common.data.attribute import Attribute
from privity.common.data.constant_columns import Constant
from privity.common.data.schema import Schema
from privity.common.data.temporal_pattern import DEFAULT
from privity.common.errors import Problem, ProblemsFound
from privity.common.privacy.discovery import joined as joined_discoveries
from privity.common.text.short_values import shorten


def join_schemas(schemas: Mapping[str, Schema]) -> Schema:
    """The schema of the first file, with the categories of the others too wherever texts may go to ``other``.

    How each owner's rows are written is no difference.

    Args:
        schemas: by their files.

    Raises:
        ProblemsFound: every attribute and column in which a file differs otherwise.
    """
    (first, joined), *others = schemas.items()
    attributes = list(joined.attributes)
    problems: list[Problem] = []
    for file, schema in others:
        problems += _other_columns(file, schema, first, joined)
        if schema.names != joined.names:
            names = f"its attributes are {', '.join(schema.names)}; those of {first} are {', '.join(joined.names)}."
            problems.append(Problem(file, "fields", "other-attributes", names, "Give all schemas the same attributes."))
            continue
        if (schema.row_constraints, schema.absent_rows) != (joined.row_constraints, joined.absent_rows):
            message = f"its rowConstraints or absentRows are not those of {first}."
            problems.append(Problem(file, "", "declared-otherwise", message, "Declare them alike in all schemas."))
        for place, attribute in enumerate(schema.released.attributes):
            one = attributes[place]
            if _besides_categories(attribute) != _besides_categories(joined.released.attributes[place]):
                message = f"attribute {attribute.name!r} is not declared as in {first}."
                remedy = "Declare it alike in all schemas, but for its categories."
                problems.append(Problem(file, f"fields[{place}]", "declared-otherwise", message, remedy))
                continue
            if attribute.categories != one.categories:
                one = replace(one, categories=_all(one, attribute))
            # Whoever declared values public in any of them stands for them in the joined schema.
            attributes[place] = replace(one, read_off_rows=one.read_off_rows or attribute.read_off_rows)
    if problems:
        raise ProblemsFound(problems)
    discoveries = joined_discoveries(one for schema in schemas.values() for one in schema.discoveries)
    stored_types = any(schema.stored_types for schema in schemas.values())
    constants = [one for each in schemas.values() for one in each.unread if isinstance(one.made, Constant)]
    marked = {one.name: one for one in constants if one.read_off_rows}
    unread = tuple(replace(marked.get(one.name, one), before=one.before) for one in joined.unread)
    return replace(
        joined, attributes=tuple(attributes), unread=unread, discoveries=discoveries, stored_types=stored_types
    )


def _other_columns(file: str, schema: Schema, first: str, joined: Schema) -> Iterator[Problem]:
    """The columns that are not read and are not declared as in the first file."""
    for name in dict.fromkeys(column.name for column in (*joined.unread, *schema.unread)):
        here, there = _declared(schema, name), _declared(joined, name)
        if here != there:
            words = [each for each in (here, there) if isinstance(each, str)]
            message = f"is {here}; in {first} it is {there}" if len(words) == 2 else f"is not declared as in {first}"
            remedy = "Declare it alike in all schemas."
            yield Problem(file, "fields", "declared-otherwise", f"column {name!r} {message}.", remedy)


def _declared(schema: Schema, name: str) -> str | dict[str, Any]:
    """What owners must declare alike of a column that one of them does not read: a constant in words."""
    column = next((column for column in schema.unread if column.name == name), None)
    if column is None:
        return "read of the table" if name in schema.names else "not declared"
    if not isinstance(column.made, Constant):
        return {key: value for key, value in column.document if key not in ("title", "description", "readOffRows")}
    attribute = column.attribute
    form = [text for text in (attribute.format, attribute.timezone) if text not in (None, DEFAULT)]
    written = f", written as {' '.join(map(str, form))}" if form else ""
    return f"the constant {attribute.type} {shorten(attribute.name_of(column.made.value))}{written}"


def _besides_categories(attribute: Attribute) -> Attribute:
    """All that owners must declare alike: texts with a category for all others may differ in theirs."""
    attribute = replace(attribute, read_off_rows=None)
    if attribute.type == "string" and attribute.other is not None and not attribute.taxonomy and not attribute.ordered:
        return replace(attribute, categories=())
    return attribute


def _all(one: Attribute, another: Attribute) -> tuple[str, ...]:
    """The categories of both, in an order that does not tell whose is which; the one for all others last."""
    other = str(one.other)
    return (*sorted({str(category) for category in (*one.categories, *another.categories)} - {other}), other)
