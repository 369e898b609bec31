"""Where a run stands, in marks that outlive what the journal keeps of the run itself.

No name of a run begins with the sign of the marks, so no run can write them. docs/data_model.md draws the states.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

from privity.common.storage.journal import Journal
from privity.common.text.utc_times import utc
from privity.curator.pending_steps import LastReply, Note
from privity.curator.refusals import Refused
from privity.curator.run_state_machine import DISCARDED, STOPPED


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
        return cls(**document | {"refusals": tuple(Refused(**one) for one in document["refusals"])})

    def bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()


BY_OPERATOR = End(STOPPED, "stopped by the operator", "It goes on with `privity run resume`.")
BY_DISCARD = End(DISCARDED, "discarded by the operator", "It cannot be resumed: submit it anew.")


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

    def since(self, run: str) -> str:
        """When it ended, or was stopped, in UTC; empty if it was not."""
        at = self._journal.written(f"#ended/{run}") or self._journal.written(f"#stopped/{run}")
        return "" if at is None else utc(at)

    def untold(self) -> list[tuple[str, str]]:
        """(run, party) of ends of which parties were not told yet."""
        return [(run, party) for _, run, party in (key.split("/", 2) for key in self._journal.keys("#untold/"))]

    def note_told(self, run: str, party: str) -> None:
        """The party knows of the end."""
        self._journal.drop([f"#untold/{run}/{party}"])

    def waits(self, run: str) -> dict[tuple[str, str], Note]:
        """What parties said that they wait for themselves, by (party, step)."""
        notes = {}
        for key in self._journal.keys(f"#waits/{run}/"):
            party, step = key.split("/", 3)[2:]
            notes[party, step] = Note(**json.loads(self._journal.content(key) or b"{}"))
        return notes

    def note_waits(self, run: str, party: str, step: str, note: Note) -> None:
        """Put on disk what a party said, in the place of what it said before."""
        key = f"#waits/{run}/{party}/{step}"
        self._journal.record_together([(key, "waits", json.dumps(asdict(note)).encode())], instead_of=[key])

    def unattested(self, run: str) -> str:
        """What is said of parties that did not attest the run's release, in one text; empty if none refused."""
        keys = sorted(self._journal.keys(f"#unattested/{run}/"))
        return "; ".join((self._journal.content(key) or b"").decode() for key in keys)

    def note_unattested(self, run: str, party: str, why: str) -> None:
        """Put on disk why a party does not attest the release, in the place of what was said of it before."""
        key = f"#unattested/{run}/{party}"
        self._journal.record_together([(key, "unattested", why.encode())], instead_of=[key])

    def note_attested(self, run: str, party: str) -> bool:
        """Forget that, as the party attests now; whether anything was noted."""
        key = f"#unattested/{run}/{party}"
        noted = self._journal.content(key) is not None
        if noted:
            self._journal.drop([key])
        return noted

    def heard(self) -> dict[str, float]:
        """When parties were last heard of, in seconds since 1970."""
        keys = self._journal.keys("#heard/")
        return {key.removeprefix("#heard/"): float(self._journal.content(key) or 0) for key in keys}

    def note_heard(self, at: Mapping[str, float]) -> None:
        """Put that on disk."""
        entries = [(f"#heard/{party}", "heard", str(moment).encode()) for party, moment in at.items()]
        self._journal.record_together(entries, instead_of=[key for key, _, _ in entries])

    def last_replies(self) -> dict[str, LastReply]:
        """What was taken from each party last, as it was kept with its answer."""
        found = {}
        for key in self._journal.keys(_LAST):
            if (stored := self._journal.content(key)) is not None:
                run, step, digest = json.loads(stored)
                found[key.removeprefix(_LAST)] = LastReply(run, step, bytes.fromhex(digest))
        return found

    def closed(self, run: str) -> bool:
        """Whether its parties were told of its end, as far as they could be reached, and it is erased."""
        return self._journal.recall(f"#closed/{run}", "closed") is not None

    def note_end(self, run: str, end: End) -> tuple[End, bool]:
        """Put the end on disk: the first one stays, and is given back with whether it is new."""
        return self._note(f"#ended/{run}", "ended", end)

    def note_stop(self, run: str, end: End) -> tuple[End, bool]:
        """The same for a stop."""
        return self._note(f"#stopped/{run}", "stopped", end)

    def resumed(self, run: str) -> bool:
        """Whether it was stopped and resumed."""
        return self._journal.content(f"#resumed/{run}") is not None

    def note_resumed(self, run: str) -> None:
        """It goes on, and its lease begins anew."""
        key = f"#resumed/{run}"
        self._journal.record_together([(key, "resumed", b"")], instead_of=[key, f"#stopped/{run}"])

    def note_closed(self, run: str, untold: Collection[str]) -> None:
        """Its parties were told of its end, but for some that are away."""
        if untold:
            self._journal.record_together([(f"#untold/{run}/{party}", "untold", b"") for party in untold])
        self._journal.record(f"#closed/{run}", "closed", b"")
        self._journal.drop([f"#resumed/{run}", f"#stopped/{run}", *self._journal.keys(f"#waits/{run}/")])

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


def last_reply_entry(party: str, last: LastReply) -> tuple[str, str, bytes]:
    """The entry of the journal for it, to be put in the place of the one before."""
    return f"{_LAST}{party}", "last", json.dumps([last.run, last.key, last.digest.hex()]).encode()


_OF_LEASE = ("stopped", "resumed")
_LAST = "#last/"
