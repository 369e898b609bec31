"""Shares of a run's budget: exactly what they are together, and mechanisms that cost no more than they say."""

import asyncio
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.apportionment import quotas
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.errors import PrivityError
from privity.common.privacy.budget import SMALLEST_EPSILON
from privity.common.privacy.loss_conversion import converted
from privity.common.privacy.mechanisms import AdvancedLaplaceNoise, ExponentialMechanism, LaplaceNoise, NoisyMax
from privity.common.privacy.neighbouring_relation import RELATION, PrivacyMismatchError
from privity.common.privacy.noise_distribution import GAUSSIAN, LEAST_SHARE
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP, compose
from privity.common.privacy.run_budget import AdvancedBudget, PureBudget, RhoBudget, Share, selection_range
from privity.common.privacy.sensitivity import Norm
from privity.common.protocol.round import Tables
from tests.harness.consortium import make_schema, make_table
from tests.harness.steps import pure, share_of

ONE, DELTA = Fraction(1), Fraction(1, 10**9)
EPSILONS = st.fractions(Fraction(1, 1000), 20, max_denominator=1000)
BUDGETS = (PureBudget(ONE), RhoBudget(ONE, DELTA), AdvancedBudget(ONE, DELTA))


def tables(*weights):
    """Tables of these weights."""
    return Tables(((),) * len(weights), weights)


@given(EPSILONS, st.lists(st.integers(1, 50), min_size=1, max_size=20), st.integers(1, 25), st.data())
def test_parts_of_a_budget_in_rho_never_add_up_to_more(epsilon, shares, quota, data):
    budget = RhoBudget(epsilon, DELTA)
    spent = Fraction(0)
    for part in shares:
        share = budget.whole * Fraction(part, sum(shares))
        of_share = budget.rho_of_share(share.epsilon)
        if data.draw(st.booleans()):
            query = tables(*data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5)))
            noise = share.noise(query, quota)
            noise.check(quota)
            assert noise.law(1).name == GAUSSIAN
            cost = query.sensitivity(Norm.L2, RELATION).squared / (2 * noise.scale)
            assert cost <= noise.loss(RELATION).rho <= of_share
            assert quota == 1 or noise.scale / max(query.weights) ** 2 >= LEAST_SHARE * quota
            if noise.scale > LEAST_SHARE * quota * max(query.weights) ** 2:
                assert cost > noise.loss(RELATION).rho * (1 - Fraction(1, 2**16))
            spent += noise.loss(RELATION).rho
        else:
            together = compose([share.selecting(quota).loss(RELATION)] * quota).rho
            assert of_share * (1 - Fraction(1, 2**12)) < together <= of_share
            spent += together
    assert spent <= budget.rho
    assert converted(spent, DELTA) <= epsilon


def test_a_selections_range_is_the_root_rounded_down():
    assert selection_range(Fraction(1, 2), 1) == 2
    assert selection_range(Fraction(1, 2), 4) == 1
    third = selection_range(Fraction(1, 8) / 9, 1)
    assert third < Fraction(1, 3)
    assert float(third) == pytest.approx(1 / 3, rel=2**-12)


def spent(session, place):
    """Epsilon and delta, as the party's ledger has them."""
    ledger = session.backend.releases[place].ledger
    return ApproxDP(ledger.spent(), ledger.spent_delta(), RELATION)


def rho_spent(session, place):
    losses = [entry.charge.loss for entry in session.backend.releases[place].ledger.entries()]
    return sum((loss.rho for loss in losses if isinstance(loss, ZCDP)), Fraction(0))


def session_of(parties, tolerate, budget, rows=5):
    schema = make_schema((2, 3, 2))
    return InProcessBackend([make_table(schema, rows + k, k) for k in range(parties)], budget, tolerate).session()


CANDIDATES = [AttributeParentPair(0, (1,)), AttributeParentPair(1, (2,)), AttributeParentPair(0, (2,))]


@pytest.mark.process
@pytest.mark.parametrize(
    ("parties", "tolerate"), [(1, 0), (2, 1), (3, 1), (5, 3), (10, 9), pytest.param(25, 1, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(4)])
def test_a_run_of_tables_selections_and_revealed_sums_costs_every_party_what_its_steps_say(parties, tolerate, epsilon):
    """Adaptive: four kinds of steps, each party's rho as its ledger has it, and never above the budget's."""
    budget = RhoBudget(epsilon, DELTA)
    session = session_of(parties, tolerate, budget)
    seventh = budget.whole / 7

    async def learn():
        await session.measure("a", [(0,), (1,)], seventh)
        series = session.selection("b", 2 * parties + 3, seventh * Fraction(2))
        for _ in range(2 * parties + 3):
            await series.select(CANDIDATES)
        running_sums = session.running_sums("c", [(0, 1)], seventh, [Fraction(1, parties)] * parties)
        for _ in range(len(running_sums)):
            await running_sums.reveal_next()
        await session.measure("d", [(0, 2), (1, 2)], seventh * Fraction(3), (1, 2))

    asyncio.run(learn())
    assert session.noise_variables == Fraction(parties, parties - tolerate)
    assert session.record.rho("party-1") == rho_spent(session, 0)
    for place, name in enumerate(session.backend.members):
        assert spent(session, place) == session.record.of_a_person(name, 1)
        assert spent(session, place).epsilon <= epsilon
        assert rho_spent(session, place) <= budget.rho
        assert spent(session, place).delta == DELTA
    # The first party is in every opening, so that nothing is left but what was rounded.
    assert rho_spent(session, 0) > budget.rho * (1 - Fraction(1, 1000)) or parties > 1
    by_phase = session.record.spent("party-1")
    assert sum(phase.epsilon for phase in by_phase.values()) == spent(session, 0).epsilon
    assert sum(phase.rho for phase in by_phase.values()) == rho_spent(session, 0)


def test_rounds_cost_far_less_together_than_converted_one_by_one():
    rho = RhoBudget(ONE, DELTA).rho_of_share(ONE / 20)
    assert 20 * converted(rho, DELTA) > 4 * converted(20 * rho, DELTA)


@pytest.mark.parametrize(("parties", "tolerate"), [(1, 0), (3, 1), (3, 2)])
@pytest.mark.parametrize("budget", [PureBudget(ONE), RhoBudget(ONE, DELTA)])
def test_noise_and_selections_are_predicted_as_they_will_be(parties, tolerate, budget):
    schema = make_schema((2, 3, 2))
    session = InProcessBackend([make_table(schema, 50, k) for k in range(parties)], budget, tolerate).session()
    foretold = session.noise_variance(2, budget.whole / 4)
    opened = asyncio.run(session.measure("a", [(0,), (1,)], budget.whole / 4))
    assert foretold == pytest.approx(opened[0].variance, rel=1e-12)
    range_ = session.selection_epsilon(5 * parties, budget.whole / 2)
    (cost,) = session.selection("b", 5 * parties, budget.whole / 2).costs(session.backend.members)
    if isinstance(budget, PureBudget):
        assert range_ == pytest.approx(1 / 10)
        assert cost.loss == PureDP(ONE / 2, RELATION)
    else:
        assert range_ == pytest.approx(math.sqrt(8 * float(budget.rho) / 2 / 5), rel=1e-3)
        assert float(cost.loss.rho) == pytest.approx(5 * range_**2 / 8, rel=1e-9)


WEIGHTS = st.lists(st.fractions(min_value=Fraction(1, 50), max_value=100, max_denominator=50), min_size=1, max_size=6)


@given(st.fractions(min_value=Fraction(1, 10), max_value=100, max_denominator=10**6), WEIGHTS)
def test_the_parts_of_epsilon_add_up_to_it_and_follow_the_weights_to_a_millionth(epsilon, weights):
    shares = pure(epsilon).split(weights)
    parts = [share.epsilon for share in shares]
    assert sum(shares[1:], shares[0]) == pure(epsilon)
    assert sum(parts) == epsilon
    assert min(parts) > 0
    exact = [epsilon * weight / sum(weights) for weight in weights]
    for part, share in zip(parts[:-1], exact[:-1], strict=True):
        assert part <= share < part + Fraction(1, 10**6)
        assert part.denominator <= 10**6
    assert exact[-1] <= parts[-1] < exact[-1] + Fraction(len(weights), 10**6)


def test_parts_of_few_digits_are_exact():
    shares = pure(1).split([Fraction(1), Fraction(2)])
    assert [share.epsilon for share in shares] == [Fraction(1, 3), Fraction(2, 3)]


def test_an_epsilon_too_small_to_be_split_is_refused():
    with pytest.raises(PrivityError, match="too small to be split") as caught:
        pure(SMALLEST_EPSILON).split([Fraction(1), Fraction(1)])
    assert caught.value.code == "bad-option"


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: type(budget).__name__)
def test_shares_keep_their_budget_and_add_up_exactly(budget):
    whole = budget.whole
    assert whole == Share(budget, ONE)
    assert whole / 3 + whole * Fraction(2, 3) == whole
    assert {share.budget for share in whole.split([ONE, ONE])} == {budget}
    for other in BUDGETS:
        if other is not budget:
            with pytest.raises(PrivacyMismatchError, match="shares of two budgets do not add"):
                whole + other.whole


def test_what_a_share_of_each_budget_is_spent_by():
    query = tables(1, 1, 3)
    assert PureDP(ONE, RELATION) == (pure(1) / 4 + pure(1) * Fraction(3, 4)).noise(query).loss(RELATION)
    assert (pure(1) / 4).noise(query).loss(RELATION) == PureDP(ONE / 4, RELATION)
    assert isinstance((pure(1) / 4).noise(query), LaplaceNoise)
    assert (pure(1) / 4).selecting(5) == NoisyMax(ONE / 20)
    budget = RhoBudget(ONE, DELTA)
    assert budget.whole.noise(query).loss(RELATION) == ZCDP(budget.rho, RELATION)
    assert isinstance(budget.whole.selecting(5), ExponentialMechanism)
    advanced = AdvancedBudget(ONE, DELTA)
    assert advanced.whole.noise(query).loss(RELATION) == ApproxDP(ONE, DELTA, RELATION)
    assert isinstance(advanced.whole.noise(query), AdvancedLaplaceNoise)
    with pytest.raises(ValueError, match="for all of the budget"):
        (advanced.whole / 2).noise(query)
    with pytest.raises(ValueError, match="is of tables"):
        advanced.whole.selecting(1)
    with pytest.raises(ValueError, match="has no delta"):
        PureBudget(ONE, DELTA)


def test_a_run_pays_nothing_of_another_kind_or_beyond_its_budget():
    kinds = {
        PureBudget(ONE): (PureDP(1, RELATION), PureDP(Fraction(1001, 1000), RELATION)),
        AdvancedBudget(ONE, DELTA): (ApproxDP(ONE, DELTA, RELATION), ApproxDP(ONE, 2 * DELTA, RELATION)),
        RhoBudget(ONE, DELTA): (
            ZCDP(RhoBudget(ONE, DELTA).rho, RELATION),
            ZCDP(RhoBudget(ONE, DELTA).rho * Fraction(1001, 1000), RELATION),
        ),
    }
    for budget, (all_of_it, more) in kinds.items():
        assert budget.fault(all_of_it) is None
        assert "more" in budget.fault(more)
    assert "no budget in rho" in PureBudget(ONE).fault(ZCDP(Fraction(1, 10**6), RELATION))
    assert "an epsilon of its own" in RhoBudget(ONE, DELTA).fault(PureDP(Fraction(1, 10**6), RELATION))
    assert "more epsilon or delta" in PureBudget(ONE).fault(ApproxDP(ONE, DELTA, RELATION))


@given(
    st.integers(1, 100),
    st.lists(st.integers(1, 10**7), min_size=1, max_size=12),
    st.fractions(min_value=Fraction(1, 100), max_value=10),
)
def test_every_party_that_selects_pays_the_series_epsilon_exactly(selections, rows, epsilon):
    for quota in quotas(selections, rows):
        if quota:
            mechanism = pure(epsilon).selecting(quota)
            assert mechanism.epsilon == epsilon / quota
            assert compose([mechanism.loss(RELATION)] * quota) == PureDP(epsilon, RELATION)


@pytest.mark.parametrize("budget", [PureBudget(ONE), RhoBudget(ONE, DELTA)], ids=lambda budget: type(budget).__name__)
def test_the_share_of_a_session_is_what_its_step_costs(budget):
    session = session_of(2, 1, budget)
    asyncio.run(session.measure("a", [(0,), (1,)], share_of(session, ONE / 2)))
    (cost,) = session.record.costs
    assert cost.loss == session.rounds[0].noise.loss(RELATION) == (budget.whole / 2).noise(tables(1, 1)).loss(RELATION)
    assert [entry.charge.loss for entry in session.backend.releases[0].ledger.entries()][1:] == [cost.loss]
