"""Files of Stata, SPSS and SAS, as rows of values: each value is read alone.

Of what such a file declares for a variable three things count, as they are not found out from its values: the labels
of values, the format by which a number is a date or time, and that a number is of single precision. A value with a
label is its label; any other is what it is. A missing value of any sort is an empty text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from privity.common.data.file_kinds import SAS, SAS_TRANSPORT, SPSS, STATA
from privity.common.data.frame_values import MISSING, Sort, Value, read_value
from privity.common.errors import Catalogue, PrivityError

CELLS_AT_ONCE = 1 << 20
READERS = {STATA: "read_dta", SPSS: "read_sav", SAS: "read_sas7bdat", SAS_TRANSPORT: "read_xport"}
DAY = 86_400
CACHED = 1 << 16

_SAS_DATES = "DATE|DDMMYY|MMDDYY|YYMMDD|WEEKDAT[EX]|WORDDAT[EX]|JULIAN|MONYY|NLDATE|EURDFD[DET]|(?:IS|[BE])8601DA"
_SAS_TIMES = "DATETIME|DATEAMPM|MDYAMPM|NLDATM|EURDFDT|(?:IS|[BE])8601DT"
FORMATS: dict[str, tuple[tuple[str, Sort], ...]] = {
    STATA: ((r"%-?t?d", Sort.DATE), (r"%-?tc(HH|hh)", Sort.TIME), (r"%-?tc", Sort.DATETIME)),
    SPSS: (
        (r"(DATE|ADATE|EDATE|SDATE|JDATE)\d", Sort.DATE),
        (r"(DATETIME|YMDHMS)\d", Sort.DATETIME),
        (r"TIME\d", Sort.TIME),
        (r"DTIME\d", Sort.DURATION),
    ),
    SAS: ((rf"({_SAS_TIMES})\w*", Sort.DATETIME), (rf"({_SAS_DATES})\w*", Sort.DATE), (r"(TIME|TOD|HHMM)", Sort.TIME)),
}
"""How the formats begin by which the numbers of a variable are dates or times."""

FORMATS[SAS_TRANSPORT] = FORMATS[SAS]
ORIGINS = {STATA: datetime(1960, 1, 1), SPSS: datetime(1582, 10, 14)}
SECONDS = {
    (STATA, Sort.DATE): DAY,
    (STATA, Sort.DATETIME): 0.001,
    (STATA, Sort.TIME): 0.001,
    (SAS, Sort.DATE): DAY,
    (SAS_TRANSPORT, Sort.DATE): DAY,
}
"""That a unit of such a number has, if not one."""


def read_rows_of(path: Path | str, kind: str) -> tuple[list[str], int, Iterator[list[Value]]]:
    """The names of the variables, how many rows there are (0: not known), and the rows.

    Raises:
        PrivityError: file-unreadable, also while rows are read.
        ImportError: the library is not installed.
    """
    import pyreadstat  # an extra

    reader = getattr(pyreadstat, READERS[kind])

    def read(**how: Any) -> Any:
        try:
            return reader(str(path), output_format="dict", disable_datetime_conversion=True, **how)
        except Exception as error:  # it has no errors of its own for all that may be wrong with a file
            reason = f"it is {kind} that cannot be read ({error}): save it again, or as CSV in UTF-8"
            raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=reason) from error

    _, about = read(metadataonly=True)
    names = list(about.column_names)
    if None in names:
        reason = f"it is {kind} with a variable whose name cannot be read: save it as CSV in UTF-8"
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=reason)
    readers = [_reader(about, name, kind) for name in names]

    def rows() -> Iterator[list[Value]]:
        at_once, start = max(1, CELLS_AT_ONCE // max(1, len(names))), 0
        while names:
            columns, _ = read(row_offset=start, row_limit=at_once)
            found = [list(map(one, columns[name])) for one, name in zip(readers, names, strict=True)]
            yield from map(list, zip(*found, strict=True))
            start += len(found[0])
            if len(found[0]) < at_once:
                return

    return names, about.number_rows or 0, rows()


def _reader(about: Any, name: str, kind: str) -> Callable[[Any], Value]:
    """What reads a value of a variable."""
    labels: Mapping[Any, str] = about.variable_value_labels.get(name, {})
    declared = about.original_variable_types.get(name) or ""
    sort = next((sort for form, sort in FORMATS[kind] if re.match(form, declared)), None)
    single = kind == STATA and about.readstat_variable_types.get(name) == "float"

    @lru_cache(CACHED)
    def of_number(number: float) -> Value:
        if label := labels.get(number):
            return label
        point = None if sort is None else moment(kind, sort, number)
        if point is not None:
            return point
        read = read_value(float(str(np.float32(number))) if single else number)
        return "" if read == MISSING else read

    def value(found: Any) -> Value:
        if isinstance(found, str):
            return labels.get(found) or found
        return "" if found is None else of_number(float(found))

    return value


def moment(kind: str, sort: Sort, number: float) -> Value | None:
    """The date or time that a number is; None of one beyond the calendar."""
    try:
        since = timedelta(seconds=number * SECONDS.get((kind, sort), 1))
        if sort is Sort.DURATION or (sort is Sort.TIME and not timedelta() <= since < timedelta(days=1)):
            return read_value(since)
        point = ORIGINS.get(kind, ORIGINS[STATA]) + since
    except (OverflowError, ValueError):
        return None
    return read_value(point.date() if sort is Sort.DATE else point.time() if sort is Sort.TIME else point)
