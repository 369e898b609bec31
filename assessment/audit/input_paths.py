"""From bytes on disk, or a DataFrame, to the release: the whole path that an owner's rows take, on neighbouring files.

The neighbours differ in one row (one person), chosen so that a reader which looks at a whole column treats everybody
else's rows otherwise: a text among numbers, a missing value, a NUL, a truth value. One case declares types alone, as an
owner without a schema does: the type that the release's schema gives to each attribute is seen as well. The noise is
the operating system's, as in every release that is made this way.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from privity import OneWay
from privity.assessment.audit.audited_consortium import PLENTY, POPULATION
from privity.assessment.audit.noise_evidence import scale_of_one, statistics
from privity.assessment.audit.subject import Seen, Source, Subject
from privity.column_types import Types, open_schema
from privity.common.data.attribute import TYPES
from privity.common.data.schema import Schema, parse_schema
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.population import Population
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold, default_memory
from privity.party.sources.open_rows import open_rows
from privity.party.sources.rows import Rows
from privity.party.sources.sql_queries import Slots

if TYPE_CHECKING:
    import pandas as pd

ATTRIBUTES = 50
"""Alike, each with a table of its own: a release has so many outcomes."""

EPSILON = Fraction(ATTRIBUTES)
"""Of a release: 1 for an outcome."""

OTHERS = 20
"""Rows besides the one that is replaced."""

Table = Callable[[int, Path, Schema], "pd.DataFrame | Rows"]
"""(world, an empty folder, schema) -> the table as its owner has it."""


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder, of which the account's own ledgers, and the notes of where they are, know nothing."""
    with (
        tempfile.TemporaryDirectory(prefix="privity-audit-") as folder,
        mock.patch.dict(os.environ, XDG_STATE_HOME=folder),
    ):
        yield Path(folder)


def _schema(field: dict[str, Any]) -> Schema:
    return parse_schema({"fields": [{"name": name, **field} for name in _names()]}, "audit")


def _names() -> list[str]:
    return [f"x{a}" for a in range(ATTRIBUTES)]


def _opened(file: Path, schema: Schema, slots: Slots | None = None) -> Rows:
    return open_rows(parse_address(str(file)), schema, Access(Hold.MEMORY, default_memory(), slots)).rows


def written_csv(folder: Path, header: Sequence[str], rows: Sequence[Sequence[str]], *, packed: bool = False) -> Path:
    """A CSV file in the folder."""
    lines = [",".join(line) for line in [header, *rows]]
    data = ("\n".join(lines) + "\n").encode()
    file = folder / ("rows.csv.gz" if packed else "rows.csv")
    file.write_bytes(gzip.compress(data) if packed else data)
    return file


def _alike(value: str) -> list[str]:
    return [value] * ATTRIBUTES


def ordered_csv(world: int, folder: Path, schema: Schema) -> Rows:
    """Everybody's first row is 9, not 10, as numbers; as texts it would be the other one. One person's is no number."""
    rows = [[f"p{p}", visit, *_alike(value)] for p in range(OTHERS) for visit, value in (("9", "A"), ("10", "B"))]
    rows.append(["q", ("1", "1a")[world], *_alike(("A", "B")[world])])
    file = written_csv(folder, ["person", "visit", *_names()], rows)
    return _opened(file, schema, Slots("person", "visit", 1))


def missing_csv(world: int, folder: Path, schema: Schema) -> Rows:
    """A missing value among integers, in a packed file."""
    rows = [_alike(("2", "")[world]), *([_alike("1")] * OTHERS)]
    return _opened(written_csv(folder, _names(), rows, packed=True), schema)


def nul_csv(world: int, folder: Path, schema: Schema) -> Rows:
    """A text that is another one up to a NUL, before all others."""
    rows = [_alike(("B", "A\0x")[world]), *([_alike("A")] * OTHERS)]
    return _opened(written_csv(folder, _names(), rows), schema)


def missing_parquet(world: int, folder: Path, schema: Schema) -> Rows:
    """A missing value in a file that pandas writes: integers become doubles."""
    file = folder / "rows.parquet"
    _frame([(2, None)[world], *[1] * OTHERS]).to_parquet(file)
    return _opened(file, schema)


def missing_frame(world: int, _folder: Path, _schema: Schema) -> pd.DataFrame:
    """A missing value among integers, which pandas makes doubles of."""
    return _frame([*[1] * OTHERS, (2, None)[world]])


def mixed_frame(world: int, _folder: Path, _schema: Schema) -> pd.DataFrame:
    """A truth value before numbers that are equal to it."""
    return _frame([(2, True)[world], *[1] * OTHERS])


def _frame(values: list[Any]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(dict.fromkeys(_names(), values))


def release_of(
    name: str,
    field: dict[str, Any],
    counts: tuple[Sequence[int], Sequence[int]],
    table: Table,
    runs: int,
    quick: int,
    types: Types | None = None,
) -> Subject:
    """Releases of noisy marginals, made as an owner makes them from Python, ledger on disk included.

    Args:
        field: of each attribute, as it is declared.
        counts: true cells of an attribute in either world.
        types: declared in the place of the fields, if there are any.
    """
    schema = _schema(field)
    zero, one = (np.array(cells, dtype=np.int64) for cells in counts)

    def sample(world: int, count: int, _source: Source) -> Seen:
        parts, charged = [], PLENTY
        with scratch() as folder:
            rows = table(world, folder, schema)
            for batch in range(-(-count // ATTRIBUTES)):
                ledger = folder / f"ledger-{batch}.sqlite"
                Ledger.declare(ledger, Population(POPULATION, EPSILON)).close()
                declared = schema if types is None else parse_schema(open_schema(rows, types), "audit")
                fitted = OneWay(str(EPSILON), population=POPULATION, ledger=ledger).fit(rows, declared)
                tables = [measured for _, measured in fitted.record_.measured]
                view = np.stack([measured.counts.ravel() for measured in tables])
                shown = statistics(view, zero, one, scale_of_one(EPSILON / ATTRIBUTES), Fraction(1))
                known = fitted.model_.schema.attributes
                kinds = [TYPES.index(known[measured.attributes[0]].type) for measured in tables]
                parts.append(np.column_stack([shown, kinds]))
                charged = min(charged, fitted.charged_.epsilon / ATTRIBUTES)
        return Seen({"public": np.concatenate(parts)[:count]}, charged)

    return Subject("input", name, EPSILON / ATTRIBUTES, sample, runs, quick)


LETTERS = {"type": "string", "categories": ["A", "B"]}
OTHER_LETTERS = {**LETTERS, "categories": ["A", "B", "other"], "outOfDomain": "other", "other": "other"}
NUMBERS = {"type": "string", "categories": ["1", "2", "other"], "outOfDomain": "other", "other": "other"}
INTEGERS = {"type": "integer", "categories": [1, 2], "missingValues": [""]}


TYPES_ALONE: Types = dict.fromkeys(_names(), INTEGERS)


def input_subjects() -> list[Subject]:
    """Every pair of neighbours, by the way in."""
    return [
        release_of("CSV, order of a person's rows", LETTERS, ([21, 0], [20, 1]), ordered_csv, 3_000, 600),
        release_of("CSV, missing value", INTEGERS, ([20, 1, 0], [20, 0, 1]), missing_csv, 3_000, 0),
        release_of("CSV, text with a NUL", OTHER_LETTERS, ([20, 1, 0], [20, 0, 1]), nul_csv, 3_000, 0),
        release_of("Parquet, missing value", INTEGERS, ([20, 1, 0], [20, 0, 1]), missing_parquet, 3_000, 0),
        release_of("DataFrame, missing value", NUMBERS, ([20, 1, 0], [20, 0, 1]), missing_frame, 3_000, 600),
        release_of("DataFrame, mixed types", NUMBERS, ([20, 1, 0], [20, 0, 1]), mixed_frame, 3_000, 0),
        release_of("DataFrame, types", INTEGERS, ([20, 1, 0], [20, 0, 1]), missing_frame, 3_000, 0, TYPES_ALONE),
    ]
