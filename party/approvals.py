"""What this party was asked for, and what its owner said to it: kept in the journal, beside the run's own entries.

The node files every run that it would take part in. The owner's commands run in a process of their own. An approval
names the digest of the spec that its owner read: if the curator asks for another under the same name meanwhile, it is
refused. A rejection is of the run's name, whatever its spec; it may come at any moment and stands.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.run_spec import RunSpec
from privity.common.runs.signed_request import SignedRequest
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.common.storage.journal import Journal
from privity.common.text.awaited_words import OWNER, awaits, stands
from privity.common.text.utc_times import utc_now
from privity.common.text.visible import cut
from privity.party.kept_requests import kept_request, read_kept_request
from privity.party.run_progress import Progress, progress_of

MOST_WAITING = 100
"""Runs that wait for approval at the same time."""
LONGEST_STATE = 32
MOST_WITHDRAWN = 100
"""Runs that ended before they were approved, of which the newest are kept for the owner to see."""
MOST_DENIED = 100
"""Runs whose refusal is kept: a curator may ask for any number. The oldest goes first."""
LONGEST_REASON = 1_500
LONGEST_REJECTION = 300
"""Characters of an owner's reason; it leaves the party."""
OF_A_RUN = ("asked", "under", "approved", "stopped", "withdrawn")
"""Marks of a run that was asked for."""


class AwaitingApproval(Exception):  # noqa: N818 - it is not an error
    """A run was filed, and is neither approved nor rejected."""


@dataclass(frozen=True)
class Denial:
    """That this node refused a run by itself.

    Attributes:
        at: when, in UTC; code: of the error; reasons: all of them, in words.
    """

    at: str
    code: str
    reasons: tuple[str, ...]

    @property
    def state(self) -> str:
        """In a few words."""
        by = {Catalogue.REFUSED_BY_POLICY: "by policy", Catalogue.BUDGET_EXHAUSTED: "by the ledger"}
        return "refused " + next((word for kind, word in by.items() if kind.value.code == self.code), "by the node")


@dataclass(frozen=True)
class Filed:
    """A run that this party was asked to take part in, and how far it has come here.

    Attributes:
        submitter: the operator who asks for it; empty if none signed a request for it.
        request: what that operator signed, as JSON; empty if nobody did.
        stopped: since when the curator says that it does not go on, in UTC; empty if it does.
        end: how the run ended, when and why, by the curator; empty if it has not.
        rejection: why the owner rejected it, if a reason was given.
        attested: digest of the release that this party attests; unattested: why it refused to.
        approved_at, rejected_at: in UTC; empty if it was not.
    """

    spec: RunSpec
    asked_at: str
    approved: bool
    rejected: bool
    enrolled: bool
    closed: bool
    stopped: str = ""
    end: tuple[str, str, str] = ("", "", "")
    denied: Denial | None = None
    rejection: str = ""
    submitter: str = ""
    request: str = ""
    attested: str = ""
    unattested: str = ""
    approved_at: str = ""
    rejected_at: str = ""

    @property
    def pending(self) -> bool:
        """Whether the owner has said nothing to it, and it has not ended."""
        return not (self.closed or self.rejected or self.enrolled or self.approved or self.denied)

    @property
    def waits(self) -> bool:
        """Whether it is pending, and goes on when it is approved."""
        return self.pending and not self.stopped

    def in_words(self, party: str) -> str:
        """Where it stands, in the words that its operator reads."""
        if self.denied is not None and not self.rejected:
            return stands(self.denied.state, self.denied.at)
        if self.waits:
            return awaits(party, OWNER, self.asked_at)
        if self.state == "stopped":
            return stands("STOPPED", self.stopped)
        state, since, why = self.end
        if self.closed and state:
            return f"{stands(state, since)}{why and ': ' + why}"
        return f"rejected: {self.rejection}" if self.state == "rejected" and self.rejection else self.state

    @property
    def state(self) -> str:
        """In one word or a few."""
        if self.denied is not None and not self.rejected:
            return self.denied.state
        if self.closed:
            return "ended"
        if self.rejected:
            return "rejected"
        if self.stopped:
            return "stopped"
        if self.enrolled:
            return "taken part in"
        return "approved" if self.approved else "waits for approval"


def closed_key(run: str) -> str:
    """Key of the mark of a closed run; no run's name can begin with this sign."""
    return f"#closed/{run}"


def attested_key(run: str) -> str:
    """Key of what this party attests of the run's release: one statement, for ever."""
    return f"#attested/{run}"


def unattested_key(run: str) -> str:
    """Key of why this party did not attest a release that it was shown."""
    return f"#unattested/{run}"


def under_key(run: str) -> str:
    """Key of the manifest under which a run waits for its owner; a newer one may come meanwhile."""
    return f"#under/{run}"


class Approvals:
    """The filed runs of one party.

    Args:
        journal: the node's own; several processes may have it open.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._may_wait: set[str] | None = None

    def file(self, spec: RunSpec, request: SignedRequest) -> None:
        """Note a run that was asked for.

        Args:
            request: by which an operator asked for it.

        Raises:
            PrivityError: step-changed: it was asked for under this name as another run; step-refused: too many wait, or
                the request was used before.
        """
        used = f"#nonce/{request.operator}/{request.nonce}"
        if self._journal.content(used) not in (None, spec.run.encode() if self.knows(spec.run) else b""):
            raise PrivityError(Catalogue.STEP_REFUSED, step="enrol", reason="the operator's request was used before")
        self._take_back_denial(spec)
        if not self.knows(spec.run) and sum(filed.pending for filed in self.undecided()) >= MOST_WAITING:
            reason = f"{MOST_WAITING} runs wait for approval already"
            raise PrivityError(Catalogue.STEP_REFUSED, step="enrol", reason=reason)
        key, content = f"#asked/{spec.run}", kept_request(spec, utc_now(), request)
        self._journal.record(key, spec.digest, content)
        if not self.of(spec.run).request:  # it was refused before, when none came with it
            self._journal.record_together([(key, spec.digest, content)], instead_of=[key])
        # After it: a request counts as used once its run is known.
        self._journal.record(used, "nonce", spec.run.encode())
        if self._journal.content(f"#withdrawn/{spec.run}") is not None:
            self._journal.drop([f"#withdrawn/{spec.run}"])
        if self._may_wait is not None:
            self._may_wait.add(spec.run)

    def deny(
        self, run: str, code: str, reasons: Sequence[str], spec: RunSpec | None = None, by: SignedRequest | None = None
    ) -> None:
        """Note that the node refuses a run, for all these reasons; the first time counts, while the reasons stay.

        Args:
            spec: what was asked for; None of a run that was filed before.
            by: the request of an operator for it; None if there is none.
        """
        asked = spec.digest if spec is not None else self._journal.digest(f"#asked/{run}")
        if asked is None or self._journal.content(closed_key(run)) is not None:
            return
        if self._journal.digest(f"#asked/{run}") not in (None, asked):
            return  # another run is known by this name
        said = {"code": code, "reasons": [cut(reason, LONGEST_REASON) for reason in reasons]}
        known, key, at = self._denial(run), f"#denied/{run}", utc_now()
        if known is not None and (known.code, list(known.reasons)) == (said["code"], said["reasons"]):
            return
        entries = [(key, asked, canonical_bytes({**said, "at": at}))]
        if spec is not None:
            entries.insert(0, (f"#asked/{run}", asked, kept_request(spec, at, by)))
        self._journal.record_together(entries, instead_of=[key])
        for old in self._journal.keys("#denied/")[:-MOST_DENIED]:
            self._journal.drop([old])
            self._let_go(old.removeprefix("#denied/"))

    def allowed(self, run: str) -> None:
        """The node went on with a run that it may have refused before."""
        if self._is_marked("denied", run):
            self._journal.drop([f"#denied/{run}"])

    def _take_back_denial(self, spec: RunSpec) -> None:
        """A run that was refused is asked for again, and is allowed now: perhaps another one under its name."""
        if self._is_marked("denied", spec.run):
            filed = self.of(spec.run)
            self._journal.drop([f"#denied/{spec.run}"])
            if filed.spec.digest != spec.digest:
                self._let_go(spec.run)

    def _denial(self, run: str) -> Denial | None:
        stored = self._journal.content(f"#denied/{run}")
        if stored is None:
            return None
        document = parse(stored)
        return Denial(document["at"], document["code"], tuple(document["reasons"]))

    def _let_go(self, run: str) -> None:
        """Forget a run that was asked for, unless it was taken part in."""
        if self._journal.content(closed_key(run)) is None and not self._journal.keys(f"{run}/"):
            self._journal.drop([f"#{word}/{run}" for word in OF_A_RUN])

    def knows(self, run: str) -> bool:
        """Whether it was asked for."""
        return self._is_marked("asked", run)

    def approved(self, spec: RunSpec) -> bool:
        """Whether the owner approved this very spec."""
        return self._journal.recall(f"#approved/{spec.run}", spec.digest) is not None

    def demand_approval(self, spec: RunSpec, under: bytes) -> None:
        """Go on only if the owner approved this very spec.

        Args:
            under: the run's manifest, which is kept while it waits.

        Raises:
            AwaitingApproval: it is pending.
        """
        if not self.approved(spec):
            self._journal.record(under_key(spec.run), spec.digest, under)
            raise AwaitingApproval

    def refuse_rejected(self, run: str, party: str) -> None:
        """Go on unless the owner rejected the run.

        Raises:
            PrivityError: rejected-by-owner.
        """
        if self._is_marked("refused", run):
            reason = self._said("refused", run).get("reason", "")
            raise PrivityError(Catalogue.REJECTED_BY_OWNER, party=party, reason=reason and f": {reason}")

    def note_stopped(self, run: str, since: str) -> None:
        """The curator says that a run does not go on, or with nothing in ``since`` that it does again."""
        key = f"#stopped/{run}"
        if since and self.knows(run) and self._journal.content(closed_key(run)) is None:
            self._journal.record_together([(key, "", since.encode())], instead_of=[key])
        elif not since and self._journal.content(key) is not None:
            self._journal.drop([key])

    def forget(self, run: str, state: str, since: str, why: str = "") -> None:
        """Of a run in which this party took no part keep a rejection or refusal, or how it ended.

        Another run may be asked for under its name: nothing that the owner said to this one is left.
        """
        if self._is_marked("denied", run):
            self._journal.drop([f"#{word}/{run}" for word in ("under", "approved", "stopped")])
        elif self._is_marked("refused", run):
            self._journal.drop([under_key(run)])
        elif self.knows(run):
            self._withdraw(run, state, since, why)

    def _withdraw(self, run: str, state: str, since: str, why: str) -> None:
        asked = self.of(run)
        gone = [f"#{word}/{run}" for word in OF_A_RUN]
        gone += self._journal.keys("#withdrawn/")[: 1 - MOST_WITHDRAWN]
        content = {
            "spec": asked.spec.to_dict(), "at": asked.asked_at, "by": asked.submitter, "request": asked.request,
            "end": _end(state, since, why),
        }  # fmt: skip
        kept = (f"#withdrawn/{run}", asked.spec.digest, canonical_bytes(content))
        self._journal.record_together([kept], instead_of=gone)

    def note_closed(self, run: str, state: str, since: str, why: str = "") -> None:
        """The run is closed: the first word on how it ended stays."""
        self._journal.record(closed_key(run), "closed", canonical_bytes(_end(state, since, why)))
        if self._journal.content(f"#stopped/{run}") is not None:
            self._journal.drop([f"#stopped/{run}"])

    def asked(self, run: str) -> float | None:
        """When the run was asked for, in seconds since 1970."""
        return self._journal.written(f"#asked/{run}")

    def filed(self) -> list[Filed]:
        """Every run that was asked for, the oldest first."""
        keys = [key for kept in ("#withdrawn/", "#asked/") for key in self._journal.keys(kept)]
        return sorted((self.of(key.split("/", 1)[1]) for key in keys), key=lambda filed: filed.asked_at)

    def undecided(self) -> list[Filed]:
        """Those that are pending, and those to which the owner said yes and of which nothing came since; for the node.

        A run that is none of these never will be, unless it is filed again: those before it are read once, not at every
        run.
        """
        if self._may_wait is None:
            self._may_wait = {key.removeprefix("#asked/") for key in self._journal.keys("#asked/")}
        found = [self.of(run) for run in self._may_wait if self.knows(run)]
        undecided = [filed for filed in found if not (filed.closed or filed.rejected or filed.enrolled or filed.denied)]
        self._may_wait = {filed.spec.run for filed in undecided}
        return undecided

    def of(self, run: str) -> Filed:
        """One run.

        Raises:
            PrivityError: run-unknown.
        """
        stored = self._journal.content(f"#asked/{run}") or self._journal.content(f"#withdrawn/{run}")
        if stored is None:
            hint = "`privity party show` lists the runs that this party was asked for."
            raise PrivityError(Catalogue.RUN_UNKNOWN, run=run, hint=hint)
        spec, asked_at, withdrawn, submitter, request = read_kept_request(stored)
        closed = self._journal.content(closed_key(run))
        end = withdrawn or ({} if closed is None else parse(closed))
        approved = self._journal.digest(f"#approved/{run}") == spec.digest
        rejection = self._said("refused", run)
        return Filed(
            spec=spec,
            asked_at=asked_at,
            approved=approved,
            rejected=self._is_marked("refused", run),
            enrolled=bool(self._journal.keys(f"{run}/")),
            closed=closed is not None or withdrawn is not None,
            stopped=(self._journal.content(f"#stopped/{run}") or b"").decode(),
            end=(end.get("state", ""), end.get("since", ""), end.get("why", "")),
            denied=self._denial(run),
            rejection=rejection.get("reason", ""),
            submitter=submitter,
            request=request,
            attested=self._attested(run),
            unattested=self._unattested(run),
            approved_at=self._said("approved", run).get("at", "") if approved else "",
            rejected_at=rejection.get("at", ""),
        )

    def progress(self, run: str) -> Progress | None:
        """How far this party has come in a run that is open here."""
        return progress_of(self._journal, run)

    def _attested(self, run: str) -> str:
        stored = self._journal.content(attested_key(run))
        return "" if stored is None else str(parse(stored)["statement"]["release_digest"])

    def _unattested(self, run: str) -> str:
        stored = self._journal.content(unattested_key(run))
        return "" if stored is None else str(parse(stored)["reason"])

    def as_read(self, run: str, digest: str) -> Filed:
        """A run of which the owner read the spec of this digest.

        Raises:
            PrivityError: run-unknown; bad-option: another spec is asked for by now.
        """
        filed = self.of(run)
        if filed.spec.digest != digest:
            raise _other_than_read(run)
        return filed

    def approve(self, run: str, digest: str, options: str = "") -> None:
        """Approve the spec of this digest, which the owner read, if it still is what the curator asks for.

        Args:
            options: of the command that shows a run, as the owner has to type them.

        Raises:
            PrivityError: bad-option: another spec is asked for, or the run was refused, was rejected or has ended.
        """
        filed = self.of(run)
        # One transaction: neither the curator nor another command of the owner can come in between.
        found = {f"#asked/{run}": digest, f"#refused/{run}": None, closed_key(run): None}
        if filed.denied is not None:
            reasons = "; ".join(filed.denied.reasons)
            raise PrivityError(
                Catalogue.BAD_OPTION, option="run", reason=f"{run} was {filed.denied.state}: {reasons}",
                hint="Change policy.toml, if you would have it, and ask the operator to submit the run again.",
            )  # fmt: skip
        if self._journal.record_while(found, f"#approved/{run}", digest, _now()):
            return
        ended = self.of(run).closed
        if ended or self._is_marked("refused", run):
            raise PrivityError(
                Catalogue.BAD_OPTION, option="run", reason=f"{run} {'has ended' if ended else 'was rejected'}",
                hint="That stands; the operator can submit the run again under another name.",
            )  # fmt: skip
        raise _other_than_read(run, options)

    def reject(self, run: str, reason: str = "") -> None:
        """Reject every run of this name; what was answered before stays answered, and nothing more leaves.

        Args:
            reason: told to the operator and the other members; the first one stays.
        """
        if not self._is_marked("refused", run):
            said = {"at": utc_now(), "reason": cut(" ".join(reason.split()), LONGEST_REJECTION)}
            self._journal.record(f"#refused/{run}", "", json.dumps(said).encode())

    def _said(self, word: str, run: str) -> dict[str, str]:
        """What the owner's word on it says: when, and of a rejection why."""
        stored = self._journal.content(f"#{word}/{run}")
        return dict(json.loads(stored)) if stored else {}

    def _is_marked(self, word: str, run: str) -> bool:
        return self._journal.content(f"#{word}/{run}") is not None


def _other_than_read(run: str, options: str = "") -> PrivityError:
    return PrivityError(
        Catalogue.BAD_OPTION, option="run", reason=f"{run} is not what you read any more; nothing was approved",
        hint=f"Read what it asks for now: privity party show {run}{options}",
    )  # fmt: skip


def _end(state: str, since: str, why: str) -> dict[str, str]:
    # It is the curator's word.
    return {"state": state[:LONGEST_STATE], "since": since, "why": why}


def _now() -> bytes:
    return json.dumps({"at": utc_now()}).encode()
