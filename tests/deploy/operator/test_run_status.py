"""What the operator is told of a run that waits."""

from __future__ import annotations

import pytest

from privity.common.consortium.schema_file import END_AWAITED, SCHEMA_AWAITED
from privity.common.text.awaited_words import OWNER
from privity.common.wire.v1.privity_pb2 import Awaited, PartyStatus, RunStatus
from privity.deploy.operator.run_status import at_a_glance, explained, two_nodes

ASKED, HEARD = "2026-11-25T09:00:00+00:00", "2026-11-25T09:10:00+00:00"


@pytest.mark.parametrize(
    ("seconds", "silent", "note", "awaits", "said"),
    [
        (0, "", "", "its answer to enrol", "It was asked just now: wait."),
        (30, "", "", "its answer to enrol", "It is at work: wait."),
        (0, HEARD, "", "its answer to enrol", "See whether its node runs; at north: privity doctor"),
        (20, "", OWNER, OWNER, "At north: privity party show autumn, or its console; then approve or reject it."),
        (20, HEARD, OWNER, OWNER, "See whether its node runs"),
        (20, "", "room on its disk", "room on its disk", "Have north see to it: the run goes on by itself then."),
        (20, "", SCHEMA_AWAITED, SCHEMA_AWAITED, "At north: privity party accept --schema FILE"),
        (20, "", END_AWAITED, END_AWAITED, "resume a run that was stopped there, or discard it"),
    ],
)
def test_who_is_awaited_and_what_to_do(seconds: int, silent: str, note: str, awaits: str, said: str) -> None:
    awaited = Awaited(
        party="north", step="enrol", phase="enrolment", seconds=seconds, note=note, since=ASKED, silent_since=silent
    )
    status = RunStatus(run="autumn", state="RUNNING", since=ASKED, phase="enrolment", awaited=[awaited])
    first, who, what = explained(status)
    assert first == f"autumn is RUNNING in enrolment, since {ASKED}."
    dead = f"; nothing was heard of north since {HEARD}" if silent else ""
    assert who == f"It awaits north: {awaits}, since {ASKED}{dead}."
    assert said in what
    assert at_a_glance(status) == ("enrolment" if not note and not silent else who[3:-1])
    if dead:
        assert "at work" not in who + what


def test_how_many_answers_are_in() -> None:
    status = RunStatus(run="autumn", state="RUNNING", phase="tree", done=2, parties=3, awaited=[Awaited(party="north")])
    assert "2 of the 3 answers that tree needs are in." in list(explained(status))
    assert not [line for line in explained(RunStatus(run="autumn", state="RUNNING")) if "answers" in line]


def test_a_run_that_could_go_on_says_what_it_waits_for() -> None:
    *_, last = explained(RunStatus(run="autumn", state="WAITING"))
    assert last == "It goes on when one of the runs at work makes place: privity run list"


def test_the_operator_is_told_under_whose_certificate_two_nodes_serve() -> None:
    (line,) = two_nodes([PartyStatus(party="north", other=HEARD), PartyStatus(party="south")])
    assert line.startswith(f"Two nodes serve under the certificate of north: the older one was last refused at {HEARD}")
    assert "privity doctor" in line
