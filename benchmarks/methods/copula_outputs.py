"""What the copula paper compares: tables and lists of answers, with and without noise.

``dpc`` is our copula at (epsilon, delta) with Gaussian noise, ``dpc, advanced`` the same with Laplace
noise; ``own thresholds`` decodes as the paper does. ``cop`` has no noise; ``cop-ID`` and ``cop-1`` are ``cop`` with no
correlations and with correlations of 1; ``no-cor`` multiplies shares; ``Lap`` adds Laplace noise to each answer.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from benchmarks.methods.conjunctions import Dummies, Numbers, Queries, dummies_of, errors_of
from benchmarks.methods.learning import learn
from benchmarks.methods.partly_exact_session import partly_exact_session
from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable
from privity.common.privacy.advanced_composition import advanced_epsilon
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models.copula_model import CopulaModel, blocks_of

DELTA = Fraction(1, 2**30)
EPSILON = Fraction(1)
ALMOST_NONE = "1/1000"
"""Certainty without noise to speak of."""

PRIVATE = {"dpc": "zcdp", "dpc, advanced": "advanced"}
THRESHOLDS = ", own thresholds"


def errors(table: CodedTable, what: str, epsilon: Fraction, seed: int) -> dict[str, float | list[float]]:
    """Errors of one output by its name; the seed decides sampling, and the noise of Lap, which is no release."""
    queries = Queries(table.schema.domain)
    generator = np.random.default_rng(seed)
    truth = queries.answers(dummies_of(table))
    name = what.removesuffix(THRESHOLDS)
    if what == "no-cor":
        return errors_of(truth, {2: queries.products(truth[1], table.rows)})
    if what == "Lap":
        return errors_of(truth, laplace_answers(truth, len(table.columns), epsilon, generator))
    model = private_model(table, name, epsilon) if name in PRIVATE else exact_model(table, name)
    if what.endswith(THRESHOLDS):
        # What the race gives has the shares that were measured; without noise they are the table's own.
        source = model.sample(table.rows, generator) if name in PRIVATE else table
        return errors_of(truth, queries.answers(decode_apart(model, source, generator)))
    return errors_of(truth, queries.answers(dummies_of(model.sample(table.rows, generator))))


def private_model(table: CodedTable, name: str, epsilon: Fraction) -> CopulaModel:
    settings = {"composition": PRIVATE[name]}
    session = InProcessBackend([table], ALGORITHMS["copula"].budget(settings, epsilon, DELTA)).session()
    return learn(session, "copula", settings)


def exact_model(table: CodedTable, name: str) -> CopulaModel:
    """The copula of the true counts."""
    session = partly_exact_session(table, Fraction(1), exact_draws=True, exact_tables=True)
    model = learn(session, "copula", {"certainty": ALMOST_NONE})
    if name == "cop":
        return model
    columns = len(model.correlations)
    correlations = np.eye(columns) if name == "cop-ID" else np.ones((columns, columns))
    # Independent variables win in proportion to their rates: the shares themselves.
    return CopulaModel(table.schema, shares_of(table), correlations)


def shares_of(table: CodedTable) -> list[Numbers]:
    """Of the categories of each attribute."""
    sizes = zip(table.columns, table.schema.domain, strict=True)
    return [np.bincount(column, minlength=size) / table.rows for column, size in sizes]


def decode_apart(model: CopulaModel, source: CodedTable, generator: np.random.Generator) -> Dummies:
    """The paper's decoding: each category by a threshold of its own, so that a row may have several or none.

    Args:
        source: has the rows and shares to aim at.
    """
    values, vectors = np.linalg.eigh(model.correlations)
    root = vectors * np.sqrt(np.maximum(values, 0))
    normals = generator.standard_normal((source.rows, len(root))) @ root.T
    parts = []
    for shares, block in zip(shares_of(source), blocks_of(model.schema.domain), strict=True):
        below = normals[:, block] <= ndtri(shares)[: block.stop - block.start]
        parts.append(below if shares.size > 2 else np.concatenate([below, ~below], axis=1))
    return np.concatenate(parts, axis=1).astype(np.float32)


def laplace_answers(
    truth: dict[int, Numbers], attributes: int, epsilon: Fraction, generator: np.random.Generator
) -> dict[int, Numbers]:
    """Each answer with Laplace noise by advanced composition, cut at 0 and rounded.

    One- and two-way answers share a budget over attributes and pairs; three-way ones have one over the triples.
    """
    both, triples = (part_of(epsilon, k) for k in (attributes + math.comb(attributes, 2), math.comb(attributes, 3)))
    parts = {1: both, 2: both, 3: triples}
    return {
        ways: np.maximum(0, np.rint(answers + generator.laplace(scale=2 / parts[ways], size=answers.size)))
        for ways, answers in truth.items()
    }


def part_of(epsilon: Fraction, tables: int) -> float:
    """The largest part for each of so many tables under advanced composition, to a millionth; privacy.md, section 6."""
    low, high = 1, 10**6
    while high - low > 1:
        middle = (low + high) // 2
        fits = advanced_epsilon(Counter({Fraction(middle, 10**6): tables}), DELTA) < epsilon
        low, high = (middle, high) if fits else (low, middle)
    return low / 10**6
