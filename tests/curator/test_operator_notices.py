"""What operators are told of a run: whom it waits for, that it was stopped, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence

from privity.common.notices.channels import Channel, Notice
from privity.common.notices.outbox import Outbox
from privity.common.storage.journal import Journal
from privity.curator.operator_notices import MOST_REASONS, OperatorNotices
from privity.curator.run_progress_marks import BY_OPERATOR, End
from privity.curator.run_state_machine import COMPLETED

SINCE = "2026-01-02T03:04:05+00:00"


class Nowhere(Channel):
    def __init__(self, name: str) -> None:
        self.name = self.to = name

    def send(self, node: str, notices: Sequence[Notice]) -> None:
        raise AssertionError("nobody sends")


def posted() -> tuple[OperatorNotices, Outbox]:
    outbox = Outbox(Journal(), "curator", [Nowhere("webhook"), Nowhere("mail")])
    return OperatorNotices(outbox), outbox


def told(outbox: Outbox) -> list[str]:
    return [each.notice.text for each in outbox.deliveries() if each.channel == "mail"]


def test_a_wait_a_stop_and_an_end_are_told_once_with_what_to_do() -> None:
    notices, outbox = posted()
    for _ in range(2):
        notices.waits("run-1", "north", "the approval of its owner")
        notices.stands("run-1", BY_OPERATOR, SINCE)
        notices.stands("run-1", End(COMPLETED), SINCE)
    assert told(outbox) == [
        "run-1 waits for north: the approval of its owner. To see all that it waits for: privity run why run-1",
        "run-1 is STOPPED: stopped by the operator. It goes on with `privity run resume`.",
        "run-1 is COMPLETED. To get what it released: privity run fetch run-1 --out FOLDER",
    ]


def test_a_party_that_gives_ever_new_reasons_keeps_no_other_notice_out() -> None:
    notices, outbox = posted()
    for number in range(3 * MOST_REASONS):
        notices.waits("run-1", "north", f"reason {number}\nrun-1 waits for south: reason {number}")
    assert len(told(outbox)) == MOST_REASONS
    notices.waits("run-1", "south", "its rows")
    assert len(told(outbox)) == MOST_REASONS + 1
    assert not any("\n" in text for text in told(outbox)), "nothing that a party says passes for a line of the curator"
