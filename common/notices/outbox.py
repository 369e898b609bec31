"""Notices that are to be sent, kept in the node's journal until they are taken: sent at least once, and seldom twice.

Posting writes to the journal and returns. Sending is done in threads of its own, so that whoever takes a notice, or
does not, never holds up a run. docs/data_model.md lists the keys.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta

from privity.common.errors import PrivityError
from privity.common.notices.channels import Channel, Notice, NotTakenError
from privity.common.storage.journal import Journal
from privity.common.text.visible import cut, in_line

PAUSE_SECONDS = 60.0
"""Between two messages on one channel, at least: what is posted meanwhile goes into one."""

WAIT_SECONDS = (60.0, 300.0, 1800.0, 3600.0)
"""After the first try that failed, the second, ...; the last of them from then on."""

KEPT = timedelta(days=3)
"""A notice that is not taken for so long is given up."""

MOST_AT_ONCE = 50
"""Notices in one message."""

LONGEST_SUBJECT = 200

MOST_KEPT = 1000
"""Notices of one channel that wait, and as many that do not any more: who makes a node tell of much fills no disk."""

WAITS, SENT, GIVEN_UP = "waits", "sent", "given up"

_log = logging.getLogger("privity.notices")


@dataclass(frozen=True)
class Delivery:
    """How far a notice has come on one channel.

    Attributes:
        state: one of ``WAITS``, ``SENT``, ``GIVEN_UP``.
        tries: how many failed.
        reason: why the last of them did.
    """

    channel: str
    notice: Notice
    state: str = WAITS
    tries: int = 0
    reason: str = ""

    @classmethod
    def read(cls, stored: bytes) -> Delivery:
        document = json.loads(stored)
        return cls(**{**document, "notice": Notice(**document["notice"])})

    @property
    def entry(self) -> tuple[str, str, bytes]:
        """As the journal has it; a name of a run never begins with this sign."""
        folder = "unsent" if self.state == WAITS else "sent"
        return f"#{folder}/{self.channel}/{self.notice.name}", "notice", json.dumps(asdict(self)).encode()


class Outbox:
    """The notices of one node.

    Args:
        node: who sends them, as people call it.
        channels: if there are none, nothing is posted.
    """

    def __init__(self, journal: Journal, node: str, channels: Sequence[Channel]) -> None:
        self._journal = journal
        self._node = node
        self.channels = {channel.name: channel for channel in channels}
        self._news = {name: threading.Event() for name in self.channels}
        self._end = threading.Event()
        self._at_once = dict.fromkeys(self.channels, MOST_AT_ONCE)

    def post(self, name: str, subject: str, text: str) -> None:
        """Have something told, once under this name. A journal that fails leaves it untold, and does nothing else.

        Texts of others in it are shown so that nothing in them ends a line or a header.
        """
        at = datetime.now(UTC).isoformat(timespec="seconds")
        notice = Notice(in_line(name), cut(in_line(subject), LONGEST_SUBJECT), in_line(text), at)
        fresh = [Delivery(channel, notice) for channel in self.channels]
        new = list[Delivery]()
        try:
            new += [each for each in fresh if not self._known(each) and self._has_room(each.channel)]
            self._journal.record_together([each.entry for each in new])
        except (PrivityError, sqlite3.Error) as error:
            # Whatever is told of, such as the end of a run, goes on.
            _log.error("a notice cannot be kept", extra={"error": type(error).__name__})
        for each in new:
            self._news[each.channel].set()

    def _known(self, fresh: Delivery) -> bool:
        return any(self._journal.content(replace(fresh, state=state).entry[0]) is not None for state in (WAITS, SENT))

    def _has_room(self, channel: str) -> bool:
        if self._journal.count(f"#unsent/{channel}/") < MOST_KEPT:
            return True
        _log.error("too many notices wait: a new one was dropped")
        return False

    def told(self, prefix: str) -> int:
        """How many notices whose names begin so were posted."""
        count = self._journal.count
        each = (count(f"#unsent/{name}/{prefix}") + count(f"#sent/{name}/{prefix}") for name in self.channels)
        return max(each, default=0)

    def deliveries(self) -> list[Delivery]:
        """Every notice on every channel, the oldest first."""
        keys = [*self._journal.keys("#sent/"), *self._journal.keys("#unsent/")]
        found = [Delivery.read(stored) for stored in map(self._journal.content, keys) if stored is not None]
        return sorted(found, key=lambda each: each.notice.at)

    def send_waiting(self, channel: Channel, now: datetime) -> bool | None:
        """Send what waits as one message: whether it was taken; None if nothing waits.

        After a message that was not taken the next one is half as long, of what was tried the longest ago: one that is
        too long, or holds what is never taken, keeps no others back.
        """
        at_once = self._at_once[channel.name]
        keys = self._journal.keys(f"#unsent/{channel.name}/")[:at_once]
        waiting = [Delivery.read(stored) for stored in map(self._journal.content, keys) if stored is not None]
        if not waiting:
            return None
        try:
            channel.send(self._node, sorted((each.notice for each in waiting), key=lambda notice: notice.at))
        except NotTakenError as error:
            _log.warning("a notice was not delivered: `privity party notices` or `privity curator notices` says why")
            self._at_once[channel.name] = max(1, len(waiting) // 2)
            kept = (now - KEPT).isoformat(timespec="seconds")
            after = [
                replace(
                    each,
                    state=GIVEN_UP if each.notice.at < kept else WAITS,
                    tries=each.tries + 1,
                    reason=str(error),
                )
                for each in waiting
            ]
        else:
            self._at_once[channel.name] = min(MOST_AT_ONCE, 2 * at_once)
            after = [replace(each, state=SENT) for each in waiting]
        self._journal.record_together([each.entry for each in after], instead_of=keys)
        self._journal.drop(self._journal.keys(f"#sent/{channel.name}/")[:-MOST_KEPT])
        return all(each.state == SENT for each in after)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """While it lasts, what is posted is sent, each channel by itself; nobody waits for it at the end."""
        for channel in self.channels.values():
            threading.Thread(target=self._send_for_ever, args=(channel,), daemon=True).start()
        try:
            yield
        finally:
            self._end.set()
            for news in self._news.values():
                news.set()

    def _send_for_ever(self, channel: Channel) -> None:
        failures, news = 0, self._news[channel.name]
        while not self._end.is_set():
            news.clear()
            try:
                taken = self.send_waiting(channel, datetime.now(UTC))
            except Exception as error:
                # A full disk, a closed journal, or what nobody foresaw: what was sent may be sent again.
                _log.error("notices cannot be noted", extra={"error": type(error).__name__})
                taken = False
            if taken is None:
                news.wait()
            elif taken:
                failures = 0
                self._end.wait(PAUSE_SECONDS)
            else:
                self._end.wait(WAIT_SECONDS[min(failures, len(WAIT_SECONDS) - 1)])
                failures += 1
