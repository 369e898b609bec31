"""Nodes that are broken on purpose: each must fail the checks, else the checks see nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from privity.common.privacy.ledger import Allowance, Charge, Ledger
from privity.common.protocol.steps import Reply, SealBlock, Step
from privity.common.storage.journal import Journal
from privity.common.wire.codec import encode_reply
from privity.curator.run_driver import RunDriver
from privity.curator.signed_releases import SignedReleases
from privity.party.charged_releases import ChargedReleases
from privity.party.ledger_rollback import KnownLedger
from privity.party.step_answers import PartyEngine
from privity.party.transcript import Transcripts

CURATOR = "curator"


def _sound(_who: str, _life: int) -> None:
    """Production code as it is."""


def _party_forgets(who: str, _life: int) -> None:
    """Vectors, answers and replies are in memory only, the ledger takes any answer, and knows of none.

    Nor does it look at what the curator has of it, by which a node that was set back is found.
    """
    charge = Ledger.charge

    def unanswered(self: Ledger, asked: Charge, allowance: Allowance, party: str) -> bool:
        charge(self, asked, allowance, party)
        return False

    def settled(self: Ledger, charge: Charge, answer: str) -> None:
        self._db.execute("UPDATE lines SET answer = ? WHERE run = ? AND step = ?", (answer, charge.run, charge.step))

    if who != CURATOR:
        _keep_in_memory(
            lambda key: any(word in key for word in ("/vector/", "/selection/", "/reply/", "/transcript/step/"))
        )
        Ledger.settle, Ledger.charge = settled, unanswered
        PartyEngine.check_answered = PartyEngine.check_statements = lambda *_told: None


def _party_seals_anew(who: str, _life: int) -> None:
    """A sealed block is made again, under fresh randomness, whenever it is asked for."""
    answered = Transcripts.answered

    def answers(self: Transcripts, step: Step, key: str, content: str, reply: Reply, ledger: KnownLedger) -> bytes:
        if isinstance(step, SealBlock):
            return encode_reply(step.run, step.key, reply)
        return answered(self, step, key, content, reply, ledger)

    if who != CURATOR:
        Transcripts.answered = answers


def _curator_forgets(who: str, _life: int) -> None:
    """Nothing of a run is on disk at the curator but that there is one."""
    if who == CURATOR:
        _keep_in_memory(lambda key: not key.startswith("#"))


def _charged_at_the_end(who: str, _life: int) -> None:
    """A charge comes after the answer that it pays for."""

    def late(
        self: ChargedReleases,
        label: str,
        content: str,
        charge: Charge,
        allowance: Allowance,
        answer: Callable[[], bytes],
    ) -> bytes:
        stored = self.journal.recall(label, content)
        if stored is None:
            stored = self.journal.record(label, content, answer())
            self.ledger.charge(charge, allowance, self.party)
            self.ledger.settle(charge, hashlib.sha256(stored).hexdigest())
        return stored

    if who != CURATOR:
        ChargedReleases._answer_once = late


def _charged_again(who: str, life: int) -> None:
    """A party that was started again charges under another name what it charged before, and nothing limits it."""
    charge = Ledger.charge

    def again(self: Ledger, asked: Charge, allowance: Allowance, party: str) -> None:
        unlimited = Allowance(budget=allowance.budget)
        charge(self, asked, unlimited, party)
        if life:
            charge(self, replace(asked, step=f"{asked.step} of life {life}"), unlimited, party)

    if who != CURATOR:
        Ledger.charge = again


def _party_keeps_reservations(who: str, life: int) -> None:
    """A party that was started again returns nothing that a run reserved."""
    if who != CURATOR and life:
        Ledger.give_back = lambda *_arguments: False


def _curator_draws_anew(who: str, life: int) -> None:
    """A curator that was started again samples by another seed than the one in its journal."""
    if who == CURATOR and life:
        RunDriver._seed = lambda _self: life


def _curator_asks_once(who: str, life: int) -> None:
    """A curator that was started again has nobody attest anything."""
    if who == CURATOR and life:
        SignedReleases.step = lambda *_arguments: None


def _keep_in_memory(which: Callable[[str], bool]) -> None:
    record, recall, part = Journal.record, Journal.recall, Journal.recall_part
    together = Journal.record_together
    memory: dict[str, bytes] = {}

    def recorded(self: Journal, key: str, digest: str, payload: bytes) -> bytes:
        return memory.setdefault(key, payload) if which(key) else record(self, key, digest, payload)

    def recalled(self: Journal, key: str, digest: str) -> bytes | None:
        return memory.get(key) if which(key) else recall(self, key, digest)

    def recalled_part(self: Journal, key: str, digest: str, cells: slice) -> bytes | None:
        if not which(key):
            return part(self, key, digest, cells)
        return memory[key][cells] if key in memory else None

    def recorded_together(
        self: Journal, entries: Sequence[tuple[str, str, bytes]], instead_of: Iterable[str] = ()
    ) -> None:
        for key, _, payload in entries:
            if which(key):
                memory.setdefault(key, payload)
        together(self, [entry for entry in entries if not which(entry[0])], instead_of)

    Journal.record, Journal.recall, Journal.recall_part = recorded, recalled, recalled_part
    Journal.record_together = recorded_together


VARIANTS: dict[str, Callable[[str, int], None]] = {
    "": _sound,
    "party-forgets": _party_forgets,
    "party-seals-anew": _party_seals_anew,
    "curator-forgets": _curator_forgets,
    "charged-at-the-end": _charged_at_the_end,
    "charged-again": _charged_again,
    "party-keeps-reservations": _party_keeps_reservations,
    "curator-draws-anew": _curator_draws_anew,
    "curator-asks-once": _curator_asks_once,
}
