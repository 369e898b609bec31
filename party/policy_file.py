"""policy.toml as a node at work obeys it: a change counts from the next look on, without a restart.

A file that cannot be obeyed refuses every run until it is mended, as one that is absent does.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.common.storage.journal import Journal
from privity.party.policy import Policy, refuse

SETTLE_SECONDS = 0.1
"""A file that has changed must stay as it is for so long: half a file may be a policy, too, and a looser one."""
TRIES = 20
OBEYED = "#policy"

_log = logging.getLogger("privity.party")


@dataclass(frozen=True)
class Obeyed:
    """What a node goes by.

    Attributes:
        sha256: of policy.toml, as it was read last; empty if it was not there.
        fault: why every run is refused; empty if the policy is obeyed.
        since: when that began, in UTC.
    """

    sha256: str
    fault: str
    since: str = ""


def note_policy(journal: Journal, obeyed: Obeyed) -> None:
    """Keep what the node goes by from now on, in the place of what it went by before."""
    before = policy_obeyed(journal)
    if before is None or (before.sha256, before.fault) != (obeyed.sha256, obeyed.fault):
        now = replace(obeyed, since=datetime.now(UTC).isoformat(timespec="seconds"))
        journal.record_together([(OBEYED, now.sha256, canonical_bytes(asdict(now)))], instead_of=[OBEYED])


def policy_obeyed(journal: Journal) -> Obeyed | None:
    """What the node of this journal went by when it looked last; None if none has looked yet."""
    stored = journal.content(OBEYED)
    return None if stored is None else Obeyed(**parse(stored))


def sha256(content: bytes | None) -> str:
    """Of the content of policy.toml; empty if there is none."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


class PolicyFile:
    """The policy of a node, read again whenever the content of its file is another one.

    Args:
        party: whose it is.
        read: reads the policy from that file.

    Raises:
        PrivityError, ProblemsFound: it cannot be obeyed at the start.
    """

    def __init__(self, path: Path, party: str, read: Callable[[], Policy]) -> None:
        self._path, self._party, self._read = path, party, read
        self._lock = threading.Lock()
        self._content = self._bytes()
        self._policy: Policy | None = read()
        self._error: PrivityError | None = None
        self._people = self._policy.population

    def current(self) -> Policy:
        """The policy of now.

        Raises:
            PrivityError: refused-by-policy: there is none that can be obeyed.
        """
        with self._lock:
            if self._policy is None or self._bytes() != self._content:
                self._look()
            if self._policy is None:
                # What is amiss with it is the owner's business: the log and the doctor say it.
                refuse(self._party, ["its policy cannot be obeyed, and until that is mended it refuses every run"])
            assert self._policy is not None
            return self._policy

    def obeyed(self) -> Obeyed:
        """What the node goes by now."""
        with suppress(PrivityError):
            self.current()
        with self._lock:
            return Obeyed(sha256(self._content), "" if self._error is None else self._error.message)

    def _bytes(self) -> bytes | None:
        try:
            return self._path.read_bytes()
        except OSError:
            return None

    def _look(self) -> None:
        """Read the file, once nobody writes to it any more."""
        before, was = self._content, self._error
        for _ in range(TRIES):
            content = self._bytes()
            if content != self._content:
                self._content = content
                time.sleep(SETTLE_SECONDS)
            try:
                self._policy, self._error = self._of_these_people(self._read()), None
            except PrivityError as error:
                self._policy, self._error = None, error
            except Exception as error:
                # What nobody foresaw must not leave the policy of before.
                reason = f"an internal error ({type(error).__name__})"
                self._policy = None
                self._error = PrivityError(Catalogue.FILE_UNREADABLE, file=self._path, reason=reason)
            if self._bytes() == content:
                break
        else:
            reason = "it does not cease to change"
            self._policy = None
            self._error = PrivityError(Catalogue.FILE_UNREADABLE, file=self._path, reason=reason)
        if self._error is None:
            _log.info("the changed policy applies from now on")
        elif was is None or (self._content, self._error.message) != (before, was.message):
            _say(self._error)

    def _of_these_people(self, policy: Policy) -> Policy:
        """The policy over the people whose rows the node has read, as it has read them.

        Raises:
            PrivityError: bad-option: it is about others.
        """
        people, before = policy.population, self._people
        if people.name != before.name:
            reason = f"the node was started over {before.name!r}, and the policy names {people.name!r}"
            hint = "Start the node again: privity party serve."
            raise PrivityError(Catalogue.BAD_OPTION, option="population", reason=reason, hint=hint)
        return replace(policy, population=replace(people, rows_per_person=before.rows_per_person))


def _say(error: PrivityError) -> None:
    _log.error(
        "the policy cannot be obeyed: every run is refused until it is mended",
        extra={"reason": error.code, "detail": error.message},
    )
