"""How many of an owner's rows hold each text of a column, for categories to be discovered; never to leave the owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

import pandas as pd

from privity.common.data.attribute import Attribute
from privity.common.data.frame_values import Sort, Value, computed_value, is_unread, read_column, read_value
from privity.common.data.schema import Schema
from privity.common.data.table_reading import read_batches
from privity.party.sources.address import Address, Form
from privity.party.sources.open_rows import connect

LONGEST_TEXT = 200
"""Characters; a longer text is no category."""


def texts_of_frame(frame: pd.DataFrame, attribute: Attribute) -> Counter[str]:
    """Of a column of a frame; each value is read alone."""
    return _counted(attribute, frame.columns, lambda name: ((value, 1) for value in read_column(frame[name])))


def texts_of_source(address: Address, schema: Schema, name: str, memory: int) -> Counter[str]:
    """Of a column of a table, by the name of its attribute.

    Raises:
        PrivityError: source-unreachable, source-refused.
    """
    schema = address.read_by(schema)
    attribute = schema.attributes[schema.index(name)]
    if address.form is Form.CSV:
        found: Counter[str] = Counter()
        for file in address.files:
            for frame in read_batches(file, schema):
                found += texts_of_frame(frame, attribute)
        return found
    store = connect(address, memory)
    try:

        def counts(name: str) -> Iterator[tuple[Value, int]]:
            # Texts are told apart byte by byte, whatever collation the column has.
            text = store.value(store.columns[name])
            query = f"SELECT {text} AS t, CAST(COUNT(*) AS BIGINT) AS n FROM {store.relation} GROUP BY {text}"
            return ((_read(value), int(times)) for value, times in store.rows(query))

        return _counted(attribute, store.columns, counts)
    finally:
        store.close()


def _read(value: object) -> Value:
    return value if isinstance(value, str) else read_value(value)


def _counted(
    attribute: Attribute, there: Collection[str], values: Callable[[str], Iterable[tuple[Value, int]]]
) -> Counter[str]:
    found: Counter[str] = Counter()
    computed = attribute.compute is not None and attribute.name not in there
    name = attribute.compute.source if computed and attribute.compute is not None else attribute.name
    for given, times in values(name):
        value: Value | None = given
        if computed:
            value = None if given in attribute.missing else computed_value(attribute, given)
        if value is None:
            continue
        if not isinstance(value, str):
            if value.sort is Sort.MISSING or is_unread(attribute, value):
                continue
            value = value.text
        if value not in attribute.missing_texts and value != attribute.other and _may_be_category(value):
            found[value] += times
    return found


def _may_be_category(text: str) -> bool:
    return 0 < len(text) <= LONGEST_TEXT and not any(_is_unfit(ord(letter)) for letter in text)


def _is_unfit(letter: int) -> bool:
    """Of control characters, and halves of surrogate pairs, which bytes that are no UTF-8 are read as."""
    return letter < 32 or letter == 127 or 0xD800 <= letter <= 0xDFFF
