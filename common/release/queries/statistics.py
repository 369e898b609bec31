"""Counts, shares, means, quantiles, cross-tabs and correlations: sums over measured cells, and quotients of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, prod

import numpy as np

from privity.common.data.attribute import Attribute
from privity.common.data.code_values import CodeValues, code_values
from privity.common.formats.given_values import bad_option
from privity.common.release.queries import intervals
from privity.common.release.queries.answer import POPULATION, Answer, answer
from privity.common.release.queries.estimator import MOST_NUMBERS, Estimator, Told
from privity.common.release.queries.evidence import Numbers
from privity.common.release.queries.intervals import Interval
from privity.common.release.queries.linear_estimates import Linear
from privity.common.release.queries.question import RATIO, Masks, Options, product

CUT = "the noise is larger than the group: the interval is cut at its possible values"
VALUED = "of the rows that have a value"
BOUNDS = "the interval covers every place of the numbers in their bins; declare finer bins for a narrower one"
MIDDLE = "numbers count as the middle of their bins"


@dataclass(frozen=True)
class Asking:
    """What is asked of which release.

    Attributes:
        about: attributes that the statistic is of.
    """

    estimator: Estimator
    options: Options
    about: tuple[int, ...] = ()

    @property
    def attributes(self) -> Sequence[Attribute]:
        return self.estimator.evidence.schema.attributes

    @property
    def groups(self) -> list[tuple[Mapping[str, str], Masks]]:
        """Each group by its name, with the rows that count in it."""
        by = self.options.by
        if by is None:
            return [({}, {})]
        attribute = self.attributes[by]
        codes = range(attribute.values)
        return [({attribute.name: attribute.labels[code]}, {by: np.eye(attribute.size)[code]}) for code in codes]

    def axes(self, functions: int, *masks: Masks) -> tuple[int, ...]:
        """All attributes that are looked at, for so many functions of them."""
        found = {*self.about, *self.options.given, *(a for mask in masks for a in mask)}
        if self.options.by is not None:
            found.add(self.options.by)
        cells = prod(self.estimator.evidence.schema.domain[a] for a in found)
        if cells * functions > MOST_NUMBERS:
            reason = f"{functions:,} numbers are asked for, of {cells:,} combinations of values: these are too many"
            raise bad_option("about", reason, "Ask about fewer at once.")
        return tuple(sorted(found))

    def table(self, axes: Sequence[int], *vectors: Masks) -> Numbers:
        """Weights of rows that meet the conditions, times the vectors."""
        return product(self.estimator.evidence.schema, axes, [self.options.given, *vectors])

    def tell(self, axes: Sequence[int], weights: Sequence[Numbers]) -> Told:
        """Estimates for whom the question is about."""
        told = self.estimator.tell(axes, np.stack(weights), extrapolate=self.options.extrapolate)
        return told if self.options.target == POPULATION else Told(told.linear.about_rows(), told.support)

    def valued(self) -> dict[int, Numbers]:
        """1 for codes that are values, of the attributes in question."""
        return {a: (np.arange(self.attributes[a].size) < self.attributes[a].values).astype(float) for a in self.about}

    def numbers(self, place: int) -> CodeValues:
        """Of an attribute; the middles of bins alone, if these are asked for."""
        found = code_values(self.attributes[place])
        return CodeValues(found.middle, found.middle, found.middle) if self.options.midpoints else found

    def spread(self, place: int, numbers: Numbers) -> dict[int, Numbers]:
        """Numbers of the codes that are values, 0 for others."""
        return {place: np.append(numbers, np.zeros(self.attributes[place].apart))}


def count(asking: Asking, where: Masks) -> list[Answer]:
    """How many of the rows meet the conditions, or of as many rows of the population."""
    groups = asking.groups
    axes = asking.axes(len(groups) + 1, where)
    told = asking.tell(
        axes, [*(asking.table(axes, where, group) for _, group in groups), np.ones(_shape(asking, axes))]
    )
    rows, bottom = asking.estimator.evidence.rows, len(groups)

    def one(place: int) -> Interval:
        found = intervals.of_quotient(told.linear, place, bottom, asking.options.level, share=True)
        return _times(found, rows)

    return _answers(asking, told, [name for name, _ in groups], one, lambda place: _cut(told.linear, place))


def share(asking: Asking, where: Masks) -> list[Answer]:
    """The part that meets ``where`` of the rows that count."""
    groups = asking.groups
    axes = asking.axes(2 * len(groups), where)
    pairs = [(asking.table(axes, where, group), asking.table(axes, group)) for _, group in groups]
    return _quotients(asking, axes, groups, pairs, share_of=True)


def mean(asking: Asking) -> list[Answer]:
    """Of an attribute's numbers; where these lie in bins, from the least to the most that it may be."""
    (place,) = asking.about
    numbers, groups = asking.numbers(place), asking.groups
    axes = asking.axes(6 * len(groups))
    attribute = asking.attributes[place]
    if not np.isfinite([numbers.low, numbers.high]).all():
        label = attribute.labels[0 if numbers.low[0] == -inf else attribute.values - 1]
        reason = f"{attribute.name} has a bin without an end, {label!r}: its mean has no bound"
        hint = "Ask for quantiles or shares, or take the middle of each bin: midpoints=True, --midpoints."
        raise bad_option("about", reason, hint)
    notes = [VALUED] if attribute.missing else []
    valued = asking.valued()
    ends = [numbers.middle] if numbers.exact else [numbers.middle, numbers.low, numbers.high]
    pairs = [
        (asking.table(axes, valued, asking.spread(place, end), group), asking.table(axes, valued, group))
        for end in ends
        for _, group in groups
    ]
    if asking.options.midpoints and not code_values(attribute).exact:
        notes.append(MIDDLE)
    if numbers.exact:
        return _quotients(asking, axes, groups, pairs, *notes)
    return _quotients(asking, axes, groups, pairs, *notes, BOUNDS)


def quantile(asking: Asking, at: Fraction) -> list[Answer]:
    """The number below which this part of the rows is: where the interval of the distribution function holds it."""
    (place,) = asking.about
    attribute, numbers = asking.attributes[place], code_values(asking.attributes[place])
    order = np.argsort(numbers.low, kind="stable").tolist()
    axes, valued = asking.axes(len(order)), asking.valued()
    notes = [VALUED] if attribute.missing else []
    found = []
    for name, group in asking.groups:
        up_to = [{place: np.isin(np.arange(attribute.size), order[: k + 1]).astype(float)} for k in range(len(order))]
        weights = [asking.table(axes, valued, each, group) for each in up_to]
        told = asking.tell(axes, weights)
        last = len(weights) - 1
        steps = [intervals.of_quotient(told.linear, k, last, asking.options.level, share=True) for k in range(last)]
        interval = _inverted(steps, numbers, order, float(at))
        found.append(answer(interval, name, float(asking.options.level), told.support, *notes))
    return found


def crosstab(asking: Asking) -> list[Answer]:
    """The share of each combination of values, of the rows that count."""
    about = asking.about
    sizes = [asking.attributes[a].present for a in about]
    axes = asking.axes(prod(sizes) + 1)
    places = [np.unravel_index(cell, sizes) for cell in range(prod(sizes))]
    eyes = [np.eye(asking.attributes[a].size) for a in about]
    cells = [{a: eye[code] for a, eye, code in zip(about, eyes, place, strict=True)} for place in places]
    names = [
        {asking.attributes[a].name: asking.attributes[a].labels[code] for a, code in zip(about, place, strict=True)}
        for place in places
    ]
    told = asking.tell(axes, [*(asking.table(axes, cell) for cell in cells), asking.table(axes)])

    def one(place: int) -> Interval:
        return intervals.of_quotient(told.linear, place, len(cells), asking.options.level, share=True)

    return _answers(asking, told, names, one, lambda place: _cut(told.linear, place))


def correlation(asking: Asking) -> list[Answer]:
    """Of two attributes' numbers (Pearson)."""
    first, second = asking.about
    exact = {a: asking.numbers(a) for a in asking.about}
    for a, numbers in exact.items():
        if not numbers.exact:
            reason = f"{asking.attributes[a].name} is in bins: where its numbers lie in them, nothing tells"
            hint = "Declare finer bins, or take the middle of each: midpoints=True, --midpoints."
            raise bad_option("about", reason, hint)
    axes, valued, found = asking.axes(6), asking.valued(), []
    x, y = (asking.spread(a, (z := exact[a].middle) - z.mean()) for a in (first, second))
    notes = [MIDDLE] if any(not code_values(asking.attributes[a]).exact for a in asking.about) else []
    for name, group in asking.groups:
        vectors = [(), (x,), (y,), (x, x), (y, y), (x, y)]
        told = asking.tell(axes, [asking.table(axes, valued, group, *each) for each in vectors])
        interval = _correlated(told.linear, asking.options.level)
        found.append(answer(interval, name, float(asking.options.level), told.support, *notes))
    return found


def function_of(asking: Asking, function: Callable[[Numbers], float]) -> list[Answer]:
    """A smooth function of the table of probabilities over some attributes, its axes in the order asked for."""
    axes, about = asking.axes(1), asking.about
    shape = _shape(asking, axes)
    cells = prod(shape)
    if cells > MOST_CELLS:
        reason = f"the table has {cells:,} cells, at most {MOST_CELLS:,} for a function"
        raise bad_option("over", reason, "Give fewer attributes.")
    order = [axes.index(a) for a in about]
    told = asking.tell(axes, list(np.eye(cells).reshape(cells, *shape)))
    shares = told.linear.values

    def value(point: Numbers) -> float:
        return float(function(point.reshape(shape).transpose(order)))

    # At a table of probabilities, where a function need not be one of negative numbers.
    centre = np.maximum(told.linear.plug, 0.0)
    centre = centre / centre.sum()
    step = 1e-5
    gradient = np.array(
        [(value(centre + step * one) - value(centre - step * one)) / (2 * step) for one in np.eye(cells)]
    )
    at = value(centre) + float(gradient @ (shares - centre))
    if not np.isfinite([at, *gradient]).all():
        raise bad_option("function", "it is not finite at the table, or beside it", "Give a smooth function.")
    interval = intervals.of_sum(told.linear, gradient, asking.options.level, at)
    return [answer(interval, {}, float(asking.options.level), told.support)]


MOST_CELLS = 256
"""Of a table that a function is of."""


def _quotients(
    asking: Asking,
    axes: Sequence[int],
    groups: Sequence[tuple[Mapping[str, str], Masks]],
    pairs: Sequence[tuple[Numbers, Numbers]],
    *notes: str,
    share_of: bool = False,
) -> list[Answer]:
    """One answer a group, or for each but the first its comparison with the first.

    Args:
        pairs: tops and bottoms of each group; and if the tops have bounds, those of the lowest and of the highest.
    """
    told = asking.tell(axes, [each for pair in pairs for each in pair])
    level, many = asking.options.level, len(groups)

    def quotient(place: int) -> Interval:
        return intervals.of_quotient(told.linear, 2 * place, 2 * place + 1, level, share=share_of)

    def compared(place: int, first: int) -> Interval:
        ratio = asking.options.compare == RATIO
        ends = (2 * place, 2 * place + 1), (2 * first, 2 * first + 1)
        return intervals.difference(told.linear, *ends, level, ratio=ratio)

    def bounded(middle: Interval, low: Interval, high: Interval) -> Interval:
        if not (middle.determined and low.determined and high.determined):
            return intervals.undetermined()
        return Interval(middle.value, low.low, high.high, middle.sampling, middle.noise, middle.model)

    names = [name for name, _ in groups]
    bounds = len(pairs) == 3 * many
    if asking.options.compare is None:

        def one(place: int) -> Interval:
            if not bounds:
                return quotient(place)
            return bounded(*(quotient(end * many + place) for end in range(3)))

        cut = (lambda place: _cut(told.linear, 2 * place)) if share_of else (lambda _: False)
        return _answers(asking, told, names, one, cut, *notes)
    sign = " over " if asking.options.compare == RATIO else " less "
    between = [{k: f"{v}{sign}{names[0][k]}" for k, v in name.items()} for name in names[1:]]

    def other(place: int) -> Interval:
        if not bounds:
            return compared(place + 1, 0)
        low, high = compared(many + place + 1, 2 * many), compared(2 * many + place + 1, many)
        return bounded(compared(place + 1, 0), low, high)

    return _answers(asking, told, between, other, lambda _: False, *notes)


def _answers(
    asking: Asking,
    told: Told,
    names: Sequence[Mapping[str, str]],
    one: Callable[[int], Interval],
    cut: Callable[[int], bool],
    *notes: str,
) -> list[Answer]:
    level = float(asking.options.level)
    return [
        answer(one(place), name, level, told.support, *notes, *([CUT] if cut(place) else []))
        for place, name in enumerate(names)
    ]


def _cut(told: Linear, place: int) -> bool:
    """Whether a group is hidden by its noise."""
    return float(told.values[place]) < float(np.sqrt(told.noise[place, place]))


def _times(found: Interval, rows: int) -> Interval:
    value = None if found.value is None else found.value * rows
    numbers = (found.low, found.high, found.sampling, found.noise, found.model)
    return Interval(value, *(each * rows for each in numbers))


def _shape(asking: Asking, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(asking.estimator.evidence.schema.domain[a] for a in axes)


def _inverted(steps: Sequence[Interval], numbers: CodeValues, order: Sequence[int], at: float) -> Interval:
    """Where a distribution function passes ``at``, by the intervals of its steps.

    Args:
        steps: of all values but the last one, where it is 1.
    """
    if not all(step.determined for step in steps):
        return intervals.undetermined()
    values = np.maximum.accumulate([step.value or 0.0 for step in steps] + [1.0])
    highs = np.append([step.high for step in steps], 1.0)
    lows = np.append([step.low for step in steps], 1.0)
    first, last, place = (int(np.flatnonzero(each >= at)[0]) for each in (highs, lows, values))
    code = order[place]
    before = float(values[place - 1]) if place else 0.0
    part = (at - before) / max(float(values[place]) - before, 1e-300)
    low, high = float(numbers.low[code]), float(numbers.high[code])
    inside = low + part * (high - low) if np.isfinite([low, high]).all() else float(numbers.middle[code])
    ends = float(numbers.low[order[first]]), float(numbers.high[order[last]])
    nothing = float("nan")
    return Interval(inside, *ends, nothing, nothing, nothing)


def _correlated(told: Linear, level: Fraction) -> Interval:
    rows, x, y, xx, yy, xy = told.values.tolist()
    if not intervals.clear(told, 0):
        return intervals.undetermined()
    mx, my = x / rows, y / rows
    vx, vy, both = xx / rows - mx**2, yy / rows - my**2, xy / rows - mx * my
    if min(vx, vy) <= 0:
        return intervals.undetermined()
    root = (vx * vy) ** 0.5
    value = both / root

    def by(d_both: float, d_vx: float, d_vy: float) -> float:
        return d_both / root - value / 2 * (d_vx / vx + d_vy / vy)

    direction = np.array(
        [
            by((2 * mx * my - xy / rows) / rows, (2 * mx**2 - xx / rows) / rows, (2 * my**2 - yy / rows) / rows),
            by(-my / rows, -2 * mx / rows, 0),
            by(-mx / rows, 0, -2 * my / rows),
            by(0, 1 / rows, 0),
            by(0, 0, 1 / rows),
            by(1 / rows, 0, 0),
        ]
    )
    return intervals.of_correlation(told, direction, level, value)
