"""This party's transcripts: an entry with every answer, a signed file when the run ends.

Entries lie in the journal, below the run's name, in the same transaction as the reply that they are about. They hold
digests of their own, so replies may be erased before the run ends. The file is written before the run is marked as
closed and its entries are erased: after a crash in between it is written again, with the same content.
"""

from __future__ import annotations

import errno
import hashlib
import logging
from pathlib import Path
from typing import Any

from privity.common.consortium.manifest import manifest_of_run
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import parse_json
from privity.common.protocol.run_spec import check_run_name
from privity.common.protocol.steps import Close, Done, Reply, Step, step_digest
from privity.common.protocol.transcript import Entry, Transcript, transcript_text
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.common.storage.journal import Journal
from privity.common.storage.safe_files import sync, write_private
from privity.common.wire.codec import encode_reply, encode_step
from privity.party.keys import Keys
from privity.party.ledger_rollback import KnownLedger

TRANSCRIPTS = "transcripts"
MOST_REFUSALS = 1_000
"""Different refusals in one run, after which it is over for this party."""

MOST_ANSWERS = 1 << 16
"""Answers in one run, after which nothing new is charged in it: they are kept until the run ends, and its charges for
ever. Runs of the largest rounds have some thousands."""

TOO_MANY = "TOO MANY REFUSALS"
LONGEST_END = 64

_log = logging.getLogger("privity.party")


class Transcripts:
    """The transcripts of one party.

    Args:
        journal: the node's own; several processes may have it open.
        folder: where files of runs that have ended are kept; None keeps none.
    """

    def __init__(self, party: str, journal: Journal, keys: Keys, folder: Path | None) -> None:
        self._party = party
        self._journal = journal
        self._keys = keys
        self._folder = folder
        self._refusals: dict[str, int] = {}

    def answered(self, step: Step, key: str, content: str, reply: Reply, ledger: KnownLedger) -> bytes:
        """Store a reply under its key, the entry of it, and how far the ledger is: all or nothing.

        Returns:
            the bytes that are stored.

        Raises:
            PrivityError: step-answered: other bytes were sent before, and the journal has lost them.
        """
        sent, place = encode_reply(step.run, step.key, reply), f"{step.run}/transcript/step/{step.key}"
        known = self._journal.recall(place, content)
        if known is not None and parse(known)["reply"] != hashlib.sha256(sent).hexdigest():
            raise PrivityError(Catalogue.STEP_ANSWERED, step=step.key, run=step.run)
        entry = Entry.answered(step, content, reply, sent)
        mark, replaced = ledger.renewal()
        self._journal.record_together(
            [(key, content, sent), (place, content, canonical_bytes(entry.to_dict())), *mark], instead_of=replaced
        )
        stored = self._journal.recall(key, content)
        assert stored is not None
        return stored

    def check_room(self, step: Step) -> None:
        """Refuse to go on with a run that has had more answers than any needs.

        Raises:
            PrivityError: step-refused.
        """
        if self._journal.count(f"{step.run}/transcript/step/") >= MOST_ANSWERS:
            reason = f"this party has answered {MOST_ANSWERS} steps of the run already"
            raise PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason=reason)

    def refused(self, step: Step, code: str) -> bool:
        """Note a refusal in a run that this party enrolled in; whether they have become too many."""
        run = step.run
        if self._journal.content(f"{run}/transcript/step/enrol") is None:
            return False
        if run not in self._refusals:
            self._refusals[run] = len(self._journal.keys(f"{run}/transcript/refusal/"))
        content = _content_of(step)
        place = f"{run}/transcript/refusal/{code}/{content}"
        if self._journal.content(place) is None:
            self._journal.record(place, "", canonical_bytes(Entry.refused(step, content, code).to_dict()))
            self._refusals[run] += 1
        return self._refusals[run] >= MOST_REFUSALS

    def closing(self, step: Close) -> None:
        """Note the curator's word that the run is over: the first one, if there are several."""
        if self._journal.content(f"{step.run}/transcript/step/enrol") is None:
            return
        content, done = step_digest(step), Done()
        entry = Entry.answered(step, content, done, encode_reply(step.run, step.key, done))
        self._journal.record_together(
            [
                (f"{step.run}/transcript/end", "", step.state[:LONGEST_END].encode()),
                (f"{step.run}/transcript/step/{step.key}", content, canonical_bytes(entry.to_dict())),
            ]
        )

    def ended(self, run: str, end: str) -> None:
        """Note that the run is over for this party, by its own decision."""
        if self._journal.content(f"{run}/transcript/end") is None:
            self._journal.record(f"{run}/transcript/end", "", end.encode())

    def over(self, run: str) -> bool:
        """Whether the run's end is noted, and the run not erased: a crash came in between."""
        return self._journal.content(f"{run}/transcript/end") is not None

    def write(self, run: str) -> None:
        """Write the file of a run that is about to be erased, if this party enrolled in it.

        Raises:
            PrivityError: no-room.
        """
        self._refusals.pop(run, None)
        if self._folder is None:
            return
        try:
            transcript = self.of(run)
        except PrivityError as error:
            # A run must end all the same.
            _log.error("a transcript cannot be signed", extra={"reason": error.code})
            return
        if transcript is None:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            text = transcript_text(transcript)
            if self.is_open(run) or self._file(run).read_text(encoding="utf-8") != text:
                write_private(self._file(run), text.encode())
            # The file's name, too, must be on disk before what it was made of is erased.
            sync(self._folder)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                # A run must end all the same.
                _log.error("a transcript cannot be written", extra={"error": type(error).__name__})
                return
            raise PrivityError(Catalogue.NO_ROOM, file=self._file(run)) from error

    def of(self, run: str) -> Transcript | None:
        """The transcript of a run that is not erased, as it is now.

        None if this party did not enrol in it.

        Raises:
            PrivityError: tampered: the keys of the run's manifest are not there.
        """
        found = [
            (key, content)
            for key in self._journal.keys(f"{run}/transcript/")
            if (content := self._journal.content(key)) is not None
        ]
        stored = self._journal.content(f"{run}/manifest")
        if not found or stored is None:
            return None
        manifest = manifest_of_run(stored)
        end = next((content.decode() for key, content in found if key == f"{run}/transcript/end"), None)
        entries = tuple(Entry.from_dict(parse(content)) for key, content in found if key != f"{run}/transcript/end")
        return Transcript(run, self._party, manifest.digest, end, entries).signed(self._keys.of(manifest))

    def is_open(self, run: str) -> bool:
        """Whether there is no file of the run."""
        return self._folder is None or not self._file(run).exists()

    def text(self, run: str) -> str | None:
        """The transcript's document: of the file if the run has ended, else as it is now; None if there is none."""
        try:
            check_run_name(run)
        except ValueError:
            return None
        transcript = self.of(run) if self.is_open(run) else None
        # Looked for again: a run that ended meanwhile had its file before it was erased.
        if not self.is_open(run):
            return self._file(run).read_text(encoding="utf-8")
        return None if transcript is None else transcript_text(transcript)

    def written(self) -> list[dict[str, Any]]:
        """What the files of runs that have ended state of themselves, by name of the run."""
        files = sorted(self._folder.glob("*.json")) if self._folder is not None else []
        return [parse_json(file.read_bytes(), str(file))["transcript"] for file in files]

    def _file(self, run: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{run}.json"


def _content_of(step: Step) -> str:
    try:
        return step_digest(step)
    except ValueError:
        # Numbers that canonical JSON has no form for.
        return hashlib.sha256(encode_step(step)).hexdigest()
