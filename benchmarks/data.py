"""The real tables of the experiments: where they are, how rows are split, and each read once."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from privity.assessment.simulation.table_splitting import split_rows
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, load_schema
from privity.common.data.table_reading import read_table


@dataclass(frozen=True)
class Data:
    """A folder of NAME.csv.gz and NAME.schema.json, and one for what a measure keeps for the next call."""

    folder: Path
    scratch: Path

    def files(self, name: str) -> tuple[Path, Path]:
        """The rows and their schema."""
        return self.folder / f"{name}.csv.gz", self.folder / f"{name}.schema.json"

    def schema(self, name: str) -> Schema:
        return load_schema(self.files(name)[1])

    def table(self, name: str) -> CodedTable:
        """Kept in memory: not to be changed."""
        return _read(*self.files(name))

    def digest(self, names: Iterable[str]) -> str:
        digest = hashlib.sha256()
        for file in (file for name in names for file in self.files(name)):
            digest.update(file.read_bytes())
        return digest.hexdigest()[:16]

    def first_rows(self, names: Iterable[str], rows: int) -> Data:
        """The same tables with their first rows only, in the scratch folder."""
        folder = self.scratch / "first-rows"
        folder.mkdir(parents=True, exist_ok=True)
        small = Data(folder, self.scratch)
        for name in names:
            (data, schema), (short, copy) = self.files(name), small.files(name)
            shutil.copyfile(schema, copy)
            with gzip.open(data, "rb") as source:
                short.write_bytes(gzip.compress(b"".join(islice(source, rows + 1)), mtime=0))
        return small


@cache
def _read(data: Path, schema: Path) -> CodedTable:
    return read_table(data, load_schema(schema))


def split_table(table: CodedTable, parties: int, how: str, generator: np.random.Generator) -> list[CodedTable]:
    """The rows of each party, by the rules of ``privity simulate --split`` (codes in the place of values)."""
    frame = pd.DataFrame({"row": np.arange(table.rows)})
    rule, _, rest = how.partition(":")
    name = {"by": rest, "dirichlet": rest.rpartition(":")[0]}.get(rule)
    if name is not None:
        # Padded, since the rule sorts texts.
        frame[name] = [f"{code:09}" for code in table.columns[table.schema.index(name)].tolist()]
    return [table.take(part["row"].to_numpy()) for part in split_rows(frame, parties, how, generator)]
