"""Rows of a frame in memory: coded, and of each person the first ones, as of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from privity.common.data.coded_table import CodedTable, Column
from privity.common.data.csv_reading import Batch
from privity.common.data.schema import Schema
from privity.common.data.table_reading import Coder, frame_batch, no_rows
from privity.common.errors import RowProblemsFound
from privity.party.sources.held_rows import with_absent
from privity.party.sources.open_rows import check_places
from privity.party.sources.open_texts import CountedTexts
from privity.party.sources.person_slots import load_slots, no_column
from privity.party.sources.rows import InMemory
from privity.party.sources.sql_queries import Slots

if TYPE_CHECKING:
    import pandas as pd

NAME = "table"
"""Of a frame, in messages."""


class FrameBatches:
    """Rows of a frame as ``KeyedBatches``, all at once."""

    name = NAME

    def __init__(self, frame: pd.DataFrame, schema: Schema) -> None:
        self._frame, self._schema = frame, schema

    def with_keys(self, keys: Sequence[str]) -> Iterator[tuple[list[Column], Batch]]:
        """As of ``KeyedBatches``."""
        batch, coder = frame_batch(self._frame, self._schema, keys), Coder(self._schema, NAME, keys)
        columns = coder.code(batch)
        if missing := [key for key in keys if key not in batch.names]:
            raise no_column(NAME, missing, coder)
        coder.check()
        if not coder.rows:
            raise RowProblemsFound([no_rows(NAME)])
        yield columns, batch


def open_frame(frame: pd.DataFrame, schema: Schema, slots: Slots | None) -> InMemory:
    """The rows of a frame; a person has as many places as ``slots`` says, and a row is a person without it.

    Raises:
        RowProblemsFound: as ``open_rows``.
        PrivityError: bad-option: several places, and the schema has no absent rows.
    """
    check_places(schema, slots)
    batches = FrameBatches(frame, schema)
    if slots is not None:
        found = load_slots(batches, schema, slots)
        return InMemory(with_absent(found.table, found.persons * slots.most), found.texts.__getitem__)
    ((columns, batch),) = batches.with_keys(())
    texts = CountedTexts(schema)
    texts.add(batch)
    return InMemory(CodedTable(schema, tuple(columns)), texts)
