"""What operators are told of a run: whom it waits for, that it was stopped, and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry

from privity.common.consortium.schema_file import SchemaFile
from privity.common.notices.channels import Channel, Notice
from privity.common.notices.outbox import Outbox
from privity.common.storage.journal import Journal
from privity.curator.metrics import CuratorMetrics
from privity.curator.operator_notices import MOST_REASONS, OperatorNotices
from privity.curator.pending_steps import Desk
from privity.curator.run_progress_marks import BY_OPERATOR, End
from privity.curator.run_queue import Runs
from privity.curator.run_state_machine import COMPLETED
from tests.curator.test_run_driver import request
from tests.curator.test_run_state_machine import MADE, manifests
from tests.harness.network import submit_signed

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


def test_an_end_that_a_kill_kept_from_being_told_is_told_at_the_start(tmp_path: Path) -> None:
    def started() -> Runs:
        metrics, schemas = CuratorMetrics(CollectorRegistry()), SchemaFile(tmp_path / "unused", MADE.schema)
        return Runs(tmp_path / "state", manifests(), schemas, Desk(1e6), metrics, channels=[Nowhere("mail")])

    async def scenario() -> None:
        killed = started()
        for name in ("told", "untold"):
            submit_signed(killed, MADE.operator, name, request(), name)
            killed._marks.note_end(name, End(COMPLETED))
        killed._marks.note_closed("told", ())
        await killed.close()
        assert [text.partition(".")[0] for text in told(started().outbox)] == ["untold is COMPLETED"]

    asyncio.run(scenario())
