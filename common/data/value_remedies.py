"""What an owner may do about values outside a domain: the exact words to declare. For the owner's screen alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from privity.common.data.attribute import Attribute, read_number
from privity.common.data.dialect import NumberMarks
from privity.common.data.dialect_detection import fitting_marks
from privity.common.data.frame_values import Cell, Sort, Value
from privity.common.data.schema import Schema
from privity.common.text.short_values import LONGEST_ECHO, shorten

NOTHING = (
    "", "na", "n/a", "#n/a", "<na>", "nan", "null", "\\n", "none", "nil", "nat", "?", "-", "--", ".", "*", "missing",
    "unknown",
)  # fmt: skip
"""Texts, in lower case, that often mean that there is no value."""

MOST_WORDS = 3
MOST_LISTED = 8
"""Texts that one message proposes as missing values."""

GENERAL = "Correct the values (spaces count), declare them, or declare missingValues or outOfDomain."


def seems_missing(text: str) -> bool:
    """Whether a text often means that there is no value."""
    return text.strip().lower() in NOTHING


def remedy_in(schema: Schema, place: int, values: Sequence[Value], *, computed: bool) -> str:
    """What to do about some values of an owner's column that are outside the domain of an attribute.

    Args:
        computed: whether the attribute is computed of the column.
    """
    attribute, file = schema.attributes[place], schema.table_map.file
    column = shorten(attribute.column(computed=computed))
    own = schema.table_map.of(attribute, computed=computed)
    if own is not None and own.codes is not None:
        return f'List them in "codes" of {column} in {file}, or correct them.'
    remedy = remedy_of(attribute, values, schema.marks[place])
    if own is None or own.renamed_only:
        return remedy
    return f"Correct the field of {column} in {file}, by which they are read. {remedy}"


def remedy_of(attribute: Attribute, values: Sequence[Value], marks: NumberMarks) -> str:
    """What to do about some values outside the domain of an attribute, whose numbers are written with these marks."""
    texts = [value for value in values if isinstance(value, str)]
    numbers = [value.text for value in values if isinstance(value, Cell) and value.sort is Sort.NUMBER]
    nothing = [text for text in texts if seems_missing(text)]
    if any(isinstance(value, Cell) and value.sort is Sort.MISSING for value in values) and "" not in nothing:
        nothing.insert(0, "")
    rest = [text for text in texts if not seems_missing(text)]
    found = []
    if nothing:
        found.append(f'If they mean no value, declare "missingValues": {_listed([*attribute.missing, *nothing])}.')
    if attribute.type in ("integer", "number"):
        found += _of_numbers(attribute, rest, numbers, marks)
    elif rest and (spaced := _after(rest, attribute, str.strip)):
        found.append(spaced)
    if rest and not found and attribute.type == "string":
        other = '"outOfDomain": "other" with "other" for the category that takes them.'
        return f"Correct the values (spaces count), declare them among the categories, or declare {other}"
    return " ".join(found) or GENERAL


def _of_numbers(attribute: Attribute, texts: Sequence[str], numbers: Sequence[str], marks: NumberMarks) -> list[str]:
    plain = [marks.plain(text) for text in texts]
    unread = [text for text, number in zip(texts, plain, strict=True) if number is None]
    read = [*numbers, *(number for number in plain if number is not None)]
    found = []
    if unread:
        written = [text for text in unread if any(sign.isdigit() for sign in text)]
        likely = next(iter(fitting_marks(written)), None)
        if likely is not None:
            found.append(f"{shorten(written[0])} is no number as declared: declare {_words(likely, marks)}.")
        words = [text for text in unread if likely is None or text not in written]
        if words:
            known = _listed([*attribute.missing, *words[:MOST_WORDS]])
            found.append(f'{shorten(words[0])} is no number: declare it in "missingValues" ({known}), or correct it.')
    fractions = [text for text in read if (number := read_number(text)) is not None and number.denominator != 1]
    if attribute.type == "integer" and fractions:
        found.append(f'{shorten(fractions[0])} is no integer: declare "type": "number", or round it.')
    elif read and attribute.edges:
        found.append(
            'Widen the domain, or declare "outOfDomain": "edge", by which such a number counts as the nearest bin.'
        )
    elif read:
        found.append("Declare them among the categories, or declare bins.")
    return found


def _listed(texts: Sequence[str]) -> str:
    """The first of some different texts as JSON has them."""
    some = [text if len(text) < LONGEST_ECHO else text[:LONGEST_ECHO] + "..." for text in dict.fromkeys(texts)]
    return json.dumps(some[:MOST_LISTED], ensure_ascii=False)


def _words(likely: NumberMarks, declared: NumberMarks) -> str:
    """The keys to declare."""
    keys = {"decimalChar": likely.decimal, "groupChar": likely.group, "bareNumber": likely.bare}
    before = {"decimalChar": declared.decimal, "groupChar": declared.group, "bareNumber": declared.bare}
    changed = {key: mark for key, mark in keys.items() if mark != before[key]}
    return ", ".join(f"{json.dumps(key)}: {json.dumps(mark, ensure_ascii=False)}" for key, mark in changed.items())


def _after(texts: Sequence[str], attribute: Attribute, mended: Callable[[str], str]) -> str:
    """What to do if all values would be in the domain without the spaces around them."""
    strict = replace(attribute, out_of_domain="refuse", other=None)
    if any(strict.code_of(mended(text)) is None for text in texts):
        return ""
    if all(text.rstrip() == text for text in texts):
        return 'Spaces stand before values: declare "dialect": {"skipInitialSpace": true}, or take them away.'
    return "Spaces stand around values: take them away."
