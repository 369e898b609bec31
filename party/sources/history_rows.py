"""Rows of histories: one step of each person, made of two tables where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privity.common.data.coded_table import CodedTable, Column
from privity.common.data.csv_reading import Batch
from privity.common.data.history_reading import Source, frame_source, read_histories
from privity.common.data.history_steps import Disorders
from privity.common.data.schema import Schema
from privity.common.data.table_reading import Coder
from privity.common.errors import Catalogue, PrivityError
from privity.common.text.short_values import listed
from privity.party.sources.address import Address, Form
from privity.party.sources.pass_progress import a_pass_over
from privity.party.sources.rows import InMemory

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Histories:
    """Rows that are ready to be counted, and what was not read: for the owner's eyes only."""

    rows: InMemory
    disorders: Disorders

    def in_words(self) -> list[str]:
        """A line for each disorder that there is: how much was left out or cut, and what mends it."""
        found = self.disorders
        history = self.rows.schema.history
        assert history is not None
        lines = (
            (found.twice, "rows of persons who have one already: the first row of each counts. Keep one."),
            (found.orphans, "events of nobody in the table of persons: not read. Add the persons."),
            (found.late, "events after the end: not read. Declare a later 'until', if it is publicly known."),
            (found.beyond, f"events beyond the {history.most} of a person that count. Declare more as 'most'."),
            (found.ties, "events at the time of another one: they stand by their other columns. Order them finer."),
        )
        return [f"{count:,} {told}" for count, told in lines if count]


def open_histories(schema: Schema, tables: Mapping[str, pd.DataFrame | Address], most: int) -> Histories:
    """One row a person.

    Args:
        schema: of steps.
        tables: by the names of the two resources.
        most: rows a person of the population.

    Raises:
        RowProblemsFound: every fault of the rows.
        PrivityError: bad-option: other tables than these two, or a form that is not read; file-missing and the like.
    """
    history = schema.history
    assert history is not None
    if {*tables} != {*history.names}:
        hint = f"Give the two tables by name: {listed(list(history.names))}."
        reason = f"the schema is of {' and '.join(history.names)}, and the tables are {' and '.join(map(str, tables))}"
        raise PrivityError(Catalogue.BAD_OPTION, option="table", reason=reason, hint=hint)
    if most > 1:
        reason = f"the population has {most} rows a person, and here each person has one, whatever happened to them"
        hint = "Declare a population of one row a person for histories."
        raise PrivityError(Catalogue.BAD_OPTION, option="population", reason=reason, hint=hint)
    persons, events = (tables[name] for name in history.names)
    (of_persons, from_persons), (of_events, from_events) = (
        _opened(persons, history.persons),
        _opened(events, history.events),
    )
    read_by = replace(schema, history=replace(history, persons=of_persons, events=of_events))
    names = [each.name if isinstance(each := tables[name], Address) else name for name in history.names]
    steps, disorders = read_histories(read_by, from_persons, from_events, (names[0], names[1])).steps()
    return Histories(InMemory(CodedTable(schema, steps.columns)), disorders)


def _opened(table: pd.DataFrame | Address, schema: Schema) -> tuple[Schema, Source]:
    """How a table is read, and its rows."""
    if not isinstance(table, Address):
        return schema, frame_source(table)
    if table.form is not Form.CSV:
        reason, hint = f"{table.name} is no CSV file, and histories are read from these", "Export it, or give a frame."
        raise PrivityError(Catalogue.BAD_OPTION, option="table", reason=reason, hint=hint)

    def rows(coder: Coder) -> Iterator[tuple[list[Column], Batch]]:
        with a_pass_over(table.files) as reading:
            for file in table.files:
                yield from coder.read(file, at=reading(file))

    return table.read_by(schema), rows
