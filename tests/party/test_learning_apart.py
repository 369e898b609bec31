"""Models that parties learn alone: one charge each, no sums beside them, the same after a crash."""

import asyncio
import json
from fractions import Fraction

import pytest

from privity.common.errors import PrivityError
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.steps import Contribute, Learn, Learned, Refusal
from tests.harness.consortium import make_consortium
from tests.harness.steps import laplace_round, pure

DOMAIN = (2, 3, 4)


def begun(parties=2, **changes):
    consortium = make_consortium(parties, domain=DOMAIN, rows=300)
    spec = consortium.spec(algorithm="independent", **changes)
    return consortium, consortium.begin(spec)


def step(epsilon=Fraction(1), algorithm="privbayes", settings=None, name="1-learning"):
    return Learn("run-1", "learning", name, algorithm, settings or {}, PureDP(epsilon, RELATION))


def test_a_release_of_models_side_by_side(tmp_path):
    consortium = make_consortium(3, domain=DOMAIN, rows=300)
    settings = {"privbayes": {"theta": "1"}}
    consortium.drive(tmp_path / "release", algorithm="independent", settings=settings, epsilon=Fraction(2))
    model = json.loads((tmp_path / "release" / "model.json").read_text())
    assert [part["rows"] for part in model["parts"]] == [300, 300, 300]
    assert {party.ledger.spent() for party in consortium.parties.values()} == {Fraction(2)}
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    assert [p["epsilon_per_row"] for p in statement["parties"]] == ["2", "2", "2"]
    assert any("this party alone sampled" in line for line in statement["in_words"])
    assert not any("shares of the noise" in line for line in statement["in_words"])


def test_rows_are_shown_in_sums_or_alone_but_never_both():
    round_ = laplace_round("run-1", "sum", "1-sum", ((0, 1),), Fraction(1, 4))
    consortium, _ = begun()
    assert isinstance(consortium.tell("party-1", step(Fraction(1, 4))), Learned)
    refused = consortium.tell("party-1", Contribute(round_))
    assert isinstance(refused, Refusal)
    assert "independent takes no sums" in refused.message
    other = make_consortium(2, domain=DOMAIN, rows=300)
    other.begin(other.spec(algorithm="one-way"))
    assert not isinstance(other.tell("party-1", Contribute(round_)), Refusal)
    refused = other.tell("party-1", step(Fraction(1, 4)))
    assert isinstance(refused, Refusal)
    assert "one-way learns no model of one party's rows" in refused.message
    assert {p.ledger.spent() for n, p in other.parties.items() if n == "party-1"} == {Fraction(1, 4)}


def test_the_same_step_gives_the_same_model_for_one_charge():
    consortium, _ = begun()
    first, second = (consortium.tell("party-1", step()) for _ in range(2))
    assert first == second
    assert consortium.parties["party-1"].ledger.spent() == 1


def test_an_answer_that_was_lost_on_the_way_is_not_drawn_again():
    """The reply is gone from the journal, the releases are not: the model comes out the same."""
    consortium, _ = begun()
    first = consortium.tell("party-1", step())
    party = consortium.parties["party-1"]
    party.releases.journal.erase("run-1/reply/learn")
    assert consortium.tell("party-1", step()) == first
    assert party.ledger.spent() == 1


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (step(algorithm="independent"), "learn alone"),
        (step(algorithm="magic"), "learn alone"),
        (step(settings={"beta": "7"}), "beta"),
        (step(epsilon=Fraction(3, 2)), "asked for"),
    ],
)
def test_what_a_party_will_not_learn(bad, said):
    consortium, _ = begun()
    refused = consortium.tell("party-1", bad)
    assert isinstance(refused, Refusal)
    assert said in refused.message
    assert consortium.parties["party-1"].ledger.spent() == 0


def test_a_reply_that_is_no_model_ends_the_run():
    consortium, plan = begun()
    ask = consortium.ask

    async def lying(party, question, phase):
        return Learned({"kind": "magic"}) if isinstance(question, Learn) else await ask(party, question, phase)

    consortium.ask = lying
    with pytest.raises(PrivityError, match="model of party-1"):
        asyncio.run(consortium.session(plan).learn_apart("learning", "privbayes", {}, pure(1)))
