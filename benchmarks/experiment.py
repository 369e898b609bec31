"""What an experiment is: a table of points, one measure, and what is shown of the results."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from benchmarks.data import Data
from benchmarks.plots import Panel

Point = dict[str, Any]
"""One setting: plain JSON values by name. ``seeds`` says how often it is measured, once if it is left out."""

Values = dict[str, Any]
Record = Mapping[str, Any]
"""A point, its seed, and what was measured there."""

Where = Mapping[str, Any]
"""Key -> the value that records must have, a tuple of such values, or a predicate."""

Shown = str | Callable[[Sequence[Record]], str]
"""A measure, of which a cell has the mean (least-greatest), or what makes a cell of its records."""

NONE = "-"
CODE = ("common/synthesis", "common/privacy", "party/charged_releases.py", "assessment/planning/in_process_backend.py")
"""What decides most results besides the point: a change of it makes kept results old."""


def grid(**keys: Any) -> list[Point]:
    """Points for every combination of the keys whose values are tuples; the first key varies slowest."""
    varied = [value if isinstance(value, tuple) else (value,) for value in keys.values()]
    return [dict(zip(keys, values, strict=True)) for values in product(*varied)]


def chosen(records: Sequence[Record], where: Where) -> list[Record]:
    """The records that have what is asked for."""

    def fits(record: Record, key: str, wanted: Any) -> bool:
        if callable(wanted):
            return key in record and bool(wanted(record[key]))
        return record.get(key) in (wanted if isinstance(wanted, tuple) else (wanted,))

    return [record for record in records if all(fits(record, key, wanted) for key, wanted in where.items())]


def values_of(records: Sequence[Record], measure: str, **where: Any) -> list[Any]:
    """A measure, of the records that have it."""
    return [record[measure] for record in chosen(records, where) if measure in record]


def spread(values: Sequence[Any], digits: int = 3) -> str:
    """Mean (least-greatest) of numbers; texts as they are."""
    if not values:
        return NONE
    if isinstance(values[0], str | bool):
        return ", ".join(dict.fromkeys(map(str, values)))
    mean = f"{statistics.mean(values):,.{digits}f}"
    if min(values) == max(values):
        return mean
    return f"{mean} ({min(values):,.{digits}f}-{max(values):,.{digits}f})"


def middle(values: Sequence[float], digits: int = 1) -> str:
    """Median (least to greatest)."""
    if not values:
        return NONE
    text = f"{statistics.median(values):.{digits}f}"
    return text if len(values) == 1 else f"{text} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def middle_of(measure: str, digits: int = 1) -> Callable[[Sequence[Record]], str]:
    """Makes a cell: the median (least to greatest) of a measure."""
    return lambda records: middle(values_of(records, measure), digits)


def standard_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def standard_errors_apart(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Difference of means over its standard error, from the pooled spread; None if there is no spread."""
    free = len(first) + len(second) - 2
    if free < 1:
        return None
    means = statistics.mean(first), statistics.mean(second)
    squares = sum((x - mean) ** 2 for values, mean in zip((first, second), means, strict=True) for x in values)
    error = math.sqrt(squares / free * (1 / len(first) + 1 / len(second)))
    return (means[0] - means[1]) / error if error else None


def mean_ratio(records: Sequence[Record]) -> str:
    """Geometric mean over tables of ``ratio``, +- its standard error from their spread, and how many runs."""
    logs: dict[str, list[float]] = {}
    for record in records:
        logs.setdefault(record["table"], []).append(math.log(record["ratio"]))
    means = [statistics.fmean(values) for values in logs.values()]
    if not means:
        return NONE
    ratio = math.exp(statistics.fmean(means))
    error = f" +- {ratio * standard_error(means):.3f}" if len(means) > 1 else ""
    return f"{ratio:.3f}{error} ({len(records)})"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table."""
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


@dataclass(frozen=True)
class Table:
    """Results as a table; a cell has the mean (least-greatest) over all records that fall into it.

    Attributes:
        name: of the block in the page, and the heading among all tables.
        rows: keys of points; every combination of their values that was measured has a row.
        show: the measure of all cells, or what makes a cell of its records; or such by head of a column.
        columns: key whose values are the columns; or head -> which records fall into the column.
        where: which records the table is about.
        digits: after the point, of measures that do not say it themselves: ``seconds:1`` has one.
    """

    name: str
    rows: Sequence[str]
    show: Shown | Mapping[str, Shown]
    columns: str | Mapping[str, Where] = ""
    where: Where = field(default_factory=dict)
    digits: int = 3

    def by_row(self, records: Sequence[Record]) -> dict[tuple[str, ...], list[Record]]:
        found: dict[tuple[str, ...], list[Record]] = {}
        for record in chosen(records, self.where):
            found.setdefault(tuple(str(record.get(key, "")) for key in self.rows), []).append(record)
        return found

    def heads(self, records: Sequence[Record]) -> dict[str, Where]:
        """Head of a column -> what falls into it."""
        if not isinstance(self.columns, str):
            return dict(self.columns)
        found = dict.fromkeys(record.get(self.columns) for record in chosen(records, self.where))
        return {str(value): {self.columns: value} for value in sorted(found, key=_numbers_first)}

    def lines(self, records: Sequence[Record]) -> list[str]:
        """In Markdown; nothing if there is no result."""
        rows = []
        heads = self.heads(records)
        for names, here in self.by_row(records).items():
            if self.columns:
                cells = [self._text(chosen(here, where), "") for where in heads.values()]
            else:
                cells = [self._text(here, head) for head in self._heads]
            if any(cell != NONE for cell in cells):
                rows.append([*names, *cells])
        named = list(heads if self.columns else self._heads)
        if isinstance(self.columns, str) and self.columns and named:
            named[0] = f"{self.columns} {named[0]}"
        return markdown([*self.rows, *named], rows) if rows else []

    @property
    def _heads(self) -> list[str]:
        return list(self.show) if isinstance(self.show, Mapping) else [str(self.show)]

    def _text(self, records: Sequence[Record], head: str) -> str:
        shown = self.show[head] if isinstance(self.show, Mapping) else self.show
        if callable(shown):
            return shown(records) if records else NONE
        measure, _, digits = shown.partition(":")
        return spread(values_of(records, measure), int(digits or self.digits))

    def panel(self, records: Sequence[Record], x_label: str, y_label: str) -> Panel:
        """The same as lines over the columns that are numbers; what stands in another column is a level."""
        lines: dict[str, dict[float, list[float]]] = {}
        levels: dict[str, float] = {}
        for names, here in self.by_row(records).items():
            for head, where in self.heads(records).items():
                found = values_of(chosen(here, where), str(self.show))
                if found and _is_number(head):
                    lines.setdefault(", ".join(names), {})[float(head)] = found
                elif found:
                    levels[", ".join(names)] = statistics.mean(found)
        return Panel(self.name, x_label, y_label, lines, levels)


@dataclass(frozen=True)
class Text:
    """A block that no table makes."""

    name: str
    make: Callable[[Sequence[Record]], list[str]]

    def lines(self, records: Sequence[Record]) -> list[str]:
        return self.make(records)


def bounds(name: str, wanted: Sequence[tuple[Where, str, float]]) -> Text:
    """Means beside what was asked for: which records, the measure, and how much it may be at most."""

    def lines(records: Sequence[Record]) -> list[str]:
        rows = []
        for where, measure, bound in wanted:
            found = values_of(chosen(records, where), measure)
            if found:
                of = ", ".join(f"{key} {value}" for key, value in where.items())
                met = "yes" if statistics.mean(found) <= bound else "**no**"
                rows.append([of, measure, f"{spread(found, 4)} ± {standard_error(found):.4f}", f"{bound:g}", met])
        return markdown(["of", "measure", "mean (± standard error)", "at most", "met"], rows) if rows else []

    return Text(name, lines)


def duels(name: str, table: Table, key: str, subject: str) -> Text:
    """At how many cells of a table the subject's mean is less than each rival's, and by two standard errors or more.

    Args:
        key: the key among the table's rows whose values are the subject and the rivals.
    """

    def lines(records: Sequence[Record]) -> list[str]:
        cells: dict[tuple[str, ...], dict[str, list[float]]] = {}
        for record in chosen(records, table.where):
            if table.show in record:
                place = (*(str(record[other]) for other in table.rows if other != key), str(record[str(table.columns)]))
                cells.setdefault(place, {}).setdefault(str(record[key]), []).append(record[str(table.show)])
        counts: dict[str, list[int]] = {}
        for values in cells.values():
            for rival in values.keys() - {subject} if subject in values else ():
                apart = standard_errors_apart(values[subject], values[rival]) or 0.0
                less = statistics.mean(values[subject]) < statistics.mean(values[rival])
                count = counts.setdefault(rival, [0, 0, 0, 0])
                for place_, holds in enumerate((True, less, apart <= -2, apart >= 2)):
                    count[place_] += holds
        head = ["rival", "settings", f"{subject} has the smaller mean", "clearly smaller", "clearly larger"]
        return markdown(head, [[rival, *map(str, counts[rival])] for rival in sorted(counts)]) if counts else []

    return Text(name, lines)


def over_one_party(name: str, where: Where, key: str, most: Mapping[int, float]) -> Text:
    """By how much the mean 2-way distance over K parties exceeds that of one, beside what it may; a row each method.

    Args:
        key: of the method; most: K -> the part by which it may.
    """

    def lines(records: Sequence[Record]) -> list[str]:
        by_method: dict[str, dict[int, list[float]]] = {}
        for record in chosen(records, where):
            by_method.setdefault(record[key], {}).setdefault(record["parties"], []).append(record["mean2"])
        rows = []
        for method, found in by_method.items():
            if 1 in found and len(found) > 1:
                excess = {k: statistics.mean(found[k]) / statistics.mean(found[1]) - 1 for k in most if k in found}
                over = {k: f"{excess[k]:+.0%}{' **above**' if excess[k] > most[k] else ''}" for k in excess}
                rows.append([method, *(over.get(k, NONE) for k in most)])
        asked = ["target", *(f"at most {bound:+.0%}" for bound in most.values())]
        return markdown([key, *(f"K = {k}" for k in most)], [*rows, asked]) if rows else []

    return Text(name, lines)


@dataclass(frozen=True)
class Picture:
    """Tables, or what makes a panel, side by side as an SVG file."""

    name: str
    panels: Sequence[Table | Callable[[Sequence[Record]], Panel]]
    x_label: str = "epsilon"
    y_label: str = "total variation distance"

    def drawn(self, records: Sequence[Record]) -> list[Panel]:
        return [
            panel.panel(records, self.x_label, self.y_label) if isinstance(panel, Table) else panel(records)
            for panel in self.panels
        ]


@dataclass(frozen=True)
class Experiment:
    """All there is to an experiment.

    Attributes:
        title: what it is about, in one line.
        points: of a quick run, or of the whole.
        measure: what a point shows for one seed, ready for JSON; a list if that is several records.
        shows: tables and other blocks.
        tables: data sets that it reads, by name.
        pictures: the first one is that of the page.
        code: files and folders whose statements decide a result.
        alone: whether a point is measured last, by itself and in the main process, as its time counts.
        broken: bounds that the results break, in words: the command then ends with 1.
    """

    title: str
    points: Callable[[bool], Sequence[Point]]
    measure: Callable[[Point, int, Data], Values | list[Values]]
    shows: Sequence[Table | Text]
    tables: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    code: Sequence[str] = CODE
    alone: Callable[[Point], bool] = lambda _: False
    broken: Callable[[Sequence[Record]], list[str]] = lambda _: []


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).replace("-", "", 1).isdigit()


def _numbers_first(value: Any) -> tuple[bool, float]:
    return (False, float(value)) if _is_number(str(value)) else (True, 0.0)
