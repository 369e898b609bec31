"""A run's budget is reserved when it begins at a party, and the rest returned when it has ended there."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.data.noisy_tables import Marginal
from privity.common.privacy.ledger import Kind, Ledger
from privity.common.protocol.run_spec import Enrolment, RunPlan
from privity.common.protocol.steps import Begin, Close, Done, Enrol, Enrolled, Pending, Refusal, Step
from privity.common.storage.journal import Journal
from privity.party.approvals import closed_key
from privity.party.policy import Approval
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.steps import laplace_round
from tests.party.test_run_expiry import let_go

NAME = "party-1"
ONE = Fraction(1)


class KilledError(Exception):
    """Nothing after this point was done."""


def consortium_of(total: Fraction | int = 2, folder: Path | None = None) -> TestConsortium:
    policies = {f"party-{k}": open_policy(total_epsilon=Fraction(total)) for k in (1, 2)}
    return make_consortium(2, policies=policies, folder=folder)


def enrolled(consortium: TestConsortium, run: str, epsilon: Fraction = ONE) -> Begin:
    """The step that begins the run; the parties have enrolled."""
    spec = consortium.spec(run=run, algorithm="one-way", epsilon=epsilon)
    found = []
    for party in spec.members:
        reply = consortium.tell(party, Enrol(spec))
        assert isinstance(reply, Enrolled), reply
        found.append(Enrolment.from_dict(reply.enrolment))
    return Begin(RunPlan(spec, tuple(found), consortium.public.n))


def held(consortium: TestConsortium, name: str = NAME) -> dict[str, Fraction]:
    return {one.run: one.most[0] for one in consortium.parties[name].ledger.reserved()}


def kinds(consortium: TestConsortium, run: str, name: str = NAME) -> list[Kind]:
    entries = consortium.parties[name].ledger.entries()
    return [entry.kind for entry in entries if entry.charge.run == run]


def tell_and_be_killed(consortium: TestConsortium, step: Step) -> None:
    """The party dies at the write that a test has put in its way, and is started again."""
    engine = consortium.parties[NAME].engine
    with pytest.raises(KilledError):
        engine._handle(step)


def test_a_second_run_cannot_take_what_the_first_has_begun_with(tmp_path: Path) -> None:
    consortium = consortium_of()
    first, second = enrolled(consortium, "run-1", Fraction(3, 2)), enrolled(consortium, "run-2")
    assert consortium.tell(NAME, first) == Done()
    refused = consortium.tell(NAME, second)
    assert isinstance(refused, Refusal)
    assert refused.code == "budget-exhausted"
    assert "0.5 left of 2 (1.5 of it reserved by runs that have begun)" in refused.message
    assert held(consortium) == {"run-1": Fraction(3, 2)}
    assert consortium.parties[NAME].ledger.spent() == 0
    # A third is told before anybody begins, and the first goes to its end as if it were alone.
    third = consortium.tell(NAME, Enrol(consortium.spec(run="run-3", algorithm="one-way", epsilon=ONE)))
    assert isinstance(third, Refusal)
    assert third.code == "budget-exhausted"
    assert consortium.tell(NAME, Close("run-1", "DISCARDED")) == Done()
    assert held(consortium) == {}
    assert consortium.tell(NAME, second) == Done()


def test_runs_side_by_side_spend_all_of_a_total_together_and_nothing_stays_reserved(tmp_path: Path) -> None:
    consortium = consortium_of(total=2)
    for run in ("run-1", "run-2"):
        consortium.drive(tmp_path / run, run=run, algorithm="one-way", close=False)
        assert held(consortium)[run] == 0
    for run in ("run-1", "run-2"):
        assert consortium.tell(NAME, Close(run, "COMPLETED")) == Done()
        assert kinds(consortium, run)[0] is Kind.RESERVATION
        assert kinds(consortium, run)[-1] is Kind.RETURN
    assert held(consortium) == {}
    assert consortium.parties[NAME].ledger.spent() == 2


def test_a_run_that_ends_early_returns_what_was_not_charged_once(tmp_path: Path) -> None:
    consortium = consortium_of(total=2)
    consortium.begin(consortium.spec(run="run-1", algorithm="one-way", epsilon=ONE))
    assert held(consortium) == {"run-1": ONE}
    round_ = laplace_round("run-1", "pairs", "first", [Marginal((0, 1))], Fraction(1, 4))
    consortium.seal(round_, consortium.attempt(round_))
    spent = consortium.parties[NAME].ledger.spent()
    assert 0 < spent < 1
    assert held(consortium) == {"run-1": 1 - spent}
    for _ in range(2):
        assert consortium.tell(NAME, Close("run-1", "DISCARDED")) == Done()
    assert kinds(consortium, "run-1").count(Kind.RETURN) == 1
    assert consortium.parties[NAME].ledger.left()[0] == 2 - spent


def test_a_stopped_run_keeps_it_and_one_that_nobody_goes_on_with_returns_it(tmp_path: Path) -> None:
    consortium = consortium_of(folder=tmp_path)
    consortium.begin(consortium.spec(run="run-1", algorithm="one-way", epsilon=ONE))
    party = consortium.restart(NAME)
    assert held(consortium) == {"run-1": 1}
    party.journal._db.execute("UPDATE entries SET at = at - 10")
    let_go(party.engine, 1.0)
    assert held(consortium) == {}


def test_a_node_that_is_killed_between_reservation_and_plan_begins_again_at_no_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    consortium = consortium_of(folder=tmp_path)
    begin = enrolled(consortium, "run-1")
    record = Journal.record

    def killed(self, key, *rest):
        if key == "run-1/plan":
            raise KilledError
        return record(self, key, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "record", killed)
        tell_and_be_killed(consortium, begin)
    consortium.restart(NAME)
    assert held(consortium) == {"run-1": 1}
    assert consortium.tell(NAME, begin) == Done()
    assert kinds(consortium, "run-1") == [Kind.RESERVATION]


@pytest.mark.parametrize("again", ["the curator asks again", "the node is started"])
def test_a_node_that_is_killed_between_its_close_and_the_return_returns_it_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: str
) -> None:
    consortium = consortium_of(folder=tmp_path)
    consortium.begin(consortium.spec(run="run-1", algorithm="one-way", epsilon=ONE))

    def killed(*_: object) -> bool:
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "give_back", killed)
        tell_and_be_killed(consortium, Close("run-1", "DISCARDED"))
    journal = consortium.parties[NAME].journal
    assert journal.content(closed_key("run-1")) is not None
    assert held(consortium) == {"run-1": 1}
    if again == "the node is started":
        consortium.restart(NAME)
    else:
        assert consortium.tell(NAME, Close("run-1", "DISCARDED")) == Done()
    assert held(consortium) == {}
    assert kinds(consortium, "run-1") == [Kind.RESERVATION, Kind.RETURN]


def test_a_run_that_waits_for_its_owner_reserves_nothing() -> None:
    consortium = make_consortium(2, policies={NAME: open_policy(approval=Approval.MANUAL, total_epsilon=ONE)})
    waits = consortium.tell(NAME, Enrol(consortium.spec(run="run-1", algorithm="one-way", epsilon=ONE)))
    assert isinstance(waits, Pending)
    assert held(consortium) == {}
