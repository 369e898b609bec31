"""Notices are said once, kept over restarts, sent together, tried again, and given up after days."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from privity.common.errors import Catalogue, PrivityError
from privity.common.notices import outbox as module
from privity.common.notices.channels import Channel, Notice, NotTakenError
from privity.common.notices.outbox import GIVEN_UP, KEPT, LONGEST_SUBJECT, MOST_AT_ONCE, SENT, WAITS, Outbox
from privity.common.storage.journal import Journal

NAMES = st.sampled_from(["a/waits", "a/ended", "b/ended", "certificate/party/north/1"])


class Receiver(Channel):
    """Takes notices, or does not."""

    def __init__(self, name: str = "webhook") -> None:
        self.name = self.to = name
        self.takes = True
        self.messages: list[list[str]] = []
        self.got = threading.Event()

    def send(self, node: str, notices: Sequence[Notice]) -> None:
        assert node == "north"
        if not self.takes:
            raise NotTakenError("no room")
        self.messages.append([notice.name for notice in notices])
        self.got.set()


class OutboxMachine(RuleBasedStateMachine):
    """Whatever is posted, sent, refused and restarted: each notice is taken once, in order, by each channel."""

    @initialize()
    def begin(self) -> None:
        self.journal = Journal()
        self.channels = [Receiver("webhook"), Receiver("mail")]
        self.posted: list[str] = []
        self.restart()

    @rule()
    def restart(self) -> None:
        self.outbox = Outbox(self.journal, "north", self.channels)

    @rule(name=NAMES)
    def post(self, name: str) -> None:
        self.outbox.post(name, name, f"text of {name}")
        if name not in self.posted:
            self.posted.append(name)

    @rule(place=st.integers(0, 1), takes=st.booleans())
    def send(self, place: int, takes: bool) -> None:
        channel = self.channels[place]
        channel.takes = takes
        before = [name for message in channel.messages for name in message]
        waited = [name for name in self.posted if name not in before]
        assert self.outbox.send_waiting(channel, datetime.now(UTC)) is (takes if waited else None)
        if takes and waited:
            assert set(channel.messages[-1]) <= set(waited)

    def teardown(self) -> None:
        for channel in getattr(self, "channels", []):
            taken = [name for message in channel.messages for name in message]
            assert len(taken) == len(set(taken))
            states = {d.notice.name: d.state for d in self.outbox.deliveries() if d.channel == channel.name}
            assert states == {name: SENT if name in taken else WAITS for name in self.posted}


TestOutbox = OutboxMachine.TestCase


def test_nothing_is_posted_where_nobody_is_told() -> None:
    journal = Journal()
    Outbox(journal, "north", ()).post("a", "a", "a")
    assert journal.keys("#") == []


def test_a_notice_is_tried_again_and_given_up_after_days() -> None:
    channel = Receiver()
    outbox = Outbox(Journal(), "north", [channel])
    outbox.post("a", "a", "a")
    channel.takes, now = False, datetime.now(UTC)
    for days in (0, 1, 2):
        assert outbox.send_waiting(channel, now + timedelta(days=days)) is False
    (waits,) = outbox.deliveries()
    assert (waits.state, waits.tries, waits.reason) == (WAITS, 3, "no room")
    assert outbox.send_waiting(channel, now + KEPT + timedelta(hours=1)) is False
    assert [each.state for each in outbox.deliveries()] == [GIVEN_UP]
    channel.takes = True
    outbox.post("a", "a", "a")
    assert outbox.send_waiting(channel, now) is None


def test_of_what_was_sent_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEPT", 3)
    outbox = Outbox(Journal(), "north", [channel := Receiver()])
    for name in "abcde":
        outbox.post(name, name, name)
        assert outbox.send_waiting(channel, datetime.now(UTC))
    assert [each.notice.name for each in outbox.deliveries()] == ["c", "d", "e"]


def test_a_flood_goes_into_few_messages() -> None:
    channel = Receiver()
    outbox = Outbox(Journal(), "north", [channel])
    for place in range(2 * MOST_AT_ONCE + 1):
        outbox.post(f"run-{place}/ended", "ended", "ended")
    while outbox.send_waiting(channel, datetime.now(UTC)):
        pass
    assert [len(message) for message in channel.messages] == [MOST_AT_ONCE, MOST_AT_ONCE, 1]


def test_what_is_never_taken_or_too_long_keeps_nothing_else_back() -> None:
    class Choosy(Receiver):
        def send(self, node: str, notices: Sequence[Notice]) -> None:
            self.takes = len(notices) <= 8 and all(notice.name != "never" for notice in notices)
            super().send(node, notices)

    channel = Choosy()
    outbox = Outbox(Journal(), "north", [channel])
    names = [f"run-{place}/ended" for place in range(20)]
    for name in ("never", *names):
        outbox.post(name, name, name)
    for _ in range(30):
        outbox.send_waiting(channel, datetime.now(UTC))
    assert sorted(name for message in channel.messages for name in message) == sorted(names)
    assert [each.notice.name for each in outbox.deliveries() if each.state == WAITS] == ["never"]


@pytest.mark.parametrize("failure", [PrivityError(Catalogue.NO_ROOM, file="journal"), sqlite3.OperationalError("busy")])
def test_a_journal_that_fails_leaves_it_untold_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def full(*_: object) -> None:
        raise failure

    journal = Journal()
    monkeypatch.setattr(journal, "record_together", full)
    Outbox(journal, "north", [Receiver()]).post("a", "a", "a")


def test_texts_of_others_end_no_line_and_no_header() -> None:
    outbox = Outbox(Journal(), "north", [Receiver()])
    forged = "FAILED\r\nBcc: x@example.org\u202e"
    outbox.post(f"a/{forged}", f"a is {forged}", f"a is {forged}{' ' * 9}now")
    (notice,) = [each.notice for each in outbox.deliveries()]
    shown = r"FAILED\r\nBcc: x@example.org\u202e"
    assert (notice.name, notice.subject) == (f"a/{shown}", f"a is {shown}")
    assert notice.text.startswith(f"a is {shown}   " + r"\u0020")
    outbox.post("b", "b" * 5000, "b")
    assert len(outbox.deliveries()[-1].notice.subject) == LONGEST_SUBJECT


def test_what_nobody_foresaw_in_one_message_does_not_end_the_sending(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(Receiver):
        def send(self, node: str, notices: Sequence[Notice]) -> None:
            if not self.messages:
                self.messages.append([])
                raise RuntimeError
            super().send(node, notices)

    monkeypatch.setattr(module, "WAIT_SECONDS", (0.01,))
    channel = Odd()
    outbox = Outbox(Journal(), "north", [channel])
    outbox.post("a", "a", "a")
    with outbox.sending():
        assert channel.got.wait(20)
    assert channel.messages == [[], ["a"]]


def test_each_channel_sends_by_itself_and_a_restart_sends_what_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS", (0.01,))
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.01)
    broken, well = Receiver("webhook"), Receiver("mail")
    broken.takes = False
    outbox = Outbox(Journal(tmp_path / "journal.sqlite"), "north", [broken, well])
    before = set(threading.enumerate())
    with outbox.sending():
        outbox.post("a", "a", "a")
        assert well.got.wait(20)
        well.got.clear()
        outbox.post("b", "b", "b")
        assert well.got.wait(20)
    for thread in set(threading.enumerate()) - before:
        thread.join(20)
    assert not broken.messages
    broken.takes = True
    again = Outbox(Journal(tmp_path / "journal.sqlite"), "north", [broken, well])
    with again.sending():
        assert broken.got.wait(20)
    assert [sorted(message) for message in broken.messages] == [["a", "b"]]
    assert well.messages == [["a"], ["b"]]
