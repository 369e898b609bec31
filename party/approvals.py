"""What this party was asked for, and what its owner said to it: kept in the journal, beside the run's own entries.

The node files every run that it would take part in. The owner's commands run in a process of their own. An approval is
of the one spec that was shown last: if the curator asks for another under the same name meanwhile, it is refused. A
rejection is of the run's name, whatever its spec; it may come at any moment and stands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.run_spec import RunSpec
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.common.storage.journal import Journal

MOST_WAITING = 100
"""Runs that wait for approval at the same time."""


class AwaitingApproval(Exception):  # noqa: N818 - it is not an error
    """A run was filed, and is neither approved nor rejected."""


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
        """Whether it is pending."""
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
        self._may_wait: set[str] | None = None

    def file(self, spec: RunSpec) -> None:
        """Note a run that was asked for.

        Raises:
            PrivityError: step-changed: it was asked for under this name as another run; step-refused: too many wait.
        """
        if not self.knows(spec.run) and len(self.waiting()) >= MOST_WAITING:
            reason = f"{MOST_WAITING} runs wait for approval already"
            raise PrivityError(Catalogue.STEP_REFUSED, step="enrol", reason=reason)
        content = {"spec": spec.to_dict(), "at": datetime.now(UTC).isoformat(timespec="seconds")}
        self._journal.record(f"#asked/{spec.run}", spec.digest, canonical_bytes(content))
        if self._may_wait is not None:
            self._may_wait.add(spec.run)

    def knows(self, run: str) -> bool:
        """Whether it was asked for."""
        return self._is_marked("asked", run)

    def demand_approval(self, spec: RunSpec) -> None:
        """Go on only if the owner approved this very spec.

        Raises:
            AwaitingApproval: it is pending.
        """
        if self._journal.recall(f"#approved/{spec.run}", spec.digest) is None:
            raise AwaitingApproval

    def refuse_rejected(self, run: str, party: str) -> None:
        """Go on unless the owner refused the run.

        Raises:
            PrivityError: refused-by-owner.
        """
        if self._is_marked("refused", run):
            raise PrivityError(Catalogue.REFUSED_BY_OWNER, party=party)

    def forget(self, run: str) -> None:
        """Keep nothing of a run in which this party took no part, but for a rejection."""
        if not self._is_marked("refused", run):
            self._journal.drop([f"#{word}/{run}" for word in ("asked", "shown", "approved")])

    def asked(self, run: str) -> float | None:
        """When the run was asked for, in seconds since 1970."""
        return self._journal.written(f"#asked/{run}")

    def filed(self) -> list[Filed]:
        """Every run that was asked for, the oldest first."""
        return [self.of(key.removeprefix("#asked/")) for key in self._journal.keys("#asked/")]

    def waiting(self) -> list[Filed]:
        """Those that are pending; for the node, which alone files runs."""
        return [filed for filed in self.undecided() if filed.waits]

    def undecided(self) -> list[Filed]:
        """Those, and those to which the owner said yes and of which nothing came since.

        A run that is none of these never will be, unless it is filed again: those before it are read once, not at every
        run.
        """
        if self._may_wait is None:
            self._may_wait = {key.removeprefix("#asked/") for key in self._journal.keys("#asked/")}
        found = [self.of(run) for run in self._may_wait if self.knows(run)]
        undecided = [filed for filed in found if not (filed.closed or filed.refused or filed.enrolled)]
        self._may_wait = {filed.spec.run for filed in undecided}
        return undecided

    def of(self, run: str) -> Filed:
        """One run.

        Raises:
            PrivityError: run-unknown.
        """
        stored = self._journal.content(f"#asked/{run}")
        if stored is None:
            hint = "`privity party show` lists the runs that this party was asked for."
            raise PrivityError(Catalogue.RUN_UNKNOWN, run=run, hint=hint)
        document = parse(stored)
        spec = RunSpec.from_dict(document["spec"])
        return Filed(
            spec=spec,
            asked_at=document["at"],
            shown=self._journal.digest(f"#shown/{run}") == spec.digest,
            approved=self._journal.digest(f"#approved/{run}") == spec.digest,
            refused=self._is_marked("refused", run),
            enrolled=bool(self._journal.keys(f"{run}/")),
            closed=self._journal.content(closed_key(run)) is not None,
        )

    def note_shown(self, filed: Filed) -> None:
        """The owner has read what the run asks for: this spec, in the place of one that was shown before."""
        key = f"#shown/{filed.spec.run}"
        self._journal.record_together([(key, filed.spec.digest, _now())], instead_of=[key])

    def approve(self, filed: Filed, options: str = "") -> None:
        """Approve this spec, if it was the last one shown and is still what the curator asks for.

        Args:
            options: of the command that shows it, as the owner has to type them.

        Raises:
            PrivityError: out-of-order: none was shown; bad-option: another was, or the run was rejected or has ended.
        """
        run, spec = filed.spec.run, filed.spec.digest
        look = f"privity party show {run}{options}"
        # One transaction: neither the curator nor another command of the owner can come in between.
        found = {f"#asked/{run}": spec, f"#shown/{run}": spec, f"#refused/{run}": None, closed_key(run): None}
        if self._journal.record_while(found, f"#approved/{run}", spec, _now()):
            return
        ended = self._journal.content(closed_key(run)) is not None
        if ended or self._is_marked("refused", run):
            raise PrivityError(
                Catalogue.BAD_OPTION, option="run", reason=f"{run} {'has ended' if ended else 'was refused'}",
                hint="That stands; the operator can submit the run again under another name.",
            )  # fmt: skip
        if not self._is_marked("shown", run):
            raise PrivityError(Catalogue.OUT_OF_ORDER, missing=f"a look at what {run} asks for", first=look)
        raise PrivityError(
            Catalogue.BAD_OPTION, option="run", reason=f"{run} changed since it was shown; nothing was approved",
            hint=f"Read what it asks for now: {look}",
        )  # fmt: skip

    def refuse(self, run: str) -> None:
        """Reject every run of this name; what was answered before stays answered, and nothing more leaves."""
        if not self._is_marked("refused", run):
            self._journal.record(f"#refused/{run}", "", _now())

    def _is_marked(self, word: str, run: str) -> bool:
        return self._journal.content(f"#{word}/{run}") is not None


def _now() -> bytes:
    return json.dumps({"at": datetime.now(UTC).isoformat(timespec="seconds")}).encode()
