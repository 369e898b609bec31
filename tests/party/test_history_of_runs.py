"""What a party's history says of runs that its node refused, that were stopped, or that ended before an approval."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest.mock import ANY

import pytest

from privity.common.errors import PrivityError
from privity.common.protocol.steps import Close, Contribute, Done, Enrol, Pending, Refusal, Stopped
from privity.common.text.awaited_words import OWNER
from privity.party.approvals import MOST_DENIED
from privity.party.policy import Approval
from tests.harness.consortium import make_consortium, open_policy
from tests.party.test_approvals import ASKS, NAME, WHOLE, desk, say_yes, waiting

LITTLE = {"epsilon_per_run": Fraction(10), "total_epsilon": Fraction(20)}


def test_a_run_that_the_policy_refuses_is_filed_with_all_reasons_and_waits_for_nobody(tmp_path: Path) -> None:
    consortium = make_consortium(
        3,
        policies={
            NAME: open_policy(
                approval=Approval.MANUAL, algorithms=("mst",), epsilon_per_run=Fraction(10), total_epsilon=Fraction(20)
            )
        },
        folder=tmp_path,
    )
    step = Enrol(consortium.spec(epsilon=Fraction(90)))
    reply = consortium.tell(NAME, step)
    assert isinstance(reply, Refusal)
    reasons = (
        "algorithm 'dp-subn' is not among those allowed",
        "epsilon 90 is above 10 a run",
        "party-1: asked 90, 20 left of 20 for population 'test people'",
    )
    assert reply.message == f"party-1 refuses the run: {'; '.join(reasons)}"
    (filed,) = desk(tmp_path).filed()
    assert (filed.state, filed.waits, filed.spec) == ("refused by policy", False, step.spec)
    assert filed.denied is not None
    assert (filed.denied.code, filed.denied.reasons) == ("refused-by-policy", reasons)
    assert desk(tmp_path).undecided() == []
    approvals = desk(tmp_path)
    with pytest.raises(PrivityError, match="was refused by policy: algorithm"):
        approvals.approve(filed.spec.run, filed.spec.digest)
    # It stays in the history when the curator says that it has failed, and when the node starts again.
    assert consortium.tell(NAME, Close("run-1", "FAILED")) == Done()
    consortium.restart(NAME)
    assert [one.denied for one in desk(tmp_path).filed()] == [filed.denied]


def test_a_run_that_is_refused_while_it_waits_or_goes_on_is_in_the_history_too(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    step = Enrol(consortium.spec())
    consortium.tell(NAME, step)
    consortium.policies[NAME] = replace(ASKS, minimum_parties=4)
    consortium.tell(NAME, step)
    assert desk(tmp_path).of("run-1").state == "refused by policy"
    consortium.policies[NAME] = ASKS
    assert isinstance(consortium.tell(NAME, step), Pending)
    assert desk(tmp_path).of("run-1").state == "waits for approval"
    say_yes(tmp_path)
    consortium.begin()
    consortium.policies[NAME] = replace(ASKS, minimum_parties=4)
    assert isinstance(consortium.tell(NAME, Contribute(WHOLE)), Refusal)
    assert desk(tmp_path).of("run-1").state == "refused by policy"
    consortium.policies[NAME] = ASKS
    assert consortium.tell(NAME, Contribute(WHOLE)) == Done()
    assert desk(tmp_path).of("run-1").state == "taken part in"
    consortium.policies[NAME] = replace(ASKS, minimum_parties=4)
    consortium.tell(NAME, Contribute(replace(WHOLE, round="2")))
    consortium.tell(NAME, Close("run-1", "FAILED"))
    ended = desk(tmp_path).of("run-1")
    assert (ended.closed, ended.state) == (True, "refused by policy")


def test_another_run_may_be_asked_for_under_the_name_of_one_that_was_refused(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    assert isinstance(consortium.tell(NAME, Enrol(consortium.spec(algorithm="magic"))), Refusal)
    fits = consortium.spec()
    assert isinstance(consortium.tell(NAME, Enrol(fits)), Pending)
    assert desk(tmp_path).of("run-1").spec == fits
    # And one that waits is not overwritten by one that is refused.
    refused = consortium.tell(NAME, Enrol(consortium.spec(algorithm="magic")))
    assert isinstance(refused, Refusal)
    assert (desk(tmp_path).of("run-1").spec, desk(tmp_path).of("run-1").state) == (fits, "waits for approval")


def test_an_approval_of_a_run_that_was_refused_and_has_ended_counts_for_no_later_one(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    step = Enrol(consortium.spec())
    consortium.tell(NAME, step)
    say_yes(tmp_path)
    consortium.policies[NAME] = replace(ASKS, minimum_parties=4)
    assert isinstance(consortium.tell(NAME, step), Refusal)
    consortium.tell(NAME, Stopped("run-1", "2026-01-02T03:04:05+00:00"))
    consortium.tell(NAME, Close("run-1", "FAILED"))
    consortium.policies[NAME] = ASKS
    assert consortium.tell(NAME, step) == Pending(OWNER, ANY)
    assert desk(tmp_path).of("run-1").waits, "nor does a stop"


def test_a_stop_of_a_run_that_is_unknown_or_closed_leaves_nothing(tmp_path: Path) -> None:
    consortium, since = make_consortium(3, folder=tmp_path), "2026-01-02T03:04:05+00:00"
    journal = consortium.parties[NAME].journal
    assert consortium.tell(NAME, Stopped("never-asked", since)) == Done()
    consortium.begin()
    consortium.tell(NAME, Stopped("run-1", since))
    assert (desk(tmp_path).of("run-1").state, journal.keys("#stopped/")) == ("stopped", ["#stopped/run-1"])
    consortium.tell(NAME, Close("run-1", "FAILED"))
    for late in (since, ""):
        assert consortium.tell(NAME, Stopped("run-1", late)) == Done()
        assert (desk(tmp_path).of("run-1").state, journal.keys("#stopped/")) == ("ended", [])


def test_nobody_approves_a_run_that_has_ended(tmp_path: Path) -> None:
    consortium = make_consortium(3, folder=tmp_path)
    consortium.begin()
    consortium.tell(NAME, Close("run-1", "FAILED"))
    with pytest.raises(PrivityError, match="run-1 has ended"):
        say_yes(tmp_path)
    assert not desk(tmp_path).of("run-1").approved


def test_a_run_that_ended_before_it_was_approved_and_is_asked_for_again_is_listed_once(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    step = Enrol(consortium.spec())
    consortium.tell(NAME, step)
    consortium.tell(NAME, Close("run-1", "FAILED"))
    assert [(filed.state, filed.waits) for filed in desk(tmp_path).filed()] == [("ended", False)]
    consortium.tell(NAME, step)
    assert [(filed.state, filed.waits) for filed in desk(tmp_path).filed()] == [("waits for approval", True)]


def test_no_curator_makes_a_party_keep_refusals_without_end(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    consortium.tell(NAME, Enrol(consortium.spec("waits")))
    for number in range(MOST_DENIED + 5):
        consortium.tell(NAME, Enrol(consortium.spec(f"run-{number}", algorithm="magic")))
    names = [filed.spec.run for filed in desk(tmp_path).filed()]
    assert names == ["waits", *(f"run-{number}" for number in range(5, MOST_DENIED + 5))]
    journal = consortium.parties[NAME].journal
    assert journal.count("#denied/") == MOST_DENIED
    assert journal.count("#") == 3 + 2 * MOST_DENIED
