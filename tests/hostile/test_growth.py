"""What a curator can make a party keep within a run that its owner approved: on disk, in memory, in the ledger."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.data.contingency_tables import contingency_table
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.privacy.mechanisms import ExponentialMechanism, GaussianNoise, NoisyMax
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.privacy.run_budget import RhoBudget
from privity.common.privacy.structure_scores import SCORES
from privity.common.protocol.candidate_pairs import CandidateGroup, Candidates, ParentSets
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.round_attempt import MOST_ATTEMPTS
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, SumKind
from privity.common.protocol.steps import (
    Close,
    CombineBlock,
    Contribute,
    Done,
    Enrol,
    Enrolled,
    Learn,
    Learned,
    Refusal,
    Revealed,
    SealBlock,
    Sealed,
    Select,
    Selected,
    Step,
)
from privity.party import answers_from_rows, transcript
from privity.party.answers_from_rows import PairScores
from privity.party.sources.rows import InMemory
from tests.harness.consortium import make_consortium, make_schema, make_table, open_policy
from tests.harness.ledgers import charged
from tests.hostile.test_steps import refused, round_of

ME = "party-2"
PAIR = (AttributeParentPair(0, (1,)), AttributeParentPair(2, (1,)))
DELTA = Fraction(1, 10**9)
RHO_BUDGET = RhoBudget(Fraction(1), DELTA)


def price(number: int) -> Fraction:
    """About 1/20000: no two of them have a divisor of their denominators in common but for small ones."""
    denominator = 2**42 + 2 * number + 1
    return Fraction(denominator // 20_000, denominator)


def draw(number: int) -> Step:
    return Select("run-1", "test", f"d{number}", PAIR, NoisyMax(price(number)))


def draw_in_rho(number: int) -> Step:
    return Select("run-1", "test", f"d{number}", PAIR, ExponentialMechanism(10 * price(number)))


def contribution(number: int) -> Step:
    return Contribute(round_of(name=str(number), epsilon=price(number)))


def contribution_in_rho(number: int) -> Step:
    noise = GaussianNoise(Tables(((0, 1),)), Fraction(10**9), price(number) / 100)
    return Contribute(Round("run-1", "test", str(number), noise))


@pytest.mark.parametrize("step", [draw, draw_in_rho, contribution, contribution_in_rho])
def test_prices_whose_sum_would_have_too_many_digits_are_refused_before_they_are_charged(step) -> None:
    """420 of them once made the sum longer than Python makes a text of."""
    in_rho = step in (draw_in_rho, contribution_in_rho)
    allowed = open_policy(total_delta=2 * DELTA)
    consortium = make_consortium(policies={f"party-{k}": allowed for k in (1, 2, 3)})
    spec = consortium.spec(delta=DELTA if in_rho else Fraction(0))
    consortium.begin(spec)
    ledger = consortium.parties[ME].ledger
    for number in range(420):
        reply = consortium.tell(ME, step(number))
        if isinstance(reply, Refusal):
            break
        if isinstance(reply, Done):
            asked = step(number).round
            assert consortium.tell(ME, Revealed("run-1", asked.round, asked.digest)) == Done()
    refused(consortium, ME, step(number), "step-refused", "common denominator of more than 1024 bits")
    assert len(charged(ledger)) == number > 5
    assert len(str(ledger.spent())) + len(str(ledger.spent_delta())) < 1400
    # What was answered is answered again, and ordinary prices are charged, in this run and in the next.
    assert consortium.tell(ME, step(0)) == (Done() if isinstance(step(0), Contribute) else consortium.tell(ME, step(0)))
    kind = ExponentialMechanism if in_rho else NoisyMax
    ordinary = replace(draw(0), selection="ordinary", mechanism=kind(Fraction(1, 10)))
    assert isinstance(consortium.tell(ME, ordinary), Selected)
    consortium.begin(replace(spec, run="run-2"))
    assert isinstance(consortium.tell(ME, replace(ordinary, run="run-2")), Selected)


@pytest.mark.parametrize("kind", [MASKS, PAILLIER], ids=["masks", "Paillier"])
def test_a_round_has_so_many_attempts_and_no_more(kind: SumKind, tmp_path: Path) -> None:
    """200 of them once made 110 MB of a journal in a second."""
    consortium = make_consortium(folder=tmp_path)
    plan = consortium.begin(consortium.spec(secure_sum=kind))
    round_ = round_of()
    consortium.seal(round_, consortium.attempt(round_))
    seals = [SealBlock("run-1", consortium.attempt(round_, number), 0) for number in range(20)]
    answered = [step for step in seals if isinstance(consortium.tell(ME, step), Sealed)]
    assert [step.attempt.number for step in answered] == [1, 2] == [*range(1, MOST_ATTEMPTS + 1)]
    consortium.restart(ME)
    for step in seals[:1] + seals[3:]:
        said = f"attempts are 1 to 2, and this is {step.attempt.number}"
        refused(consortium, ME, step, "round-refused", said)
        combine = CombineBlock("run-1", replace(step.attempt, combiners=(ME,)), 0, 0, ())
        refused(consortium, ME, combine, "round-refused", said)
    # Under one number it is the same attempt for ever.
    last = seals[MOST_ATTEMPTS].attempt
    refused(consortium, ME, SealBlock("run-1", replace(last, combiners=("party-3",)), 0), "step-changed")
    assert consortium.reveal(plan, round_, last).size == 6


def test_a_run_has_so_many_answers_and_nothing_is_charged_beyond(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(transcript, "MOST_ANSWERS", 12)
    consortium = make_consortium(folder=tmp_path)
    consortium.begin()
    round_ = round_of()
    assert consortium.tell(ME, Contribute(round_)) == Done()
    draws = [replace(draw(0), selection=f"d{number}", mechanism=NoisyMax(Fraction(1, 1000))) for number in range(20)]
    replies = [consortium.tell(ME, step) for step in draws]
    answered = [reply for reply in replies if isinstance(reply, Selected)]
    assert len(answered) == 12 - len(["enrol", "begin", "contribute"])
    assert len(charged(consortium.parties[ME].ledger)) == 1 + len(answered)
    consortium.restart(ME)
    for step in (draws[-1], Contribute(round_of(name="2"))):
        refused(consortium, ME, step, "step-refused", "answered 12 steps of the run already")
    # What was charged is brought to its end, and what was answered is answered again.
    assert consortium.tell(ME, draws[0]) == replies[0]
    assert isinstance(consortium.tell(ME, SealBlock("run-1", consortium.attempt(round_), 0)), Sealed)
    assert consortium.tell(ME, Revealed("run-1", round_.round, round_.digest)) == Done()


def test_a_party_learns_one_model_in_a_run(tmp_path: Path) -> None:
    """All that it is made of is kept until the run ends."""
    consortium = make_consortium(folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="independent"))
    learn = Learn("run-1", "learning", "1", "one-way", {}, PureDP(Fraction(1, 1000), RELATION))
    learnt = consortium.tell(ME, learn)
    assert isinstance(learnt, Learned)
    consortium.restart(ME)
    for other in (replace(learn, name="2"), replace(learn, name="1/2", loss=PureDP(Fraction(1, 2), RELATION))):
        refused(consortium, ME, other, "step-refused", "the run is learned from once")
    assert consortium.tell(ME, learn) == learnt


def test_scores_are_kept_while_there_is_room_and_stay_the_same(monkeypatch) -> None:
    domain = (2, 3, 2, 4, 2)
    table = make_table(make_schema(domain), 40, seed=1)
    monkeypatch.setattr(answers_from_rows, "KEPT_SCORES", 60)
    scores, known = PairScores(InMemory(table)), []
    for parent in (1, 2, 3, 4, 1, 2):
        group = Candidates([CandidateGroup((0,), ParentSets([(parent,), (parent, parent % 4 + 1)]))])
        expected = [SCORES["R"].of([contingency_table(table, p.marginal).reshape(2, -1)])[0] for p in group]
        assert scores.of(group, "R").tolist() == expected
        known.append(len(scores._numbers))
    assert max(known) <= 6
    assert min(known[1:]) < max(known), "it began anew"


def test_a_party_takes_part_in_so_many_runs_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privity.party.run_expiry.MOST_RUNS", 3)
    consortium = make_consortium(3, folder=tmp_path)
    specs = [consortium.spec(run=f"run-{number}") for number in range(4)]
    for spec in specs[:3]:
        assert isinstance(consortium.tell(ME, Enrol(spec)), Enrolled)
    refused(consortium, ME, Enrol(specs[3]), "step-refused", "runs are open here already")
    assert isinstance(consortium.tell(ME, Enrol(specs[1])), Enrolled), "one that it takes part in is answered as before"
    assert consortium.tell(ME, Close("run-0", "STOPPED")) == Done()
    assert isinstance(consortium.tell(ME, Enrol(specs[3])), Enrolled)
