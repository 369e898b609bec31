"""What the operator is told of a run that waits."""

from __future__ import annotations

import pytest

from privity.common.consortium.schema_file import END_AWAITED, SCHEMA_AWAITED
from privity.common.wire.v1.privity_pb2 import Awaited, RunStatus
from privity.deploy.operator.run_status import explained

OWNER = "the approval of its owner"


@pytest.mark.parametrize(
    ("seconds", "silent", "note", "since", "said"),
    [
        (0, 0, "", "for less than 10 s", "It was asked just now: wait."),
        (30, 0, "", "for 30 s or more", "It is at work: wait."),
        (0, 40, "", "for less than 10 s", "It was not heard of for 40 s or more: see whether its node runs"),
        (20, 10, "", "for 20 s or more", "It was not heard of for 10 s or more"),
        (20, 0, OWNER, "for 20 s or more", "At north: privity party show autumn, then approve or refuse it."),
        (20, 20, OWNER, "for 20 s or more", "It was not heard of for 20 s or more"),
        (20, 0, SCHEMA_AWAITED, "for 20 s or more", "At north: privity party accept --schema FILE"),
        (20, 0, END_AWAITED, "for 20 s or more", "resume a run that was stopped there, or discard it"),
    ],
)
def test_who_is_waited_for_and_what_to_do(seconds: int, silent: int, note: str, since: str, said: str) -> None:
    awaited = Awaited(party="north", step="enrol", phase="enrolment", seconds=seconds, silent_seconds=silent, note=note)
    status = RunStatus(run="autumn", state="RUNNING", phase="enrolment", awaited=[awaited])
    first, who, what = explained(status)
    assert first == "autumn is RUNNING in enrolment."
    assert "north" in who
    assert since in who
    assert said in what
