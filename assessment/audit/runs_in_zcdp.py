"""Runs in rho in neighbouring worlds: adaptive rounds over several parties, and series of selections.

One outcome is all that a run shows about one row: the claim is its whole rho, converted once. Each round or selection
alone shows little, so that one that is not charged, or has less noise than it claims, is found in their sum. A rho
promises (epsilon, delta) at every delta at once; the audit looks at a large one, where few outcomes show much.
"""

from __future__ import annotations

import asyncio
from fractions import Fraction

import numpy as np

from privity.assessment.audit.mechanisms import PATTERNS, owner
from privity.assessment.audit.neighbouring_tables import counts_of_zeros, expecting_zeros, flipped_row, one_farther
from privity.assessment.audit.noise_evidence import table_evidence
from privity.assessment.audit.protocols import (
    ATTRIBUTES,
    Setting,
    consortium_of,
    name_of,
    remaining,
    rows_unknown,
    shape_of,
)
from privity.assessment.audit.subject import Seen, Source, Subject
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.loss_conversion import converted
from privity.common.privacy.mechanisms import ExponentialMechanism
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ZCDP
from privity.common.privacy.run_budget import RhoBudget, Share, selection_range
from privity.common.privacy.sensitivity import scores as scores_move
from privity.common.privacy.structure_scores import DISTANCE
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.session import Session

EPSILON, DELTA = Fraction(100), Fraction(1, 1000)
"""Of the run of all tables: each table is an outcome of its own, and costs a share of the rho."""

AUDITED = Fraction(1, 20)
"""The delta at which claims are audited."""

ROUNDS, SELECTIONS, SERIES = 6, 8, 10

EPSILON_OF_SELECTIONS = Fraction(9)
"""Of the run of all selections, of which each series costs a share of the rho."""


def adaptive_rounds(setting: Setting, runs: int, quick: int) -> Subject:
    """Rounds over the same tables, in an order that depends on the round before; all of their evidence together."""
    rho_budget = RhoBudget(EPSILON, DELTA)
    share, quota = Share(rho_budget, EPSILON / ROUNDS), setting.parties - setting.tolerate
    of_round = rho_budget.noise(share.epsilon, Tables(((0,),) * ATTRIBUTES), quota)
    claim = converted(ROUNDS * of_round.rho / ATTRIBUTES, AUDITED)

    def sample(world: int, count: int, source: Source) -> Seen:
        tables = flipped_row(world, setting.rows, setting.at, ATTRIBUTES)
        views: dict[str, list[np.ndarray]] = {name: [] for name in setting.observers()}
        charged = claim
        for batch in range(-(-count // ATTRIBUTES)):
            consortium = consortium_of(tables, source, batch)
            spec = consortium.spec(epsilon=EPSILON, delta=DELTA, tolerate=setting.tolerate)
            plan = consortium.begin(spec)
            session = consortium.session(plan)
            shown = {name: np.zeros(ATTRIBUTES) for name in views}
            order = list(range(ATTRIBUTES))
            for number in range(1, ROUNDS + 1):
                marginals = tuple((a,) for a in order)
                revealed = np.concatenate([t.counts for t in asyncio.run(session.measure("audit", marginals, share))])
                round_ = Round(plan.spec.run, "audit", f"{number}-audit", share.noise(Tables(marginals), quota))
                for name, group in setting.observers().items():
                    left = remaining(revealed, consortium, round_, group).reshape(-1, 2)
                    zero, one = (counts_of_zeros(rows_unknown(setting, group), which) for which in (0, 1))
                    found = table_evidence(left, zero, one, of_round.law(1), shape_of(setting, group))
                    shown[name][order] += found.sum(axis=-1)
                order = order[::-1] if revealed[0] % 2 else order
            for name, evidence in shown.items():
                views[name].append(evidence[:, None])
            rho = _rho_of(consortium.parties[name_of(setting.at)].ledger, rho_budget)
            charged = min(charged, converted(rho / ATTRIBUTES, AUDITED))
        return Seen({name: np.concatenate(parts)[:count] for name, parts in views.items()}, charged)

    return Subject("rounds in rho", f"{ROUNDS} rounds, {setting}", claim, sample, runs, quick, AUDITED)


def series_of_selections(pattern: str, rho: Fraction, runs: int, quick: int) -> Subject:
    """Selections by the exponential mechanism on synthetic scores, all of a series together."""
    sensitivity = scores_move(4, RELATION)
    mechanism = ExponentialMechanism(selection_range(rho, SELECTIONS))
    claim = converted(SELECTIONS * mechanism.loss(RELATION).rho, AUDITED)
    worlds = [np.array([4 * score for score in scores]) for scores in PATTERNS[pattern]]
    logs = [_log_law(scores / 4, mechanism.epsilon) for scores in worlds]

    def sample(world: int, count: int, source: Source) -> Seen:
        entropy, scores = source("choices"), worlds[world]
        shown = np.zeros((count, 1))
        for place in range(count):
            for _ in range(SELECTIONS):
                index = mechanism.sample(scores.size, sensitivity, entropy)(scores)
                shown[place] += logs[0][index] - logs[1][index]
        return Seen({"public": np.round(shown, 9)})

    return Subject("selections in rho", f"{SELECTIONS} selections, {pattern}", claim, sample, runs, quick, AUDITED)


def selections_of_tables(runs: int, quick: int) -> Subject:
    """Selections among tables by their distance from a model, through the local session, charges included.

    ``SELECTIONS`` selections are an outcome, of which a series has ``SERIES``.
    """
    rows, rho_budget, quota, expected = (
        12,
        RhoBudget(EPSILON_OF_SELECTIONS, DELTA),
        SELECTIONS * SERIES,
        expecting_zeros(2),
    )
    mechanism = rho_budget.selecting(EPSILON_OF_SELECTIONS, quota)
    claim = converted(SELECTIONS * mechanism.loss(RELATION).rho, AUDITED)
    # The distances of ``one_farther``.
    laws = [_log_law(np.array(scores), mechanism.epsilon) for scores in ((0, 2), (1, 1))]

    def sample(world: int, count: int, source: Source) -> Seen:
        table = one_farther(world, rows, 1)
        shown: list[float] = []
        charged = claim

        async def selections(session: Session) -> None:
            series = session.selection("audit", quota, rho_budget.whole, score=DISTANCE)
            drawn = np.array([await series.select_farthest(expected) for _ in range(quota)])
            shown.extend((laws[0] - laws[1])[drawn].reshape(SERIES, SELECTIONS).sum(axis=1))

        for batch in range(-(-count // SERIES)):
            session, ledger = owner(table, source, batch, rho_budget)
            asyncio.run(selections(session))
            charged = min(charged, converted(_rho_of(ledger, rho_budget) / SERIES, AUDITED))
        return Seen({"public": np.round(np.array(shown[:count])[:, None], 9)}, charged)

    name = f"{SELECTIONS} selections, one owner, {len(expected)} tables"
    return Subject("distances in rho", name, claim, sample, runs, quick, AUDITED)


def _log_law(scores: np.ndarray, range_: Fraction) -> np.ndarray:
    """Logarithms of the chances of the exponential mechanism on scores of sensitivity one."""
    scaled = scores * float(range_) / 2
    return np.asarray(scaled - np.log(np.exp(scaled).sum()))


def _rho_of(ledger: Ledger, rho_budget: RhoBudget) -> Fraction:
    """What its lines come to; nothing if it says that they cost something else than their rho does."""
    rho = sum((line.charge.loss.rho for line in ledger.entries() if isinstance(line.charge.loss, ZCDP)), Fraction(0))
    return rho if (ledger.spent(), ledger.spent_delta()) == (rho_budget.filter().spent(rho), DELTA) else Fraction(0)


def concentrated_subjects() -> list[Subject]:
    """Rounds over two and three parties, and selections."""
    return [
        adaptive_rounds(Setting((3, 4, 5), 1, 0), 6_000, 600),
        adaptive_rounds(Setting((3, 4, 5), 1, 2), 6_000, 0),
        adaptive_rounds(Setting((3, 3), 1, 0), 6_000, 0),
        series_of_selections("one up, one down", Fraction(1, 5), 4_000, 300),
        selections_of_tables(2_000, 200),
    ]
