"""What rows of a release must agree with: rules, columns that follow from others, and of histories keys and order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privity.common.data.attribute import Attribute
from privity.common.data.frame_values import number_of
from privity.common.data.history import PREVIOUS, History
from privity.common.data.row_constraints import RowConstraint
from privity.common.data.row_texts import disagreeing, of_values
from privity.common.data.schema import Schema
from privity.common.data.table_reading import read_batches, read_rows
from privity.common.data.unread_columns import UnreadColumn
from privity.common.data.value_grids import nearest
from privity.common.release.release_contents import EVENTS, SYNTHETIC

if TYPE_CHECKING:
    import pandas as pd


def broken_rows(folder: Path, schema: Schema, enforced: Collection[str]) -> Iterator[tuple[str, str]]:
    """For each file of rows what is wrong with some of them.

    Args:
        enforced: texts of the rules that rows are said to meet.
    """
    history = schema.history
    if history is None:
        yield from _of_table(folder, SYNTHETIC, schema, enforced)
        return
    yield from _of_table(folder, SYNTHETIC, history.persons, enforced)
    yield from _of_table(folder, EVENTS, history.events, ())
    persons, events = read_rows(folder / SYNTHETIC), read_rows(folder / EVENTS)
    rules = [rule for rule in history.rules if rule.rule in enforced]
    for file, count, what in (*_of_keys(history, persons, events), *_of_events(history, rules, persons, events)):
        if count:
            yield file, f"{count} rows {what}."


def _of_table(folder: Path, file: str, schema: Schema, enforced: Collection[str]) -> Iterator[tuple[str, str]]:
    """Rules within a row, and columns that follow from others."""
    rules = [rule for rule in schema.row_constraints if rule.rule in enforced]
    made = [(column, column.made.sources) for column in schema.unread if column.made is not None]
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    broken: Counter[str] = Counter()
    for frame in read_batches(folder / file) if rules or made else ():
        broken += _broken(rules, attributes, frame) + _disagreeing(made, attributes, frame)
    for did, count in broken.items():
        yield file, f"{count} rows {did}."


def _broken(rules: Iterable[RowConstraint], attributes: Mapping[str, Attribute], frame: pd.DataFrame) -> Counter[str]:
    rules = list(rules)
    rows = of_values(rules, attributes, frame)
    return Counter({f"break the rule {rule.rule}": int(rule.refused(rows).sum()) for rule in rules})


def _disagreeing(
    made: Iterable[tuple[UnreadColumn, tuple[str, ...]]], attributes: Mapping[str, Attribute], frame: pd.DataFrame
) -> Counter[str]:
    columns = {str(name): list(frame[name]) for name in frame.columns}
    found: Counter[str] = Counter()
    for column, sources in made:
        count = int(disagreeing(column, columns, attributes).sum()) if column.name in columns else len(frame)
        wanted = f"follows from {', '.join(sources)}" if sources else "is declared"
        found[f"have another {column.name} than {wanted}"] += count
    return found


def _of_keys(history: History[Schema], persons: pd.DataFrame, events: pd.DataFrame) -> Iterator[tuple[str, int, str]]:
    """Keys are there, each once; every event is of a person, who has no more than there may be."""
    for file, frame, schema in ((SYNTHETIC, persons, history.persons), (EVENTS, events, history.events)):
        for column in schema.unread:
            if column.generate is not None and column.name not in (history.reference, history.order):
                yield file, int(frame[column.name].duplicated().sum()), f"have a {column.name} that another one has"
    orphans = ~events[history.reference].isin(persons[history.key])
    yield EVENTS, int(orphans.sum()), f"have a {history.reference} that no person has"
    beyond = events.groupby(history.reference, sort=False).cumcount() >= history.most
    yield EVENTS, int(beyond.sum()), f"are beyond the {history.most} events of a person"


def _of_events(
    history: History[Schema], rules: list[RowConstraint], persons: pd.DataFrame, events: pd.DataFrame
) -> Iterator[tuple[str, int, str]]:
    """Events of a person rise in their order, none is after the end, and all meet their rules."""
    owners = events[history.reference]
    moments = np.array([_moment(history, text) for text in events[history.order]], dtype=np.int64)
    after = owners.eq(owners.shift()).to_numpy()
    earlier = after & (np.diff(moments, prepend=moments[:1]) <= 0)
    yield EVENTS, int(earlier.sum()), f"are not after the event before, by {history.order}"
    if history.until is not None:
        yield EVENTS, int((moments > history.until).sum()), f"are after the end of {history.order}"
    if rules:
        of_person = persons.set_index(history.key).reindex(owners).reset_index(drop=True)
        before = events.shift()
        both: dict[str, Any] = {str(name): events[name].to_numpy() for name in events}
        both |= {f"{history.names[0]}.{name}": of_person[name].to_numpy() for name in of_person}
        for name in before:
            values = before[name].to_numpy(dtype=object, copy=True)
            values[~after] = None
            both[f"{PREVIOUS}.{name}"] = values
        frame = events.assign(**both)
        for did, count in _broken(rules, history.ruled, frame).items():
            yield EVENTS, count, did


def _moment(history: History[Schema], text: str) -> int:
    """The order of an event, in points; the position where that is the order."""
    if history.gap is None:
        return int(text)
    attribute = history.order_attribute
    number = number_of(attribute, text)
    assert number is not None
    assert attribute.point is not None
    return nearest(number, attribute.point)
