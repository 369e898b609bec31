"""CSV files: texts that are coded on their way in and held as codes; to read them for each question takes too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from privity.common.data.coded_table import Column
from privity.common.data.csv_reading import Batch
from privity.common.data.schema import Schema
from privity.common.data.table_reading import Coder, no_rows
from privity.common.errors import RowProblemsFound
from privity.party.sources.address import Address
from privity.party.sources.coded_batches import BATCH_ROWS
from privity.party.sources.file_states import address_state
from privity.party.sources.pass_progress import a_pass_over
from privity.party.sources.person_slots import no_column
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

    def with_keys(self, keys: Sequence[str]) -> Iterator[tuple[list[Column], Batch]]:
        """As of ``KeyedBatches``; raises after the last row of the first file with faults."""
        rows = 0
        with a_pass_over(self._address.files) as reading:
            for file in self._address.files:
                coder = Coder(self._schema, str(file), keys)
                for columns, batch in coder.read(file, at=reading(file)):
                    missing = [key for key in keys if key not in batch.names]
                    if missing:
                        raise no_column(str(file), missing, coder)
                    # Once something was wrong the file is read to its end for its other faults only.
                    if coder.sound:
                        yield columns, batch
                coder.check()
                rows += coder.rows
        if not rows:
            raise RowProblemsFound([no_rows(self.name)])

    def state(self) -> str:
        return address_state(self._address)
