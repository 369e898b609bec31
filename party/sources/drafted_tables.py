"""Drafts of tables of every kind: what is proposed is tried by the reader of a fit, and left out in its own words.

Every value is read alone and looked at as its text, whatever type its column has. For the owner's screen.
"""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privity.common.data.cell_files import first_texts, open_cells
from privity.common.data.csv_reading import repeated
from privity.common.data.dialect import COMMON, Dialect
from privity.common.data.dialect_detection import likely_start
from privity.common.data.file_look import Look, look_at
from privity.common.data.frame_values import EXACT_DURATION, Cell, Sort, Value, read_column, read_value, text_of
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.schema_draft import Draft, drafted
from privity.common.data.table_reading import Coder, frame_batch, no_rows
from privity.common.data.temporal import temporal
from privity.common.data.temporal_pattern import SECOND, FormError
from privity.common.errors import Catalogue, PrivityError, Problem, RowProblemsFound
from privity.common.privacy.budget import USUAL, Budget
from privity.common.text.first_few import first_few
from privity.common.text.short_values import shorten
from privity.party.sources.address import Address, Form, parse_address
from privity.party.sources.frame_rows import NAME
from privity.party.sources.held_rows import Access, default_memory
from privity.party.sources.inspection import inspect
from privity.party.sources.open_rows import connect
from privity.party.sources.store import Store
from privity.party.sources.store_columns import Column, Kind

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 1_000_000
"""Of a store, that are looked at."""

MIDNIGHT = " 00:00:00"
LOOKED_AT = 2000
"""Rows of a sheet in which its header is looked for."""

_ZEROS = re.compile(r"(?<=\.[0-9])0+S$|(?<=\.[0-9]{3})0+S$|(?<=\.[0-9]{6})0+S$|\.0+S$")
"""At the end of a duration."""


@dataclass(frozen=True)
class LookedAtTable:
    """A table that was looked at.

    Attributes:
        path: its values as a CSV file in the dialect of the look: the file itself, or one that goes with the context.
        refused: what a fit would refuse of the rows by a schema.
        zones: time zones that columns of times have, by name.
    """

    look: Look
    path: Path
    refused: Callable[[Schema], Sequence[Problem]] = lambda schema: ()
    zones: Mapping[str, str] = field(default_factory=dict)

    def drafted(self, *, leave_out: Collection[str] = (), keep: Collection[str] = (), budget: Budget = USUAL) -> Draft:
        """As ``schema_draft.drafted``, without columns that a fit would refuse.

        Raises:
            RowProblemsFound: a fit would refuse all of them, or the table.
            PrivityError: as ``schema_draft.drafted``.
        """
        draft = self._in_zones(drafted(self.look, leave_out=leave_out, keep=keep, budget=budget))
        tried = {**draft.document, "fields": list(map(_as_read, draft.document["fields"]))}
        problems = self.refused(parse_schema(tried, self.look.file))
        names = {shorten(column.name): column.name for column in self.look.columns}
        names |= {column.name: column.name for column in self.look.columns}
        odd = {names[problem.field]: problem for problem in problems if problem.field in names}
        if not problems:
            return draft
        if len(odd) < len(problems) or len(odd) == len(draft.document["fields"]):
            raise RowProblemsFound(list(problems))
        left = [name for name in (*leave_out, *odd) if name not in draft.left_out or name in leave_out]
        again = self._in_zones(
            drafted(self.look, leave_out=left, keep=[n for n in keep if n not in odd], budget=budget)
        )
        said = [
            f'{shorten(name)}: {problem.message} {problem.remedy} It is left out, by "leaveOut".'
            for name, problem in odd.items()
        ]
        return replace(again, findings=(*said, *again.findings))

    def _in_zones(self, draft: Draft) -> Draft:
        """The same with times in the zones that their columns have."""
        fields = [
            {**item, "timezone": self.zones[item["name"]]}
            if "timezone" in item and item["name"] in self.zones
            else item
            for item in draft.document["fields"]
        ]
        return replace(draft, document={**draft.document, "fields": fields})


def _as_read(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The field, or one that is read in the place of one that is not: what seems to be one text may be no value."""
    if item["type"] != "string" or not {"constant", "empty"} & item.keys():
        return item
    return {"name": item["name"], "type": "string", "domain": "discover", "missingValues": [""]}


@contextmanager
def looked_at_frame(frame: pd.DataFrame, name: str = NAME) -> Iterator[LookedAtTable]:
    """A table in memory.

    Raises:
        RowProblemsFound: no rows, names that are there more than once, or no name at all.
    """
    names = [str(column) for column in frame.columns]
    places = [place for place, column in enumerate(names) if column]
    if problems := repeated([names[place] for place in places], NAME) or ([] if len(frame) else [no_rows(NAME)]):
        raise RowProblemsFound([replace(problem, remedy=problem.remedy.split(" Or ")[0]) for problem in problems])
    named = frame.iloc[:, places]
    columns = [read_column(named.iloc[:, place]) for place in range(len(places))]
    zones = {
        str(column): zone
        for column, dtype in zip(named.columns, named.dtypes, strict=True)
        if (zone := _zone_of(dtype))
    }

    def refused(schema: Schema) -> Sequence[Problem]:
        coder = Coder(schema, NAME)
        coder.code(frame_batch(named, schema))
        return coder.problems()

    with _as_csv([names[place] for place in places], zip(*columns, strict=True), name) as path:
        look = replace(look_at(path, {}), file=name, ignored=("",) if len(places) < len(names) else ())
        yield LookedAtTable(look, path, refused, zones)


@contextmanager
def looked_at_source(text: str, dialect: Mapping[str, Any] | None = None) -> Iterator[LookedAtTable]:
    """A table where ``--data`` may say that it is.

    Args:
        text: a path or address.
        dialect: a checked document of the one of a CSV file; found out if it is None.

    Raises:
        PrivityError: as ``parse_address`` and ``connect``; bad-option: several CSV files.
        RowProblemsFound: as ``look_at``.
    """
    address = parse_address(text)
    if address.form is Form.CSV:
        if len(address.files) > 1:
            reason, hint = "a draft looks at one such file", f"Name one of them, such as {address.files[0]}."
            raise PrivityError(Catalogue.BAD_OPTION, option="file", reason=reason, hint=hint)
        if not address.holds_texts:
            with _looked_at_cells(address, COMMON.changed(dialect or {})) as looked:
                yield looked
            return
        yield LookedAtTable(look_at(address.files[0], dialect), address.files[0])
        return
    with closing(connect(address, default_memory())) as store:
        columns = [column for column in store.columns.values() if column.kind is not Kind.OTHER]
        unread = [column for column in store.columns.values() if column.kind is Kind.OTHER]
        if not columns:
            reason, hint = "no column has a type that is read", "Make texts or numbers of them by a view."
            raise PrivityError(Catalogue.BAD_OPTION, option="file", reason=reason, hint=hint)
        rows = first_rows(store, columns, MOST_ROWS + 1)
    read = (tuple(map(stored_value, columns, row)) for row in rows[:MOST_ROWS])
    if not rows:
        raise RowProblemsFound([no_rows(address.name)])
    with _as_csv([column.name for column in columns], read, "table") as path:
        look = look_at(path, {})
        said = list(look.findings)
        if len(rows) > MOST_ROWS:
            said.insert(0, f"Only {MOST_ROWS} rows were looked at.")
        if unread:
            types = first_few([f"{shorten(column.name)} ({column.declared})" for column in unread])
            said.insert(0, f'Columns of types that are not read: {types}. They are ignored, by "extraColumns".')
        ignored = tuple(column.name for column in unread)
        look = replace(look, file=address.name, ignored=ignored, findings=tuple(said))
        yield LookedAtTable(look, path, partial(_refused, address))


@contextmanager
def _looked_at_cells(address: Address, dialect: Dialect) -> Iterator[LookedAtTable]:
    """A workbook, whose table is looked for below its title, or a file of Stata, SPSS or SAS."""
    file = address.files[0]
    seen = first_texts(file, dialect, LOOKED_AT)[dialect.skip_rows :]
    before, header = likely_start(seen)
    found = replace(dialect, skip_rows=dialect.skip_rows + before, header=header and dialect.header)
    with open_cells(file, found) as cells:
        days = _of_days(cells.rows)
    with open_cells(file, found) as cells:
        found = cells.dialect
        rows = ([_day(value) if place in days else value for place, value in enumerate(row)] for row in cells.rows)
        form = {"skipRows": found.skip_rows, "header": found.header}
        with _as_csv(next(rows, []), rows, "table", found.skip_rows) as path:
            look = look_at(path, form)
            told = replace(look.dialect, sheet=found.sheet, bad_rows=found.bad_rows)
            yield LookedAtTable(replace(look, file=address.name, dialect=told), path, partial(_refused, address))


def _of_days(rows: Iterator[Sequence[Value]]) -> set[int]:
    """The columns in which every time is a midnight: a sheet tells days from such times by their looks only."""
    first = next(rows, [])
    found = set(range(len(first)))
    for row in chain([first], rows):
        found -= {place for place in found if _is_time(row[place]) and isinstance(_day(row[place]), Cell)}
    return found


def _is_time(value: Value) -> bool:
    return isinstance(value, Cell) and value.sort is Sort.DATETIME


def _day(value: Value) -> Value:
    """The day of a midnight, any other value as it is."""
    return text_of(value).removesuffix(MIDNIGHT) if _is_time(value) and text_of(value).endswith(MIDNIGHT) else value


def _refused(address: Address, schema: Schema) -> Sequence[Problem]:
    """What a fit would refuse of the rows at an address."""
    try:
        return inspect(address, schema, Access(memory=default_memory())).problems
    except RowProblemsFound as error:
        return error.problems


def first_rows(store: Store, columns: Iterable[Column], most: int) -> Sequence[Sequence[Any]]:
    """So many rows of these columns, as the store has them."""
    values = ", ".join(map(store.value, columns))
    return store.rows(f"SELECT {values} FROM {store.relation} LIMIT {most}")


def stored_value(column: Column, value: object) -> Value:
    """A value of a store; durations of files are whole numbers."""
    if column.kind is Kind.DURATION and isinstance(value, int):
        return Cell(Sort.DURATION, EXACT_DURATION.iso(value * SECOND // column.second))
    return read_value(value, exact=True)


def _zone_of(dtype: Any) -> str:
    """The time zone of a column as a schema declares it; empty if it has none that is known here."""
    import pandas as pd

    kind = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else dtype
    name = str(getattr(kind, "tz", None) or "")
    name = name.removeprefix("UTC") or "UTC" if name else ""
    try:
        temporal("datetime", "default", None, name or None)
    except FormError:
        return ""
    return name


@contextmanager
def _as_csv(first: Sequence[Value], rows: Iterable[Sequence[Value]], name: str, before: int = 0) -> Iterator[Path]:
    """A file of the values, each as it is read, that goes when the context ends.

    Args:
        first: the names of the columns, if they have any.
        before: empty lines before it.
    """
    with tempfile.TemporaryDirectory(prefix="privity-") as folder:
        path = Path(folder) / f"{Path(name).name or NAME}.csv"
        with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
            writer = csv.writer(file)
            file.write("\n" * before)
            for row in chain([first], rows):
                writer.writerow(map(_text, row))
        yield path


def _text(value: Value) -> str:
    if isinstance(value, str) or value.sort is Sort.MISSING:
        return value if isinstance(value, str) else ""
    return _ZEROS.sub("S", value.text) if value.sort is Sort.DURATION else value.text
