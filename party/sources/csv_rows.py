"""CSV files: texts that are coded on their way in and held as codes; to read them for each question takes too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from common.errors import Problem
from common.formats import shorten
from common.reading import Coder, RowProblemsFound, read_batches
from common.schema import Schema
from common.table import CodedTable, Column
from party.sources.address import Address
from party.sources.embedded import address_state
from party.sources.query import NO_ORDER, NO_PERSON, TIED, Slots
from party.sources.store import Codes


class CsvBatches:
    """Rows of CSV files as ``CodedBatches``; every fault of a file is told once all of it was read."""

    def __init__(self, address: Address, schema: Schema) -> None:
        self.name = address.name
        self._address, self._schema = address, schema

    def read(self, attributes: Sequence[int]) -> Iterator[list[Codes]]:
        for columns, _ in self.with_keys(()):
            yield [columns[a] for a in attributes]

    def with_keys(self, keys: Sequence[str]) -> Iterator[tuple[list[Column], list[pd.Series]]]:
        """All rows: codes of all attributes, and the texts of some columns beside them.

        Raises:
            RowProblemsFound: after the last row of the first file with faults.
        """
        for file in self._address.files:
            coder = Coder(self._schema, str(file), keys)
            for frame in read_batches(file):
                columns = coder.code(frame)
                missing = [key for key in keys if key not in frame.columns]
                if missing:
                    raise _no_column(str(file), missing, coder)
                # Once something was wrong the file is read to its end for its other faults only.
                if coder.sound:
                    yield columns, [frame[key] for key in keys]
            coder.check()

    def state(self) -> str:
        return address_state(self._address)


def load_slots(batches: CsvBatches, schema: Schema, slots: Slots) -> tuple[CodedTable, int]:
    """The first ``most`` rows of each person, and how many persons there are.

    Raises:
        RowProblemsFound: faults of a file; rows without a person, or that the order does not tell apart.
    """
    parts, persons, orders = [], [], []
    for columns, (person, order) in batches.with_keys([slots.person, slots.order]):
        parts.append(columns)
        persons.append(person)
        orders.append(order)
    keys = pd.concat(persons, ignore_index=True)
    places = pd.concat(orders, ignore_index=True)
    problems = [
        Problem(batches.name, shorten(column), "person", message, remedy)
        for texts, column, (message, remedy) in (
            (keys, slots.person, NO_PERSON), (places, slots.order, NO_ORDER)
        )
        if (texts == "").any()
    ]  # fmt: skip
    codes, distinct = pd.factorize(keys)
    ranks = _ranks(places)
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
    return table.take(kept), len(distinct)


def _ranks(texts: pd.Series) -> npt.NDArray[np.int64]:
    """The order of texts: as numbers if all of them are integers, else byte by byte."""
    try:
        values: npt.NDArray[np.object_] = np.array([int(text) for text in texts], dtype=object)
    except ValueError:
        # Code points stand in the order of their bytes in UTF-8.
        values = texts.to_numpy(dtype=object)
    return pd.factorize(values, sort=True)[0].astype(np.int64)


def _no_column(file: str, names: Sequence[str], coder: Coder) -> RowProblemsFound:
    """Keys that are no columns, with what else was wrong so far."""
    remedy = "Correct person and order: they name columns of the rows."
    missing = [Problem(file, shorten(name), "missing-column", "no such column.", remedy) for name in names]
    try:
        coder.check()
    except RowProblemsFound as found:
        missing = [*found.problems, *missing]
    return RowProblemsFound(missing)
