"""Rounds and runs of the whole protocol in neighbouring worlds, seen by every observer.

Observers: the public and the curator see what is revealed; a party also knows its own rows and its own share,
that is its own stored vector, and subtracts it; so do t parties together. The party whose row is replaced
is no observer of itself. What is sealed, masked or encrypted is protected by cryptography: no statistic of
this audit looks at it (SECURITY.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from privity.assessment.audit.audited_consortium import PLENTY, Consortium, Member, generous_policy
from privity.assessment.audit.neighbouring_tables import (
    counts_of_zeros,
    expecting_zeros,
    flipped_row,
    one_farther,
    opposed_pairs,
)
from privity.assessment.audit.noise_evidence import laplace, scale_of_one, statistics
from privity.assessment.audit.subject import Seen, Source, Subject
from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.privacy.mechanisms import LaplaceNoise
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.privacy.run_budget import PureBudget, Share
from privity.common.privacy.structure_scores import DISTANCE
from privity.common.protocol.evaluation_scores import Evaluation, MarginalScore, Score, ShareScore, TreeScore
from privity.common.protocol.round import Replacement, Round, Scores
from privity.common.protocol.run_spec import RunPlan
from privity.common.protocol.running_sums import RunningSums, schedule_weights
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, SumKind
from privity.common.protocol.session import Session
from privity.common.protocol.steps import Contribute, Refusal, Sum

KEY_BITS = 256
ATTRIBUTES = 300  # outcomes of one round
SELECTIONS = 40  # of one party in one series
SCORED = 36  # scores of one round, a third of each kind
Observers = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Setting:
    """K parties with their row counts, t, at which party (from 0) the replaced row is, and how sums are taken."""

    rows: tuple[int, ...]
    tolerate: int
    at: int
    secure_sum: SumKind = PAILLIER

    @property
    def parties(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        how = "" if self.secure_sum == PAILLIER else f", {self.secure_sum.method.value}"
        return f"K={self.parties}, t={self.tolerate}, row at {name_of(self.at)}{how}"

    def observers(self) -> Observers:
        """Who looks, and which parties' own vectors it knows."""
        others = [name_of(k) for k in range(self.parties) if k != self.at]
        seen: Observers = {"public, curator": ()}
        for size in range(1, self.tolerate + 1):
            for group in combinations(others, size):
                seen[" + ".join(group)] = group
        return seen


def name_of(party: int) -> str:
    """Parties are called party-1 .. party-K."""
    return f"party-{party + 1}"


def consortium_of(tables: Sequence[CodedTable], source: Source, batch: int) -> Consortium:
    """Production parties and curator over the tables, with short keys and fresh ledgers."""
    names = [name_of(k) for k in range(len(tables))]
    return Consortium(
        dict(zip(names, tables, strict=True)),
        policies=dict.fromkeys(names, generous_policy(KEY_BITS)),
        key_bits=KEY_BITS,
        entropy=lambda name: lambda label: source(f"{batch}/{name}/{label}"),
    )


def begin(consortium: Consortium, setting: Setting, **changes: Any) -> RunPlan:
    """A plan that all parties have begun, with no limit on epsilon."""
    asked = {"epsilon": PLENTY, "tolerate": setting.tolerate, "secure_sum": setting.secure_sum, **changes}
    return consortium.begin(consortium.spec(**asked))


def own_vector(member: Member, round_: Round) -> np.ndarray:
    """What this party knows of its own part in the round: the vector that it was."""
    return member.releases.vectors[round_.digest]


def remaining(revealed: np.ndarray, consortium: Consortium, round_: Round, group: Sequence[str]) -> np.ndarray:
    """The revealed vector less what the group put in."""
    return revealed - sum((own_vector(consortium.parties[name], round_) for name in group), np.zeros_like(revealed))


def shape_of(setting: Setting, group: Sequence[str]) -> Fraction:
    """The shape of the noise that the group does not know, as claimed."""
    return Fraction(setting.parties - len(group), setting.parties - setting.tolerate)


def rows_unknown(setting: Setting, group: Sequence[str]) -> int:
    """How many rows are behind the counts that are left for the group."""
    return sum(n for k, n in enumerate(setting.rows) if name_of(k) not in group)


def _batches(count: int, size: int) -> Iterator[int]:
    return iter(range(-(-count // size)))


def one_round(setting: Setting, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """A secure-sum round through session, engines, sealing and combiner."""

    def sample(world: int, count: int, source: Source) -> Seen:
        tables = flipped_row(world, setting.rows, setting.at, ATTRIBUTES)
        views: dict[str, list[np.ndarray]] = {name: [] for name in setting.observers()}
        charged = PLENTY
        marginals = tuple((a,) for a in range(ATTRIBUTES))
        for batch in _batches(count, ATTRIBUTES):
            consortium = consortium_of(tables, source, batch)
            plan = begin(consortium, setting)
            session = consortium.session(plan)
            revealed = np.concatenate(
                [
                    t.counts
                    for t in asyncio.run(
                        session.measure("audit", marginals, Share(session.budget, ATTRIBUTES * epsilon))
                    )
                ]
            )
            round_ = Round(plan.spec.run, "audit", "1-audit", laplace(marginals, ATTRIBUTES * epsilon))
            charged = min(charged, consortium.parties[name_of(setting.at)].ledger.spent() / ATTRIBUTES)
            for name, group in setting.observers().items():
                left = remaining(revealed, consortium, round_, group).reshape(-1, 2)
                views[name].append(_evidence(left, setting, group, epsilon))
        return Seen({name: np.concatenate(parts)[:count] for name, parts in views.items()}, charged)

    return Subject("secure sum", f"eps {epsilon}, {setting}", epsilon, sample, runs, quick)


def _evidence(left: np.ndarray, setting: Setting, group: Sequence[str], epsilon: Fraction) -> np.ndarray:
    rows = rows_unknown(setting, group)
    zero, one = counts_of_zeros(rows, 0), counts_of_zeros(rows, 1)
    return statistics(left, zero, one, scale_of_one(epsilon), shape_of(setting, group))


def scored_release(setting: Setting, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """A round of scores, each of one attribute: trees that predict zero, shares of zeros, distances from zeros alone.

    The replaced row makes every score one less or one more: as much as any score can change.
    """
    trees, counted, price = SCORED // 3, 2 * SCORED // 3, SCORED * epsilon
    scores: list[Score] = [TreeScore(a, 0) if a < trees else ShareScore(a, 0, 1) for a in range(counted)]
    scores += [MarginalScore(((a,),), (1, 0), 1) for a in range(counted, SCORED)]

    def sample(world: int, count: int, source: Source) -> Seen:
        tables = flipped_row(world, setting.rows, setting.at, SCORED)
        noise = LaplaceNoise.calibrated(Scores(tuple(scores)), PureDP(price, RELATION))
        views: dict[str, list[np.ndarray]] = {name: [] for name in setting.observers()}
        charged = PLENTY
        for batch in _batches(count, SCORED):
            consortium = consortium_of(tables, source, batch)
            evaluation = Evaluation(price, tuple(consortium.schema.names[:trees]))
            as_set: dict[str, Any] = {"tolerate": setting.tolerate, "secure_sum": setting.secure_sum}
            plan = consortium.begin(consortium.spec(epsilon=PLENTY, evaluation=evaluation, **as_set))
            revealed = asyncio.run(consortium.session(plan).score("audit", scores, PureBudget(price).whole)).values
            round_ = Round(plan.spec.run, "audit", "1-audit", noise)
            charged = min(charged, consortium.parties[name_of(setting.at)].ledger.spent() / SCORED)
            for name, group in setting.observers().items():
                left = remaining(revealed, consortium, round_, group).reshape(-1, 1)
                rows = np.where(np.arange(SCORED) < counted, rows_unknown(setting, group), 0).reshape(-1, 1)
                one = np.where(rows > 0, rows - 1, 1)
                shape = shape_of(setting, group)
                views[name].append(statistics(left, rows, one, noise.scale, shape))
        return Seen({name: np.concatenate(parts)[:count] for name, parts in views.items()}, charged)

    return Subject("scores", f"eps {epsilon}, {setting}", epsilon, sample, runs, quick)


def repeated_round(setting: Setting, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """A round that is tried twice, under two combiners, by a curator that reveals both products.

    One outcome is a table as it was revealed at both attempts: together they may show no more than one does.
    """

    def sample(world: int, count: int, source: Source) -> Seen:
        tables = flipped_row(world, setting.rows, setting.at, ATTRIBUTES)
        views: dict[str, list[np.ndarray]] = {name: [] for name in setting.observers()}
        charged = PLENTY
        marginals = tuple((a,) for a in range(ATTRIBUTES))
        for batch in _batches(count, ATTRIBUTES):
            consortium = consortium_of(tables, source, batch)
            plan = begin(consortium, setting)
            round_ = Round(plan.spec.run, "audit", "1", laplace(marginals, ATTRIBUTES * epsilon))
            revealed = [
                consortium.reveal(plan, round_, consortium.attempt(round_, n, n % setting.parties)) for n in (1, 2)
            ]
            charged = min(charged, consortium.parties[name_of(setting.at)].ledger.spent() / ATTRIBUTES)
            for name, group in setting.observers().items():
                first, second = (
                    _evidence(remaining(o, consortium, round_, group).reshape(-1, 2), setting, group, epsilon)
                    for o in revealed
                )
                views[name].append(np.concatenate([first, first + second], axis=1))
        return Seen({name: np.concatenate(parts)[:count] for name, parts in views.items()}, charged)

    return Subject("repeated round", f"eps {epsilon}, {setting}", epsilon, sample, runs, quick)


def two_rounds(setting: Setting, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """Two rounds over different attributes; the replaced row differs in those of the first only.

    One outcome is a table of each. Noise that is used in both would fall out of their difference.
    """

    def sample(world: int, count: int, source: Source) -> Seen:
        tables = flipped_row(world, setting.rows, setting.at, 2 * ATTRIBUTES, only_even=True)
        views: dict[str, list[np.ndarray]] = {name: [] for name in setting.observers()}
        charged = PLENTY
        for batch in _batches(count, ATTRIBUTES):
            consortium = consortium_of(tables, source, batch)
            plan = begin(consortium, setting, algorithm="one-way")
            session = consortium.session(plan)
            revealed, rounds, price = [], [], ATTRIBUTES * epsilon / 2
            for number, first in ((1, 0), (2, 1)):
                marginals = tuple((a,) for a in range(first, 2 * ATTRIBUTES, 2))
                result = asyncio.run(session.measure("audit", marginals, Share(session.budget, price)))
                revealed.append(np.concatenate([t.counts for t in result]))
                rounds.append(Round(plan.spec.run, "audit", f"{number}-audit", laplace(marginals, price)))
            charged = min(charged, consortium.parties[name_of(setting.at)].ledger.spent() / ATTRIBUTES)
            for name, group in setting.observers().items():
                even, odd = (
                    remaining(o, consortium, r, group).reshape(-1, 2) for o, r in zip(revealed, rounds, strict=True)
                )
                rest = counts_of_zeros(rows_unknown(setting, group), 0)
                alone = _evidence(even, setting, group, epsilon / 2)
                together = _evidence(even - (odd - rest), setting, group, epsilon / 2)
                views[name].append(np.concatenate([alone, together], axis=1))
        return Seen({name: np.concatenate(parts)[:count] for name, parts in views.items()}, charged)

    return Subject("two rounds", f"eps {epsilon}, {setting}", epsilon, sample, runs, quick)


def running_sums(setting: Setting, schedule: str, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """A running sum with noise replacement: all revealed sums that hold the row, together and one by one.

    The claim is what the party with the replaced row pays: the revealed sums after it entered.
    """
    weights = schedule_weights(schedule, setting.parties)
    claim = epsilon * sum(weights[setting.at :], Fraction(0))
    first = next(place for place, k in enumerate(_covered(weights)) if k > setting.at)

    def sample(world: int, count: int, source: Source) -> Seen:
        tables = flipped_row(world, setting.rows, setting.at, ATTRIBUTES)
        views: dict[str, list[np.ndarray]] = {name: [] for name in setting.observers()}
        charged = PLENTY
        marginals = tuple((a,) for a in range(ATTRIBUTES))
        for batch in _batches(count, ATTRIBUTES):
            consortium = consortium_of(tables, source, batch)
            plan = begin(consortium, setting)
            session = consortium.session(plan)
            share = Share(session.budget, ATTRIBUTES * epsilon)
            series = session.running_sums("audit", marginals, share, weights)
            revealed = asyncio.run(_all_sums(series))
            charged = min(charged, consortium.parties[name_of(setting.at)].ledger.spent() / ATTRIBUTES)
            for name, group in setting.observers().items():
                known = np.zeros_like(revealed[0])
                found = []
                for place, round_ in enumerate(series.rounds):
                    known = known + sum(
                        (own_vector(consortium.parties[member], round_) for member in group), np.zeros_like(known)
                    )
                    if place >= first:
                        inside = [k for k in range(setting.parties) if round_.covers(k) and name_of(k) not in group]
                        rows = sum(setting.rows[k] for k in inside)
                        left = (revealed[place] - known).reshape(-1, 2)
                        zero, one = counts_of_zeros(rows, 0), counts_of_zeros(rows, 1)
                        found.append(statistics(left, zero, one, round_.noise.scale, shape_of(setting, group)))
                views[name].append(np.concatenate([sum(found), found[-1]], axis=1))
        return Seen({name: np.concatenate(parts)[:count] for name, parts in views.items()}, charged)

    return Subject("noise replacement", f"eps {epsilon}, {schedule}, {setting}", claim, sample, runs, quick)


def exchanged_tables(setting: Setting, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """A curator that has the noise of one wide table take the place of that over many narrow ones.

    Both have as many cells, and cost the same in all: over one table noise is that much less wide. If a party refuses
    the second round, the first is all that is seen.
    """
    wide = tuple(range(9))
    narrow = tuple((a,) for a in range(1 << (len(wide) - 1)))
    price = len(narrow) * epsilon / 2

    def sample(world: int, count: int, source: Source) -> Seen:
        tables = flipped_row(world, setting.rows, setting.at, len(narrow))
        views: dict[str, list[np.ndarray]] = {name: [] for name in setting.observers()}
        charged = PLENTY
        for batch in _batches(count, len(narrow)):
            consortium = consortium_of(tables, source, batch)
            plan = begin(consortium, setting)
            everybody = setting.parties
            noises = laplace(narrow, price), laplace([wide], price)
            first = Replacement(everybody, None, 0, noises[0].scale, False)
            second = Replacement(everybody, "s/1", everybody, noises[0].scale, True)
            rounds = [
                Round(plan.spec.run, "audit", "s/1", noises[0], first),
                Round(plan.spec.run, "audit", "s/2", noises[1], second),
            ]
            revealed = consortium.reveal(plan, rounds[0], consortium.attempt(rounds[0]))
            refused = [isinstance(consortium.tell(name, Contribute(rounds[1])), Refusal) for name in consortium.parties]
            if not any(refused):
                attempt = consortium.attempt(rounds[1])
                total = consortium.combine(
                    rounds[1], attempt, consortium.seal(rounds[1], attempt), bytes(8 * revealed.size)
                )
                assert isinstance(total, Sum)
                # As a curator reads it that cares for no width.
                revealed = revealed + np.frombuffer(total.payload, "<i8")
            used = rounds[: 1 if any(refused) else 2]
            charged = min(charged, consortium.parties[name_of(setting.at)].ledger.spent() / len(narrow))
            scale = used[-1].noise.scale
            for name, group in setting.observers().items():
                left = revealed
                for round_ in used:
                    left = remaining(left, consortium, round_, group)
                rows = rows_unknown(setting, group)
                zero, one = counts_of_zeros(rows, 0), counts_of_zeros(rows, 1)
                views[name].append(statistics(left.reshape(-1, 2), zero, one, scale, shape_of(setting, group)))
        return Seen({name: np.concatenate(parts)[:count] for name, parts in views.items()}, charged)

    # What was not given must not be paid: the claim is what the party was charged.
    return Subject("noise replacement", f"eps {epsilon}, other tables, {setting}", epsilon / 2, sample, runs, quick)


def _covered(weights: Sequence[Fraction]) -> list[int]:
    return [k for k, weight in enumerate(weights, start=1) if weight]


async def _all_sums(series: RunningSums) -> list[np.ndarray]:
    return [np.concatenate([t.counts for t in await series.reveal_next()]) for _ in range(len(series))]


def network_selection(setting: Setting, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """Selections at one of several parties of different sizes, through session and engines."""
    others = 8

    def sample(world: int, count: int, source: Source) -> Seen:
        tables = [
            opposed_pairs(world if k == setting.at else 0, rows, others, binary=True)
            for k, rows in enumerate(setting.rows)
        ]
        candidates = [AttributeParentPair(2 * i, (2 * i + 1,)) for i in range(1 + others)]
        chosen: list[int] = []
        charged = PLENTY

        async def selections(session: Session) -> None:
            # Each party has a quota of SELECTIONS; those of the others' rows are alike in both worlds.
            share = Share(session.budget, SELECTIONS * epsilon)
            series = session.selection("audit", SELECTIONS * setting.parties, share, balanced=True)
            drawn = [await series.select(candidates) for _ in range(SELECTIONS * setting.parties)]
            chosen.extend(pair.attribute for pair in drawn[SELECTIONS * setting.at : SELECTIONS * (setting.at + 1)])

        for batch in _batches(count, SELECTIONS):
            consortium = consortium_of(tables, source, batch)
            plan = begin(consortium, setting)
            asyncio.run(selections(consortium.session(plan)))
            charged = min(charged, consortium.parties[name_of(setting.at)].ledger.spent() / SELECTIONS)
        return Seen({"everybody": np.array(chosen[:count])}, charged)

    rows = "/".join(map(str, setting.rows))
    name = f"eps {epsilon}, rows {rows}, row at {name_of(setting.at)}"
    return Subject("selection", name, epsilon, sample, runs, quick)


def network_distances(setting: Setting, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """Selections among tables at one of several parties of different sizes, through session and engines."""
    others = 1
    expected = expecting_zeros(1 + others)

    def sample(world: int, count: int, source: Source) -> Seen:
        tables = [one_farther(world if k == setting.at else 0, rows, others) for k, rows in enumerate(setting.rows)]
        chosen: list[int] = []
        charged = PLENTY

        async def selections(session: Session) -> None:
            # Each party has a quota of SELECTIONS; those of the others' rows are alike in both worlds.
            share = Share(session.budget, SELECTIONS * epsilon)
            series = session.selection("audit", SELECTIONS * setting.parties, share, balanced=True, score=DISTANCE)
            drawn = [await series.select_farthest(expected) for _ in range(SELECTIONS * setting.parties)]
            chosen.extend(drawn[SELECTIONS * setting.at : SELECTIONS * (setting.at + 1)])

        for batch in _batches(count, SELECTIONS):
            consortium = consortium_of(tables, source, batch)
            plan = begin(consortium, setting)
            asyncio.run(selections(consortium.session(plan)))
            charged = min(charged, consortium.parties[name_of(setting.at)].ledger.spent() / SELECTIONS)
        return Seen({"everybody": np.array(chosen[:count])}, charged)

    rows = "/".join(map(str, setting.rows))
    name = f"eps {epsilon}, rows {rows}, row at {name_of(setting.at)}"
    return Subject("distances", name, epsilon, sample, runs, quick)


def protocol_subjects() -> list[Subject]:
    """Rounds and series of selections over 2 to 4 parties."""
    one = Fraction(1)
    pair, uneven = Setting((3, 3), 1, 0), Setting((3, 3), 1, 1)
    return [
        one_round(pair, one, 120_000, 9_000),
        one_round(uneven, Fraction(1, 10), 150_000, 0),
        one_round(Setting((3, 4, 5), 1, 0), one, 60_000, 0),
        one_round(Setting((3, 4, 5), 1, 2), one, 60_000, 0),
        one_round(Setting((3, 4, 5), 2, 1), one, 60_000, 6_000),
        one_round(Setting((2, 3, 4, 5), 2, 0), one, 40_000, 0),
        one_round(Setting((2, 3, 4, 5), 3, 3), one, 40_000, 0),
        one_round(Setting((3, 4, 5), 1, 0, MASKS), one, 60_000, 6_000),
        scored_release(pair, one, 20_000, 3_400),
        scored_release(Setting((3, 4, 5), 2, 1), one, 20_000, 0),
        repeated_round(pair, one, 30_000, 4_500),
        repeated_round(Setting((3, 4, 5), 1, 1), one, 30_000, 0),
        repeated_round(Setting((3, 3), 1, 1, MASKS), one, 30_000, 0),
        two_rounds(uneven, one, 30_000, 4_500),
        two_rounds(Setting((3, 4, 5), 2, 0), one, 24_000, 0),
        running_sums(Setting((3, 4, 5), 1, 0), "uniform", one, 60_000, 6_000),
        running_sums(Setting((3, 4, 5), 1, 1), "back-loaded", one, 60_000, 0),
        running_sums(Setting((2, 3, 4, 5), 2, 3), "uniform", Fraction(2), 40_000, 0),
        running_sums(Setting((3, 4, 5), 1, 0, MASKS), "uniform", one, 60_000, 0),
        exchanged_tables(Setting((3, 4, 5), 1, 0, MASKS), one, 60_000, 0),
        network_selection(Setting((10, 30), 1, 0), one, 6_000, 640),
        network_selection(Setting((10, 30), 1, 1), one, 4_000, 0),
        network_selection(Setting((8, 10, 40), 1, 1), one, 3_000, 0),
        network_distances(Setting((8, 10, 40), 1, 1), one, 6_000, 640),
        network_distances(Setting((8, 10, 40), 1, 2), one, 6_000, 0),
    ]
