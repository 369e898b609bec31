"""A made table of market baskets: 50 yes-or-no items, as many rows as the Retail table of the JTree paper.

The model, in the order in which a basket is filled:

- An occasion, one of 6, with the probabilities 6, 5, 4, 3, 2 and 1 over 21. Each occasion has a bundle of 8 items:
  those whose number is the occasion's modulo 6, but for the two staples 0 and 1, which are in none.
- How much is bought, a factor on the odds of all items: Gamma of shape 2 and mean 1.
- Items 0 to 49 in turn. Item i has the odds of the probability .6 / (i + 1)^.9, times the factor; times 6 if it is in
  the occasion's bundle; times 4 if i is odd and item i - 1 was taken (complements); times .3 if i is a multiple of 5
  from 5 on and item i - 3 was taken (substitutes).

Occasion and factor are not in the table, so its graph is not a thin tree: every two items depend on each other a
little, some much more. A seed gives the same rows each time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema

NAME = "baskets"
ROWS = 88_162
ITEMS = 50
OCCASIONS = 6
STAPLES = 2
POPULARITY, DECAY = 0.6, 0.9
IN_BUNDLE, COMPLEMENT, SUBSTITUTE = 6.0, 4.0, 0.3
SEED = 1


def make_baskets(rows: int = ROWS, seed: int = SEED) -> CodedTable:
    """The table; its schema has the items as attributes with the categories 0 and 1."""
    generator = np.random.default_rng(seed)
    chances = np.arange(OCCASIONS, 0, -1) / sum(range(OCCASIONS + 1))
    occasion = generator.choice(OCCASIONS, size=rows, p=chances)
    activity = generator.gamma(2.0, 0.5, size=rows)
    taken: list[np.ndarray] = []
    for item in range(ITEMS):
        popularity = POPULARITY / (item + 1) ** DECAY
        odds = popularity / (1 - popularity) * activity
        if item >= STAPLES:
            odds = np.where(occasion == item % OCCASIONS, IN_BUNDLE * odds, odds)
        if item % 2:
            odds = np.where(taken[item - 1], COMPLEMENT * odds, odds)
        if item and item % 5 == 0:
            odds = np.where(taken[item - 3], SUBSTITUTE * odds, odds)
        taken.append(generator.random(rows) < odds / (1 + odds))
    fields: list[dict[str, Any]] = [
        {"name": f"item {item}", "type": "integer", "categories": [0, 1]} for item in range(ITEMS)
    ]
    schema = parse_schema({"name": NAME, "fields": fields}, "baskets")
    return CodedTable(schema, tuple(column.astype(np.uint8) for column in taken))
