"""What this party was asked for, and what its owner said to it: kept in the journal, beside the run's own entries.

The node files every run that it would take part in; the owner's commands, in a process of their own, say yes or no to
that very spec. A no may come at any moment and stands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from common.canonical import canonical_bytes, parse
from common.errors import Catalogue, PrivityError
from common.journal import Journal
from common.protocol.plan import RunSpec

MOST_WAITING = 100
"""Runs that wait for a yes or no at the same time."""


class AwaitingApproval(Exception):  # noqa: N818 - it is not an error
    """A run was filed, and nobody has said yes or no to it."""


@dataclass(frozen=True)
class Filed:
    """A run that this party was asked to take part in, and how far it has come here."""

    spec: RunSpec
    asked_at: str
    shown: bool
    approved: bool
    refused: bool
    enrolled: bool
    closed: bool

    @property
    def waits(self) -> bool:
        """Whether somebody has yet to say yes or no."""
        return not (self.closed or self.refused or self.enrolled or self.approved)

    @property
    def state(self) -> str:
        """In one word or a few."""
        if self.closed:
            return "ended"
        if self.refused:
            return "refused"
        if self.enrolled:
            return "taken part in"
        return "approved" if self.approved else "waits for approval"


def closed_key(run: str) -> str:
    """Key of the mark of a closed run; no run's name can begin with this sign."""
    return f"#closed/{run}"


class Approvals:
    """The filed runs of one party.

    Args:
        journal: the node's own; several processes may have it open.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def file(self, spec: RunSpec) -> None:
        """Note a run that was asked for.

        Raises:
            PrivityError: step-changed: it was asked for under this name as another run; step-refused: too many wait.
        """
        if not self.knows(spec.run) and sum(filed.waits for filed in self.filed()) >= MOST_WAITING:
            reason = f"{MOST_WAITING} runs wait for approval already"
            raise PrivityError(Catalogue.STEP_REFUSED, step="enrol", reason=reason)
        content = {"spec": spec.to_dict(), "at": datetime.now(UTC).isoformat(timespec="seconds")}
        self._journal.record(f"#asked/{spec.run}", spec.digest, canonical_bytes(content))

    def knows(self, run: str) -> bool:
        """Whether it was asked for."""
        return self._is_marked("asked", run)

    def demand_yes(self, spec: RunSpec) -> None:
        """Go on only if the owner approved this very spec.

        Raises:
            AwaitingApproval: it was neither approved nor refused.
        """
        if self._journal.recall(f"#approved/{spec.run}", spec.digest) is None:
            raise AwaitingApproval

    def demand_no_no(self, run: str, party: str) -> None:
        """Go on unless the owner refused the run.

        Raises:
            PrivityError: refused-by-policy.
        """
        if self._is_marked("refused", run):
            raise PrivityError(Catalogue.REFUSED_BY_POLICY, party=party, reason="its owner refused it")

    def forget(self, run: str) -> None:
        """Keep nothing of a run in which this party took no part, but for a no."""
        for word in ("asked", "shown", "approved"):
            if not self._is_marked("refused", run):
                self._journal.drop(f"#{word}/{run}")

    def filed(self) -> list[Filed]:
        """Every run that was asked for, the oldest first."""
        return [self.of(key.removeprefix("#asked/")) for key in self._journal.keys("#asked/")]

    def of(self, run: str) -> Filed:
        """One run.

        Raises:
            PrivityError: run-unknown.
        """
        stored = self._journal.content(f"#asked/{run}")
        if stored is None:
            raise PrivityError(Catalogue.RUN_UNKNOWN, run=run)
        document = parse(stored)
        return Filed(
            spec=RunSpec.from_dict(document["spec"]),
            asked_at=document["at"],
            shown=self._is_marked("shown", run),
            approved=self._is_marked("approved", run),
            refused=self._is_marked("refused", run),
            enrolled=bool(self._journal.keys(f"{run}/")),
            closed=self._journal.content(closed_key(run)) is not None,
        )

    def note_shown(self, filed: Filed) -> None:
        """The owner has read what the run asks for."""
        self._mark("shown", filed.spec)

    def approve(self, filed: Filed) -> None:
        """Say yes to a run that was shown.

        Raises:
            PrivityError: out-of-order: it was not shown; bad-option: it was refused, or has ended.
        """
        run = filed.spec.run
        if filed.refused or filed.closed:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="run", reason=f"{run} was refused, or has ended",
                hint="A no stands; the operator can submit the run again under another name.",
            )  # fmt: skip
        if not filed.shown:
            missing = f"a look at what {run} asks for"
            raise PrivityError(Catalogue.OUT_OF_ORDER, missing=missing, first=f"privity party show {run}")
        self._mark("approved", filed.spec)

    def refuse(self, filed: Filed) -> None:
        """Say no; what was answered before stays answered, and nothing more leaves."""
        self._mark("refused", filed.spec)

    def _mark(self, word: str, spec: RunSpec) -> None:
        at = json.dumps({"at": datetime.now(UTC).isoformat(timespec="seconds")}).encode()
        self._journal.record(f"#{word}/{spec.run}", spec.digest, at)

    def _is_marked(self, word: str, run: str) -> bool:
        return self._journal.content(f"#{word}/{run}") is not None
