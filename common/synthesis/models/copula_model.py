"""A Gaussian copula over dummy-coded attributes: normal variables for its categories, one winner for each attribute.

An attribute of two categories needs one variable, which is below its threshold for the first.

Source: Asghar, Ding, Rakotoarivelo, Mrabet, Kaafar, "Differentially Private Release of High-Dimensional Datasets using
the Gaussian Copula" (2019), section 3.3. Deviation: the paper compares each variable with its own threshold, so that a
row may have several categories of an attribute, or none. Here the variables of an attribute run a race: with Y the
variable of a category, its time is -log Pr[Normal > Y] over the category's rate, and the least time wins. For
independent variables a category wins in proportion to its rate.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import require
from privity.common.synthesis.models.weights import check_weights, read_weights
from privity.common.synthesis.single_threaded_blas import one_blas_thread

FORMAT_VERSION = 1
CELLS_AT_ONCE = 1 << 23
"""Normal variables that are drawn together: 32 MiB, for each worker."""

MOST_WORKERS = 8
FAINT = 1e-6
"""Variance that no variable of its own stands for: it would be a thousandth of a deviation."""

NEARLY = 1e-6
"""What a diagonal may miss 1 by after rounding."""

REACH, STEPS = 8, 2048
"""Of the table of logarithms (``_log_times_table``): from -8 to 8 in steps of 1/2048."""

TRIALS = 100_000
"""Rows of the races by which rates are set, or fewer if an attribute has many categories."""

FEWEST_TRIALS = 20_000
TRIAL_CELLS = 1 << 23

TURNS = 12

Numbers = npt.NDArray[np.float64]


class CopulaModel:
    """Rates of the categories and correlations of their normal variables.

    Columns stand for categories, attribute after attribute in the order of the schema, as ``columns_of`` says.

    Args:
        rates: for each attribute one for each category, non-negative, not all 0.
        correlations: shape (columns, columns), symmetric, with a diagonal of ones and no negative eigenvalue.
        weakened: pairs of attributes, a < b, that depend on each other less in the model than in what it was fitted to.

    Raises:
        ValueError: anything else.
    """

    def __init__(
        self,
        schema: Schema,
        rates: Sequence[Numbers],
        correlations: Numbers,
        weakened: Sequence[tuple[int, int]] = (),
    ) -> None:
        if len(rates) != len(schema.attributes):
            raise ValueError("a copula has rates for each attribute")
        for attribute, size in zip(rates, schema.domain, strict=True):
            check_weights(attribute, (size,))
            if not attribute.sum() > 0:
                raise ValueError("the rates of an attribute are all 0")
        columns = sum(map(columns_of, schema.domain))
        if correlations.shape != (columns, columns) or not np.isfinite(correlations).all():
            raise ValueError("the correlations do not have the shape of the categories, or are not finite")
        apart = np.abs(correlations - correlations.T).max(), np.abs(np.diag(correlations) - 1).max()
        if max(apart) > NEARLY:
            raise ValueError("the correlations are not symmetric with ones on the diagonal")
        self._root = _root_of(correlations)
        self.schema = schema
        self.rates = tuple(rates)
        self.correlations = correlations
        if not all(0 <= a < b < len(schema.attributes) for a, b in weakened):
            raise ValueError("a weakened pair is not one of two attributes in their order")
        self.weakened = tuple(weakened)

    @property
    def alone(self) -> frozenset[int]:
        """Attributes without a correlation to another one's categories."""
        blocks = blocks_of(self.schema.domain)
        correlated = np.abs(self.correlations) > NEARLY
        for block in blocks:
            correlated[block, block] = False
        return frozenset(a for a, block in enumerate(blocks) if not correlated[block].any())

    def sample(self, rows: int, generator: np.random.Generator, *, independent: bool = True) -> CodedTable:
        """Rows, independent in either case, drawn in blocks, on all cores; each block has a generator of its own."""
        domain = self.schema.domain
        columns = [np.empty(rows, dtype=code_type(size)) for size in domain]
        step = max(1, CELLS_AT_ONCE // len(self._root))
        starts = range(0, rows, step)
        seeds = generator.integers(2**63, size=len(starts)).tolist()

        def fill(start: int, seed: int) -> None:
            drawn = np.random.default_rng(seed)
            stop = min(rows, start + step)
            normals = self._root @ drawn.standard_normal((self._root.shape[1], stop - start), dtype=np.float32)
            for column, rates, block in zip(columns, self.rates, blocks_of(domain), strict=True):
                column[start:stop] = winners(normals[block], rates)

        with one_blas_thread(), ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_WORKERS)) as pool:
            list(pool.map(fill, starts, seeds))
        return CodedTable(self.schema, tuple(columns))

    def to_dict(self) -> dict[str, Any]:
        names = self.schema.names
        return {
            "format_version": FORMAT_VERSION,
            "kind": "copula",
            "schema_digest": self.schema.digest,
            "attributes": [
                {"attribute": name, "rates": rates.tolist()} for name, rates in zip(names, self.rates, strict=True)
            ],
            # Below the diagonal only: the rest follows.
            "correlations": [row[:place].tolist() for place, row in enumerate(self.correlations)],
            "weakened": [[names[a], names[b]] for a, b in self.weakened],
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any], schema: Schema, file: str) -> CopulaModel:
        """Read ``model.json``; raises PrivityError if it does not fit its format or the schema."""
        require(document, "model", file)
        if document["schema_digest"] != schema.digest:
            raise PrivityError(Catalogue.TAMPERED, what=file, reason="the model belongs to another schema")
        try:
            if [entry["attribute"] for entry in document["attributes"]] != list(schema.names):
                raise ValueError("the attributes are not those of the schema in their order")
            rates = [read_weights(entry["rates"]) for entry in document["attributes"]]
            weakened = [(schema.index(a), schema.index(b)) for a, b in document["weakened"]]
            return cls(schema, rates, _full(document["correlations"], sum(map(columns_of, schema.domain))), weakened)
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            raise PrivityError(Catalogue.TAMPERED, what=file, reason=str(error)) from error


def columns_of(size: int) -> int:
    """Normal variables for an attribute of so many categories."""
    return 1 if size == 2 else size


def blocks_of(domain: Sequence[int]) -> list[slice]:
    """The columns of each attribute."""
    ends = np.cumsum([0, *map(columns_of, domain)]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]


def winners(normals: npt.NDArray[np.float32], rates: Numbers) -> npt.NDArray[np.uint16]:
    """For each row the category that wins: shape (columns of the attribute, rows) -> (rows,)."""
    from scipy.special import ndtri

    if len(rates) == 2:
        return (normals[0] > np.float32(ndtri(rates[0] / rates.sum()))).astype(np.uint16)
    return _first(_log_times(normals), rates)


def _log_times(normals: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Logarithms of the times, before they are over the rates, from a table."""
    places = (np.clip(normals, -REACH, REACH) + np.float32(REACH)) * np.float32(STEPS)
    return _log_times_table()[places.astype(np.uint16)]


@cache
def _log_times_table() -> npt.NDArray[np.float32]:
    """Logarithm of -log Pr[Normal > y], y from -``REACH`` to ``REACH``, ``STEPS`` to the unit."""
    from scipy.special import log_ndtr

    return np.log(-log_ndtr(-(np.arange(2 * REACH * STEPS + 1) / STEPS - REACH))).astype(np.float32)


def _first(log_times: npt.NDArray[np.float32], rates: Numbers) -> npt.NDArray[np.uint16]:
    """Which is the least of each row: an ``argmin`` that is fast where there are many rows of few categories."""
    with np.errstate(divide="ignore"):
        later = np.log(rates).astype(np.float32)
    least = log_times[0] - later[0]
    first = np.zeros(least.size, dtype=np.uint16)
    for category in range(1, later.size):
        time = log_times[category] - later[category]
        # Categories ascend: of those that were the least so far, the last one has the greatest number.
        np.maximum(first, (time < least) * np.uint16(category), out=first)
        np.minimum(least, time, out=least)
    return first


def rates_for(shares: Numbers, correlations: Numbers) -> Numbers:
    """Rates with which categories win as often as their shares say, by races of rows drawn with a fixed seed.

    The seed decides how the noisy shares are approached, which needs no secret. A single variable needs no race.
    """
    if shares.size == 2:
        return shares / shares.sum()
    generator = np.random.default_rng(0)
    trials = max(FEWEST_TRIALS, min(TRIALS, TRIAL_CELLS // shares.size))
    root = _root_of(correlations)
    log_times = _log_times(root @ generator.standard_normal((root.shape[1], trials), dtype=np.float32))
    rates, half_a_row = shares.copy(), 0.5 / trials
    for _ in range(TURNS):
        won = np.bincount(_first(log_times, rates), minlength=shares.size) / trials
        rates = rates * (shares + half_a_row) / (won + half_a_row)
    return rates / rates.sum()


def _root_of(correlations: Numbers) -> npt.NDArray[np.float32]:
    """R of shape (columns, rank) with R R^T these correlations, but for `FAINT` variances.

    By Cholesky with pivots, which is far less work than eigenvectors.

    Raises:
        ValueError: an eigenvalue is negative, so there is none.
    """
    from scipy.linalg.lapack import dpstrf

    with one_blas_thread():
        factor, pivots, rank, _ = dpstrf(correlations, tol=FAINT, lower=1)
        root = np.empty((len(factor), rank))
        root[pivots - 1] = np.tril(factor)[:, :rank]
        apart = np.abs(root @ root.T - correlations).max()
    if apart > 2 * FAINT:
        raise ValueError("the correlations have a negative eigenvalue")
    return root.astype(np.float32)


def _full(below: Sequence[Sequence[Any]], columns: int) -> Numbers:
    """The symmetric matrix of the rows below its diagonal."""
    if len(below) != columns:
        raise ValueError("the correlations do not have a row for each category")
    found = np.eye(columns)
    for place, row in enumerate(below):
        values = read_weights(row)  # of any sign
        if values.shape != (place,):
            raise ValueError("a row of the correlations does not end before the diagonal")
        found[place, :place] = found[:place, place] = values
    return found
