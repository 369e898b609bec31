"""A party's answers to steps: verify, obey the policy, answer once.

Everything that this party believes about a run it has checked against the manifest and its own policy;
the curator is believed nothing. The reply to a step is stored before it is sent, and a repetition gets
the same bytes.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import sqlite3
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from privity.common.consortium.manifest import Manifest
from privity.common.consortium.schema_file import SCHEMA_AWAITED
from privity.common.crypto.identity import PublicIdentity
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.protocol.steps import (
    Attest,
    Begin,
    Close,
    CombineBlock,
    Contribute,
    Done,
    Enrol,
    Learn,
    Learned,
    Pending,
    Recode,
    Refusal,
    Reply,
    Revealed,
    SealBlock,
    Select,
    Selected,
    SelectionStep,
    SelectTable,
    Step,
    Stopped,
    step_digest,
)
from privity.common.synthesis.learning.domain_discovery import LOOKS
from privity.common.text.awaited_words import OWNER
from privity.common.text.utc_times import utc_now
from privity.common.wire.codec import encode_reply, encode_step
from privity.common.wire.statements import GivenBack
from privity.party.approvals import Approvals, AwaitingApproval, closed_key
from privity.party.attestations import Attestations
from privity.party.begun_run import BegunRun, step_refused
from privity.party.charged_releases import ChargedReleases
from privity.party.keys import Keys
from privity.party.ledger_rollback import SET_BACK, KnownLedger, has_answered, was_set_back
from privity.party.local_backend import learn_alone
from privity.party.own_statements import OwnStatements
from privity.party.policy import Policy
from privity.party.run_admission import CHANGED, RunAdmission
from privity.party.run_expiry import LastHeard
from privity.party.sum_contributions import Contributions
from privity.party.transcript import TOO_MANY, Transcripts

WAITS_FOR = {
    Catalogue.NO_ROOM: "room on its disk",
    Catalogue.SOURCE_UNREACHABLE: "its rows",
    Catalogue.SOURCE_REFUSED: "its rows",
}
"""What will be there again: the step is asked anew, at no new charge."""

DENIALS = (Catalogue.REFUSED_BY_POLICY, Catalogue.BUDGET_EXHAUSTED)
NO_DENIALS = (Catalogue.REJECTED_BY_OWNER, Catalogue.STEP_CHANGED)
"""Of an enrolment every other refusal is one of the run: the owner's own word is kept elsewhere, and another run of the
name is not this one."""

_log = logging.getLogger("privity.party")


class OtherSchemaError(PrivityError):
    """A manifest is over another schema than that of the rows: they are not coded by it, or not yet.

    Attributes:
        manifest_digest: of the manifest.
        awaited: what a run under it waits for at this party.
    """

    def __init__(self, manifest: Manifest, reason: str, hint: str, awaited: str = SCHEMA_AWAITED) -> None:
        super().__init__(Catalogue.BAD_OPTION, option="schema", reason=reason, hint=hint)
        self.manifest_digest, self.awaited = manifest.digest, awaited


def log_misfit(error: PrivityError) -> None:
    """Say that the newest manifest here is not gone by."""
    if isinstance(error, OtherSchemaError):
        # No name of an attribute and no value is in such an error.
        _log.error(
            "the newest manifest here is over another schema",
            extra={"reason": error.code, "detail": error.message, "remedy": error.remedy},
        )
    else:
        _log.error("the newest manifest does not fit this party: privity doctor", extra={"reason": error.code})


def check_schema(schema: Schema, manifest: Manifest) -> None:
    """Refuse a manifest over another schema than that of the rows."""
    if schema.digest != manifest.schema_digest:
        named = f"the manifest (serial {manifest.serial}) names another one, with SHA-256 {manifest.schema_digest}"
        hint = "Get that one from the organiser, and accept it: privity party accept --schema FILE."
        raise OtherSchemaError(manifest, named, hint)
    if manifest.discoveries != schema.signed_discoveries:
        named = f"the manifest (serial {manifest.serial}) names other discoveries than the schema"
        raise OtherSchemaError(manifest, named, "Have the organiser seal anew: privity consortium seal.")


class PartyEngine:
    """One party's side of every run.

    Args:
        releases: the rows behind ledger and journal.
        policy: gives what this party allows now, or refuses every run.
        keys: its own.
        manifest: whom it knows; new runs must be under this one until another is adopted.
        transcripts: folder of the transcripts of runs that have ended; None keeps none.
        process: the number of the process that serves; one is made if it is not given.

    Attributes:
        listener: told of every step, and whether it was answered (None), refused or waits.
        expired: told of every run that is let go.

    Raises:
        PrivityError: ledger-unusable: the journal knows a longer ledger, or another one.
    """

    def __init__(
        self,
        releases: ChargedReleases,
        policy: Callable[[], Policy],
        keys: Keys,
        manifest: Manifest,
        transcripts: Path | None = None,
        process: str = "",
    ) -> None:
        self.party = releases.party
        self._releases = releases
        self._journal = releases.journal
        self.keys = keys
        self._contributions = Contributions(releases.party, keys)
        self._approvals = Approvals(releases.journal)
        self._heard = LastHeard(releases.journal)
        self._admission = RunAdmission(
            releases, policy, keys, self._approvals, self._heard, process or secrets.token_hex(16)
        )
        self._transcripts = Transcripts(releases.party, releases.journal, keys, transcripts)
        self._attestations = Attestations(releases.party, releases.journal, releases.ledger, keys)
        self._own_statements = OwnStatements(releases.party, releases.journal, releases.ledger, keys)
        self._known_ledger = KnownLedger(releases.journal, releases.ledger)
        self._known_ledger.check()
        self._return_reservations()
        self.listener: Callable[[Step, Refusal | Pending | None], None] = lambda _step, _reply: None
        self.expired: Callable[[str], None] = lambda _run: None
        contributions, admission = self._contributions, self._admission
        self._before: dict[type, Callable[[Any], Reply]] = {
            Enrol: admission.enrol,
            Begin: lambda step: admission.begin(step, contributions.expect),
            Attest: self._attestations.attest,
        }
        self._within: dict[type, Callable[[Any, BegunRun], Reply]] = {
            Contribute: contributions.contribute,
            SealBlock: contributions.seal,
            CombineBlock: contributions.combine,
            Revealed: contributions.forget_round,
            Select: self._select,
            SelectTable: self._select,
            Learn: self._learn,
            Recode: self._recode,
        }
        self.adopt(manifest)

    def adopt(self, manifest: Manifest) -> None:
        """Go by this manifest from now on; runs that have begun go on under theirs.

        Raises:
            PrivityError: it names another schema, or other keys for this party.
        """
        check_schema(self._releases.schema, manifest)
        self._admission.adopt(manifest)

    def keys_needed(self) -> set[PublicIdentity]:
        """The public halves of those keys that the manifest of now lists, or that of a run that is open."""
        return self._admission.keys_needed()

    def knows(self, manifest_digest: str) -> bool:
        """Whether it is the manifest of now."""
        return self._admission.manifest.digest == manifest_digest

    def _return_reservations(self) -> None:
        """Of this node's runs that were closed; one that the journal does not know is charged with all of it."""
        ledger = self._releases.ledger
        for one in ledger.reserved():
            open_ = self._journal.keys(f"{one.run}/") and self._journal.content(closed_key(one.run)) is None
            if one.node != ledger.node or one.lock or open_:
                continue
            if self._journal.content(closed_key(one.run)) is None:
                # The journal was lost or set back: what else the run was charged shows in no answer.
                ledger.charge_whole(one.run)
            else:
                ledger.give_back(one.run)

    def check_answered(self, run: str, key: str, digest: bytes) -> None:
        """Notice that this node was set back to a backup, by a reply that it is said to have sent last.

        Every run that is open here ends then, charged with its whole reservation, and the population is frozen. A
        curator that makes a reply up reaches no more than that.

        Raises:
            PrivityError: ledger-unusable.
        """
        if has_answered(self._journal, run, key, digest):
            return
        self._set_back()
        # Of this one nothing more is answered either, and it is known from now on.
        self._approvals.note_closed(run, SET_BACK, utc_now())

    def check_statements(self, handed: Sequence[GivenBack]) -> None:
        """Enter, once, what this party signed of runs and ledger or journal lack; the population stays frozen.

        Raises:
            PrivityError: ledger-unusable.
        """
        lacking = self._own_statements.lacking(handed)
        for one in lacking:
            closed = self._journal.content(closed_key(one.run))
            if closed is None or not was_set_back(closed):
                self._set_back()
                break
        for one in lacking:
            run = one.run
            self._releases.ledger.charge_whole(run, one.spent, one.step)
            self._approvals.note_closed(run, SET_BACK, utc_now())
            _log.warning("what this node signed is entered into its ledger", extra={"run": run})

    def _set_back(self) -> None:
        """End what is open here, and freeze the population."""
        for ended in self._known_ledger.set_back():
            self._admission.forget(ended)
            self._contributions.forget(ended)
        error = PrivityError(Catalogue.POPULATION_FROZEN, population=self._releases.ledger.population.name)
        _log.error(
            "this node was set back: the curator has what it sent and does not know",
            extra={"detail": error.message, "remedy": error.remedy},
        )

    def let_go(self, lease: float) -> None:
        """Erase what is kept of runs about which nothing was heard for so many seconds; their charges stay.

        To be called now and then, as ``LastHeard.expired``.
        """
        kept = {run: self._heard.at(run) for run in self._heard.runs()}
        asked = {filed.spec.run: self._approvals.asked(filed.spec.run) for filed in self._approvals.undecided()}
        for run in self._heard.expired({**asked, **kept}, lease):
            try:
                # Told first: of what is closed here nobody would be told after a kill.
                self.expired(run)
                if run in kept:
                    _log.warning("a run has expired here", extra={"run": run})
                    self._transcripts.ended(run, "EXPIRED")
                    self._close(run, "EXPIRED", utc_now())
                else:
                    self._approvals.forget(run, "EXPIRED", utc_now())
            except (PrivityError, sqlite3.Error) as error:
                # Another time: what cannot be erased now must not end the node.
                _log.error("a run cannot be erased", extra={"run": run, "error": type(error).__name__})

    def awaits(self, run: str) -> bool:
        """Whether the run waits for approval."""
        return self._approvals.knows(run) and self._approvals.of(run).waits

    def prepare(self) -> bool:
        """Use idle time; False if there is nothing to prepare."""
        return self._contributions.prepare()

    def handle(self, step: Step) -> bytes:
        """The encoded reply to a step; a refusal is a reply too, but is not stored, and neither is a delay."""
        try:
            answer = self._handle(step)
            self.listener(step, None)
            return answer
        except AwaitingApproval:
            return self._waits(step, OWNER, self._approvals.of(step.run).asked_at)
        except PrivityError as error:
            if error.kind in WAITS_FOR:
                _log.error("a step waits", extra={"run": step.run, "step": step.key, "reason": error.code})
                return self._waits(step, WAITS_FOR[error.kind])
            if error.kind is Catalogue.SOURCE_CHANGED:
                # Where the rows are is nobody else's business.
                error = step_refused(step.key, CHANGED)
            refusal = Refusal(error.code, error.message, error.remedy)
            self._deny(step, error)
        except Exception as error:
            # A node outlives what nobody foresaw. The class of the error is safe to tell, its text is not.
            place = traceback.extract_tb(error.__traceback__)[-1]
            _log.error(
                "an internal error",
                extra={
                    "run": step.run,
                    "step": step.key,
                    "error": type(error).__name__,
                    "file": place.filename,
                    "line": place.lineno,
                },
            )
            reason = f"{self.party} met an internal error ({type(error).__name__})"
            refusal = Refusal("internal", reason, "See that party's log.")
        # A node that cannot write refuses all the same.
        with contextlib.suppress(PrivityError, sqlite3.Error, OSError):
            if self._transcripts.refused(step, refusal.code):
                self._transcripts.ended(step.run, TOO_MANY)
                self._close(step.run, TOO_MANY, utc_now())
        self.listener(step, refusal)
        _log.warning("a step is refused", extra={"run": step.run, "step": step.key, "reason": refusal.code})
        return encode_reply(step.run, step.key, refusal)

    def _waits(self, step: Step, reason: str, since: str = "") -> bytes:
        waits = Pending(reason, since)
        self.listener(step, waits)
        return encode_reply(step.run, step.key, waits)

    def _deny(self, step: Step, error: PrivityError) -> None:
        """Keep why a run is refused, if the run is and not only a step of it."""
        if error.kind not in DENIALS and not (isinstance(step, Enrol) and error.kind not in NO_DENIALS):
            return
        reasons = error.fields.get("reasons")
        with contextlib.suppress(PrivityError, sqlite3.Error, OSError):
            self._approvals.deny(
                step.run,
                error.code,
                reasons if isinstance(reasons, tuple) else (error.message,),
                step.spec if isinstance(step, Enrol) else None,
                self._admission.operators_request(step) if isinstance(step, Enrol) else None,
            )

    def _handle(self, step: Step) -> bytes:
        if isinstance(step, Close):
            self._transcripts.closing(step)
            self._close(step.run, step.state, step.since or utc_now(), step.why)
            return encode_reply(step.run, step.key, Done())
        if isinstance(step, Stopped):
            self._approvals.note_stopped(step.run, step.since)
            return encode_reply(step.run, step.key, Done())
        if self._transcripts.over(step.run):
            self._close(step.run, "", "")
        if self._journal.recall(closed_key(step.run), "closed") is not None:
            if isinstance(step, Attest) and (attested := self._attestations.again(step)) is not None:
                return encode_reply(step.run, step.key, attested)
            raise step_refused(step.key, "the run is closed")
        self._approvals.refuse_rejected(step.run, self.party)
        key, content = f"{step.run}/reply/{step.key}", step_digest(step)
        stored = self._journal.recall(key, content)
        if stored is not None:
            self._heard.hear(step.run)
        else:
            if not isinstance(step, Attest) and self._attestations.made(step.run):
                # What it costs was attested: nothing may be charged any more.
                raise step_refused(step.key, "this party has attested the release of the run")
            self._known_ledger.check()
            stored = self._transcripts.answered(step, key, content, self._answer(step), self._known_ledger)
            # A rejection that came meanwhile holds for this answer too.
            self._approvals.refuse_rejected(step.run, self.party)
        return stored

    def _close(self, run: str, state: str, since: str, why: str = "") -> None:
        closed = self._journal.content(closed_key(run)) is not None
        if not closed and not self._journal.keys(f"{run}/"):
            self._approvals.forget(run, state, since, why)
        else:
            if self._journal.content(closed_key(run)) is None:
                self._transcripts.write(run)
            # The mark goes first: a crash in between leaves a run that is closed and not yet erased.
            self._approvals.note_closed(run, state, since, why)
            self._heard.forget(run)
            self._admission.forget(run)
            self._releases.forget(run)
            self._contributions.forget(run)

    def _answer(self, step: Step) -> Reply:
        """Each kind of step has one handler; those of a run that has begun get it as it was verified then."""
        if (handle := self._before.get(type(step))) is not None:
            return handle(step)
        charged = isinstance(step, Contribute | SelectionStep | Learn)
        if charged:
            self._transcripts.check_room(step)
        reply = self._within[type(step)](step, self._admission.begun(step))
        if charged:
            self._approvals.allowed(step.run)
        return reply

    def _select(self, step: SelectionStep, begun: BegunRun) -> Reply:
        begun.check_selection(step)
        return Selected(begun.releases.select(step, begun.allowance))

    def _recode(self, step: Recode, begun: BegunRun) -> Reply:
        """Code the rows anew, and keep by what: later steps of this name are about them."""
        recoded, kept = begun.recoded(step), f"{step.run}/recoded/"
        if len([key for key in self._journal.keys(kept) if key != f"{kept}{step.name}"]) >= LOOKS:
            raise step_refused(step.key, f"the rows were coded anew {LOOKS} times")
        try:
            recoded.releases  # noqa: B018
        except ProblemsFound:
            raise step_refused(step.key, CHANGED) from None
        self._journal.record(f"{kept}{step.name}", step_digest(step), encode_step(step))
        return Done()

    def _learn(self, step: Learn, begun: BegunRun) -> Reply:
        begun.check_learning(step)
        # What it is made of stays until the run ends.
        begun.only_once(step, "learned from", step_digest(step))
        return Learned(learn_alone(step, begun.releases, begun.allowance).to_dict())
