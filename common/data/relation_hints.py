"""Orders, sums and small gaps that hold in a table, and what would declare them; not private, like a draft."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, permutations
from keyword import iskeyword
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.face_hints import face_hints
from privity.common.data.frame_values import number_of
from privity.common.data.gap_fields import gap_fields, is_subtracted_alike, kind_of, total_field
from privity.common.data.made_columns import MOMENTS
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_reading import read_batches

if TYPE_CHECKING:
    import pandas as pd

Numbers = npt.NDArray[np.float64]
"""Of some rows, shape (columns, rows); NaN where the value is missing."""

LEAST_ROWS = 100
"""With all values, from which an order or a sum may be seen."""

BROKEN = 0.1
"""Part of the rows that would break an order, at the least, if its two columns had nothing to do with each other."""

KEPT = 20_000
"""Rows in which that is looked at."""

TRIED = 16
"""Rows on which sums are looked for; those that are found are tried on all others."""

MOST_PARTS = 4
MOST_SUMS = 100_000
"""Sums of so many parts that are looked for: with more columns, sums of fewer parts."""

USED = 3
"""Rows in which a part of a sum is not 0, at the least."""

NARROW = 0.1
"""Interquartile range of a gap by that of each of its columns, up to which bins of these do not keep it."""

MOST_ORDERS = 20

EXACT = 1e-9
"""Of the larger numbers: doubles of decimals whose sum is right differ by less."""


def row_hints(path: Path | str, document: dict[str, Any]) -> list[str]:
    """What follows from other columns, or is in order with them, in every row of a file, by its draft."""
    schema = parse_schema(document, str(path))
    faces = face_hints(document["fields"], read_batches(path, schema))
    return [*faces, *relation_hints(schema, read_batches(path, schema))]


def relation_hints(schema: Schema, batches: Iterable[pd.DataFrame]) -> list[str]:
    """For sums and orders that hold in every row what to declare.

    Args:
        schema: the draft.
        batches: the table as texts.
    """
    return relations_in(schema, batches).hints()


def relations_in(schema: Schema, batches: Iterable[pd.DataFrame]) -> Relations:
    """What holds in all rows of a table.

    Args:
        batches: of values as ``frame_values`` reads them, in the schema's words.
    """
    relations = Relations([attribute for attribute in schema.attributes if has_order(attribute)])
    for frame in batches:
        relations.look(frame)
    return relations


class Relations:
    """What holds in all rows so far.

    Args:
        attributes: whose values have an order.
    """

    def __init__(self, attributes: Sequence[Attribute]) -> None:
        self._attributes = attributes
        self._numbers = [_Numbers(attribute) for attribute in attributes]
        pairs = permutations(range(len(attributes)), 2)
        self._orders = {(a, b) for a, b in pairs if kind_of(attributes[a]) == kind_of(attributes[b])}
        self._sums: dict[int, tuple[int, ...]] | None = None
        self._kept: list[Numbers] = []

    def look(self, frame: pd.DataFrame) -> None:
        """Look at some more rows."""
        if not self._attributes or not len(frame):
            return
        read = zip(self._numbers, self._attributes, strict=True)
        numbers = np.array([[known[text] for text in frame[attribute.name]] for known, attribute in read])
        if sum(one.shape[1] for one in self._kept) < KEPT:
            self._kept.append(numbers)
        with np.errstate(invalid="ignore"):
            self._orders = {(a, b) for a, b in self._orders if not (numbers[a] > numbers[b]).any()}
        if self._sums is None:
            self._sums = self._likely_sums(numbers)
        self._sums = {total: parts for total, parts in self._sums.items() if self._adds_up(numbers, total, parts)}

    def gaps(self) -> list[str]:
        """What to declare for columns that lie near to others."""
        if not self._kept:
            return []
        numbers = np.concatenate(self._kept, axis=1)
        return [self._gap_in_words(*pair) for pair in self._tied(numbers, self._clear_sums(numbers)).items()]

    def hints(self) -> list[str]:
        """What to declare."""
        if not self._kept:
            return []
        numbers = np.concatenate(self._kept, axis=1)
        sums = self._clear_sums(numbers)
        tied = self._tied(numbers, sums)
        rules = self._clear_orders(numbers, [*sums, *tied])
        found = [self._sum_in_words(total, parts) for total, parts in sums.items()]
        found += [self._gap_in_words(column, base) for column, base in tied.items()]
        if rules:
            found.append(
                "Orders that hold in every row that has both values, read off the rows. Those that hold by their "
                f'meaning cost nothing: declare "rowConstraints": {json.dumps(rules[:MOST_ORDERS], ensure_ascii=False)}'
                + (f" ({len(rules) - MOST_ORDERS} more are not shown)" if len(rules) > MOST_ORDERS else "")
            )
        return found

    def _likely_sums(self, numbers: Numbers) -> dict[int, tuple[int, ...]]:
        """Totals and their parts by a few rows; of the fewest parts."""
        places = list(range(len(self._attributes)))
        lacking = np.isnan(numbers[places]).sum(axis=0)
        rows = np.argsort(lacking, kind="stable")
        rows = rows[lacking[rows] == lacking[rows[0]]] if len(rows) else rows
        some = numbers[:, rows[np.linspace(0, len(rows) - 1, min(TRIED, len(rows))).astype(int)]] if len(rows) else rows
        found: dict[int, tuple[int, ...]] = {}
        for many in range(1, MOST_PARTS + 1):
            if len(places) <= many or comb(len(places), many) > MOST_SUMS:
                break
            parts = np.array(list(combinations(places, many)))
            sums = some[parts].sum(axis=1)
            for total in places:
                if total in found:
                    continue
                same = (np.abs(sums - some[total]) <= self._tolerance(total, some[total])).all(axis=1)
                fitting = [row for row in parts[same].tolist() if total not in row and self._may_add(total, row)]
                if fitting and not (many == 1 and found.get(fitting[0][0]) == (total,)):
                    found[total] = tuple(fitting[0])
        return found

    def _may_add(self, total: int, parts: Sequence[int]) -> bool:
        """Whether a total of this type can have these parts."""
        moments = [part for part in parts if self._attributes[part].temporal is not None]
        if moments or self._attributes[total].temporal is not None:
            rest = [self._attributes[part].type for part in parts if part not in moments]
            one = [kind_of(self._attributes[part]) for part in moments] == [kind_of(self._attributes[total])]
            return one and self._attributes[total].type in MOMENTS and set(rest) <= {"integer"}
        return self._attributes[total].type == "number" or all(self._attributes[p].type == "integer" for p in parts)

    def _tolerance(self, total: int, values: Numbers) -> Numbers:
        """By how much a sum may differ from these values of a total; dates and times are whole numbers."""
        decimal = self._attributes[total].temporal is None
        return EXACT * (1 + np.abs(values)) * decimal

    def _adds_up(self, numbers: Numbers, total: int, parts: Sequence[int]) -> bool:
        """Whether a total is the sum of its parts in each of some rows, and missing where one of them is."""
        sums, found = numbers[list(parts)].sum(axis=0), numbers[total]
        gone = np.isnan(sums)
        right = np.abs(sums[~gone] - found[~gone]) <= self._tolerance(total, found[~gone])
        return bool((np.isnan(found) == gone).all() and right.all())

    def _tied(self, numbers: Numbers, sums: Mapping[int, Sequence[int]]) -> dict[int, int]:
        """Columns that lie so near to another one that their bins would not keep the gap, with this other column."""
        taken = {*sums, *(part for parts in sums.values() for part in parts)}
        found: dict[int, int] = {}
        for pair in combinations(range(len(self._attributes)), 2):
            # Where there is an order, the smaller one is the base.
            base, column = pair[::-1] if pair[::-1] in self._orders and pair not in self._orders else pair
            alike = is_subtracted_alike(self._attributes[base], self._attributes[column])
            if alike and column not in {*taken, *found, *found.values()} and base not in {*sums, *found}:
                there = ~np.isnan(numbers[[base, column]]).any(axis=0)
                if there.sum() >= LEAST_ROWS and _is_narrow(*numbers[[base, column]][:, there]):
                    found[column] = base
        return found

    def _clear_sums(self, numbers: Numbers) -> dict[int, tuple[int, ...]]:
        """Those of which each part says something, and of which none is made of another."""
        found: dict[int, tuple[int, ...]] = {}
        for total, parts in (self._sums or {}).items():
            there = ~np.isnan(numbers[[total, *parts]]).any(axis=0)
            used = (numbers[list(parts)][:, there] != 0).sum(axis=1)
            differ = len(np.unique(numbers[total][there])) > 2
            made = {*found, *(part for each in found.values() for part in each)}
            if there.sum() >= LEAST_ROWS and (used >= USED).all() and differ and total not in made and not (
                set(parts) & set(found)
            ):  # fmt: skip
                found[total] = parts
        return found

    def _clear_orders(self, numbers: Numbers, made: Sequence[int]) -> list[str]:
        """Those that other columns would break and that follow from no others, as rules."""
        clear = {pair for pair in self._orders if not set(pair) & set(made) and _says_something(*numbers[list(pair)])}
        shown = {
            (a, b)
            for a, b in clear
            if not any((a, c) in clear and (c, b) in clear for c in range(len(self._attributes)))
        }
        return [
            f"{_in_rule(self._attributes[a].name)} <= {_in_rule(self._attributes[b].name)}" for a, b in sorted(shown)
        ]

    def _sum_in_words(self, total: int, parts: Sequence[int]) -> str:
        attribute, names = self._attributes[total], [self._attributes[part].name for part in parts]
        field = total_field(attribute, names)
        return (
            f"{attribute.name} is {' + '.join(names)} in every row, read off the rows. If that is by its meaning, it "
            f"costs nothing: declare it as {json.dumps(field, ensure_ascii=False)}"
        )

    def _gap_in_words(self, column: int, base: int) -> str:
        made, first = self._attributes[column], self._attributes[base]
        fields = gap_fields(made, first, ordered=(base, column) in self._orders)
        return (
            f"{made.name} lies near {first.name}, read off the rows: the bins of the two would not keep the gap. To "
            f"model it, declare in the place of {made.name}: {json.dumps(fields, ensure_ascii=False)}"
        )


class _Numbers(dict[Any, float]):
    """The numbers of an attribute by its values; NaN of a missing one."""

    def __init__(self, attribute: Attribute) -> None:
        super().__init__()
        self._attribute = attribute

    def __missing__(self, value: Any) -> float:
        attribute = self._attribute
        number = None if value is None or value in attribute.missing_texts else number_of(attribute, value)
        if number is None or (not isinstance(value, str) and number in attribute.missing_numbers):
            self[value] = float("nan")
        else:
            self[value] = float(number)
        return self[value]


def has_order(attribute: Attribute) -> bool:
    """Whether it is looked at: a column of the table itself, of values that have an order."""
    return attribute.compute is None and attribute.numeric and (attribute.ordered or not attribute.categories)


def _is_narrow(base: Numbers, column: Numbers) -> bool:
    """Whether their gap is spread little beside both; each shape (rows,), without missing values."""
    low, high = np.quantile([base, column, column - base], [0.25, 0.75], axis=1)
    return bool((high - low)[:2].min() > 0 and (high - low)[2] <= NARROW * (high - low)[:2].min())


def _says_something(first: Numbers, second: Numbers) -> bool:
    """Whether enough rows would break the order if the columns were shuffled; each shape (rows,)."""
    there = ~(np.isnan(first) | np.isnan(second))
    if there.sum() < LEAST_ROWS or (first[there] == second[there]).all():
        return False
    low, high = first[there], np.sort(second[there])
    return bool(np.searchsorted(high, low, side="left").mean() >= BROKEN * len(high))


def _in_rule(name: str) -> str:
    """The name of an attribute as a rule has it."""
    plain = name.isidentifier() and not iskeyword(name) and name not in ("true", "false", "missing")
    return name if plain else f"`{name}`"
