"""The real tables of the sweeps: where they are, how they are split, and each read once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, load_schema
from privity.common.data.table_reading import read_table
from privity.deploy.simulation.table_splitting import split_rows

LARGE_SHARE = "sizes:.8,.1,.1"


@dataclass(frozen=True)
class Dataset:
    """A table, its descriptor, and the attribute by which it is sorted for the skewed split."""

    name: str
    data: Path
    schema_file: Path
    sort_by: str

    @classmethod
    def read(cls, data: Path, schema_file: Path) -> Dataset:
        schema = load_schema(schema_file)
        return cls(schema.name or data.name.split(".")[0], data, schema_file, schema.names[-1])

    @cached_property
    def schema(self) -> Schema:
        return load_schema(self.schema_file)

    @cached_property
    def digest(self) -> str:
        content = self.data.read_bytes() + self.schema_file.read_bytes()
        return hashlib.sha256(content).hexdigest()[:16]

    @property
    def splits(self) -> dict[str, str]:
        """Ways to split the rows, as ``privity simulate --split`` writes them."""
        return {
            "random": "random",
            f"sorted by {self.sort_by}": f"by:{self.sort_by}",
            "one party has 80 %": LARGE_SHARE,
        }


@cache
def load(data: Path, schema_file: Path) -> CodedTable:
    """The rows, kept in memory."""
    return read_table(data, load_schema(schema_file))


def split_table(table: CodedTable, parties: int, how: str, generator: np.random.Generator) -> list[CodedTable]:
    """The rows of each party, by the rules of ``privity simulate`` (codes in the place of values)."""
    frame = pd.DataFrame({"row": np.arange(table.rows)})
    name = _attribute_of(how)
    if name is not None:
        column = table.columns[table.schema.index(name)]
        # Padded, since the rule sorts texts.
        frame[name] = [f"{code:09}" for code in column.tolist()]
    return [table.take(part["row"].to_numpy()) for part in split_rows(frame, parties, how, generator)]


def _attribute_of(how: str) -> str | None:
    """The attribute by which a rule splits, if there is one."""
    rule, _, rest = how.partition(":")
    return {"by": rest, "dirichlet": rest.rpartition(":")[0]}.get(rule)
