"""Compare transcripts of one run: what the curator told one party and not, or otherwise, another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from privity.common.protocol.steps import Close, step_digest
from privity.common.protocol.transcript import Entry, Transcript

COMPLETED = "COMPLETED"
CLOSE = "close"
MEANING = {
    "enrol": "They were asked to take part in different runs under one name.",
    "begin": "They were given different plans: other enrolments, or another key. Sums over them cannot be decrypted.",
    "contribute": "They were asked different questions in one round.",
    "revealed": "They were told that different rounds were revealed.",
    "learn": "They were asked for models of different kinds, or at different costs.",
    "seal": "They were given different attempts at one block: other combiners, or another round.",
    "close": "They were told different ends of the run.",
}
"""Steps that every party gets alike, by the first part of their names, and what a difference means."""

FOR_ALL = ("enrol", "begin", "contribute", "revealed", "learn", "close")
"""Of these, those that a completed run asked of everybody."""


OF_TWO = "One of them is not the truth, or two nodes took part under its certificate: compare their ledgers."


@dataclass(frozen=True)
class Difference:
    """Something that does not fit.

    Attributes:
        parties: whose transcripts show it.
        step: its name; "" for the run as a whole.
        what, meaning: in words.
    """

    parties: tuple[str, ...]
    step: str
    what: str
    meaning: str

    def __str__(self) -> str:
        place = [" and ".join(self.parties), *([self.step] if self.step else [])]
        return f"{', '.join(place)}: {self.what}. {self.meaning}"


class Told:
    """One party's transcript by the names of its steps."""

    def __init__(self, transcript: Transcript) -> None:
        self.party, self.transcript = transcript.party, transcript
        self.entries: dict[str, list[Entry]] = {}
        self._sent: dict[str, set[str]] = {}
        for entry in transcript.entries:
            self.entries.setdefault(entry.step, []).append(entry)
            if entry.blob is not None:
                self._sent.setdefault(_block_of(entry.step), set()).add(entry.blob)

    @property
    def ended(self) -> bool:
        """Whether nothing can follow."""
        return self.transcript.end is not None

    @property
    def told_completed(self) -> bool:
        """Whether the curator said so: a party can end a run by itself, and a curator can use that word for its own."""
        return step_digest(Close(self.transcript.run, COMPLETED)) in self.contents(CLOSE)

    def contents(self, step: str) -> set[str]:
        return {entry.content for entry in self.entries.get(step, ())}

    def answered(self, step: str) -> bool:
        return any(entry.reply is not None for entry in self.entries.get(step, ()))

    def sent(self, block: str) -> set[str]:
        """The blobs that the party sent of a block of an attempt, as a member or as a combiner below the root."""
        return self._sent.get(block, set())


def _block_of(step: str) -> str:
    """Round, attempt and block in the name of a step, without the node of a combiner."""
    kind, _, place = step.partition("/")
    return place.rpartition("/")[0] if kind == "combine" else place


def _round_of(step: str) -> str:
    return _block_of(step).rpartition("/")[0].rpartition("/")[0]


def _kind(step: str) -> str:
    return step.partition("/")[0]


def compare(transcripts: Sequence[Transcript]) -> list[Difference]:
    """All differences between transcripts of one run; several of one party must be one another's beginnings."""
    longest: dict[str, Transcript] = {}
    found: list[Difference] = []
    for transcript in transcripts:
        other = longest.get(transcript.party, transcript)
        shorter, longer = sorted((other, transcript), key=lambda t: (len(t.entries), t.end is not None))
        longest[transcript.party] = longer
        if not _begins(shorter, longer):
            what, meaning = "it signed two transcripts that contradict each other", OF_TWO
            found.append(Difference((transcript.party,), "", what, meaning))
    told = [Told(transcript) for transcript in longest.values()]
    for one in told:
        found += _within(one)
        found += _relayed(one, one)
    completed = any(one.told_completed for one in told)
    combined = {_round_of(step) for one in told for step in one.entries if _combines(step) and one.answered(step)}
    for a, b in combinations(told, 2):
        found += _between(a, b)
        for asked, left_out in ((a, b), (b, a)):
            found += _left_out(asked, left_out, completed, combined)
            found += _relayed(asked, left_out)
    return found


def _begins(shorter: Transcript, longer: Transcript) -> bool:
    same = (shorter.manifest_digest, shorter.run) == (longer.manifest_digest, longer.run)
    ends = shorter.end is None or (shorter.end, len(shorter.entries)) == (longer.end, len(longer.entries))
    return same and ends and longer.links[: len(shorter.links)] == shorter.links


def _combines(step: str) -> bool:
    return _kind(step) == "combine"


def _within(told: Told) -> Iterator[Difference]:
    for step, entries in told.entries.items():
        if len({entry.content for entry in entries}) > 1:
            what = f"it was told {len({entry.content for entry in entries})} contents under one name"
            yield Difference((told.party,), step, what, "The curator changed a step after it had asked for it.")


def _between(a: Told, b: Told) -> Iterator[Difference]:
    parties = (a.party, b.party)
    if a.transcript.manifest_digest != b.transcript.manifest_digest:
        meaning = "They went by different lists of members and keys."
        yield Difference(parties, "", "they took part under different manifests", meaning)
    for step in a.entries.keys() & b.entries.keys():
        if _kind(step) == "select":
            yield Difference(parties, step, "both were asked for it", "A selection is asked of one party only.")
        elif _kind(step) in MEANING and a.contents(step) != b.contents(step):
            yield Difference(parties, step, "the content differs", MEANING[_kind(step)])


def _left_out(asked: Told, other: Told, completed: bool, combined: set[str]) -> Iterator[Difference]:
    """What one party answered and the other, which has ended, was never asked for, or never told.

    Args:
        completed: whether any party was told that the run completed: then all have a part in everything.
        combined: rounds of which blocks were summed.
    """
    for step in asked.entries:
        kind, _, name = step.partition("/")
        if kind not in FOR_ALL or step in other.entries or not other.ended or not asked.answered(step):
            continue
        if completed and kind == CLOSE:
            what = f"{asked.party} was told the end of the run, {other.party} never"
            meaning = "The curator kept from it that the run completed, or could not reach it then."
            yield Difference((asked.party, other.party), step, what, meaning)
        elif completed or (kind == "contribute" and name in combined):
            what = f"{asked.party} was asked for it, {other.party} never"
            yield Difference((asked.party, other.party), step, what, "Every party of the run has a part in it.")


def _relayed(combiner: Told, sender: Told) -> Iterator[Difference]:
    """Blobs that the combiner was given in the other's name."""
    for step, entries in combiner.entries.items():
        given = {blob for entry in entries for name, blob in entry.blobs if name == sender.party}
        sent = sender.sent(_block_of(step))
        # What an unfinished transcript lacks may have been sent later; the first node's blobs are the members' own.
        certain = sender.ended or (bool(sent) and step.endswith("/0"))
        if _combines(step) and given and certain and not given <= sent:
            what = f"{combiner.party} was given a blob in the name of {sender.party} that this party did not send"
            meaning = "The curator did not relay what was sent, or the sender's transcript leaves it out."
            yield Difference(tuple(dict.fromkeys((combiner.party, sender.party))), step, what, meaning)
