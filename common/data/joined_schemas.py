"""One schema of several that differ in their categories alone: those of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privity.common.data.attribute import Attribute
from privity.common.data.schema import Schema
from privity.common.errors import Problem, ProblemsFound
from privity.common.privacy.discovery import joined as joined_discoveries


def join_schemas(schemas: Mapping[str, Schema]) -> Schema:
    """The schema of the first file, with the categories of the others too wherever texts may go to ``other``.

    How each owner's rows are written is no difference.

    Args:
        schemas: by their files.

    Raises:
        ProblemsFound: every attribute in which a file differs otherwise.
    """
    (first, joined), *others = schemas.items()
    attributes, problems = list(joined.attributes), []
    for file, schema in others:
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
    return replace(joined, attributes=tuple(attributes), discoveries=discoveries, stored_types=stored_types)


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
