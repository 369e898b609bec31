"""Mechanisms of one owner in their worst neighbouring worlds: noise, shares, draws, and the score's sensitivity."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from itertools import product

import numpy as np

from privity.assessment.audit.audited_consortium import PLENTY, POPULATION
from privity.assessment.audit.neighbouring_tables import (
    counts_of_zeros,
    expecting_zeros,
    flipped_row,
    matched_halves,
    one_farther,
    opposed_pairs,
)
from privity.assessment.audit.noise_evidence import evidence, laplace, scale_of_one, statistics
from privity.assessment.audit.subject import Seen, Source, Subject
from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.privacy.ledger import MEMORY, Allowance, Ledger
from privity.common.privacy.loss_conversion import zcdp_to_approximate
from privity.common.privacy.mechanisms import GaussianNoise, NoisyMax
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ZCDP
from privity.common.privacy.run_budget import AdvancedBudget, PureBudget, RunBudget, Share
from privity.common.privacy.sensitivity import scores as scores_move
from privity.common.privacy.structure_scores import DISTANCE
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.protocol.round import Tables
from privity.common.protocol.session import Session
from privity.common.storage.journal import Journal
from privity.party import answers_from_rows
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import local_session
from privity.party.sources.rows import InMemory

ATTRIBUTES = 400  # outcomes of one local release
SELECTIONS = 40  # of one series: the ledger adds up all its charges at each one
WHOLE = Fraction(1)
PLENTY_OF_EPSILON = PureBudget(PLENTY)


def owner(
    table: CodedTable,
    source: Source,
    batch: int,
    budget: RunBudget = PLENTY_OF_EPSILON,
) -> tuple[Session, Ledger]:
    """A production single-party session on the table, with a fresh ledger in memory."""
    ledger = Ledger.declare(MEMORY, Population(POPULATION, PLENTY, WHOLE))
    releases = ChargedReleases("owner", InMemory(table), Journal(), ledger, lambda label: source(f"{batch}/{label}"))
    return local_session(f"run-{batch}", releases, Allowance(budget=budget)), ledger


def discrete_laplace(epsilon: Fraction, runs: int, quick: int) -> Subject:
    """A noisy marginal of one owner's rows, through its local session."""

    def sample(world: int, count: int, source: Source) -> Seen:
        (table,) = flipped_row(world, (3,), 0, ATTRIBUTES)
        zero, one = counts_of_zeros(3, 0), counts_of_zeros(3, 1)
        parts, charged = [], PLENTY
        for batch in range(-(-count // ATTRIBUTES)):
            session, ledger = owner(table, source, batch)
            share = Share(session.budget, ATTRIBUTES * epsilon)
            revealed = asyncio.run(session.measure("audit", [(a,) for a in range(ATTRIBUTES)], share))
            view = np.stack([t.counts for t in revealed])
            parts.append(statistics(view, zero, one, scale_of_one(epsilon), WHOLE))
            charged = min(charged, ledger.spent() / ATTRIBUTES)
        return Seen({"public": np.concatenate(parts)[:count]}, charged)

    return Subject("discrete laplace", f"eps {epsilon}", epsilon, sample, runs, quick)


def shares(parties: int, tolerate: int, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """The shares of K - t parties on one table: what t parties that pool what they know have left."""
    mechanism, quota = laplace([(0,)], epsilon), parties - tolerate

    def sample(world: int, count: int, source: Source) -> Seen:
        drawn = [mechanism.sample([2 * count], quota, source(f"share {k}")) for k in range(quota)]
        view = np.sum(drawn, axis=0).reshape(count, 2) + counts_of_zeros(3, world)
        shown = statistics(view, counts_of_zeros(3, 0), counts_of_zeros(3, 1), mechanism.scale, WHOLE)
        return Seen({f"{tolerate} of {parties}": shown})

    claim = mechanism.loss(RELATION).epsilon
    return Subject("shares", f"eps {epsilon}, K={parties}, t={tolerate}", claim, sample, runs, quick)


def gaussian(rho: Fraction, delta: Fraction, runs: int, quick: int) -> Subject:
    """Discrete Gaussian noise on the counts of one table, by its conversion to (epsilon, delta)."""
    mechanism = GaussianNoise.calibrated(Tables(((0,),)), ZCDP(rho, RELATION))
    claim = zcdp_to_approximate(mechanism.loss(RELATION), delta).epsilon

    def sample(world: int, count: int, source: Source) -> Seen:
        view = mechanism.sample([2 * count], 1, source("noise")).reshape(count, 2) + counts_of_zeros(3, world)
        # Under Gaussian noise the evidence is the distance along the line between the worlds.
        return Seen({"public": (view[:, 0] - view[:, 1]).astype(np.float64)[:, None]})

    name = f"rho {rho}, delta {delta}"
    return Subject("discrete gaussian", name, claim, sample, runs, quick, delta)


def advanced_laplace(tables: int, epsilon: Fraction, delta: Fraction, runs: int, quick: int) -> Subject:
    """Discrete Laplace noise on many tables together, priced by advanced composition."""
    query = Tables(((0,),) * tables)
    mechanism = AdvancedBudget(epsilon, delta).noise(epsilon, query, 1)

    def sample(world: int, count: int, source: Source) -> Seen:
        zero, one = counts_of_zeros(3, 0), counts_of_zeros(3, 1)
        drawn = mechanism.sample([2 * count] * tables, 1, source("noise")).reshape(tables, count, 2)
        shown = evidence(drawn + (zero, one)[world], zero, one, mechanism.scale, WHOLE)
        return Seen({"public": np.round(shown.sum(axis=(0, 2)), 9)[:, None]})

    name = f"eps {epsilon}, delta {delta}, {tables} tables"
    claim = mechanism.loss(RELATION).epsilon
    return Subject("advanced composition", name, claim, sample, runs, quick, delta)


def thresholded(columns: int, epsilon: Fraction, delta: Fraction, runs: int, quick: int) -> Subject:
    """Which of two texts of each column are revealed: a row takes each by one over its threshold, up or down.

    The texts stand at the same places in every column, so that noise that serves two texts or two columns falls out.
    """
    mechanism = ThresholdedCounts(columns, epsilon, delta)
    names, most = [f"x{c}" for c in range(columns)], mechanism.threshold
    seldom, often = {"a": most, "b": most + 1}, {"a": most + 1, "b": most}

    def sample(world: int, count: int, source: Source) -> Seen:
        texts = {name: (often, seldom)[(c + world) % 2] for c, name in enumerate(names)}
        noise = mechanism.sample(2 * count, source("texts")).reshape(columns, count, 2)
        seen = []
        for place in range(count):
            found = answers_from_rows.frequent_texts(names, texts.__getitem__, noise[:, place], most)
            seen.append(sum(1 << bit for bit, (c, text) in enumerate(product(names, "ab")) if text in found[c]))
        return Seen({"public": np.array(seen)})

    name = f"eps {epsilon}, delta {delta}, {columns} columns, {mechanism.law.name.removeprefix('discrete ')}"
    claim = mechanism.loss(RELATION).epsilon
    return Subject("thresholded counts", name, claim, sample, runs, quick, delta)


PATTERNS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    # In units of the sensitivity: scores in world 0, and in world 1.
    "one up, one down": ((-2, 0), (-1, -1)),
    "one up, eight down": ((-1, *[0] * 8), (0, *[-1] * 8)),
    "all up but one": ((*[-1] * 4, 0), (*[0] * 4, -1)),
}


def noisy_max_pattern(pattern: str, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """Report-noisy-max on synthetic integer scores that move by the sensitivity in opposite directions."""
    sensitivity = scores_move(4, RELATION)
    mechanism = NoisyMax(epsilon)

    def sample(world: int, count: int, source: Source) -> Seen:
        scores = [4 * score for score in PATTERNS[pattern][world]]
        entropy = source("choices")
        chosen = [mechanism.sample(len(scores), sensitivity, entropy)(scores) for _ in range(count)]
        return Seen({"public": np.array(chosen)})

    claim = mechanism.loss(RELATION).epsilon
    return Subject("noisy max", f"eps {epsilon}, {pattern}", claim, sample, runs, quick)


def local_selection(binary: bool, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """Selections on real neighbouring tables, through the local session, charges included."""
    rows, others = (12, 8) if binary else (100, 8)

    def sample(world: int, count: int, source: Source) -> Seen:
        table = opposed_pairs(world, rows, others, binary=binary)
        candidates = [AttributeParentPair(2 * i, (2 * i + 1,)) for i in range(1 + others)]
        chosen: list[int] = []
        charged = PLENTY

        async def selections(session: Session) -> None:
            series = session.selection("audit", SELECTIONS, Share(session.budget, SELECTIONS * epsilon))
            for _ in range(SELECTIONS):
                chosen.append((await series.select(candidates)).attribute)

        for batch in range(-(-count // SELECTIONS)):
            session, ledger = owner(table, source, batch)
            asyncio.run(selections(session))
            charged = min(charged, ledger.spent() / SELECTIONS)
        return Seen({"public": np.array(chosen[:count])}, charged)

    kind = "binary pairs" if binary else "pairs of 3 values"
    return Subject("selection", f"eps {epsilon}, one owner, {kind}", epsilon, sample, runs, quick)


def local_distances(others: int, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """Selections among tables by their distance from a model, through the local session, charges included."""
    rows, expected = 12, expecting_zeros(1 + others)

    def sample(world: int, count: int, source: Source) -> Seen:
        table = one_farther(world, rows, others)
        chosen: list[int] = []
        charged = PLENTY

        async def selections(session: Session) -> None:
            share = Share(session.budget, SELECTIONS * epsilon)
            series = session.selection("audit", SELECTIONS, share, score=DISTANCE)
            for _ in range(SELECTIONS):
                chosen.append(await series.select_farthest(expected))

        for batch in range(-(-count // SELECTIONS)):
            session, ledger = owner(table, source, batch)
            asyncio.run(selections(session))
            charged = min(charged, ledger.spent() / SELECTIONS)
        return Seen({"public": np.array(chosen[:count])}, charged)

    return Subject("distances", f"eps {epsilon}, one owner, {1 + others} tables", epsilon, sample, runs, quick)


def score_sensitivity(kind: str, binary: bool, runs: int, quick: int) -> Subject:
    """A score under the worst replaced row that is known, next to its declared sensitivity.

    The score is released with discrete Laplace noise of a scale equal to the declared sensitivity: the loss
    is the score's change in units of the sensitivity, claimed to be at most 1.
    """
    rows = 400

    def sample(world: int, count: int, source: Source) -> Seen:
        # One row apart from all others that agree is the worst for I too.
        table = matched_halves(world, rows) if kind == "F" else opposed_pairs(world, rows, 0, binary=binary)
        pair = AttributeParentPair(0, (1,))
        (score,) = answers_from_rows.PairScores(InMemory(table)).of([pair], kind)
        sensitivity = answers_from_rows.selection_sensitivity([pair], table.schema.domain, rows, kind)
        noise = NoiseLaw(LAPLACE, Fraction(sensitivity)).share(1, count, source("score"))
        return Seen({"public": (noise + score).astype(np.float64)[:, None]})

    sides = "either side binary" if binary else "3 values each"
    return Subject(f"score {kind}", f"{sides}, n={rows}", Fraction(1), sample, runs, quick)


def mechanism_subjects() -> list[Subject]:
    """Every mechanism by itself."""
    one, third, three = Fraction(1), Fraction(1, 3), Fraction(3)
    return [
        discrete_laplace(Fraction(1, 10), 600_000, 0),
        discrete_laplace(one, 200_000, 40_000),
        discrete_laplace(three, 200_000, 0),
        *(
            shares(k, t, one, 400_000, 40_000 if (k, t) == (3, 1) else 0)
            for k, t in ((2, 1), (3, 1), (3, 2), (5, 2), (10, 1))
        ),
        shares(3, 1, Fraction(1, 10), 1_000_000, 0),
        gaussian(Fraction(1, 8), Fraction(1, 1000), 400_000, 40_000),
        gaussian(Fraction(1, 2), Fraction(1, 100_000), 1_000_000, 0),
        advanced_laplace(20, one, Fraction(1, 1000), 400_000, 20_000),
        thresholded(2, Fraction(2), Fraction(1, 1000), 200_000, 20_000),
        thresholded(2, one, Fraction(1, 1000), 200_000, 0),
        *(noisy_max_pattern(p, one, 40_000, 6_000 if p == "one up, one down" else 0) for p in PATTERNS),
        noisy_max_pattern("one up, one down", third, 40_000, 0),
        local_selection(True, one, 10_000, 1_600),
        local_selection(False, one, 10_000, 0),
        local_distances(1, one, 20_000, 1_600),
        local_distances(8, one, 20_000, 0),
        score_sensitivity("R", True, 400_000, 40_000),
        score_sensitivity("R", False, 400_000, 40_000),
        score_sensitivity("I", True, 400_000, 20_000),
        score_sensitivity("F", True, 400_000, 20_000),
    ]
