"""How far synthetic histories are from the real ones, by what users ask of linked tables. Not private.

Distances are total variation unless said. 0 is best, but of ``detection``: the area under the curve of a classifier
that tells persons apart by summaries of what happened to them, where .5 is best. Events are counted as they are, and
not per person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.assessment.evaluation.column_comparison import ks_distance
from privity.common.data.attribute import Attribute
from privity.common.data.history import History
from privity.common.data.history_steps import Histories, bin_codes
from privity.common.data.schema import Schema

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SEED = 1
MOST_TOLD_APART = 6_000
"""Persons of each table that the classifier sees."""

TREES = 60


class Events:
    """The events of a table that count, with what was before them.

    Attributes:
        at: each event's place among the attributes' codes.
        position: from 1.
    """

    def __init__(self, history: History[Schema], table: Histories) -> None:
        self.history, self.table = history, table
        place = np.arange(len(table.owners)) - table.starts[table.owners]
        kept = np.flatnonzero(place < table.counts[table.owners])
        self.owners, self.position = table.owners[kept], place[kept] + 1
        self.codes = [table.events[a][kept].astype(np.int64) for a in range(len(table.events))]
        self.moments = table.moments[kept]
        self.gaps = np.zeros(len(kept), dtype=np.int64)
        if history.gap is not None and len(kept):
            self.gaps[1:] = bin_codes(history.gap, np.diff(self.moments))

    def lagged(self, steps: int) -> tuple[Whole, Whole]:
        """Places of pairs of events of a person that are so many steps apart: the earlier ones, the later ones."""
        later = np.flatnonzero(self.position > steps)
        return later - steps, later

    @property
    def first(self) -> Whole:
        return np.flatnonzero(self.position == 1)

    @property
    def last(self) -> Whole:
        return np.flatnonzero(self.position == self.table.counts[self.owners])


def compare_histories(history: History[Schema], real: Histories, other: Histories) -> dict[str, float]:
    """Every measure, by name; means over attributes or pairs of them."""
    both = Events(history, real), Events(history, other)
    events, persons = history.events, history.persons
    happening, about = history.happening, range(len(persons.attributes))

    def apart(columns: Mapping[int, Sequence[npt.NDArray[Any]]], sizes: Sequence[int]) -> float:
        laws = [_law(columns[which], sizes) for which in (0, 1)]
        return 0.5 * float(np.abs(laws[0] - laws[1]).sum())

    def of(places: Sequence[Whole], sets: Sequence[tuple[int, ...]]) -> float:
        """Of attributes of the events at these places of either table."""
        return _mean(
            apart(
                {which: [both[which].codes[a][places[which]] for a in chosen] for which in (0, 1)},
                [events.domain[a] for a in chosen],
            )
            for chosen in sets
        )

    def between(steps: int, pairs: Sequence[tuple[int, int]]) -> float:
        """Of an attribute before, and one after so many steps."""
        places = [one.lagged(steps) for one in both]
        return _joint(both, places, pairs, events.domain)

    singles = [(a,) for a in happening]
    same, crossed = [(a, a) for a in happening], [(a, b) for a in happening for b in happening if a != b]
    every = [np.arange(len(one.owners)) for one in both]
    top = history.most + 1
    found = {
        "number": apart({which: [table.counts] for which, table in enumerate((real, other))}, [top]),
        "person and number": _mean(
            apart({w: [t.persons[a], t.counts] for w, t in enumerate((real, other))}, [persons.domain[a], top])
            for a in about
        ),
        "event": of(every, singles),
        "first event": of([one.first for one in both], singles),
        "last event": of([one.last for one in both], singles),
        "within event": of(every, list(combinations(happening, 2))),
        "person and event": _mean(
            apart(
                {w: [one.table.persons[a][one.owners], one.codes[b]] for w, one in enumerate(both)},
                [persons.domain[a], events.domain[b]],
            )
            for a in about
            for b in happening
        ),
        "transition": between(1, same),
        "cross transition": between(1, crossed),
        "two steps": between(2, same),
        "first and last": _joint(both, [_ends(one) for one in both], same, events.domain),
    }
    if history.gap is not None:
        later = [one.lagged(1)[1] for one in both]
        found["gap"] = apart({w: [both[w].gaps[later[w]]] for w in (0, 1)}, [history.gap.size])
    return found | _of_summaries(history, both) | {"detection": _detection(history, both)}


def _ends(one: Events) -> tuple[Whole, Whole]:
    """The first and the last event of each person with more than one."""
    several = one.table.counts[one.owners] > 1
    return np.flatnonzero(several & (one.position == 1)), np.flatnonzero(
        several & (one.position == one.table.counts[one.owners])
    )


def _joint(
    both: Sequence[Events],
    places: Sequence[tuple[Whole, Whole]],
    pairs: Sequence[tuple[int, int]],
    domain: Sequence[int],
) -> float:
    found = []
    for before, after in pairs:
        laws = [
            _law([one.codes[before][earlier], one.codes[after][later]], [domain[before], domain[after]])
            for one, (earlier, later) in zip(both, places, strict=True)
        ]
        found.append(0.5 * float(np.abs(laws[0] - laws[1]).sum()))
    return _mean(found)


def summaries(history: History[Schema], one: Events) -> dict[str, Floats]:
    """Of each person: number, and of each attribute with numbers total, mean and spread; counts of codes, changes."""
    rows, owners = len(one.table.counts), one.owners

    def summed(of: Whole, amounts: npt.NDArray[Any]) -> Floats:
        return np.asarray(np.bincount(of, amounts.astype(np.float64), minlength=rows), dtype=np.float64)

    number = np.maximum(one.table.counts, 1)
    found: dict[str, Floats] = {"number": one.table.counts.astype(np.float64)}
    earlier, later = one.lagged(1)
    for a in history.happening:
        attribute, codes = history.events.attributes[a], one.codes[a]
        if (values := middles(attribute)) is not None:
            total = summed(owners, values[codes])
            mean, squares = total / number, summed(owners, values[codes] ** 2) / number
            found[f"total {attribute.name}"], found[f"mean {attribute.name}"] = total, mean
            found[f"spread {attribute.name}"] = np.sqrt(np.maximum(squares - mean**2, 0))
        there = [summed(owners, codes == code) for code in range(attribute.size)]
        found |= {f"{attribute.name} {code}": count for code, count in enumerate(there)}
        found[f"distinct {attribute.name}"] = (np.array(there) > 0).sum(axis=0).astype(np.float64)
        found[f"changes {attribute.name}"] = summed(owners[later], codes[later] != codes[earlier])
    found["gaps"] = summed(owners[later], one.gaps[later])
    return found


def middles(attribute: Attribute) -> Floats | None:
    """A number for each code of an attribute of numbers in an order, 0 where there is none; None of another one."""
    if attribute.type not in ("integer", "number", "duration") or not (attribute.edges or attribute.ordered):
        return None
    if attribute.edges:
        values = [float(low + high) / 2 for low, high in pairwise(attribute.edges)]
    else:
        values = [float(value) for value in attribute.categories if not isinstance(value, str)]
    return np.array([*values, *[0.0] * attribute.apart])


def _of_summaries(history: History[Schema], both: Sequence[Events]) -> dict[str, float]:
    """Distances (Kolmogorov-Smirnov) of totals, means and spreads of a person, and how they go with the person."""
    mine, theirs = (summaries(history, one) for one in both)
    several = [one.table.counts > 1 for one in both]
    names = [name.partition(" ")[2] for name in mine if name.startswith("total ")]
    found: dict[str, float] = {}
    for what in ("total", "mean", "spread"):
        some = several if what != "total" else [np.ones(len(each), dtype=np.bool_) for each in several]
        found[what] = _mean(
            ks_distance(np.sort(mine[f"{what} {name}"][some[0]]), np.sort(theirs[f"{what} {name}"][some[1]]))
            for name in names
        )
    ordered = history.persons.ordered_codes
    summed = ["number", *(f"{what} {name}" for name in names for what in ("total", "mean"))]
    found["correlation"] = _mean(
        abs(_correlation(both[0].table.persons[a], mine[name]) - _correlation(both[1].table.persons[a], theirs[name]))
        for a in ordered
        for name in summed
    )
    return found


def _correlation(codes: npt.NDArray[np.unsignedinteger], values: Floats) -> float:
    if np.ptp(codes) == 0 or np.ptp(values) == 0:
        return 0.0
    return float(np.corrcoef(codes.astype(np.float64), values)[0, 1])


def _detection(history: History[Schema], both: Sequence[Events]) -> float:
    """The area under the curve of trees that see summaries and the person, in three parts of which each is held out."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict

    generator = np.random.default_rng(SEED)
    rows = min(MOST_TOLD_APART, *(len(one.table.counts) for one in both))
    parts = []
    for one in both:
        columns = [*summaries(history, one).values(), *(column.astype(np.float64) for column in one.table.persons)]
        parts.append(np.column_stack(columns)[generator.permutation(len(one.table.counts))[:rows]])
    made = np.repeat([0, 1], rows)
    model = HistGradientBoostingClassifier(max_iter=TREES, random_state=SEED)
    told = cross_val_predict(model, np.concatenate(parts), made, cv=3, method="predict_proba")
    return float(roc_auc_score(made, told[:, 1]))


def _law(columns: Sequence[npt.NDArray[np.integer]], sizes: Sequence[int]) -> Floats:
    cells = np.ravel_multi_index([column.astype(np.int64) for column in columns], tuple(sizes))
    counts = np.bincount(cells, minlength=int(np.prod(sizes))).astype(np.float64)
    return counts / max(counts.sum(), 1.0)


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return float(np.mean(listed)) if listed else 0.0
