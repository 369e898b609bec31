"""Read and code rows of text, some at a time: what a person keeps in CSV, or has in a frame.

Everything that raises ``RowProblemsFound`` may quote values and row numbers, for the owner's own screen: its message
must never leave the owner's machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable, Column, code_type
from privity.common.data.computed_columns import of_several
from privity.common.data.csv_reading import (
    Batch,
    Places,
    csv_batches,
    extra_problems,
    repeated,
)
from privity.common.data.declared_values import as_declared, code_in
from privity.common.data.dialect import COMMON
from privity.common.data.frame_values import (
    MISSING,
    READ_TYPES,
    Moments,
    Sort,
    Value,
    is_unread,
    read_column,
    shown,
    text_of,
)
from privity.common.data.reading_hints import header_hint
from privity.common.data.schema import Schema
from privity.common.data.temporal_pattern import DEFAULT
from privity.common.data.value_remedies import remedy_in
from privity.common.errors import Problem, RowProblemsFound
from privity.common.text.first_few import first_few
from privity.common.text.short_values import listed, shorten

if TYPE_CHECKING:
    import pandas as pd

VALUES_NAMED = 3  # values outside a domain that a message names
MOST_FAULTS = 1000  # different values outside a domain that are told apart
MOST_TEXTS = 1 << 20  # values of an attribute whose codes are remembered


def read_table(path: Path | str, schema: Schema) -> CodedTable:
    """Read and code a CSV file. Raises as ``read_rows`` and ``encode`` do."""
    coder = Coder(schema, str(path))
    return _joined([columns for columns, _ in coder.read(path)], coder)


def read_rows(
    path: Path | str, schema: Schema | None = None, at: Callable[[int], None] = lambda read: None
) -> pd.DataFrame:
    """Read a CSV file (gzip if the name ends in .gz); every value as text.

    Args:
        schema: of the table. Its dialect says how the file is written, and numbers are given as the schema writes
            them. Without one the file has a header, is UTF-8 and comma-separated, and every text is as it stands.
        at: is told before each batch how many bytes of the file were read.

    Raises ``PrivityError`` (file-missing, file-unreadable) or
    ``RowProblemsFound`` with every fault of the form: no header, a column without a name or with the name
    of another, rows of another length than the header.
    """
    import pandas as pd

    return pd.concat(read_batches(path, schema, at), ignore_index=True)


def read_batches(
    path: Path | str, schema: Schema | None = None, at: Callable[[int], None] = lambda read: None
) -> Iterator[pd.DataFrame]:
    """The same some rows at a time; at least one frame, which shows the columns. Faults are raised at the end."""
    import pandas as pd

    if schema is None:
        for batch in csv_batches(path, COMMON, at=at):
            texts = [list(map(text_of, column)) for column in batch.columns]
            yield pd.DataFrame(dict(zip(batch.names, texts, strict=True)), dtype=object)
        return
    used = {*schema.names, *schema.columns}
    known = used if schema.extra_columns else None
    values: list[_Declared] = []
    for batch in csv_batches(path, schema.dialect, schema.columns, used=known, at=at):
        there = dict(zip(batch.names, batch.columns, strict=True))
        several = of_several(schema, there)
        columns: dict[str, list[Value | None]] = {
            name: [None if value == MISSING else value for value in column]
            for name, column in there.items()
            if (name in used or not schema.extra_columns) and name not in schema.table_map.taken
        }
        places = schema.columns_of(there)
        values = values or [_Declared(schema, place, computed=computed) for place, (_, computed) in enumerate(places)]
        for attribute, declared, (name, computed) in zip(schema.attributes, values, places, strict=True):
            word = attribute.column(computed=computed)
            renamed = name in schema.table_map.taken and attribute.name not in several
            if name in there and (not computed or renamed):
                columns[word] = list(map(declared.__getitem__, there[name]))
        columns |= {
            name: [value if isinstance(value, str) else value.text if value != MISSING else None for value in column]
            for name, column in several.items()
        }
        yield pd.DataFrame(columns, dtype=object)


class _Declared(dict[Value, Value | None]):
    """The values of an attribute's column as the schema writes them; None for a cell that is missing."""

    def __init__(self, schema: Schema, place: int, *, computed: bool) -> None:
        super().__init__()
        self._schema, self._place, self._computed = schema, place, computed

    def __missing__(self, value: Value) -> Value | None:
        declared = as_declared(self._schema, self._place, value, computed=self._computed)
        found = None if declared == MISSING else declared
        if len(self) < MOST_TEXTS:
            self[value] = found
        return found


def encode(frame: pd.DataFrame, schema: Schema, file: str) -> CodedTable:
    """Code a table by the schema; the order of the frame's columns does not matter.

    Each value is read alone (``privity.common.data.frame_values``), so the types that pandas chose for the columns
    decide nothing.

    ``file`` is the name that messages carry. No row is dropped. Raises ``RowProblemsFound`` with all
    faults at once: no rows, columns that are missing or not declared, values of a type that cannot be read, and,
    per attribute, values outside the domain where the schema refuses them. Its messages quote values and row
    numbers (row 1 is the first one after the header), so they are for the owner's screen only.
    """
    coder = Coder(schema, file)
    return _joined([coder.code(frame_batch(frame, schema))], coder)


def frame_batch(frame: pd.DataFrame, schema: Schema, also: Sequence[str] = ()) -> Batch:
    """All rows of a frame; values of other columns than the attributes' and ``also`` are left out."""
    names = [str(name) for name in frame.columns]
    read = {*also, *schema.columns_read(names)}
    columns = [read_column(frame.iloc[:, place]) if name in read else () for place, name in enumerate(names)]
    return Batch(names, columns, range(1, len(frame) + 1))


def _joined(batches: Sequence[list[Column]], coder: Coder) -> CodedTable:
    """The table of all batches; raises what the coder has found, or that there are no rows."""
    coder.check()
    if not coder.rows:
        raise RowProblemsFound([no_rows(coder.file)])
    return CodedTable(coder.schema, tuple(np.concatenate(columns) for columns in zip(*batches, strict=True)))


def no_rows(file: str) -> Problem:
    """The fault of a table without rows."""
    return Problem(file, "", "no-rows", "the table has no rows.", "Give it at least one row.")


class _Codes(dict[Value, int]):
    """The codes of the values of an attribute; one beyond its codes stands for a value outside the domain."""

    def __init__(self, schema: Schema, place: int, *, computed: bool = False) -> None:
        super().__init__()
        self._schema, self._place, self.computed = schema, place, computed

    def __missing__(self, value: Value) -> int:
        found = code_in(self._schema, self._place, value, computed=self.computed)
        code = self._schema.domain[self._place] if found is None else found
        if len(self) < MOST_TEXTS:
            self[value] = code
        return code


class Coder:
    """Codes rows batch by batch, and gathers what is wrong with any of them.

    The code of a value depends on this value and on the schema only.

    Args:
        file: the name that messages carry.
        also: columns beside the attributes, which are left alone.
    """

    def __init__(self, schema: Schema, file: str, also: Sequence[str] = ()) -> None:
        self.schema, self.file = schema, file
        self.rows = 0
        self.also = also
        self._columns_checked = False
        self._problems: list[Problem] = []
        self._codes = [_Codes(schema, place) for place in range(len(schema.attributes))]
        self._outside: list[dict[Value, Places]] = [{} for _ in schema.attributes]
        self._misses: list[int | None] = [None] * len(schema.attributes)

    def read(
        self,
        path: Path | str,
        thinned: Callable[[Batch], Batch] = lambda batch: batch,
        at: Callable[[int], None] = lambda read: None,
    ) -> Iterator[tuple[list[Column], Batch]]:
        """Code a CSV file, some rows at a time. Faults of its form are found too.

        Args:
            thinned: leaves rows of a batch out, which are not coded then.
            at: is told before each batch how many bytes of the file were read.

        Raises:
            PrivityError: file-missing, file-unreadable.
        """
        used = {*self.schema.names, *self.schema.columns, *self.also} if self.schema.extra_columns else None
        dialect = self.schema.dialect
        try:
            for batch in map(thinned, csv_batches(path, dialect, self.schema.columns, used=used, at=at)):
                yield self.code(batch, lambda: header_hint(path, dialect, self.schema.names)), batch
        except RowProblemsFound as found:
            self._problems += found.problems

    def code(self, batch: Batch, hint: Callable[[], str] = lambda: "") -> list[Column]:
        """Codes of one more batch, an array an attribute; of no use once something was wrong.

        Args:
            hint: what to do about columns that are not there, if it is known.
        """
        if not self._columns_checked:
            self._columns_checked = True
            self._problems = column_problems(list(batch.names), self.schema, self.file, self.also, hint)
            found = enumerate(self.schema.columns_of(batch.names))
            self._codes = [_Codes(self.schema, place, computed=computed) for place, (_, computed) in found]
        self.rows += len(batch.numbers)
        if any(problem.rule == "duplicate-column" for problem in self._problems):
            return []
        columns = dict(zip(batch.names, batch.columns, strict=True))
        computed = of_several(self.schema, columns)
        return [
            self._code(place, attribute, computed.get(attribute.name, columns[column]), batch.numbers)
            for place, (attribute, (column, _)) in enumerate(
                zip(self.schema.attributes, self.schema.columns_of(batch.names), strict=True)
            )
            if column in columns
        ]

    def _code(self, place: int, attribute: Attribute, values: Sequence[Value], numbers: Sequence[int]) -> Column:
        coding, width = self._codes[place], code_type(attribute.size + 1)
        plain = self.schema.table_map.of(attribute, computed=coding.computed) is None and not coding.computed
        known = values.codes(attribute) if isinstance(values, Moments) and plain else None
        if known is None:
            known = np.fromiter(map(coding.__getitem__, values), width, len(values))
        codes: Column = known.astype(width)
        missed = np.flatnonzero(codes == attribute.size)
        self._misses[place] = (self._misses[place] or 0) + missed.size
        if missed.size:
            outside = self._outside[place]
            for row in missed.tolist():
                if values[row] in outside or len(outside) < MOST_FAULTS:
                    outside.setdefault(values[row], Places()).add([numbers[row]])
        return codes

    @property
    def sound(self) -> bool:
        """Whether nothing was wrong so far."""
        return not self._problems and not any(self._outside)

    @property
    def misses(self) -> tuple[int | None, ...]:
        """Rows outside the domain so far, by attribute; None of one whose column was not read."""
        return tuple(self._misses)

    def check(self) -> None:
        """Raise ``RowProblemsFound`` with all that was found wrong so far."""
        problems = self.problems()
        if problems:
            raise RowProblemsFound(problems)

    def problems(self) -> list[Problem]:
        """All that was found wrong so far."""
        problems = list(self._problems)
        found = enumerate(zip(self.schema.attributes, self._codes, self._outside, strict=True))
        for place, (attribute, codes, outside) in found:
            unread = {value: rows for value, rows in outside.items() if is_unread(attribute, value, codes.computed)}
            unfit = {value: rows for value, rows in outside.items() if value not in unread}
            if unread:
                problems.append(_type_problem(attribute, unread, self.file))
            if unfit:
                remedy = remedy_in(self.schema, place, list(unfit), computed=codes.computed)
                problems.append(_domain_problem(attribute, unfit, remedy, self.file))
        return problems


def column_problems(
    names: list[str], schema: Schema, file: str, also: Sequence[str], hint: Callable[[], str] = lambda: ""
) -> list[Problem]:
    """What is wrong with the columns of a table, all at once.

    Args:
        also: columns beside the attributes.
        hint: what to do about columns that are not there, if it is known.
    """
    wanted = schema.columns_read(names)
    declared = {*wanted, *also}
    missing = [shorten(name) for name in wanted if name not in set(names)]
    problems = []
    if len(missing) == len(wanted):
        message = "the first line names none of the declared attributes."
        remedy = hint() or "Begin with a header of their names, or use the schema of this table."
        return [Problem(file, "header", "no-header", message, remedy)]
    if missing:
        remedy = hint() or schema.table_map.remedy or "Add them, or take them out of the schema."
        message = f"{first_few(missing)}: declared, but no such column."
        problems.append(Problem(file, "header", "missing-column", message, remedy))
    problems += repeated([name for name in names if not schema.extra_columns or name in declared], file)
    return problems + extra_problems(names, schema, file, also)


def _domain_problem(attribute: Attribute, outside: dict[Value, Places], remedy: str, file: str) -> Problem:
    """Describe the values outside one attribute's domain (with values and rows: for the owner only)."""
    message = f"outside the domain: {_named(outside)}. Expected {expected(attribute)}."
    return Problem(file, attribute.name, "out-of-domain", message, remedy)


def _type_problem(attribute: Attribute, unread: dict[Value, Places], file: str) -> Problem:
    message = f"values of a type that is not read: {_named(unread)}. Expected {READ_TYPES}."
    sorts = {value.sort for value in unread if not isinstance(value, str)}
    remedy = " ".join(text for sort, text in _REMEDIES.items() if sort in sorts) or _CONVERT
    return Problem(file, attribute.name, "value-type", message, remedy)


_CONVERT = "Convert the column first: .astype(str) makes texts."
_REMEDIES = {
    Sort.ROUNDED: "Integers from 2**53 on may have been rounded before. Keep it as texts (in pandas dtype=str), "
    "or as Decimals: both are exact.",
    Sort.INSTANT: 'Declare the type datetime and a "timezone", or take the zone away: .dt.tz_localize(None).',
    Sort.DATETIME: "Declare the type datetime, without a timezone.",
    Sort.DATE: "Declare the type date.",
    Sort.TIME: "Declare the type time.",
    Sort.DURATION: "Declare the type duration.",
}
"""What to do about values that an attribute of another type cannot be."""


def _named(values: dict[Value, Places]) -> str:
    named = [f"{shown(value)} (row {rows})" for value, rows in list(values.items())[:VALUES_NAMED]]
    more = len(values) - VALUES_NAMED
    least = "at least " if len(values) == MOST_FAULTS else ""
    return ", ".join(named) + (f" and {least}{more} more values" if more > 0 else "")


def expected(attribute: Attribute) -> str:
    """The domain of an attribute in words."""
    if attribute.edges:
        low, high = attribute.name_of(attribute.edges[0]), attribute.name_of(attribute.edges[-1])
        form = "" if attribute.format == DEFAULT else f", written as {attribute.format}"
        what = {"integer": "an integer"}.get(attribute.type, f"a {attribute.type}")
        both = attribute.compute.sources if attribute.compute is not None else ()
        made = f": {' less '.join(map(shorten, both))}" if len(both) > 1 else ""
        return f"{what} from {low} to {high}{form}{made}"
    return f"one of {listed(attribute.labels[: attribute.values])}"
