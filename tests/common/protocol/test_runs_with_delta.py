"""Runs that spend some delta: charged, stated, and refused where the noise or the policy does not allow it."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privity.common.errors import PrivityError
from privity.common.formats import require
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.mechanisms import AdvancedLaplaceNoise, Noise
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.noise_distribution import GAUSSIAN
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP
from privity.common.privacy.run_budget import AdvancedBudget, RhoBudget
from privity.common.protocol.evaluation_scores import Evaluation
from privity.common.protocol.round import Replacement, Round, Tables
from privity.common.protocol.run_record import Cost, RunRecord
from privity.common.protocol.steps import Contribute, Done, Enrol, Learn, Refusal
from privity.common.release.statement import privacy_statement, rounded_up
from privity.common.release.verification.release_verification import check_release
from privity.common.wire.codec import decode_reply
from tests.harness.consortium import make_consortium, open_policy
from tests.harness.ledgers import charged
from tests.harness.releases import NOTHING_STATED
from tests.harness.steps import laplace, laplace_round

ONE = Fraction(1)
DELTA = Fraction(1, 2**30)
TABLES = ((0,), (1,), (0, 1))
POLICY = open_policy(total_delta=Fraction(1, 1000))


FAIR = RhoBudget(ONE, DELTA).whole.noise(Tables(TABLES))


def advanced(scale: Fraction, delta: Fraction = DELTA) -> AdvancedLaplaceNoise:
    return AdvancedLaplaceNoise(Tables(TABLES), scale, ONE, delta)


def consortium_of(parties: int, **changes):
    names = [f"party-{k}" for k in range(1, parties + 1)]
    return make_consortium(parties, policies=dict.fromkeys(names, POLICY), **changes)


@pytest.mark.process
@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("composition", ["zcdp", "advanced"])
def test_a_copula_over_parties_is_charged_and_stated(tmp_path, parties: int, composition: str) -> None:
    consortium = consortium_of(parties, domain=(2, 3, 4), rows=60)
    settings = {"composition": composition}
    consortium.drive(tmp_path / "release", algorithm="copula", epsilon=ONE, delta=DELTA, settings=settings)
    assert check_release(tmp_path / "release")
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    for party in statement["parties"]:
        ledger = consortium.parties[party["name"]].ledger
        assert (ledger.spent(), ledger.spent_delta()) == (ONE, DELTA)
        assert (Fraction(party["epsilon_per_row"]), Fraction(party["delta_per_row"])) == (ONE, DELTA)
        assert [entry.added[1] for entry in charged(ledger) if entry.added[0]] == [DELTA]  # one round
    assert {o["guarantee"] for o in statement["observers"]} == {"approximate", "approximate, computational"}
    assert {o["delta"] for o in statement["observers"]} == {str(DELTA)}
    words = {"zcdp": "zero-concentrated", "advanced": "advanced composition"}
    (mechanism,) = statement["mechanisms"]
    assert words[composition] in mechanism
    assert ("Gaussian" if composition == "zcdp" else "Laplace") in mechanism
    assert "approximate differential privacy with epsilon = 1 and delta = 9.31323e-10" in statement["in_words"][0]
    marginals = json.loads((tmp_path / "release" / "marginals.json").read_text())
    assert (marginals["tables"][0]["law"] == GAUSSIAN) == (composition == "zcdp")


@pytest.mark.process
@pytest.mark.parametrize("composition", ["zcdp", "advanced"])
def test_people_with_several_rows_are_charged_and_told_what_all_of_them_cost(tmp_path, composition: str) -> None:
    """m = 1, 3, 4: rho m^2 times at the same delta; of Laplace noise epsilon m times, and delta m e^((m-1) epsilon)."""
    rows = {"party-1": 1, "party-2": 3, "party-3": 4}
    limit = Fraction(1, 1000)
    policies = {name: open_policy(total_delta=limit, rows_per_person=count) for name, count in rows.items()}
    consortium = make_consortium(3, policies=policies, domain=(2, 3, 4), rows=60)
    settings = {"composition": composition}
    consortium.drive(tmp_path / "release", algorithm="copula", epsilon=ONE, delta=DELTA, settings=settings)
    assert check_release(tmp_path / "release")
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    require(statement, "privacy", "privacy")
    for party in statement["parties"]:
        name, count = party["name"], rows[party["name"]]
        ledger = consortium.parties[name].ledger
        assert (Fraction(party["epsilon_per_row"]), Fraction(party["delta_per_row"])) == (ONE, DELTA)
        told = Fraction(party["epsilon_per_person"]), Fraction(party["delta_per_person"])
        assert told == (ledger.spent(), ledger.spent_delta())
        if composition == "zcdp":
            assert told[1] == DELTA
            assert (count == 1 and told[0] == 1) or count < told[0] < count * Fraction(11, 10)
        else:
            assert told[0] == count
            assert float(told[1] / DELTA) == pytest.approx(count * math.exp(count - 1), rel=1e-3)
        spec = consortium.spec(algorithm="copula", epsilon=ONE, delta=DELTA, settings=settings)
        most = policies[name].cost_of_a_person(spec, 0)
        assert told[0] <= most.epsilon < told[0] * Fraction(1001, 1000)
        assert told[1] == most.delta
    worst = max(Fraction(party["epsilon_per_person"]) for party in statement["parties"])
    most = max(Fraction(party["delta_per_person"]) for party in statement["parties"])
    assert {(Fraction(o["epsilon"]), Fraction(o["delta"])) for o in statement["observers"]} == {(worst, most)}
    assert f"more than e^{rounded_up(worst)} times as likely, plus a probability" in statement["in_words"][0]
    assert "For a single row they are epsilon = 1 and" in statement["in_words"][1]


def test_a_run_asks_for_no_noise_that_costs_a_person_more_than_what_it_was_agreed_as() -> None:
    """Terms of another kind than the run's would be charged beside its account."""
    policies = {f"party-{k}": open_policy(total_delta=Fraction(1, 1000), rows_per_person=3) for k in (1, 2)}
    consortium = make_consortium(2, policies=policies, domain=(2, 3, 4), rows=20)
    plan = consortium.begin(consortium.spec(algorithm="copula", epsilon=ONE, delta=DELTA))
    round_ = Round(plan.spec.run, "tables", "1", AdvancedBudget(ONE, DELTA).whole.noise(Tables(TABLES)))
    reply = consortium.tell("party-1", Contribute(round_))
    assert isinstance(reply, Refusal)
    assert "the run has a budget in rho" in reply.message
    assert charged(consortium.parties["party-1"].ledger) == []


def test_people_at_several_parties_need_a_run_without_delta() -> None:
    policies = {f"party-{k}": open_policy(total_delta=Fraction(1, 1000)) for k in (1, 2)}
    consortium = make_consortium(2, policies=policies, parties_per_person=2)
    reply = consortium.tell("party-1", Enrol(consortium.spec(algorithm="copula", delta=DELTA)))
    assert isinstance(reply, Refusal)
    assert "with a delta needs people at one party each" in reply.message


@pytest.mark.process
def test_the_opened_noise_has_the_stated_variance() -> None:
    """100 tables of three parties: K/(K-t) times the variance of the law, tables of weight 2 a quarter of that."""
    consortium = consortium_of(3, domain=(2,) * 14, rows=4)
    plan = consortium.begin(consortium.spec(algorithm="copula", epsilon=ONE, delta=DELTA))
    tables = [(a, b, c) for a in range(14) for b in range(a + 1, 14) for c in range(b + 1, 14)]
    weights = [1] * (len(tables) // 2) + [2] * (len(tables) - len(tables) // 2)
    scale = RhoBudget(ONE, DELTA).whole.noise(Tables(tuple(tables), tuple(weights)), 2).scale
    session = consortium.session(plan)
    opened = asyncio.run(session.measure("test", tables, session.budget.whole, weights))
    for weight in (1, 2):
        some = [table for table, w in zip(opened, weights, strict=True) if w == weight]
        assert {t.law.scale for t in some} == {scale / weight**2}
        noise = np.concatenate([t.counts.ravel() for t in some])  # 12 rows are nothing beside it
        assert np.var(noise) == pytest.approx(1.5 * float(scale) / weight**2, rel=0.2)
        assert some[0].variance == pytest.approx(1.5 * float(scale) / weight**2)


def test_a_policy_without_delta_refuses_the_run_before_anything_is_spent(tmp_path) -> None:
    consortium = make_consortium(3, policies={"party-2": open_policy(total_delta=Fraction(0))})
    with pytest.raises(PrivityError, match=r"delta 9\.31323e-10 is above 0 a run"):
        consortium.drive(tmp_path / "release", algorithm="copula", delta=DELTA)
    assert not any(charged(party.ledger) for party in consortium.parties.values())


def test_models_of_one_party_each_refuse_a_delta(tmp_path) -> None:
    with pytest.raises(PrivityError, match="under pure differential privacy") as caught:
        consortium_of(2).drive(tmp_path / "release", algorithm="independent", delta=DELTA)
    assert caught.value.code == "bad-option"


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        (advanced(scale=Fraction(3)), "too small for epsilon 1"),
        (FAIR, "the run has no budget in rho"),
        (advanced(scale=Fraction(10**6), delta=Fraction(1, 100)), "more epsilon or delta than the run's"),
        (laplace(TABLES, Fraction(2)), "more epsilon or delta than the run's"),
        (laplace(TABLES, ONE, (1, 1)), "one for each table"),
        (laplace(TABLES, ONE, (1, 1, 0)), "one of 1 to 1024 for each table"),
        (laplace(TABLES, ONE, (1, 1, 2**32 - 1)), "one of 1 to 1024 for each table"),
        (advanced(scale=Fraction(1, 10**299)), "too many digits"),
    ],
)
def test_a_round_whose_noise_is_not_what_it_claims_is_refused_before_it_is_charged(noise: Noise, said: str) -> None:
    """What a curator that wants less noise would send."""
    consortium = consortium_of(2, domain=(2, 3, 2))
    settings = {"composition": "advanced"}
    plan = consortium.begin(consortium.spec(algorithm="copula", epsilon=ONE, delta=DELTA, settings=settings))
    round_ = Round(plan.spec.run, "test", "1", noise)
    reply = consortium.tell("party-2", Contribute(round_))
    assert isinstance(reply, Refusal)
    assert said in reply.message
    assert consortium.parties["party-2"].ledger.spent() == 0
    running = laplace_round(plan.spec.run, "test", "1", TABLES, ONE, Replacement(3, None, 0, ONE, True), (1, 1, 2))
    reply = consortium.tell("party-2", Contribute(running))
    assert isinstance(reply, Refusal)
    assert "reveals sums over all parties only" in reply.message
    assert consortium.parties["party-2"].ledger.spent() == 0
    whole = AdvancedBudget(ONE, DELTA).whole
    honest = Round(plan.spec.run, "test", "2", whole.noise(Tables(TABLES, (2, 2, 1))))
    assert consortium.tell("party-2", Contribute(honest)) == Done()
    assert consortium.parties["party-2"].ledger.spent_delta() == DELTA


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        (replace(FAIR, scale=FAIR.scale / 2), "the noise is too small for rho"),
        (replace(FAIR, rho=FAIR.rho / 2), "the noise is too small for rho"),
        (replace(FAIR, query=Tables(TABLES, (1, 1, 2))), "the noise is too small for rho"),
        (replace(FAIR, rho=2 * FAIR.rho), "more rho than the run's"),
        (replace(FAIR, scale=Fraction(10**17)), "too large"),
        (laplace(TABLES, ONE), "the run has a budget in rho"),
        (advanced(scale=Fraction(10**6)), "the run has a budget in rho"),
    ],
)
def test_a_round_in_rho_is_what_it_claims_or_is_refused_before_it_is_charged(noise: Noise, said: str) -> None:
    consortium = consortium_of(2, domain=(2, 3, 2))
    plan = consortium.begin(consortium.spec(algorithm="dp-subn", epsilon=ONE, delta=DELTA))
    round_ = Round(plan.spec.run, "test", "1", FAIR)
    engine = consortium.parties["party-2"].engine
    reply = decode_reply(engine.handle(Contribute(replace(round_, noise=noise))))[2]
    assert isinstance(reply, Refusal)
    assert said in reply.message
    assert charged(consortium.parties["party-2"].ledger) == []
    assert consortium.tell("party-2", Contribute(round_)) == Done()
    (entry,) = charged(consortium.parties["party-2"].ledger)
    assert entry.charge.loss == ZCDP(FAIR.rho, RELATION)
    assert entry.added == (ONE, DELTA)


@pytest.mark.process
@pytest.mark.parametrize("algorithm", ["dp-subn", "privbayes"])
def test_a_run_of_selections_and_tables_in_rho_is_charged_stated_and_reported(tmp_path, algorithm: str) -> None:
    """With an evaluation, which stays pure: (epsilon, delta) of the whole is that of its rho, and the scores'."""
    consortium = consortium_of(3, domain=(2, 3, 4, 2), rows=3_000)
    evaluation = Evaluation(Fraction(1, 4), ("A0",))
    folder = tmp_path / "release"
    consortium.drive(folder, algorithm=algorithm, epsilon=ONE, delta=DELTA, evaluation=evaluation)
    statement = json.loads((folder / "privacy.json").read_text())
    require(statement, "privacy", "privacy")
    rho_budget = RhoBudget(Fraction(3, 4), DELTA)
    for party in statement["parties"]:
        ledger = consortium.parties[party["name"]].ledger
        rho = sum((e.charge.loss.rho for e in charged(ledger) if isinstance(e.charge.loss, ZCDP)), Fraction(0))
        assert Fraction(party["rho_per_row"]) == rho <= rho_budget.rho
        assert (
            Fraction(party["epsilon_per_row"]) == ledger.spent() == Fraction(1, 4) + rho_budget.filter().spent(rho) <= 1
        )
        assert Fraction(party["delta_per_row"]) == ledger.spent_delta() == DELTA
        assert sum(map(Fraction, party["epsilon_per_row_by_phase"].values())) == ledger.spent()
    assert max(Fraction(party["rho_per_row"]) for party in statement["parties"]) > rho_budget.rho * Fraction(999, 1000)
    assert any("bounded range" in mechanism for mechanism in statement["mechanisms"])
    assert not any("report noisy max" in mechanism for mechanism in statement["mechanisms"])
    words = " ".join(statement["in_words"])
    assert "all of the run's rho costs exactly its epsilon and delta" in words
    assert "m^2 times the rho" in words
    assert "The epsilon of a phase is what it added to the total" in (folder / "report.html").read_text()
    marginals = json.loads((folder / "marginals.json").read_text())
    assert {table["law"] for table in marginals["tables"]} == {GAUSSIAN}


def test_nine_widths_of_noise_are_too_many() -> None:
    round_ = laplace_round("r", "test", "1", TABLES * 3, ONE, weights=tuple(range(1, 10)))
    with pytest.raises(PrivityError, match="more than 8 different weights"):
        round_.noise.check(1)


def test_tables_of_different_weights_may_stand_in_any_order() -> None:
    """Each cell has the noise of its own table."""
    releases = next(iter(consortium_of(2, domain=(2, 3), rows=1).parties.values())).releases
    tables = ((0,), (1,)) * 3000
    round_ = laplace_round("r", "test", "1", tables, Fraction(100), weights=(1, 4) * 3000)
    vector = releases.noisy_vector(round_, 1, Allowance())
    cells = np.split(vector, np.cumsum([2, 3] * 3000)[:-1])
    for place, weight in enumerate((1, 4)):
        spread = np.concatenate(cells[place::2]).std()
        assert spread == pytest.approx(round_.noise.law(weight).share_variance(1) ** 0.5, rel=0.1)


def test_a_party_refuses_at_enrolment_what_it_could_not_serve() -> None:
    consortium = consortium_of(2)
    for changes in ({"algorithm": "independent"}, {"algorithm": "copula", "settings": {"composition": "basic"}}):
        reply = consortium.tell("party-1", Enrol(consortium.spec(delta=DELTA, **changes)))
        assert isinstance(reply, Refusal)
        assert reply.code == "bad-option"


def test_a_model_of_one_party_is_learnt_for_pure_epsilon() -> None:
    consortium = consortium_of(2, domain=(2, 3, 2))
    plan = consortium.begin(consortium.spec(algorithm="independent", epsilon=ONE))
    asked = Learn(plan.spec.run, "test", "1-test", "copula", {"composition": "zcdp"}, PureDP(ONE, RELATION))
    assert isinstance(consortium.tell("party-1", asked), Refusal)
    assert not isinstance(consortium.tell("party-1", replace(asked, settings={})), Refusal)
    assert consortium.parties["party-1"].ledger.spent_delta() == 0


def test_a_delta_that_means_little_is_told() -> None:
    record = RunRecord()
    record.add_cost(Cost("p", "m", ApproxDP(ONE, Fraction(1, 1000), RELATION), ("a",)))
    for rows, told in ((999, False), (1000, True)):
        words = privacy_statement(
            run="r", parties={"a": rows}, tolerate=0, protection=None, record=record, schema=NOTHING_STATED
        )["in_words"]
        assert any("means little" in sentence for sentence in words) == told
        assert "m e^((m-1) epsilon) times the delta" in words[1]
        assert "plus a probability of 0.001:" in words[0]


def test_weights_share_a_pure_epsilon_among_the_tables() -> None:
    round_ = laplace_round("r", "test", "1", TABLES, ONE, weights=(3, 1, 1))
    scales = [round_.noise.law(weight).scale for weight in round_.query.weights]
    assert sum(2 / scale for scale in scales) == 1
    assert scales[1] == 3 * scales[0]
    assert round_.reach == scales[1]
