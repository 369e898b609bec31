"""A run's account in rho: never above its epsilon, hardly below, and shared out exactly."""

import asyncio
import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.privacy.budget import Zcdp
from privity.common.privacy.budget_conversion import zcdp_to_approximate
from privity.common.privacy.noise_distribution import GAUSSIAN, LEAST_SHARE
from privity.common.privacy.zcdp_budget import (
    RELATION,
    GaussianTerms,
    RhoBudget,
    converted,
    rho_within,
    selection_range,
    selection_rho,
    short_above,
    short_below,
    tables_rho,
)
from privity.deploy.planning.in_process_session import InProcessSession
from tests.harness.consortium import make_schema, make_table

ONE, DELTA = Fraction(1), Fraction(1, 10**9)

EPSILONS = st.fractions(Fraction(1, 1000), 20, max_denominator=1000)
DELTAS = st.sampled_from([Fraction(1, 1000), Fraction(1, 2**30), DELTA, Fraction(1, 10**20)])


@given(EPSILONS, DELTAS)
def test_the_rho_of_an_epsilon_is_never_above_it_and_within_a_part_in_2_18_of_the_best(epsilon, delta):
    rho = rho_within(epsilon, delta)
    assert zcdp_to_approximate(Zcdp(rho, RELATION), delta).epsilon <= converted(rho, delta) <= epsilon
    more = rho * (1 + Fraction(1, 2**18))
    assert zcdp_to_approximate(Zcdp(more, RELATION), delta).epsilon > epsilon
    assert rho.numerator < 2**22


def test_golden_numbers():
    # 1 = rho + 2 sqrt(rho ln 10^9) gives 0.01185 by the simple bound; the tighter one leaves more.
    assert float(rho_within(ONE, DELTA)) == pytest.approx(0.014973, abs=1e-6)
    assert float(rho_within(Fraction(1, 10), DELTA)) == pytest.approx(1.77138e-4, rel=1e-4)
    for epsilon in ("1", "0.1", "0.4", "1.6", "1.234567", "100", "12.5"):
        # A run that spends all of it has cost its epsilon, in figures that people read.
        assert converted(rho_within(Fraction(epsilon), DELTA), DELTA) == Fraction(epsilon)
    assert converted(Fraction(0), DELTA) == 0


@given(st.lists(st.fractions(Fraction(1, 10**6), 3), min_size=2, max_size=12), DELTAS)
def test_less_rho_never_costs_more(rhos, delta):
    ordered = sorted(rhos)
    close = [rho for value in ordered for rho in (value, value * (1 + Fraction(1, 10**9)))]
    found = [converted(rho, delta) for rho in sorted(close)]
    assert all(a <= b for a, b in pairwise(found))


@given(st.fractions(Fraction(1, 10**9), 10**6), st.integers(2, 30))
def test_short_numbers_stand_on_both_sides(value, bits):
    below, above = short_below(value, bits), short_above(value, bits)
    assert below <= value <= above
    assert above - below <= value / 2 ** (bits - 1)
    for number in (below, above):
        odd = number.numerator if number.denominator > 1 else number.numerator // (number.numerator & -number.numerator)
        assert odd < 2**bits
        assert number.denominator & (number.denominator - 1) == 0


@given(EPSILONS, st.lists(st.integers(1, 50), min_size=1, max_size=20), st.integers(1, 25), st.data())
def test_parts_of_an_account_never_add_up_to_more(epsilon, shares, quota, data):
    rho_budget = RhoBudget(epsilon, DELTA)
    spent = Fraction(0)
    for share in shares:
        amount = epsilon * share / sum(shares)
        if data.draw(st.booleans()):
            weights = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
            terms = rho_budget.terms(amount, weights, quota)
            terms.check(weights)
            assert terms.law(1).name == GAUSSIAN
            assert tables_rho(terms.unit, weights) <= terms.rho <= rho_budget.rho_of_share(amount)
            assert quota == 1 or terms.unit / max(weights) ** 2 >= LEAST_SHARE * quota
            if terms.unit > LEAST_SHARE * quota * max(weights) ** 2:
                assert tables_rho(terms.unit, weights) > terms.rho * (1 - Fraction(1, 2**16))
            spent += terms.rho
        else:
            each = rho_budget.selection_epsilon(amount, quota)
            assert (
                rho_budget.rho_of_share(amount) * (1 - Fraction(1, 2**12))
                < quota * selection_rho(each)
                <= rho_budget.rho_of_share(amount)
            )
            spent += quota * selection_rho(each)
    assert spent <= rho_budget.rho
    assert converted(spent, DELTA) <= epsilon


def test_a_selections_range_is_the_root_rounded_down():
    assert selection_range(Fraction(1, 2), 1) == 2
    assert selection_range(Fraction(1, 2), 4) == 1
    third = selection_range(Fraction(1, 8) / 9, 1)
    assert third < Fraction(1, 3)
    assert float(third) == pytest.approx(1 / 3, rel=2**-12)


class CountsAndCharges(InProcessSession):
    """A session whose ledgers can be asked."""

    def spent(self, party):
        return self.releases[party].ledger.spent(), self.releases[party].ledger.spent_delta()

    def rho(self, party):
        lines = self.releases[party].ledger.entries()
        return sum((line.charge.rho for line in lines if line.charge.rho is not None), Fraction(0))


def session_of(parties, tolerate, rho_budget):
    schema = make_schema((2, 3, 2))
    tables = [make_table(schema, 5 + k, k) for k in range(parties)]
    return CountsAndCharges(tables, rho_budget.epsilon, tolerate, rho_budget.delta, rho_budget=rho_budget)


CANDIDATES = [AttributeParentPair(0, (1,)), AttributeParentPair(1, (2,)), AttributeParentPair(0, (2,))]


@pytest.mark.process
@pytest.mark.parametrize(("parties", "tolerate"), [(1, 0), (2, 1), (3, 1), (5, 3), (10, 9), (25, 1)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(4)])
def test_a_run_of_tables_selections_and_revealed_sums_costs_every_party_what_its_steps_say(parties, tolerate, epsilon):
    """Adaptive: four kinds of steps, each party's rho as its ledger has it, and never above the account's."""
    rho_budget = RhoBudget(epsilon, DELTA)
    session = session_of(parties, tolerate, rho_budget)

    async def learn():
        await session.measure("a", [(0,), (1,)], epsilon / 7)
        series = session.selection("b", 2 * parties + 3, 2 * epsilon / 7)
        for _ in range(2 * parties + 3):
            await series.select(CANDIDATES)
        running_sums = session.running_sums("c", [(0, 1)], epsilon / 7, [Fraction(1, parties)] * parties)
        for _ in range(len(running_sums)):
            await running_sums.reveal_next()
        await session.measure("d", [(0, 2), (1, 2)], 3 * epsilon / 7, (1, 2))

    asyncio.run(learn())
    assert session.record.rho("party-1") == session.rho(0)
    for party, name in enumerate(session.names):
        assert session.spent(party) == session.record.of_a_person(name, 1)
        assert session.spent(party)[0] <= epsilon
        assert session.rho(party) <= rho_budget.rho
        assert session.spent(party)[1] == DELTA
    # The first party is in every opening, so that nothing is left but what was rounded.
    assert session.rho(0) > rho_budget.rho * (1 - Fraction(1, 1000)) or parties > 1
    by_phase = session.record.spent("party-1")
    assert sum(phase.epsilon for phase in by_phase.values()) == session.spent(0)[0]
    assert sum(phase.rho for phase in by_phase.values()) == session.rho(0)


def test_rounds_cost_far_less_together_than_converted_one_by_one():
    rho_budget = RhoBudget(ONE, DELTA)
    rho = rho_budget.rho_of_share(ONE / 20)
    assert 20 * converted(rho, DELTA) > 4 * converted(20 * rho, DELTA)


@pytest.mark.parametrize(("parties", "tolerate"), [(1, 0), (3, 1), (3, 2)])
@pytest.mark.parametrize("rho_budget", [None, RhoBudget(ONE, DELTA)])
def test_noise_and_selections_are_predicted_as_they_will_be(parties, tolerate, rho_budget):
    schema = make_schema((2, 3, 2))
    tables = [make_table(schema, 50, k) for k in range(parties)]
    delta = Fraction(0) if rho_budget is None else DELTA
    session = InProcessSession(tables, ONE, tolerate, delta, rho_budget=rho_budget)
    foretold = session.noise_variance(2, ONE / 4)
    opened = asyncio.run(session.measure("a", [(0,), (1,)], ONE / 4))
    assert foretold == pytest.approx(opened[0].variance, rel=1e-12)
    range_ = session.selection_epsilon(5 * parties, ONE / 2)
    (cost,) = session.selection("b", 5 * parties, ONE / 2).costs(session.names)
    if rho_budget is None:
        assert range_ == pytest.approx(1 / 10)
        assert cost.epsilon == ONE / 2
    else:
        assert range_ == pytest.approx(math.sqrt(8 * float(rho_budget.rho) / 2 / 5), rel=1e-3)
        assert float(cost.rho) == pytest.approx(5 * range_**2 / 8, rel=1e-9)


def test_terms_of_no_weight_or_no_delta_are_refused():
    fair = RhoBudget(ONE, DELTA).terms(ONE, (1, 1), 1)
    for wrong, weights in (
        (GaussianTerms(fair.rho, Fraction(0), fair.unit), (1, 1)),
        (GaussianTerms(fair.rho, Fraction(1), fair.unit), (1, 1)),
        (GaussianTerms(fair.rho, DELTA, Fraction(-1)), (1, 1)),
        (fair, ()),
    ):
        with pytest.raises(Exception, match="not positive"):
            wrong.check(weights)
