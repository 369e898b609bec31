"""CSV files: texts that are coded on their way in and held as codes; to read them for each question takes too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import read_number
from privity.common.data.coded_table import CodedTable, Column
from privity.common.data.csv_reading import RowProblemsFound
from privity.common.data.frame_values import Value
from privity.common.data.schema import Schema
from privity.common.data.table_reading import Coder, no_rows
from privity.common.errors import Problem
from privity.common.formats import shorten
from privity.party.sources.address import Address
from privity.party.sources.coded_batches import BATCH_ROWS
from privity.party.sources.duckdb_store import address_state
from privity.party.sources.pass_progress import a_pass_over
from privity.party.sources.sql_queries import NO_ORDER, NO_PERSON, TIED, Slots
from privity.party.sources.store import Codes


class CsvBatches:
    """Rows of CSV files as ``CodedBatches``; every fault of a file is told once all of it was read."""

    def __init__(self, address: Address, schema: Schema) -> None:
        self.name = address.name
        self._address, self._schema = address, schema

    def parts(self) -> int:
        return 1

    def read(self, attributes: Sequence[int], part: int | None = None) -> Iterator[list[Codes]]:
        waiting: list[list[Column]] = []
        rows = 0
        for columns, _ in self.with_keys(()):
            waiting.append([columns[a] for a in attributes])
            rows += len(columns[0])
            if rows >= BATCH_ROWS:
                yield [np.concatenate(some) for some in zip(*waiting, strict=True)]
                waiting, rows = [], 0
        if waiting:
            yield [np.concatenate(some) for some in zip(*waiting, strict=True)]

    def with_keys(self, keys: Sequence[str]) -> Iterator[tuple[list[Column], list[Sequence[Value]]]]:
        """All rows: codes of all attributes, and the texts of some columns beside them.

        Raises:
            RowProblemsFound: after the last row of the first file with faults, or if no file has rows.
        """
        rows = 0
        with a_pass_over(self._address.files) as reading:
            for file in self._address.files:
                coder = Coder(self._schema, str(file), keys)
                for columns, batch in coder.read(file, at=reading(file)):
                    missing = [key for key in keys if key not in batch.names]
                    if missing:
                        raise _no_column(str(file), missing, coder)
                    # Once something was wrong the file is read to its end for its other faults only.
                    if coder.sound:
                        yield columns, [batch.columns[batch.names.index(key)] for key in keys]
                coder.check()
                rows += coder.rows
        if not rows:
            raise RowProblemsFound([no_rows(self.name)])

    def state(self) -> str:
        return address_state(self._address)


def load_slots(batches: CsvBatches, schema: Schema, slots: Slots) -> tuple[CodedTable, int]:
    """The first ``most`` rows of each person, and how many persons there are.

    Raises:
        RowProblemsFound: faults of a file; rows without a person, or that the order does not tell apart.
    """
    persons: dict[Value, int] = {}
    orders: dict[Value, int] = {}
    parts, owners, places = [], [], []
    for columns, (person, order) in batches.with_keys([slots.person, slots.order]):
        parts.append(columns)
        owners.append(_numbered(person, persons))
        places.append(_numbered(order, orders))
    problems = [
        Problem(batches.name, shorten(column), "person", message, remedy)
        for texts, column, (message, remedy) in ((persons, slots.person, NO_PERSON), (orders, slots.order, NO_ORDER))
        if "" in texts
    ]
    codes = np.concatenate(owners)
    ranks = _ranks([str(text) for text in orders])[np.concatenate(places)]
    by_person = np.lexsort((ranks, codes))
    codes, ranks = codes[by_person], ranks[by_person]
    first = np.concatenate([[True], codes[1:] != codes[:-1]])
    if (~first[1:] & (ranks[1:] == ranks[:-1])).any():
        message, remedy = TIED
        problems.append(Problem(batches.name, shorten(slots.order), "person", message, remedy))
    if problems:
        raise RowProblemsFound(problems)
    number = np.arange(codes.size) - np.maximum.accumulate(np.where(first, np.arange(codes.size), 0))
    kept = np.sort(by_person[number < slots.most])
    table = CodedTable(schema, tuple(np.concatenate(some) for some in zip(*parts, strict=True)))
    return table.take(kept), len(persons)


def _numbered(texts: Sequence[Value], known: dict[Value, int]) -> npt.NDArray[np.int64]:
    """The number of each text; a new one gets the next."""
    return np.fromiter((known.setdefault(text, len(known)) for text in texts), np.int64, len(texts))


def _ranks(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """The place of each of some different texts among them, in the order of ``order_key``."""
    place = {text: number for number, text in enumerate(sorted(texts, key=order_key))}
    return np.array([place[text] for text in texts], dtype=np.int64)


def order_key(text: str) -> tuple[bool, int, str]:
    """What the texts of an order column are sorted by: integers by value, then other texts byte by byte.

    Which of two texts comes first depends on these two only. Integers of one value ("7", "07") stand byte by byte.
    """
    number = read_number(text)
    # Code points stand in the order of their bytes in UTF-8.
    return (False, number, text) if isinstance(number, int) else (True, 0, text)


def _no_column(file: str, names: Sequence[str], coder: Coder) -> RowProblemsFound:
    """Keys that are no columns, with what else was wrong so far."""
    remedy = "Correct person and order: they name columns of the rows."
    missing = [Problem(file, shorten(name), "missing-column", "no such column.", remedy) for name in names]
    try:
        coder.check()
    except RowProblemsFound as found:
        missing = [*found.problems, *missing]
    return RowProblemsFound(missing)
