"""Columns of an owner's table that lie near to others, and what would keep their gaps: for the owner's screen alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from privity.common.data.computed_columns import columns_as_declared
from privity.common.data.relation_hints import has_order, relations_in
from privity.common.data.schema import Schema
from privity.common.data.table_reading import read_batches
from privity.party.sources.address import Address, Form
from privity.party.sources.drafted_tables import MOST_ROWS, first_rows, stored_value
from privity.party.sources.open_rows import connect

if TYPE_CHECKING:
    import pandas as pd

BATCH_ROWS = 1 << 15


def near_columns(address: Address, schema: Schema, memory: int) -> list[str]:
    """What to declare for columns that lie so near to others that bins do not keep the gap.

    The rows have been found to be in the domain. Of a store the first ``MOST_ROWS`` are looked at.

    Raises:
        PrivityError: source-unreachable, source-refused, file-missing, file-unreadable.
    """
    schema = address.read_by(schema)
    batches = _of_files(address, schema) if address.form is Form.CSV else _of_store(address, schema, memory)
    return relations_in(schema, batches).gaps()


def _of_files(address: Address, schema: Schema) -> Iterator[pd.DataFrame]:
    for file in address.files:
        yield from read_batches(file, schema)


def _of_store(address: Address, schema: Schema, memory: int) -> Iterator[pd.DataFrame]:
    import pandas as pd

    looked = schema.over([attribute.name for attribute in schema.attributes if has_order(attribute)])
    if len(looked.attributes) < 2:
        return
    with closing(connect(address, memory)) as store:
        columns = [store.columns[name] for name in looked.columns_read(store.columns)]
        rows = first_rows(store, columns, MOST_ROWS)
    for start in range(0, len(rows), BATCH_ROWS):
        some = zip(*rows[start : start + BATCH_ROWS], strict=True)
        read = zip(columns, some, strict=True)
        given = {column.name: [stored_value(column, value) for value in values] for column, values in read}
        yield pd.DataFrame(columns_as_declared(looked, given), dtype=object)
