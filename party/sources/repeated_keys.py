"""Columns of an owner's table that may tell persons apart who have several rows: for the owner's screen alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing

from privity.common.data.csv_reading import csv_batches
from privity.common.data.file_look import look_for_keys, looked_at
from privity.common.data.frame_values import MISSING, text_of
from privity.common.data.key_columns import of_persons
from privity.common.data.schema import Schema
from privity.party.sources.address import Address, Form
from privity.party.sources.open_rows import connect
from privity.party.sources.sql_coding import quoted
from privity.party.sources.store import Store
from privity.party.sources.store_columns import Kind

MOST_VALUES = 1 << 20
"""Different values of a column, of which more are not looked at."""


def repeated_keys(address: Address, schema: Schema, memory: int) -> list[str]:
    """What to say of keys whose values repeat, in columns that are no attributes with a domain; nothing if none does.

    The rows have been found to be in the domain.

    Raises:
        PrivityError: source-unreachable, source-refused, file-missing, file-unreadable.
    """
    schema = address.read_by(schema)
    if address.form is Form.CSV:
        counts = _of_files(address, schema)
    else:
        with closing(connect(address, memory)) as store:
            counts = dict(_of_store(store, schema))
    found = []
    for name, texts in counts.items():
        rows = sum(texts.values())
        key = look_for_keys(looked_at(name, texts, rows), rows)
        if key is not None and key.repeats:
            found.append((name, key.finding))
    return [*(finding for _, finding in found), of_persons([name for name, _ in found])] if found else []


def _is_looked_at(name: str, schema: Schema) -> bool:
    """Whether it may be a key: not a domain that somebody listed, or a number with a fraction."""
    words = [schema.attributes[schema.index(word)] for word in schema.table_map.words_of(name) if word in schema.names]
    return all(attribute.discover and attribute.type in ("string", "integer") for attribute in words)


def _of_files(address: Address, schema: Schema) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for file in address.files:
        for batch in csv_batches(file, schema.dialect, schema.columns, used=schema.columns):
            for name, column in zip(batch.names, batch.columns, strict=True):
                texts = counts.setdefault(name, Counter())
                if len(texts) < MOST_VALUES and _is_looked_at(name, schema):
                    texts.update(text_of(value) for value in column if value != MISSING)
    return {name: texts for name, texts in counts.items() if 0 < len(texts) < MOST_VALUES}


def _of_store(store: Store, schema: Schema) -> Iterator[tuple[str, Counter[str]]]:
    for name, column in store.columns.items():
        whole = column.kind is Kind.INTEGER or (column.kind is Kind.DECIMAL and column.scale == 0)
        if (whole or column.kind is Kind.TEXT) and _is_looked_at(name, schema):
            listed = f"SELECT CAST({quoted(name)} AS VARCHAR) AS t FROM {store.relation}"
            rows = store.rows(
                f"SELECT t, CAST(COUNT(*) AS BIGINT) AS n FROM ({listed}) AS texts WHERE t IS NOT NULL GROUP BY t "
                f"LIMIT {MOST_VALUES}"
            )
            if 0 < len(rows) < MOST_VALUES:
                yield name, Counter({str(text): int(times) for text, times in rows})
