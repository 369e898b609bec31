"""Every sampler of noise and of masks, drawn and tabulated, as the test of independence asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from privity.assessment.audit.audited_consortium import make_schema
from privity.assessment.audit.independence import Sampler
from privity.assessment.audit.mechanisms import owner
from privity.assessment.audit.neighbouring_tables import table_of
from privity.assessment.audit.subject import Source
from privity.common.crypto.masks import KEY_BYTES, PairwiseMasks
from privity.common.privacy.discrete_laplace import bernoulli_exp, geometric, polya
from privity.common.privacy.exponential_mechanism import TRIALS_A_CANDIDATE, sample_trials
from privity.common.privacy.mechanisms import (
    GaussianNoise,
    LaplaceNoise,
    Noise,
    NoisyMax,
)
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE, NoiseLaw
from privity.common.privacy.noisy_max import sample_selection_noise
from privity.common.privacy.privacy_loss import ZCDP, PureDP
from privity.common.privacy.random_bits import Entropy, IntArray, uniform_below
from privity.common.privacy.run_budget import Share
from privity.common.privacy.sensitivity import scores
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.protocol.round import Tables

SERIES, CELLS = 4, 8_192
"""Of what is drawn one by one."""

MANY = 1 << 17
"""Draws that come from a table (`privity.common.privacy.tabulated_law`)."""

MODULUS = (1 << 61) - 1

CANDIDATES, CHOICES = 8, 2_048


def _alike(
    name: str,
    one: Callable[[int, Entropy], IntArray],
    cells: int = CELLS,
    series: int = SERIES,
    *,
    symmetric: bool = True,
) -> Sampler:
    """Of series that are drawn one after another, each under a label of its own, as rounds and parties do."""
    return Sampler(name, lambda source: np.stack([one(cells, source(f"{name}/{k}")) for k in range(series)]), symmetric)


def _shares(law: NoiseLaw, quota: int) -> list[Sampler]:
    """Of parties, which draw one vector each: few cells and many."""
    return [
        _alike(f"{law.name}, shares of quota {quota}, {how}", lambda n, entropy: law.share(quota, n, entropy), *shape)
        for how, *shape in (("drawn", CELLS), ("tabulated", MANY, 2))
    ]


def _thresholded(columns: int, epsilon: int, rows: int) -> Sampler:
    mechanism = ThresholdedCounts(columns, Fraction(epsilon), Fraction(1, 10**6))
    return Sampler(
        f"thresholded counts, {mechanism.law.name}, {columns} columns of {rows} texts",
        lambda source: mechanism.sample(rows, source("texts")),
    )


def _tables(noise: Noise) -> Sampler:
    """Tables of one round."""
    return Sampler(
        f"{noise.law(1).name}, tables of two weights",
        lambda source: noise.sample([CELLS] * SERIES, 1, source("round")).reshape(SERIES, CELLS),
    )


def _added(candidates: int, entropy: Entropy) -> IntArray:
    return sample_selection_noise(candidates, 4, Fraction(1), entropy).added


def _choices() -> Sampler:
    """Selections by noisy max among candidates of one score, one after another."""
    mechanism, move, same = NoisyMax(Fraction(1)), scores(4, RELATION), [0] * CANDIDATES

    def draw(source: Source) -> IntArray:
        entropy = source("choices")
        chosen = [mechanism.sample(CANDIDATES, move, entropy)(same) for _ in range(CHOICES)]
        return _about_zero(np.array([chosen]), CANDIDATES)

    return Sampler("choices of noisy max", draw)


def _trials(*, places: bool) -> Sampler:
    """Candidates, or what is added to their scores, of several selections by the exponential mechanism."""

    def one(trials: int, entropy: Entropy) -> IntArray:
        drawn = sample_trials(trials // TRIALS_A_CANDIDATE, 4, Fraction(1), entropy)
        return _about_zero(drawn.places, drawn.candidates) if places else drawn.added

    return _alike(f"exponential mechanism, {'places' if places else 'added'}", one, symmetric=places)


def _rounds() -> Sampler:
    """What an owner's session adds to its tables, round after round."""
    values, tables = 512, 16
    table = table_of(make_schema((values,) * tables), [[0] * tables])
    counts = np.tile(np.eye(1, values, dtype=np.int64).ravel(), tables)

    def draw(source: Source) -> IntArray:
        session, _ = owner(table, source, 0)
        share = Share(session.budget, Fraction(tables))
        found = []
        for _ in range(SERIES):
            measured = asyncio.run(session.measure("audit", [(a,) for a in range(tables)], share))
            found.append(np.concatenate([each.counts.ravel() for each in measured]) - counts)
        return np.stack(found).astype(np.int64)

    return Sampler("rounds of one owner", draw)


def _masks(words: bool) -> Sampler:
    """A member's masks of several vectors."""

    def draw(source: Source) -> IntArray:
        keys = {peer: source(peer).take(KEY_BYTES) for peer in ("a", "c")}
        found = []
        for k in range(SERIES):
            masks = PairwiseMasks(keys, "b", f"vector {k}".encode())
            found.append(
                masks.words(CELLS).view(np.int64)
                if words
                else _about_zero(np.array(masks.residues(MODULUS, CELLS)), MODULUS)
            )
        return np.stack(found)

    return Sampler(f"masks, {'words' if words else 'residues'}", draw)


def _about_zero(values: IntArray, bound: int | IntArray) -> IntArray:
    """Uniform numbers below a bound as numbers that are as often below 0 as above it."""
    return 2 * values.astype(np.int64) - (bound - 1)


def samplers() -> list[Sampler]:
    """Every one."""
    of_two_weights = Tables(((0,),) * SERIES, (1, 3) * (SERIES // 2))
    bounds = np.repeat([[3], [5], [100], [1 << 40]], CELLS, axis=1)

    def below_each(source: Source) -> IntArray:
        return _about_zero(uniform_below(bounds.ravel(), source("")).reshape(bounds.shape), bounds)

    laplace, gaussian = NoiseLaw(LAPLACE, Fraction(15, 2)), NoiseLaw(GAUSSIAN, Fraction(60))
    return [
        _alike("uniform, one bound", lambda n, entropy: _about_zero(uniform_below(3, entropy, n), 3)),
        Sampler("uniform, a bound each", below_each),
        _alike(
            "Bernoulli", lambda n, entropy: bernoulli_exp(np.full(n, 2), 3, entropy).astype(np.int64), symmetric=False
        ),
        _alike("geometric", lambda n, entropy: geometric(Fraction(15, 2), n, entropy), symmetric=False),
        _alike("Polya", lambda n, entropy: polya(3, Fraction(15, 2), n, entropy), symmetric=False),
        *_shares(laplace, 1),
        *_shares(laplace, 3),
        *_shares(gaussian, 1),
        *_shares(gaussian, 3),
        _tables(LaplaceNoise.calibrated(of_two_weights, PureDP(Fraction(1), RELATION))),
        _tables(GaussianNoise.calibrated(of_two_weights, ZCDP(Fraction(1, 8), RELATION))),
        _thresholded(2, 4, CELLS),
        _thresholded(8, 1, CELLS),
        _thresholded(8, 1, MANY // 8),
        _alike("noisy max, added", _added, symmetric=False),
        _choices(),
        _trials(places=True),
        _trials(places=False),
        _rounds(),
        _masks(words=True),
        _masks(words=False),
    ]
