"""Tables that hold every pair of attributes, and their shares, for the least expected error: by public numbers alone.

A row costs a table the same however many cells it has, so tables wider than pairs may tell more of the pairs for the
same price. A pair of c cells within a table of N cells is read with N/c times the variance of a cell; its expected
distance goes with c times the root of that. Let A be the sum over the pairs that a table answers for. Then the least
error that a budget buys, and the weights that buy it, are

    with a delta (rho adds up):     (sum A^(2/3))^(3/2)    weights in proportion to A^(1/3)
    without one (epsilon adds up):  (sum A^(1/2))^2        weights in proportion to A^(1/2)

Compared are the covering design, one table of everything, and the pairs made wider, one attribute at a time, while the
error falls. Of those that are nearly as good the one with the fewest tables is taken: these tell of three attributes,
too.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from privity.common.data.noisy_tables import Marginal
from privity.common.protocol.step_limits import TABLE_CELLS
from privity.common.synthesis.inference.stacked_pairs import Pair
from privity.common.synthesis.learning.covering_design import optimal_design

NEARLY = 1.05

Answers = dict[Marginal, set[Pair]]
"""Of each table the pairs that it answers for."""


@dataclass(frozen=True)
class PairTables:
    """Tables that are measured together.

    Attributes:
        tables: every pair of attributes is within one of them; ascending.
        weights: of each table, but for a factor.
        error: to which the noise on all cells of all pairs adds up, in deviations of a cell of one table that gets
            all of the budget.
    """

    tables: tuple[Marginal, ...]
    weights: tuple[float, ...]
    error: float


@lru_cache(maxsize=64)
def pair_tables(domain: tuple[int, ...], *, pure: bool) -> PairTables:
    """The tables that tell most of all pairs of two or more attributes with these sizes.

    Raises:
        PrivityError: domain-too-large, if a pair alone is more than a table.
    """
    every: Marginal = tuple(range(len(domain)))
    pairs: Answers = {pair: {pair} for pair in combinations(every, 2)}
    ways = [_widened(pairs, domain, _power(pure)), _answering(optimal_design(domain).views)]
    if math.prod(domain) <= TABLE_CELLS:
        ways.append(_answering([every]))
    priced = [_priced(way, domain, pure) for way in ways]
    least = min(way.error for way in priced)
    return min((way for way in priced if way.error <= NEARLY * least), key=lambda way: (len(way.tables), way.error))


def _answering(tables: Iterable[Marginal]) -> Answers:
    return {table: set(combinations(table, 2)) for table in tables}


def _power(pure: bool) -> float:
    return 1 / 2 if pure else 2 / 3


def _priced(answers: Answers, domain: Sequence[int], pure: bool) -> PairTables:
    tables = tuple(sorted(answers))
    widths = [_width(table, answers[table], domain) for table in tables]
    power = _power(pure)
    # Weights are of deviations: of epsilon, or of the root of rho.
    weights = tuple(width ** (power if pure else power / 2) for width in widths)
    return PairTables(tables, weights, sum(width**power for width in widths) ** (1 / power))


def _width(table: Marginal, pairs: set[Pair], domain: Sequence[int]) -> float:
    """A, of the pairs that the table answers for."""
    cells = math.prod(domain[a] for a in table)
    return math.sqrt(cells) * sum(math.sqrt(domain[a] * domain[b]) for a, b in pairs)


def _widened(answers: Answers, domain: Sequence[int], power: float) -> Answers:
    """Give a table one more attribute, with the pairs that it then holds, as long as the error falls."""
    answers = {table: set(pairs) for table, pairs in answers.items()}

    def price(table: Marginal, pairs: set[Pair]) -> float:
        return _width(table, pairs, domain) ** power

    while True:
        answered = {pair: table for table, pairs in answers.items() for pair in pairs}
        prices = {table: price(table, pairs) for table, pairs in answers.items()}
        best: tuple[Marginal, dict[Marginal, set[Pair]]] | None = None
        least = -1e-9
        for table in answers:
            for a in set(range(len(domain))) - set(table):
                wide = tuple(sorted((*table, a)))
                if math.prod(domain[x] for x in wide) > TABLE_CELLS:
                    continue
                # The pairs of the table go along, and so do those that it now holds.
                taken = defaultdict(set, {table: answers[table]})
                for pair in combinations(wide, 2):
                    if answered[pair] != table:
                        taken[answered[pair]].add(pair)
                change = price(wide, answers.get(wide, set()).union(*taken.values()))
                for other, pairs in taken.items():
                    left = answers[other] - pairs
                    change += (price(other, left) if left else 0) - prices[other]
                if change < least:
                    best, least = (wide, taken), change
        if best is None:
            return answers
        wide, gone = best
        for other, pairs in gone.items():
            answers[wide] = answers.get(wide, set()) | pairs
            if other != wide:
                answers[other] = answers[other] - pairs
                if not answers[other]:
                    del answers[other]
