"""Texts that may become the categories of an open attribute: of the rows that count, by the rules of their coding.

How many rows have each text is their owner's alone, until it is released by ``ChargedReleases.categories``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from privity.common.data.attribute import read_number
from privity.common.data.csv_reading import Batch
from privity.common.data.declared_values import as_declared
from privity.common.data.frame_values import Sort, Value, computed_value, decimal_text, is_unread
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.sql_coding import stands_for_a_value
from privity.party.sources.sql_queries import Questions, Survey
from privity.party.sources.store import Store
from privity.party.sources.store_columns import NUMBERS, Kind

LONGEST_TEXT = 200
"""Characters; a longer text is no category."""

BOOLEANS = {"1": "true", "0": "false"}
"""What some stores make of a boolean, and what its text is."""


def open_places(schema: Schema) -> list[int]:
    """The attributes whose categories are yet to be discovered."""
    return [place for place, attribute in enumerate(schema.attributes) if attribute.discover and not attribute.edges]


def category_of(schema: Schema, place: int, value: Value, *, computed: bool = False) -> str | None:
    """The text by which an open attribute would know a value; None if it is missing or can be no category.

    Args:
        computed: whether the value stands in the column that the attribute is computed of.
    """
    attribute = schema.attributes[place]
    read = as_declared(schema, place, value, computed=computed)
    found = computed_value(attribute, read) if computed and read not in attribute.missing_texts else read
    if found is not None and not isinstance(found, str):
        found = None if found.sort is Sort.MISSING or is_unread(attribute, found) else found.text
    if found is None or found in attribute.missing_texts or found in attribute.categories:
        return None
    return found if _may_be_category(found) else None


def _may_be_category(text: str) -> bool:
    return 0 < len(text) <= LONGEST_TEXT and not any(_is_unfit(ord(letter)) for letter in text)


def _is_unfit(letter: int) -> bool:
    """Of control characters, and halves of surrogate pairs, which bytes that are no UTF-8 are read as."""
    return letter < 32 or letter == 127 or 0xD800 <= letter <= 0xDFFF


def texts_in(schema: Schema, batch: Batch) -> dict[str, list[str | None]]:
    """The text of each row in each open attribute, as of ``category_of``."""
    columns, found = schema.columns_of(batch.names), {}
    for place in open_places(schema):
        name, computed = columns[place]
        values = batch.columns[batch.names.index(name)]
        known = {value: category_of(schema, place, value, computed=computed) for value in set(values)}
        found[schema.names[place]] = [known[value] for value in values]
    return found


class CountedTexts:
    """``Texts`` of batches of rows, each a person's only one."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._found = {schema.names[place]: Counter[str]() for place in open_places(schema)}

    def add(self, batch: Batch) -> None:
        """Count some rows more."""
        for name, texts in texts_in(self._schema, batch).items():
            self._found[name].update(text for text in texts if text is not None)

    def __call__(self, name: str) -> Mapping[str, int]:
        """As of ``Rows.texts``."""
        return self._found[name]


@dataclass(frozen=True)
class StoreTexts:
    """``Texts`` of the rows that a store's questions are about.

    Attributes:
        survey, state: what the rows were like at the beginning, and ``Store.state``.
    """

    store: Store
    questions: Questions
    survey: Survey
    state: str

    def __call__(self, name: str) -> Mapping[str, int]:
        """As of ``Rows.texts``.

        Raises:
            PrivityError: source-unreachable, source-refused; source-changed: these are not the rows of the beginning.
        """
        schema = self.questions.schema
        place = schema.index(name)
        column, computed = self.questions.column(place)
        own = schema.table_map.of(schema.attributes[place], computed=computed)
        coded = own is not None and own.codes is not None
        found: Counter[str] = Counter()
        rows = fingerprint = 0
        for value, times, part in self.store.rows(self.questions.texts(place)):
            rows += int(times)
            fingerprint += int(part)
            text = BOOLEANS.get(value, value) if column.kind is Kind.BOOLEAN else value
            if text is None or not (computed or coded or stands_for_a_value(column, text)):
                continue
            if coded and column.kind in NUMBERS and read_number(text) is not None:
                text = decimal_text(Decimal(text))  # as the map calls it
            if (category := category_of(schema, place, text, computed=computed)) is not None:
                found[category] += int(times)
        # Codes of open texts are all the same, so that files tell more than a fingerprint.
        before = (self.survey.rows, self.survey.fingerprint, self.state)
        if (rows, fingerprint, self.store.state()) != before:
            raise PrivityError(Catalogue.SOURCE_CHANGED, source=self.store.name)
        return found
