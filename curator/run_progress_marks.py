"""Where a run stands, in marks that outlive what the journal keeps of the run itself.

No name of a run begins with the sign of the marks, so no run can write them. docs/data_model.md draws the states.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from privity.common.storage.journal import Journal
from privity.curator.refusals import Refused

QUEUED, RUNNING = "QUEUED", "RUNNING"
COMPLETED, FAILED, STOPPED, EXPIRED = "COMPLETED", "FAILED", "STOPPED", "EXPIRED"
FINAL = (COMPLETED, FAILED, STOPPED, EXPIRED)
"""States in which nothing goes on; a stopped run may be resumed."""


@dataclass(frozen=True)
class End:
    """Where a run stands that does not go on, why, and what to do.

    Attributes:
        refusals: of a run that parties refused: what each of them said.
    """

    state: str
    reason: str = ""
    remedy: str = ""
    code: str = ""
    refusals: tuple[Refused, ...] = ()

    @classmethod
    def read(cls, stored: bytes) -> End:
        document = json.loads(stored)
        return cls(**document | {"refusals": tuple(Refused(**one) for one in document.get("refusals", ()))})

    def bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()


BY_OPERATOR = End(STOPPED, "stopped by the operator", "It goes on with `privity run resume`.")
DISCARDED = End(STOPPED, "discarded by the operator", "It cannot be resumed: submit it anew.")


class Marks:
    """The marks of all runs of one curator."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def end(self, run: str) -> End | None:
        """Its end for good."""
        return self._read(f"#ended/{run}", "ended")

    def stop(self, run: str) -> End | None:
        """Why it was stopped, until it is resumed."""
        return self._read(f"#stopped/{run}", "stopped")

    def closed(self, run: str) -> bool:
        """Whether its parties were told of its end."""
        return self._journal.recall(f"#closed/{run}", "closed") is not None

    def note_end(self, run: str, end: End) -> tuple[End, bool]:
        """Put the end on disk: the first one stays, and is given back with whether it is new."""
        return self._note(f"#ended/{run}", "ended", end)

    def note_stop(self, run: str, end: End) -> tuple[End, bool]:
        """The same for a stop."""
        return self._note(f"#stopped/{run}", "stopped", end)

    def note_resumed(self, run: str) -> None:
        """It goes on, and its lease begins anew."""
        self._journal.drop([f"#resumed/{run}"])
        self._journal.record(f"#resumed/{run}", "resumed", b"")
        self._journal.drop([f"#stopped/{run}"])

    def note_closed(self, run: str) -> None:
        """Its parties were told of its end."""
        self._journal.record(f"#closed/{run}", "closed", b"")
        self._journal.drop([f"#resumed/{run}", f"#stopped/{run}"])

    def moved(self, run: str) -> float | None:
        """When something last happened to the run, in seconds since 1970."""
        times = [self._journal.last_write(f"{run}/"), *(self._journal.written(f"#{w}/{run}") for w in _OF_LEASE)]
        return max((at for at in times if at is not None), default=None)

    def _read(self, key: str, word: str) -> End | None:
        stored = self._journal.recall(key, word)
        return None if stored is None else End.read(stored)

    def _note(self, key: str, word: str, end: End) -> tuple[End, bool]:
        new = self._journal.content(key) is None
        return End.read(self._journal.record(key, word, end.bytes())), new


_OF_LEASE = ("stopped", "resumed")
