"""Numbers that the codes of an attribute stand for: where in its bin a number lies, no release tells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.temporal import TEMPORAL
from privity.common.formats.given_values import bad_option

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CodeValues:
    """Of each code that is a value, shape (values,).

    Attributes:
        low, high: the smallest and the largest number that it may be; infinite where a bin is open.
        middle: the mean of its numbers if these lie as the schema says, in the middle of a bin without a histogram.
    """

    low: Numbers
    high: Numbers
    middle: Numbers

    @property
    def exact(self) -> bool:
        """Whether each code is one number."""
        return bool((self.low == self.high).all())


def code_values(attribute: Attribute) -> CodeValues:
    """The numbers of an attribute.

    Raises:
        PrivityError: bad-option: it has none, or dates and times.
    """
    if attribute.type == "boolean":
        truth = np.array([0.0, 1.0])
        return CodeValues(truth, truth, truth)
    if not attribute.numeric:
        hint = "Ask for shares of its values, or for those of one value with where."
        raise bad_option("about", f"{attribute.name} has texts, and no numbers", hint)
    if attribute.type in TEMPORAL and attribute.type != "duration":
        hint = "Ask for shares, with where such as admitted<2024-01-01."
        raise bad_option("about", f"{attribute.name} has dates or times, of which there is no mean", hint)
    if attribute.categories:
        exact = np.array([float(value) for value in attribute.categories])
        return CodeValues(exact, exact, exact)
    edges = np.array([float(edge) for edge in attribute.edges])
    low, high = edges[:-1].copy(), edges[1:].copy()
    for place, grid in enumerate(attribute.grids):
        if grid.count > 0 and (attribute.whole or attribute.decimals is not None):
            low[place] = grid.first / 10**grid.decimals
            high[place] = (grid.first + grid.count - 1) / 10**grid.decimals
    middle = (low + high) / 2
    if (histogram := attribute.histogram) is not None:
        weights = np.array(histogram.weights, dtype=float)
        finer = np.array([float(edge) for edge in histogram.edges])
        bins = np.clip(np.searchsorted(edges, finer[:-1], side="right") - 1, 0, len(middle) - 1)
        sums = np.bincount(bins, weights, minlength=len(middle))
        means = np.bincount(bins, weights * (finer[:-1] + finer[1:]) / 2, minlength=len(middle))
        middle = np.where(sums > 0, means / np.where(sums > 0, sums, 1), middle).clip(low, high)
    if attribute.open_ended:
        low[0], high[-1] = -np.inf, np.inf
    return CodeValues(low, high, middle)
