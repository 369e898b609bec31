"""Openings of a running sum: rows enter party by party, and one shared noise takes the place of another."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privity.common.data.contingency_tables import contingency_tables
from privity.common.errors import PrivityError
from privity.common.privacy.run_budget import RhoBudget
from privity.common.protocol.round import Replacement, Round, Tables
from privity.common.protocol.running_sums import schedule_weights
from privity.common.protocol.secure_sum import reveal_block
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, SumKind
from privity.common.protocol.steps import Contribute, Done, Refusal, Sealed, Sum
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.steps import laplace, laplace_round, pure, share_of

TABLES = ((0, 1), (1, 2))
DOMAIN = (3, 4, 2)
# So large an epsilon that the noise is 0 but for a chance below 1e-20.
NO_NOISE = Fraction(900)


def true_counts(consortium: TestConsortium, parties: int, tables=TABLES) -> np.ndarray:
    names = list(consortium.parties)[:parties]
    return sum(
        np.concatenate([c.ravel() for c in contingency_tables(consortium.parties[n].table, list(tables))])
        for n in names
    )


def open_all(
    consortium: TestConsortium, epsilon: Fraction, weights, tables=TABLES, kind: SumKind = PAILLIER, delta=Fraction(0)
):
    """Every opening of a series: (coverage rows, all counts in one vector, variance)."""
    plan = consortium.begin(consortium.spec(epsilon=epsilon, secure_sum=kind, delta=delta))

    async def whole():
        session = consortium.session(plan)
        series = session.running_sums("update", tables, share_of(session, epsilon), weights)
        return [await series.reveal_next() for _ in range(len(series))]

    return [
        (opened[0].rows, np.concatenate([t.counts.ravel() for t in opened]), opened[0].variance)
        for opened in asyncio.run(whole())
    ]


@pytest.mark.process
@pytest.mark.parametrize("parties", [2, 3, 4])
@pytest.mark.parametrize("kind", [PAILLIER, MASKS], ids=lambda kind: kind.method.value)
@pytest.mark.parametrize("schedule", ["final", "uniform", "back-loaded"])
def test_each_revealed_sum_is_the_sum_of_the_rows_so_far(parties: int, schedule: str, kind: SumKind) -> None:
    consortium = make_consortium(parties, domain=DOMAIN, rows=40)
    weights = schedule_weights(schedule, parties)
    opened = open_all(consortium, NO_NOISE, weights, kind=kind)
    covered = [k for k, weight in enumerate(weights, start=1) if weight]
    assert len(opened) == len(covered)
    for k, (rows, counts, _) in zip(covered, opened, strict=True):
        assert rows == 40 * k
        np.testing.assert_array_equal(counts, true_counts(consortium, k))


@pytest.mark.parametrize("parties", [2, 3, 4])
def test_each_party_pays_for_every_revealed_sum_that_holds_its_rows(parties: int) -> None:
    consortium = make_consortium(parties, domain=DOMAIN)
    weights = schedule_weights("back-loaded", parties)
    epsilon = Fraction(1, 2)
    open_all(consortium, epsilon, weights)
    spent = [party.ledger.spent() for party in consortium.parties.values()]
    assert spent == [epsilon * sum(weights[k:]) for k in range(parties)]
    assert spent[0] == epsilon


def test_explicit_weights_may_skip_parties() -> None:
    consortium = make_consortium(4, domain=DOMAIN, rows=30)
    weights = schedule_weights("0,1/4,0,3/4", 4)
    opened = open_all(consortium, NO_NOISE, weights)
    assert [rows for rows, _, _ in opened] == [60, 120]
    for k, (_, counts, _) in zip((2, 4), opened, strict=True):
        np.testing.assert_array_equal(counts, true_counts(consortium, k))


@pytest.mark.parametrize("parties", [2, 3, 4])
def test_the_curators_whole_transcript_is_sealed_blobs_and_one_product_a_revealed_sum(parties: int) -> None:
    consortium = make_consortium(parties, domain=DOMAIN)
    plan = consortium.begin()
    before = len(consortium.recorder.received)
    weights = schedule_weights("uniform", parties)

    async def whole():
        series = consortium.session(plan).running_sums("update", TABLES, pure(Fraction(1)), weights)
        return [await series.reveal_next() for _ in range(len(series))]

    opened = [np.concatenate([t.counts.ravel() for t in tables]) for tables in asyncio.run(whole())]
    from privity.common.wire.codec import decode_reply

    replies = [decode_reply(message)[2] for _, message in consortium.recorder.received[before:]]
    sealed = [r.blob.ciphertext for r in replies if isinstance(r, Sealed)]
    assert len(sealed) == parties * parties
    sums = [r for r in replies if isinstance(r, Sum)]
    assert len(sums) == parties
    assert sum(r == Done() for r in replies) == 2 * parties * parties, "contributed, and told that it is open"
    assert len(replies) == 3 * parties * parties + parties
    # All that the run's key opens in it are the opened sums, in their order.
    for k, (product, counts) in enumerate(zip(sums, opened, strict=True), start=1):
        widest = laplace(TABLES, Fraction(1, parties)).scale
        replacement = Replacement(k, "x" if k > 1 else None, k - 1, widest, k == parties)
        round_ = laplace_round("run-1", "update", "y", TABLES, Fraction(1, parties), replacement)
        context = consortium.context(plan, round_)
        np.testing.assert_array_equal(reveal_block(product.payload, context, 0, consortium.secret), counts)
    assert len(set(sealed)) == len(sealed)


def noises(parties: int, weights, epsilon: Fraction, seeds: int) -> list[np.ndarray]:
    """For each opening, the noise on all its cells over several runs."""
    tables = ((0, 1),)
    found: list[list[np.ndarray]] = [[] for w in weights if w]
    covered = [k for k, weight in enumerate(weights, start=1) if weight]
    for seed in range(seeds):
        consortium = make_consortium(parties, domain=(40, 40), rows=10, seed=seed)
        for place, (_, counts, _) in enumerate(open_all(consortium, epsilon, weights, tables=tables)):
            found[place].append(counts - true_counts(consortium, covered[place], tables))
    return [np.concatenate(parts) for parts in found]


@pytest.mark.process
@pytest.mark.parametrize(("parties", "schedule"), [(2, "uniform"), (3, "back-loaded"), (4, "0,1/2,0,1/2")])
def test_a_revealed_sum_carries_exactly_one_shared_noise_and_noise_never_accumulates(
    parties: int, schedule: str
) -> None:
    epsilon, weights = Fraction(1, 2), schedule_weights(schedule, parties)
    found = noises(parties, weights, epsilon, seeds=4)
    for weight, noise in zip([w for w in weights if w], found, strict=True):
        one = float(stats.dlaplace(float(epsilon * weight) / 2).var())
        expected = one * parties / (parties - 1)
        # 6,400 variables: the standard error of their variance is about 3 %.
        assert noise.var() == pytest.approx(expected, rel=0.15)
        assert abs(noise.mean()) < 5 * np.sqrt(expected / noise.size)
    for first, second in itertools.pairwise(found):
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.07, "the old noise is still in the sum"


@pytest.mark.process
@pytest.mark.parametrize("kind", [PAILLIER, MASKS], ids=lambda kind: kind.method.value)
@pytest.mark.parametrize("schedule", ["uniform", "back-loaded"])
def test_revealed_sums_in_rho_carry_gaussian_noise_of_their_own_width_and_cost_what_they_say(
    schedule: str, kind: SumKind
) -> None:
    epsilon, delta, tables = Fraction(1, 2), Fraction(1, 10**9), ((0, 1),)
    weights, rho_budget = schedule_weights(schedule, 3), RhoBudget(epsilon, delta)
    policies = {f"party-{k}": open_policy(total_delta=Fraction(1, 1000)) for k in (1, 2, 3)}
    consortium = make_consortium(3, domain=(40, 40), rows=10, policies=policies)
    noise = []
    for k, (_, counts, variance) in enumerate(open_all(consortium, epsilon, weights, tables, kind, delta), start=1):
        scale = rho_budget.noise(epsilon * weights[k - 1], Tables(tables), 2).scale
        noise.append(counts - true_counts(consortium, k, tables))
        assert variance == pytest.approx(1.5 * float(scale))
        # 1,600 variables: the standard error of their variance is about 4 %.
        assert noise[-1].var() == pytest.approx(variance, rel=0.2)
    for first, second in itertools.pairwise(noise):
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.15, "the old noise is still in the sum"
    spent = [rho_budget.rho_of_share(epsilon * weight) for weight in weights]
    for k, party in enumerate(consortium.parties.values()):
        assert party.ledger.spent() == rho_budget.filter().spent(sum(spent[k:]))
        assert party.ledger.spent_delta() == delta


def series_of(plan, weights, name: str = "s") -> list[Round]:
    """The rounds of a series, as the session makes them."""
    from privity.common.protocol.running_sums import RunningSums

    async def unused(_round, _share):
        raise AssertionError

    return RunningSums(plan.spec.run, "update", name, Tables(TABLES), pure(1), weights, unused).rounds


class TestLies:
    """What a curator may not make of a running sum."""

    def setup_method(self) -> None:
        self.consortium = make_consortium(3, domain=DOMAIN)
        self.plan = self.consortium.begin(self.consortium.spec(epsilon=Fraction(9)))
        self.rounds = series_of(self.plan, schedule_weights("uniform", 3))
        first = self.consortium.attempt(self.rounds[0])
        reply = self.consortium.combine(self.rounds[0], first, self.consortium.seal(self.rounds[0], first))
        assert isinstance(reply, Sum)
        self.base = reply.payload

    def refused(self, **changes: object) -> None:
        second = self.rounds[1]
        assert second.replacement is not None
        lie = replace(second, replacement=replace(second.replacement, **changes))
        before = self.consortium.parties["party-1"].ledger.spent()
        assert isinstance(self.consortium.tell("party-1", Contribute(lie)), Refusal)
        assert self.consortium.parties["party-1"].ledger.spent() == before

    def test_rows_that_leave_the_sum_unpaid(self) -> None:
        self.refused(coverage=0)
        self.refused(coverage=1, previous_coverage=2)

    def test_more_parties_than_there_are(self) -> None:
        self.refused(coverage=4)

    def test_another_share_than_the_one_that_is_in(self) -> None:
        second = self.rounds[1]
        for changes in ({"previous": "s/9"}, {"previous_coverage": 2}, {"widest": 2 * self.rounds[1].noise.scale}):
            lie = replace(second, replacement=replace(second.replacement, **changes))
            reply = self.consortium.tell("party-2", Contribute(lie))
            assert isinstance(reply, Refusal), changes

    def test_a_share_that_hid_other_tables(self) -> None:
        """As many cells, fewer tables: narrower noise would take the place of what hides all of them, for one price."""
        second = self.rounds[1]
        for tables in (((0, 1, 2),), ((1, 2), (0, 1)), ((0, 2), (0, 1))):
            lie = replace(second, noise=replace(second.noise, query=Tables(tables)))
            for party in self.consortium.parties.values():
                before = party.ledger.spent()
                reply = self.consortium.tell(party.name, Contribute(lie))
                assert isinstance(reply, Refusal), tables
                assert party.ledger.spent() == before

    @pytest.mark.parametrize(
        ("algorithm", "settings"), [("mst", {}), ("dp-subn", {}), ("dp-subn", {"schedule": "final"})]
    )
    def test_a_running_sum_of_a_run_that_has_none(self, algorithm: str, settings: dict[str, str]) -> None:
        consortium = make_consortium(3)
        plan = consortium.begin(consortium.spec(algorithm=algorithm, settings=settings, epsilon=Fraction(9)))
        one = Fraction(1)
        first = laplace_round(
            plan.spec.run, "update", "s/1", TABLES, one, Replacement(3, None, 0, laplace(TABLES, one).scale, False)
        )
        reply = consortium.tell("party-1", Contribute(first))
        assert isinstance(reply, Refusal)
        assert "reveals sums over all parties only" in reply.message
        assert consortium.parties["party-1"].ledger.spent() == 0

    def test_a_running_sum_with_noise_of_several_widths(self) -> None:
        consortium = make_consortium(3)
        plan = consortium.begin(consortium.spec(settings={"schedule": "uniform"}, epsilon=Fraction(9)))
        one, weights = Fraction(1), (1, *[2] * (len(TABLES) - 1))
        widest = Replacement(3, None, 0, laplace(TABLES, one, weights).scale, False)
        first = laplace_round(plan.spec.run, "update", "s/1", TABLES, one, widest, weights)
        reply = consortium.tell("party-1", Contribute(first))
        assert isinstance(reply, Refusal)
        assert "noise of one width" in reply.message
        assert consortium.parties["party-1"].ledger.spent() == 0

    def test_a_first_revealed_sum_that_claims_rows_before_it(self) -> None:
        self.refused(previous=None)

    def test_a_combine_without_the_running_sum_or_with_one_too_many(self) -> None:
        second = self.rounds[1]
        attempt = self.consortium.attempt(second)
        blobs = self.consortium.seal(second, attempt)
        spoilt = bytes(len(self.base))
        for base in (b"", spoilt, self.base[:-1]):
            assert isinstance(self.consortium.combine(second, attempt, blobs, base), Refusal)
        assert isinstance(self.consortium.combine(second, attempt, blobs, self.base), Sum)

    def test_another_attempt_opens_the_same_value(self) -> None:
        second = self.rounds[1]
        attempts = [self.consortium.attempt(second, 1), self.consortium.attempt(second, 2, first=2)]
        np.testing.assert_array_equal(*(self.consortium.reveal(self.plan, second, a, self.base) for a in attempts))


def test_old_shares_are_kept_until_the_last_revealed_sum_and_survive_a_restart(tmp_path) -> None:
    consortium = make_consortium(3, domain=DOMAIN, folder=tmp_path)
    plan = consortium.begin(consortium.spec(epsilon=Fraction(9)))
    rounds = series_of(plan, schedule_weights("uniform", 3))
    for place, round_ in enumerate(rounds):
        consortium.seal(round_, consortium.attempt(round_))
        kept = consortium.parties["party-2"].journal.keys("run-1/share/")
        assert bool(kept) == (place < 2), "scrubbed after the last opening, not before"
        consortium.restart("party-2")


@pytest.mark.parametrize("between", ["a round", "a series"])
def test_what_is_revealed_between_two_of_its_rounds_is_not_taken_for_the_running_sum(between: str) -> None:
    generous = open_policy(total_epsilon=4 * NO_NOISE, epsilon_per_run=4 * NO_NOISE)
    policies = {f"party-{k}": generous for k in (1, 2, 3)}
    consortium = make_consortium(3, domain=DOMAIN, rows=40, policies=policies)
    weights = schedule_weights("uniform", 3)
    session = consortium.session(consortium.begin(consortium.spec(epsilon=3 * NO_NOISE)))

    async def mixed():
        series = session.running_sums("update", TABLES, pure(NO_NOISE), weights)
        first = await series.reveal_next()
        if between == "a round":
            await session.measure("between", TABLES, pure(NO_NOISE))
        else:
            other = session.running_sums("update", TABLES, pure(NO_NOISE), weights)
            for _ in range(3):
                await other.reveal_next()
        return [first, await series.reveal_next(), await series.reveal_next()]

    for k, opened in enumerate(asyncio.run(mixed()), start=1):
        np.testing.assert_array_equal(np.concatenate([t.counts.ravel() for t in opened]), true_counts(consortium, k))


def test_a_replay_asks_nobody_again() -> None:
    consortium = make_consortium(3, domain=DOMAIN)
    weights = schedule_weights("uniform", 3)
    first = open_all(consortium, Fraction(1), weights)
    told = len(consortium.recorder.sent)
    again = open_all(consortium, Fraction(1), weights)
    # Enrolment and plan are told again (six steps); no opening is.
    assert len(consortium.recorder.sent) == told + 6
    for (_, counts, _), (_, other, _) in zip(first, again, strict=True):
        np.testing.assert_array_equal(counts, other)


@pytest.mark.parametrize("text", ["1/2,1/4", "1,0", "0.5,0.6", "a,b", "", "magic", "-1,2"])
def test_bad_schedules_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        schedule_weights(text, 2)
    with pytest.raises(ValueError, match="weights for"):
        schedule_weights("1/2,1/4,1/4", 2)


def test_revealed_sums_beyond_the_schedule_are_an_error() -> None:
    consortium = make_consortium(2, domain=DOMAIN)
    session = consortium.session(consortium.begin())

    async def too_many():
        series = session.running_sums("update", TABLES, pure(Fraction(1)), schedule_weights("final", 2))
        for _ in range(2):
            await series.reveal_next()

    with pytest.raises(RuntimeError, match="only 1 sums were declared"):
        asyncio.run(too_many())
    with pytest.raises(PrivityError, match="more than the run's epsilon"):
        asyncio.run(session.measure("more", TABLES, pure(Fraction(1))))
