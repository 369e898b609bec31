"""What happened to synthetic persons: events of a released model of steps, one after another. Post-processing, free.

Each person has a number of events and a time of the first one. An event follows from the model's law given the person,
its position and what was before; its date from the gap. Along a chain small errors of the model would add up: at each
position the law of each code is kept at what the model itself says of that position, by one factor a code. Events that
break a rule are drawn again, given what was before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.bin_values import all_cells, drawn
from privity.common.data.coded_table import CodedTable, code_type, decode
from privity.common.data.history import FIRST, GAP, NUMBER, POSITION, PREVIOUS, SO_FAR
from privity.common.data.history_steps import bin_codes, mean_so_far
from privity.common.data.made_columns import Total
from privity.common.data.row_constraints import decoded
from privity.common.data.unread_columns import with_unread
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.given_codes import GivenCodes

if TYPE_CHECKING:
    import pandas as pd

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

ROUNDS = 64
"""Times that a person without a first event, or an event that breaks a rule, is drawn again."""

GOAL_ROWS = 1 << 17
"""Rows of the model from which its law at each position is taken."""

LEAST_OF_POSITION = 300
"""Of these rows at a position, below which all later ones are taken together."""

RAKED_ROWS = 1 << 12
SWEEPS = 5
LARGEST_FACTOR = 5.0


@dataclass(frozen=True)
class Happened:
    """Synthetic events, those of a person together and in their order.

    Attributes:
        owners: the row of the person of each.
        table: codes of the events' attributes.
        order: in points; the position where that is the order.
        frame: values, with all columns.
        broken: for each rule, the share of drawn events that broke it and were drawn again.
        ended: histories that end before their number of events: no event was found that meets the rules.
    """

    owners: Whole
    table: CodedTable
    order: Whole
    frame: pd.DataFrame
    broken: tuple[float, ...]
    ended: int


def with_events(
    model: Model, persons: CodedTable, frame: pd.DataFrame, generator: np.random.Generator, skipped: int = 0
) -> Happened:
    """What happened to these persons.

    Args:
        persons, frame: rows of ``synthetic_histories.PersonsOf(model)``, as codes and values.
        skipped: how many numbers of keys other tables have.

    Raises:
        ValueError: the model has no conditionals.
    """
    return _Chains(model, persons, frame, generator).drawn(skipped)


class _Chains:
    """Events of all persons, one position after another."""

    def __init__(self, model: Model, persons: CodedTable, frame: pd.DataFrame, generator: np.random.Generator) -> None:
        history = model.schema.history
        assert history is not None
        self._model, self._history, self._generator = model, history, generator
        self._schema, self._events = model.schema, history.events
        self._persons, self._frame = persons, frame
        self._about = len(history.persons.attributes)
        self._counts = persons.columns[self._about].astype(np.int64)
        self._asked = int(self._counts.sum())
        # A weight of an event is one part of its person, whatever the number.
        self._weights = 1 / np.maximum(self._counts, 1)
        rows = persons.rows
        self._past = {a: np.full(rows, history.events.attributes[a].size, dtype=np.int64) for a in history.happening}
        self._sums = {a: (np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)) for a in history.averaged}
        self._before: dict[str, tuple[Whole, npt.NDArray[Any]]] = {}
        self._moments = np.zeros(rows, dtype=np.int64)
        self._broken = np.zeros(len(history.rules), dtype=np.int64)
        self._tried = 0

    def drawn(self, skipped: int) -> Happened:
        history, parts = self._history, []
        if history.gap is not None:
            self._begin()
        for position in range(1, history.most + 1):
            who = np.flatnonzero(self._counts >= position)
            if not len(who):
                break
            parts.append(self._happening(position, who))
        whole = _joined(parts or [self._nothing()])
        return Happened(
            whole.owners,
            CodedTable(self._events, tuple(whole.codes)),
            whole.order,
            self._with_keys(whole, skipped),
            tuple((self._broken / max(self._tried, 1)).tolist()),
            self._asked - len(whole.owners),
        )

    def _with_keys(self, found: _Events, skipped: int) -> pd.DataFrame:
        """All columns: totals and keys, the key of the person, the position where it is the order."""
        history = self._history
        frame = with_unread(found.frame, self._events.attributes, self._events.unread, self._generator, skipped)
        frame[history.reference] = self._frame[history.key].to_numpy()[found.owners]
        if history.gap is None:
            frame[history.order] = found.order
        return frame

    def _begin(self) -> None:
        """The first event's time, so early that all others fit in."""
        history, attribute = self._history, self._history.order_attribute
        assert history.until is not None
        codes = self._persons.columns[self._about + 1].astype(np.int64)
        values = drawn(attribute, all_cells(attribute), codes, self._generator)
        moments = _points(attribute, values)
        edges = np.array(attribute.point_edges, dtype=np.int64)
        latest = history.until - np.maximum(self._counts - 1, 0)
        low, high = edges[codes], np.minimum(edges[codes + 1] - 1, latest)
        late = moments > high
        fits = low <= high
        again = self._generator.integers(low, np.maximum(high, low) + 1)
        self._moments = np.where(late & fits, again, np.where(late, np.minimum(low, history.until), moments))
        self._counts = np.minimum(self._counts, history.until - self._moments + 1)

    def _happening(self, position: int, who: Whole) -> _Events:
        """The events at a position of those who have one; whose rules no event meets, has none from here on."""
        history = self._history
        if position > 1 and history.gap is not None:
            fits = self._room(who, position) >= max(history.gap.point_edges[0], 1)
            self._counts[who[~fits]] = position - 1
            who = who[fits]
        if not len(who):
            return self._nothing()
        factors = self._raked(position, who)
        parts, broken = [], np.zeros(0, dtype=np.bool_)
        for again in range(ROUNDS):
            found = self._drawn(position, who, factors)
            refused = self._refused(position, found)
            broken = np.asarray(refused.any(axis=0))
            if not again:
                self._broken += refused.sum(axis=1)
                self._tried += len(who)
            parts.append(found.take(~broken))
            who = who[broken]
            if not len(who):
                break
        self._counts[who] = position - 1
        whole = _joined(parts)
        self._remember(whole)
        return whole

    def _room(self, who: Whole, position: int) -> Whole:
        """The largest gap that leaves room for all events after this one."""
        assert self._history.until is not None
        return self._history.until - self._moments[who] - (self._counts[who] - position)

    def _known(self, position: int, who: Whole) -> dict[int, Whole]:
        """Codes of all that a step has before its event, by attribute."""
        history, index = self._history, self._schema.index
        known = {place: self._persons.columns[place][who].astype(np.int64) for place in range(self._about)}
        known[index(NUMBER)] = self._counts[who]
        known[index(POSITION)] = np.full(len(who), position, dtype=np.int64)
        if history.gap is not None:
            known[index(f"{FIRST}.{history.order}")] = self._persons.columns[self._about + 1][who].astype(np.int64)
            if position == 1:
                known[index(GAP)] = np.full(len(who), history.gap.size, dtype=np.int64)
        names = self._events.names
        if PREVIOUS in history.before:
            known |= {index(f"{PREVIOUS}.{names[a]}"): self._past[a][who] for a in history.happening}
        for a, (sums, values) in self._sums.items():
            mean = mean_so_far(self._events.attributes[a], sums[who], values[who])
            known[index(f"{SO_FAR}.{names[a]}")] = mean.astype(np.int64)
        return known

    def _unknown(self, position: int) -> list[int]:
        index, names = self._schema.index, self._events.names
        happening = [index(f"{self._history.names[1]}.{names[a]}") for a in self._history.happening]
        return [*happening, *([index(GAP)] if self._history.gap is not None and position > 1 else [])]

    def _draws(self, position: int) -> GivenCodes:
        return self._first_draws if position == 1 else self._later_draws

    @cached_property
    def _first_draws(self) -> GivenCodes:
        return GivenCodes(self._model, self._unknown(1))

    @cached_property
    def _later_draws(self) -> GivenCodes:
        return GivenCodes(self._model, self._unknown(2))

    @cached_property
    def _goals(self) -> CodedTable:
        return self._model.sample(GOAL_ROWS, self._generator)

    def _raked(self, position: int, who: Whole) -> dict[int, Numbers]:
        """For each attribute a factor a code, by which events at this position have the model's own law there."""
        domain, draws = self._schema.domain, self._draws(position)
        positions = self._goals.column(self._schema.index(POSITION)).astype(np.int64)
        here = np.flatnonzero(positions == position)
        if len(here) < LEAST_OF_POSITION:
            here = np.flatnonzero(positions >= min(position, 2))
        unknown = self._unknown(position)
        goals, factors = {}, {}
        for attribute in unknown:
            counts = np.bincount(self._goals.column(attribute)[here], minlength=domain[attribute])[:-1] + 1.0
            goals[attribute] = counts / counts.sum()
            factors[attribute] = np.append(np.ones(len(counts)), 0.0)
        if not unknown:
            return factors
        some = self._generator.permutation(who)[: min(RAKED_ROWS, draws.rows_at_once)]
        known = self._known(position, some)
        fits = self._fitting(position, some)
        for _ in range(SWEEPS):
            for attribute in unknown:
                law = draws.law(attribute, known, _weights(factors, fits), self._weights[some])[:-1]
                ratio = np.clip(goals[attribute] / np.maximum(law, 1e-6), 1 / LARGEST_FACTOR, LARGEST_FACTOR)
                factors[attribute][:-1] *= ratio
        return factors

    def _fitting(self, position: int, who: Whole) -> dict[int, Numbers]:
        """Of the gap: which codes lead to no time after the end."""
        gap = self._history.gap
        if gap is None or position == 1:
            return {}
        lowest = np.maximum(np.array(gap.point_edges[:-1], dtype=np.int64), 1)
        fits = lowest[None, :] <= self._room(who, position)[:, None]
        return {self._schema.index(GAP): np.append(fits, np.zeros((len(who), 1), dtype=np.bool_), axis=1).astype(float)}

    def _drawn(self, position: int, who: Whole, factors: Mapping[int, Numbers]) -> _Events:
        history, events = self._history, self._events
        weights = _weights(factors, self._fitting(position, who))
        codes = self._draws(position).draw(self._known(position, who), self._generator, weights)
        of_step = dict(zip(history.happening, self._unknown(position), strict=False))
        columns = {a: codes[place] for a, place in of_step.items()}
        order = np.full(len(who), position, dtype=np.int64)
        if history.gap is not None:
            order = self._moments[who]
            if position > 1:
                order = order + self._gaps(codes[self._schema.index(GAP)], self._room(who, position))
            at = events.index(history.order)
            columns[at] = bin_codes(history.order_attribute, order)
        whole = [columns[a].astype(code_type(events.domain[a])) for a in range(len(events.attributes))]
        frame = decode(CodedTable(events, tuple(whole)), self._generator)
        if history.gap is not None:
            frame[history.order] = _of_points(history.order_attribute, order)
        return _Events(who, order, whole, frame)

    def _gaps(self, codes: Whole, room: Whole) -> Whole:
        gap = self._history.gap
        assert gap is not None
        edges = np.array(gap.point_edges, dtype=np.int64)
        low = np.maximum(edges[codes], 1)
        high = np.maximum(np.minimum(edges[codes + 1] - 1, room), low)
        return self._generator.integers(low, high + 1)

    def _refused(self, position: int, found: _Events) -> npt.NDArray[np.bool_]:
        """Which events each rule refuses, shape (rules, events)."""
        import pandas as pd

        history = self._history
        if not history.rules:
            return np.zeros((0, len(found.owners)), dtype=np.bool_)
        both = {name: self._ruled(name, position, found) for name in self._named}
        values = pd.DataFrame({name: of for name, (_, of) in both.items()})
        codes = {name: of.astype(np.uint32) for name, (of, _) in both.items()}
        rows = decoded(history.rules, history.ruled, codes, values)
        return np.array([rule.refused(rows) for rule in history.rules])

    @cached_property
    def _named(self) -> tuple[str, ...]:
        """What rules are about."""
        return tuple(dict.fromkeys(name for rule in self._history.rules for name in rule.attributes))

    def _ruled(self, name: str, position: int, found: _Events) -> tuple[Whole, npt.NDArray[Any]]:
        """Codes and values of what a rule is about, for each of these events."""
        persons, owners = self._history.persons, found.owners
        table, _, of_table = name.partition(".")
        if table == PREVIOUS and name not in self._events.names:
            if position == 1:
                attribute = self._history.ruled[name]
                return np.full(len(owners), attribute.values), np.zeros(len(owners))
            codes, values = self._before[of_table]
            return codes[owners], values[owners]
        if table == self._history.names[0] and of_table in persons.names:
            codes = self._persons.columns[persons.index(of_table)][owners].astype(np.int64)
            return codes, self._frame[of_table].to_numpy()[owners]
        return self._of_event(name, found)

    def _of_event(self, name: str, found: _Events) -> tuple[Whole, npt.NDArray[Any]]:
        if name in self._events.names:
            return found.codes[self._events.index(name)].astype(np.int64), found.frame[name].to_numpy()
        made = next(column.made for column in self._events.unread if column.name == name)
        assert isinstance(made, Total)
        values = made.values(found.frame, {})
        missing = np.fromiter((isinstance(value, str) for value in values), np.bool_, len(values))
        return missing.astype(np.int64), values

    def _remember(self, found: _Events) -> None:
        """What the next event of each person comes after."""
        owners = found.owners
        for a in self._history.happening:
            self._past[a][owners] = found.codes[a]
        for a, (sums, values) in self._sums.items():
            there = found.codes[a] < self._events.attributes[a].values
            sums[owners] += np.where(there, found.codes[a], 0)
            values[owners] += there
        self._moments[owners] = found.order
        for name in self._named:
            table, _, of_table = name.partition(".")
            if table == PREVIOUS and name not in self._events.names:
                codes, values = self._of_event(of_table, found)
                kept = self._before.setdefault(
                    of_table, (np.zeros(self._persons.rows, dtype=np.int64), np.zeros(self._persons.rows, values.dtype))
                )
                kept[0][owners], kept[1][owners] = codes, values

    def _nothing(self) -> _Events:
        nobody = np.zeros(0, dtype=np.int64)
        empty = [np.zeros(0, dtype=code_type(size)) for size in self._events.domain]
        return _Events(nobody, nobody, empty, decode(CodedTable(self._events, tuple(empty)), self._generator))


@dataclass(frozen=True)
class _Events:
    """Some events: whose they are, when, their codes and their values."""

    owners: Whole
    order: Whole
    codes: list[npt.NDArray[Any]]
    frame: pd.DataFrame

    def take(self, kept: npt.NDArray[Any]) -> _Events:
        frame = self.frame.iloc[np.arange(len(self.frame))[kept]].reset_index(drop=True)
        return _Events(self.owners[kept], self.order[kept], [codes[kept] for codes in self.codes], frame)


def _joined(parts: Sequence[_Events]) -> _Events:
    """All events, those of a person together."""
    import pandas as pd

    columns = zip(*(part.codes for part in parts), strict=True)
    whole = _Events(
        np.concatenate([part.owners for part in parts]),
        np.concatenate([part.order for part in parts]),
        [np.concatenate(column) for column in columns],
        pd.concat([part.frame for part in parts], ignore_index=True),
    )
    return whole.take(np.argsort(whole.owners, kind="stable"))


def _weights(factors: Mapping[int, Numbers], fits: Mapping[int, Numbers]) -> dict[int, Numbers]:
    return {a: factor * fits[a] if a in fits else factor for a, factor in factors.items()}


def _points(attribute: Attribute, values: npt.NDArray[Any]) -> Whole:
    """Values of an order in points."""
    if attribute.whole:
        return values.astype(np.int64)
    return np.array([round(Fraction(str(value)) * 10**attribute.places) for value in values.tolist()], dtype=np.int64)


def _of_points(attribute: Attribute, points: Whole) -> npt.NDArray[Any]:
    """The same back, as decoded rows have them."""
    if attribute.whole:
        return points
    if attribute.exact:
        return np.array([*(Decimal(point).scaleb(-attribute.places) for point in points.tolist()), None], dtype=object)[
            :-1
        ]
    return points / 10**attribute.places
