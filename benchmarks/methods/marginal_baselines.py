"""Rivals of PrivBayes for the task of releasing all marginals of some number of attributes.

Neighbours differ by one replaced row, as everywhere in this project; papers that add or remove a row need half of
a scale or less. Counts carry the exact discrete Laplace noise of ``privity.common.privacy``; the number of rows is
public.

- ``laplace``: noise on every cell of every table. Dwork, McSherry, Nissim, Smith 2006. A replaced row moves two
  cells of each table by one: L1 sensitivity 2 times the number of tables.
- ``fourier``: noise on the Fourier (Walsh) coefficients that the tables depend on. Barak et al. 2007. A replaced row
  moves each coefficient, a sum of signs, by at most 2: L1 sensitivity 2 times their number. An attribute that is
  not binary is written in bits; codes that decode to no category are cut off. The linear programme of the paper is
  replaced by what all rivals get: see ``shares``.
- ``contingency``: noise on the table of all attributes, of which the marginals are sums. L1 sensitivity 2.
- ``mwem``: Hardt, Ligett, McSherry 2012, in its form for marginals: a round picks the table that is worst answered
  (exponential mechanism on the L1 error, which moves by at most 2) and measures all its cells (L1 sensitivity 2).
  Half of a round's budget each; rounds of ``MWEM_ROUND`` epsilon, as Zhang et al. 2017 chose.
- ``uniform``: looks at nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.noisy_tables import Marginal
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.privacy.neighbouring_relation import Relation
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.random_bits import SystemEntropy
from privity.common.privacy.sensitivity import Sensitivity, scores
from privity.common.privacy.sensitivity import contingency_tables as tables_sensitivity

Counts = npt.NDArray[np.float64]
Tables = dict[Marginal, Counts]

NEIGHBOURS = Relation.REPLACE_ONE
LARGEST_DOMAIN = 2**20  # cells of the table of all attributes
MWEM_ROUND = Fraction(1, 20)
MWEM_PASSES = 20  # over all that was measured, after each round


def marginals(table: CodedTable, way: int) -> list[Marginal]:
    return list(combinations(range(len(table.schema.attributes)), way))


def exact(table: CodedTable, way: int) -> Tables:
    """The true tables."""
    wanted = marginals(table, way)
    return {m: t.astype(float) for m, t in zip(wanted, contingency_tables(table, wanted), strict=True)}


def shares(counts: Counts) -> Counts:
    """As a distribution: negative counts become 0, the rest is rescaled; uniform if nothing is left."""
    kept = np.maximum(counts, 0)
    total = kept.sum()
    return kept / total if total else np.full(counts.shape, 1 / counts.size)


def mean_distance(true: Tables, noisy: Tables) -> float:
    """Mean total variation distance, each noisy table made a distribution first."""
    return float(np.mean([np.abs(shares(true[m]) - shares(noisy[m])).sum() / 2 for m in true]))


def _noise(size: int, sensitivity: Sensitivity, epsilon: Fraction) -> npt.NDArray[np.int64]:
    return NoiseLaw(LAPLACE, sensitivity.value / epsilon).share(1, size, SystemEntropy())


def laplace(table: CodedTable, way: int, epsilon: Fraction) -> Tables:
    true = exact(table, way)
    noise = _noise(sum(t.size for t in true.values()), tables_sensitivity(len(true), NEIGHBOURS), epsilon)
    pieces = np.split(noise, np.cumsum([t.size for t in true.values()])[:-1])
    return {m: t + piece.reshape(t.shape) for (m, t), piece in zip(true.items(), pieces, strict=True)}


def uniform(table: CodedTable, way: int, _epsilon: Fraction) -> Tables:
    domain = table.schema.domain
    return {m: np.ones([domain[a] for a in m]) for m in marginals(table, way)}


def fourier(table: CodedTable, way: int, epsilon: Fraction) -> Tables:
    sizes = [1 << (size - 1).bit_length() for size in table.schema.domain]
    sets = [m for some in range(1, way + 1) for m in marginals(table, some)]
    blocks: Tables = {}
    for m, counts in zip(sets, contingency_tables(table, sets), strict=True):
        padded = np.pad(counts, [(0, sizes[a] - counts.shape[axis]) for axis, a in enumerate(m)])
        # What involves every attribute of the set; the rest belongs to its subsets.
        blocks[m] = _walsh(padded.astype(float))[(slice(1, None),) * len(m)]
    total = sum(block.size for block in blocks.values())
    noise = _noise(total, Sensitivity.l1(2 * total, NEIGHBOURS), epsilon)
    pieces = np.split(noise, np.cumsum([block.size for block in blocks.values()])[:-1])
    noisy = {m: blocks[m] + piece.reshape(blocks[m].shape) for m, piece in zip(blocks, pieces, strict=True)}
    return {m: _from_coefficients(m, noisy, sizes, table) for m in marginals(table, way)}


def _from_coefficients(marginal: Marginal, noisy: Tables, sizes: Sequence[int], table: CodedTable) -> Counts:
    coefficients = np.zeros([sizes[a] for a in marginal])
    coefficients[(0,) * len(marginal)] = table.rows
    for some in range(1, len(marginal) + 1):
        for part in combinations(marginal, some):
            coefficients[tuple(slice(1, None) if a in part else 0 for a in marginal)] = noisy[part]
    counts = _walsh(coefficients) / coefficients.size
    return counts[tuple(slice(table.schema.domain[a]) for a in marginal)]


def _walsh(counts: Counts) -> Counts:
    """The Walsh-Hadamard transform along every axis; each size is a power of 2. Its own inverse but for the size."""
    for axis, size in enumerate(counts.shape):
        matrix = np.ones((1, 1))
        while len(matrix) < size:
            matrix = np.block([[matrix, matrix], [matrix, -matrix]])
        counts = np.moveaxis(np.tensordot(matrix, counts, axes=(1, axis)), 0, axis)
    return counts


def holds_all(table: CodedTable) -> bool:
    """Whether the table of all attributes is small enough to be written down."""
    return math.prod(table.schema.domain) <= LARGEST_DOMAIN


def _whole(table: CodedTable) -> Counts:
    """Counts of all cells of the domain, C order."""
    if not holds_all(table):
        raise ValueError(f"the table of all attributes has {math.prod(table.schema.domain):,} cells")
    cells = np.zeros(table.rows, dtype=np.int64)
    for column, size in zip(table.columns, table.schema.domain, strict=True):
        cells = cells * size + column
    return np.bincount(cells, minlength=math.prod(table.schema.domain)).astype(float)


def project(whole: Counts, domain: Sequence[int], way: int) -> Tables:
    """All marginals of ``way`` attributes of the table of all attributes."""

    def walk(place: int, kept: Marginal, cells: Counts) -> Iterator[tuple[Marginal, Counts]]:
        if len(kept) == way:
            yield kept, cells.sum(axis=1).reshape([domain[a] for a in kept])
        elif way - len(kept) <= len(domain) - place:
            split = cells.reshape(len(cells), domain[place], -1)
            yield from walk(place + 1, (*kept, place), split.reshape(len(cells) * domain[place], -1))
            yield from walk(place + 1, kept, split.sum(axis=1))

    return dict(walk(0, (), whole.reshape(1, -1)))


def contingency(table: CodedTable, way: int, epsilon: Fraction) -> Tables:
    whole = _whole(table)
    noisy = whole + _noise(whole.size, tables_sensitivity(1, NEIGHBOURS), epsilon)
    return project(noisy, table.schema.domain, way)


def mwem(table: CodedTable, way: int, epsilon: Fraction, rounds: int | None = None) -> Tables:
    """The last distribution, not the mean of all: as its authors do in practice."""
    domain, true = table.schema.domain, exact(table, way)
    rounds = rounds or max(1, round(epsilon / MWEM_ROUND))
    each = epsilon / (2 * rounds)
    guess = np.full(len(_whole(table)), table.rows / math.prod(domain))
    measured: list[tuple[npt.NDArray[np.int64], Counts]] = []
    names = list(true)
    picker = NoisyMax(each)
    for _ in range(rounds):
        guesses = project(guess, domain, way)
        # Of whole guesses, so that errors are integers, as the mechanism wants.
        errors = [int(np.abs(true[m] - np.rint(guesses[m])).sum()) for m in names]
        chosen = names[picker.sample(len(names), scores(2, NEIGHBOURS), SystemEntropy())(errors)]
        noise = _noise(true[chosen].size, tables_sensitivity(1, NEIGHBOURS), each)
        measured.append((_cell_of(chosen, domain), true[chosen].ravel() + noise))
        for _ in range(MWEM_PASSES):
            for cell, counts in measured:
                now = np.bincount(cell, weights=guess, minlength=counts.size)
                # Capped: beyond, noise larger than the table would overflow.
                guess *= np.exp(np.clip((counts - now) / (2 * table.rows), -10, 10))[cell]
                guess *= table.rows / guess.sum()
    return project(guess, domain, way)


def _cell_of(marginal: Marginal, domain: Sequence[int]) -> npt.NDArray[np.int64]:
    """For each cell of the whole domain its cell in the marginal."""
    places = np.arange(math.prod(domain), dtype=np.int64)
    cell = np.zeros_like(places)
    for a in marginal:
        cell = cell * domain[a] + places // math.prod(domain[a + 1 :]) % domain[a]
    return cell


BASELINES: dict[str, Callable[[CodedTable, int, Fraction], Tables]] = {
    "laplace": laplace,
    "fourier": fourier,
    "contingency": contingency,
    "mwem": mwem,
    "uniform": uniform,
}
NEED_ALL = ("contingency", "mwem")
"""Those that write down the table of all attributes."""
