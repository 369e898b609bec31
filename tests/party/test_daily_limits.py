"""What is approved without asking within a day, and that a run beyond it waits for a person and is not charged."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.protocol.steps import Close, Enrol, Enrolled, Pending
from privity.common.text.awaited_words import OWNER
from privity.party.daily_limits import DAY_SECONDS
from privity.party.policy import Approval
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.party.test_approvals import NAME, say_yes
from tests.party.test_run_expiry import age

TWO_RUNS: tuple[dict[str, object], ...] = ({"runs_per_day": 2}, {"epsilon_per_day": Fraction(5, 2)})


def limited(folder: Path, **limits: object) -> TestConsortium:
    policy = open_policy(approval=Approval.BY_POLICY, **limits)
    return make_consortium(3, policies={NAME: policy}, folder=folder)


def asked(consortium: TestConsortium, *runs: str, epsilon: Fraction = Fraction(1)) -> Iterator[object]:
    for run in runs:
        yield consortium.tell(NAME, Enrol(consortium.spec(run, epsilon=epsilon)))


@pytest.mark.parametrize("limits", TWO_RUNS, ids=["runs", "epsilon"])
def test_one_run_more_waits_for_a_person_or_for_the_next_day(tmp_path: Path, limits: dict[str, object]) -> None:
    consortium = limited(tmp_path, **limits)
    first, second, third = asked(consortium, "a", "b", "c")
    assert isinstance(first, Enrolled)
    assert isinstance(second, Enrolled)
    assert isinstance(third, Pending)
    assert third.reason == OWNER
    # Ended runs count, and so do those of a node that was started again.
    consortium.tell(NAME, Close("a", "FAILED"))
    consortium.restart(NAME)
    (third,) = asked(consortium, "c")
    assert isinstance(third, Pending)
    age(consortium.parties[NAME].journal, DAY_SECONDS)
    (third,) = asked(consortium, "c")
    assert isinstance(third, Enrolled)


def test_what_a_person_approved_does_not_count(tmp_path: Path) -> None:
    consortium = limited(tmp_path, runs_per_day=1)
    _, waits = asked(consortium, "a", "b")
    assert isinstance(waits, Pending)
    say_yes(tmp_path, "b")
    (approved,) = asked(consortium, "b")
    assert isinstance(approved, Enrolled)
    kept = consortium.parties[NAME].journal.keys("#unasked/")
    assert kept == ["#unasked/a"]


def test_the_same_run_asked_for_again_counts_once(tmp_path: Path) -> None:
    consortium = limited(tmp_path, runs_per_day=1)
    assert all(isinstance(answer, Enrolled) for answer in asked(consortium, "a", "a"))


def test_a_run_that_costs_more_than_a_day_may_waits_at_once(tmp_path: Path) -> None:
    consortium = limited(tmp_path, epsilon_per_day=Fraction(1, 2))
    (waits,) = asked(consortium, "a")
    assert isinstance(waits, Pending)
