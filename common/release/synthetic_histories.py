"""Synthetic histories: persons and their events, drawn from a released model of steps. Post-processing, free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.history import FIRST, NUMBER, History
from privity.common.data.history_steps import Coded, hashed, steps_of
from privity.common.data.schema import Schema
from privity.common.data.written_values import as_texts
from privity.common.release.drawn_histories import Happened, with_events
from privity.common.release.sampling_conditions import Conditions
from privity.common.release.synthetic_rows import ANY, Refused, Synthesis, draw_rows, synthesise_release
from privity.common.synthesis.models import Model

if TYPE_CHECKING:
    import pandas as pd

ROUNDS = 64
"""Samples of persons, until each has a first event where there should be some."""


class PersonsOf:
    """The persons of a model of steps, as a model of a table of their own: with how many events, and when the first."""

    def __init__(self, model: Model) -> None:
        history = model.schema.history
        assert history is not None
        self._model = model
        persons = history.persons
        self.about = len(persons.attributes)
        self._places = [*range(self.about), model.schema.index(NUMBER)]
        if history.gap is not None:
            self._places.append(model.schema.index(f"{FIRST}.{history.order}"))
        besides = [model.schema.attributes[place] for place in self._places[self.about :]]
        taken, named = {*persons.names, *(column.name for column in persons.unread)}, []
        for attribute in besides:
            name = attribute.name
            while name in taken:
                name += "'"
            # Of those who have no event, none is first: drawn as any value, and never read.
            named.append(replace(attribute, name=name, none=False))
        attributes = (*persons.attributes, *named)
        self.schema = replace(persons, attributes=attributes, history=None)

    @property
    def alone(self) -> frozenset[int]:
        """Those of the model."""
        return frozenset(place for place, of in enumerate(self._places) if of in self._model.alone)

    def sample(self, rows: int, generator: np.random.Generator, *, independent: bool = False) -> CodedTable:
        """Persons of whom there is a first event if and only if there are events."""
        found: list[list[npt.NDArray[Any]]] = []
        lacking = rows
        for _ in range(ROUNDS):
            table = self._model.sample(rows, generator, independent=independent)
            columns = [table.columns[place] for place in self._places]
            fits = np.flatnonzero(self._consistent(columns))[:lacking]
            found.append([column[fits] for column in columns])
            lacking -= len(fits)
            if not lacking:
                break
        else:
            # A model that takes the two to be independent, and one of them to be rare.
            table = self._model.sample(lacking, generator, independent=independent)
            found.append([table.columns[place] for place in self._places])
        whole = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        if len(whole) > self.about + 1:
            size = self.schema.attributes[-1].size
            none = whole[-1] >= size
            whole[-1] = np.where(none, generator.integers(0, size, len(none)), whole[-1]).astype(code_type(size))
        return CodedTable(self.schema, tuple(whole))

    def _consistent(self, columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
        if len(columns) == self.about + 1:
            return np.ones(len(columns[0]), dtype=np.bool_)
        some = columns[self.about] > 0
        return np.asarray(some == (columns[self.about + 1] < self.schema.attributes[-1].size))

    def to_dict(self) -> dict[str, Any]:
        """That of the model."""
        return self._model.to_dict()


def release_rows(model: Model, rows: int, seed: int) -> Synthesis:
    """The rows of a release (``synthesise_release``); of histories so many persons, and their events."""
    history = model.schema.history
    if history is None:
        return synthesise_release(model, rows, seed)
    persons = synthesise_release(PersonsOf(model), rows, seed)
    happened = with_events(model, persons.table, persons.frame, np.random.default_rng([seed, 3]))
    refused = [Refused(rule.rule, share) for rule, share in zip(history.rules, happened.broken, strict=True)]
    return Synthesis(
        of_persons(history, persons.frame),
        steps_table(model.schema, persons, happened),
        (*persons.refused, *refused),
        happened.frame,
    )


def draw_histories(
    model: Model,
    persons: int,
    seed: int | None,
    where: Conditions = ANY,
    skipped: int = 0,
    *,
    independent: bool = False,
) -> Synthesis:
    """Persons who meet these conditions, and their events; arguments and errors as of ``draw_rows``.

    Args:
        where: of the schema of persons, whose attributes are the first ones here.
        skipped: how many persons other tables have; the keys of events begin after as many as these may have.
    """
    history = model.schema.history
    assert history is not None
    drawn = draw_rows(PersonsOf(model), persons, seed, where, skipped=skipped, independent=independent)
    generator = np.random.default_rng(None if seed is None else [seed, 3])
    happened = with_events(model, drawn.table, drawn.frame, generator, skipped * history.most)
    steps = steps_table(model.schema, drawn, happened)
    return Synthesis(of_persons(history, drawn.frame), steps, events=happened.frame)


def of_persons(history: History[Schema], frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of the table of persons."""
    beside = {column.name for column in history.persons.unread}
    return frame[[name for name in frame.columns if name in beside or name in history.persons.names]]


def steps_table(schema: Schema, persons: Synthesis, happened: Happened) -> CodedTable:
    """Steps of synthetic histories, as rows are made of real ones."""
    history = schema.history
    assert history is not None
    numbers = np.arange(persons.table.rows)
    keys = as_texts(persons.frame[[history.key]], history.persons)[history.key]
    about = len(history.persons.attributes)
    table, _, _ = steps_of(
        schema,
        Coded(persons.table.columns[:about], numbers),
        Coded(happened.table.columns, happened.owners),
        happened.order,
        (hashed(str(key)) for key in keys),
    )
    return table
