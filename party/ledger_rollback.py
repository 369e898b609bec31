"""How far the journal knows the ledger to be, and what becomes of a node that was set back to a backup.

One mark for each population, ``#ledger/LINES/POPULATION``: the number of lines and the link of the last one. It is
renewed in the same transaction as the next reply, so whatever has left this party is known to have been charged: a
ledger that is lost or set back alone forgets no charge.
"""

from __future__ import annotations

from privity.common.consortium.manifest import manifest_of_run
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.protocol.run_spec import RunPlan
from privity.common.runs.run_limits import cost_of_a_person
from privity.common.storage.canonical_json import parse
from privity.common.storage.journal import Journal
from privity.common.text.utc_times import utc_now
from privity.party.approvals import Approvals, closed_key

MARKS = "#ledger/"
SET_BACK = "SET BACK"
"""How a run ended that was cut off because this node was restored from a backup."""


class KnownLedger:
    """The ledger of one party as its journal knows it."""

    def __init__(self, journal: Journal, ledger: Ledger) -> None:
        self._journal = journal
        self._ledger = ledger
        self._name = ledger.population.name

    def check(self) -> None:
        """Go on only if the ledger has every line that it had.

        Raises:
            PrivityError: ledger-unusable.
        """
        for key in self._marks():
            link = self._journal.content(key)
            # Another process may have renewed it in this moment.
            if link is not None:
                self._ledger.check_extends(_lines_of(key), link.decode())

    def renewal(self) -> tuple[list[tuple[str, str, bytes]], list[str]]:
        """The mark of now, if lines were written since, as an entry of the journal; and the keys that it replaces."""
        lines, link = self._ledger.end()
        marks, mark = self._marks(), f"{MARKS}{lines}/{self._name}"
        # After a merge the population's ledger may have fewer lines of its own than the one that was marked before.
        if not lines or (mark in marks and self._journal.content(mark) == link.encode()):
            return [], []
        return [(mark, link, link.encode())], marks

    def set_back(self) -> list[str]:
        """Take ledger and journal for copies from a backup: freeze the one, end every run that the other was in.

        Each of these runs is charged with all that it may cost: what it was charged after the backup nobody here knows.
        In this order, so that it can be done again after a crash in between.

        Returns:
            names of the runs that ended.

        Raises:
            PrivityError: ledger-unusable.
        """
        self._ledger.freeze()
        approvals, ended = Approvals(self._journal), []
        for run in sorted(self._open_runs()):
            self._ledger.charge_whole(run, self._most(run, approvals))
            approvals.note_closed(run, SET_BACK, utc_now())
            self._journal.erase(f"{run}/")
            ended.append(run)
        mark, replaced = self.renewal()
        self._journal.record_together(mark, instead_of=replaced)
        return ended

    def _open_runs(self) -> set[str]:
        """Of this node, by its journal or its ledger."""
        own = {one.run for one in self._ledger.reserved() if one.node == self._ledger.node and not one.lock}
        return {run for run in own | self._journal.heads_besides("#") if self._journal.content(closed_key(run)) is None}

    def _most(self, run: str, approvals: Approvals) -> ApproxDP | None:
        """What a run may cost a person, by its plan or as it was asked for; None if the journal does not know it."""
        here = self._ledger.population.rows_per_person
        under, stored = (self._journal.content(f"{run}/{word}") for word in ("manifest", "plan"))
        if under is None:
            return None
        of_person = manifest_of_run(under).parties_per_person
        if stored is None:
            # How many rows a person has at the others shows only in the plan; it is one at least.
            return cost_of_a_person(approvals.of(run).spec, here + of_person - 1)
        plan = RunPlan.from_dict(parse(stored)["plan"])
        elsewhere = max(plan.rows_elsewhere(party, of_person) for party in plan.spec.members)
        return cost_of_a_person(plan.spec, here + elsewhere)

    def _marks(self) -> list[str]:
        """Of this population: several only if processes wrote them at once."""
        keys = self._journal.keys(MARKS)
        return [key for key in keys if _after_mark(key).partition("/")[2] == self._name]


def has_answered(journal: Journal, run: str, key: str, digest: bytes) -> bool:
    """Whether this node knows of a reply that it is said to have sent: it stored it, or closed the run since."""
    if journal.content(closed_key(run)) is not None:
        return True
    # Replies of a round that was revealed are erased; what the transcript says of them stays while the run is open.
    stored = journal.content(f"{run}/transcript/step/{key}")
    return stored is not None and parse(stored)["reply"] == digest.hex()


def was_set_back(closed: bytes) -> bool:
    """Whether a run that is closed here ended so (the content of its ``closed_key``)."""
    return bool(parse(closed).get("state") == SET_BACK)


def _after_mark(key: str) -> str:
    return key.removeprefix(MARKS)


def _lines_of(key: str) -> int:
    return int(_after_mark(key).partition("/")[0])
