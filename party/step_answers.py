"""A party's answers to steps: verify, obey the policy, answer once.

Everything that this party believes about a run it has checked against the manifest and its own policy;
the curator is believed nothing. The reply to a step is stored before it is sent, and a repetition gets
the same bytes.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import traceback
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from privity.common.consortium.manifest import Manifest, manifest_from, manifest_of_run
from privity.common.crypto import paillier
from privity.common.crypto.identity import PublicIdentity
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.run_spec import Enrolment, RunPlan, RunSpec
from privity.common.protocol.steps import (
    Begin,
    Choice,
    Close,
    CombineBlock,
    Contribute,
    Done,
    Enrol,
    Enrolled,
    Learn,
    Learned,
    Pending,
    Refusal,
    Reply,
    Revealed,
    SealBlock,
    Select,
    SelectionStep,
    SelectTable,
    Step,
    step_digest,
)
from privity.common.release.evaluation.scores_over_parties import check_evaluation
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.common.synthesis.algorithms import ALGORITHMS, Algorithm
from privity.common.wire.codec import encode_reply
from privity.party.approvals import Approvals, AwaitingApproval, closed_key
from privity.party.charged_releases import ChargedReleases
from privity.party.keys import Keys
from privity.party.ledger_rollback import KnownLedger
from privity.party.local_session import LocalSession, complete
from privity.party.policy import Approval, Policy
from privity.party.run_expiry import MOST_RUNS, LastHeard
from privity.party.step_price import price_fault, scores_fault
from privity.party.sum_contributions import Begun, Rounds
from privity.party.transcript import TOO_MANY, Transcripts

PURE = Fraction(0)
CHANGED = "the rows of this party have changed since the run began"
WAITS_FOR = {
    Catalogue.NO_ROOM: "room on its disk",
    Catalogue.SOURCE_UNREACHABLE: "its rows",
    Catalogue.SOURCE_REFUSED: "its rows",
}
"""What will be there again: the step is asked anew, at no new charge."""

_log = logging.getLogger("privity.party")


def check_schema(releases: ChargedReleases, manifest: Manifest) -> None:
    """Refuse a manifest over another schema than that of the rows."""
    if releases.schema.digest != manifest.schema_digest:
        reason = "the schema is not the one that the manifest names"
        raise PrivityError(Catalogue.STEP_REFUSED, step="start", reason=reason)


class PartyEngine:
    """One party's side of every run.

    Args:
        releases: the rows behind ledger and journal.
        policy, keys: what this party allows, and its own keys.
        manifest: whom it knows; new runs must be under this one until another is adopted.
        transcripts: folder of the transcripts of runs that have ended; None keeps none.

    Attributes:
        listener: told of every step that was answered, with the code of its refusal or "".

    Raises:
        PrivityError: ledger-unusable: the journal knows a longer ledger, or another one.
    """

    def __init__(
        self, releases: ChargedReleases, policy: Policy, keys: Keys, manifest: Manifest, transcripts: Path | None = None
    ) -> None:
        self.party = releases.party
        self._releases = releases
        self._journal = releases.journal
        self._policy = policy
        self.keys = keys
        self._rounds = Rounds(releases.party, keys)
        self._approvals = Approvals(releases.journal)
        self._transcripts = Transcripts(releases.party, releases.journal, keys, transcripts)
        self._known_ledger = KnownLedger(releases.journal, releases.ledger)
        self._known_ledger.check()
        self._charged_elsewhere = ""
        self._heard = LastHeard(releases.journal)
        self.listener: Callable[[Step, str], None] = lambda _step, _code: None
        self.adopt(manifest)

    def adopt(self, manifest: Manifest) -> None:
        """Go by this manifest from now on; runs that have begun go on under theirs.

        Raises:
            PrivityError: it names another schema, or other keys for this party.
        """
        check_schema(self._releases, manifest)
        self.keys.of(manifest)
        self._policy.check_manifest(manifest.parties_per_person, self.party)
        self._manifest, self._manifest_kept = manifest, ("", manifest)

    def keys_needed(self) -> set[PublicIdentity]:
        """The public halves of those keys that the manifest of now lists, or that of a run that is open."""
        needed = {self._manifest.keys_of(self.party)}
        for run in self._heard.runs():
            stored = self._journal.recall(f"{run}/manifest", "manifest")
            # Without one it was never taken part in, or is closed in this very moment.
            if stored is not None and self._journal.content(closed_key(run)) is None:
                with contextlib.suppress(ValueError):  # what earlier versions let in: such a run goes no further
                    needed.add(manifest_from(parse(stored)).keys_of(self.party))
        return needed

    def knows(self, manifest_digest: str) -> bool:
        """Whether it is the manifest of now."""
        return self._manifest.digest == manifest_digest

    def let_go(self, lease: float) -> None:
        """Erase what is kept of runs about which nothing was heard for so many seconds; their charges stay.

        To be called now and then, as ``LastHeard.expired``.
        """
        kept = {run: self._heard.at(run) for run in self._heard.runs()}
        asked = {filed.spec.run: self._approvals.asked(filed.spec.run) for filed in self._approvals.undecided()}
        for run in self._heard.expired({**asked, **kept}, lease):
            try:
                if run in kept:
                    _log.warning("a run has expired here", extra={"run": run})
                    self._transcripts.ended(run, "EXPIRED")
                    self._close(run)
                else:
                    self._approvals.forget(run)
            except (PrivityError, sqlite3.Error) as error:
                # Another time: what cannot be erased now must not end the node.
                _log.error("a run cannot be erased", extra={"run": run, "error": type(error).__name__})

    def awaits(self, run: str) -> bool:
        """Whether the run waits for approval."""
        return self._approvals.knows(run) and self._approvals.of(run).waits

    def prepare(self) -> bool:
        """Use idle time; False if there is nothing to prepare."""
        return self._rounds.prepare()

    def handle(self, step: Step) -> bytes:
        """The encoded reply to a step; a refusal is a reply too, but is not stored, and neither is a delay."""
        try:
            answer = self._handle(step)
            self.listener(step, "")
            return answer
        except AwaitingApproval:
            return encode_reply(step.run, step.key, Pending("the approval of its owner"))
        except PrivityError as error:
            if error.kind in WAITS_FOR:
                _log.error("a step waits", extra={"run": step.run, "step": step.key, "reason": error.code})
                return encode_reply(step.run, step.key, Pending(WAITS_FOR[error.kind]))
            if error.kind is Catalogue.SOURCE_CHANGED:
                # Where the rows are is nobody else's business.
                error = self._refusal(step, CHANGED)
            refusal = Refusal(error.code, error.message, error.remedy)
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
                self._close(step.run)
        self.listener(step, refusal.code)
        _log.warning("a step is refused", extra={"run": step.run, "step": step.key, "reason": refusal.code})
        return encode_reply(step.run, step.key, refusal)

    def _handle(self, step: Step) -> bytes:
        if isinstance(step, Close):
            self._transcripts.closing(step)
            self._close(step.run)
            return encode_reply(step.run, step.key, Done())
        if self._transcripts.over(step.run):
            self._close(step.run)
        if self._journal.recall(closed_key(step.run), "closed") is not None:
            raise self._refusal(step, "the run is closed")
        self._approvals.refuse_rejected(step.run, self.party)
        key, content = f"{step.run}/reply/{step.key}", step_digest(step)
        stored = self._journal.recall(key, content)
        if stored is not None:
            self._heard.hear(step.run)
        else:
            self._known_ledger.check()
            stored = self._transcripts.answered(step, key, content, self._answer(step), self._known_ledger)
            # A rejection that came meanwhile holds for this answer too.
            self._approvals.refuse_rejected(step.run, self.party)
        return stored

    def _close(self, run: str) -> None:
        closed = self._journal.content(closed_key(run)) is not None
        if not closed and not self._journal.keys(f"{run}/"):
            self._approvals.forget(run)
        else:
            if self._journal.content(closed_key(run)) is None:
                self._transcripts.write(run)
            # The mark goes first: a crash in between leaves a run that is closed and not yet erased.
            self._journal.record(closed_key(run), "closed", b"")
            self._heard.forget(run)
            self._releases.forget(run)
            self._rounds.forget()

    def _refusal(self, step: Step, reason: str) -> PrivityError:
        return PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason=reason)

    def _answer(
        self, step: Enrol | Begin | Contribute | SealBlock | CombineBlock | Revealed | SelectionStep | Learn
    ) -> Reply:
        if isinstance(step, Contribute | SelectionStep | Learn):
            self._transcripts.check_room(step)
        match step:
            case Enrol():
                return self._enrol(step)
            case Begin():
                return self._begin(step)
            case Contribute():
                return self._contribute(step)
            case SealBlock():
                return self._rounds.seal(step, self._begun(step))
            case CombineBlock():
                return self._rounds.combine(step, self._begun(step))
            case Revealed():
                return self._rounds.forget_round(step, self._begun(step))
            case Select() | SelectTable():
                return self._select(step)
            case Learn():
                return self._learn(step)

    def _enrol(self, step: Enrol) -> Reply:
        manifest = self._manifest
        if step.spec.manifest_digest != manifest.digest:
            raise self._refusal(step, "the run belongs to another manifest")
        self._check_agreed(step, manifest)
        self._check_population(step)
        # How many rows a person has at the others shows only in the plan; it is one at least.
        elsewhere = manifest.parties_per_person - 1
        self._policy.check_run(step.spec, self.party, elsewhere)
        algorithm = self._algorithm(step, step.spec)
        schema = self._run_releases(step, step.spec).schema
        algorithm.check_request(step.spec.settings, schema, step.spec.delta)
        check_evaluation(step.spec.evaluation, step.spec.algorithm, step.spec.epsilon, schema)
        self._check_affordable(step.spec, elsewhere)
        if self._heard.is_full(step.run):
            raise self._refusal(step, f"{MOST_RUNS} runs are open here already")
        self._approvals.file(step.spec)
        if self._policy.approval is Approval.MANUAL:
            self._approvals.demand_approval(step.spec)
        self._journal.record(f"{step.run}/manifest", "manifest", canonical_bytes(manifest.to_dict()))
        rows, of_person = self._releases.rows, self._policy.population.rows_per_person
        enrolment = Enrolment.signed(self.party, step.spec, rows, self.keys.of(manifest), of_person)
        return Enrolled(enrolment.to_dict())

    def _algorithm(self, step: Step, spec: RunSpec) -> Algorithm:
        """What the run was approved as: its kinds of answers are all that it may ask for."""
        algorithm = ALGORITHMS.get(spec.algorithm)
        if algorithm is None:
            raise self._refusal(step, "the algorithm is none that this party knows")
        return algorithm

    def _check_affordable(self, spec: RunSpec, rows_elsewhere: int) -> None:
        self._releases.check_affordable(*self._policy.cost_of_a_person(spec, rows_elsewhere))

    def _run_releases(self, step: Step, spec: RunSpec) -> ChargedReleases:
        """The rows, as far as the run sees them."""
        try:
            return self._releases.over(spec.attributes)
        except KeyError:
            raise self._refusal(step, "it names attributes that the schema does not have") from None

    def _check_agreed(self, step: Enrol, manifest: Manifest) -> None:
        """Refuse what the members agreed never to run, whatever this party's own policy says."""
        spec = step.spec
        if set(spec.members) - set(manifest.members):
            raise self._refusal(step, "it names parties that the manifest does not list")
        if manifest.parties_per_person > 1 and set(spec.members) != set(manifest.members):
            # Else the ledger of a party would not show what its people lose by runs over others.
            raise self._refusal(step, "a person may be at several parties, so every run is over all of them")
        if len(spec.members) < manifest.minimum_parties or spec.tolerate < manifest.minimum_tolerate:
            reason = f"the members agreed on {manifest.minimum_parties} parties and t = {manifest.minimum_tolerate}"
            raise self._refusal(step, f"{reason} at least")

    def _begin(self, step: Begin) -> Reply:
        plan = step.plan
        if self._journal.recall(f"{step.run}/reply/enrol", step_digest(Enrol(plan.spec))) is None:
            raise self._refusal(step, "the party did not enrol in this run")
        begun = self._as_begun(step, plan)
        plan.check(begun.manifest)
        self._check_own_rows(step, plan)
        elsewhere = plan.rows_elsewhere(self.party, begun.manifest.parties_per_person)
        self._policy.check_run(plan.spec, self.party, elsewhere)
        if self._journal.recall(f"{step.run}/plan", "plan") is None:
            self._check_affordable(plan.spec, elsewhere)
        self._check_key(step)
        self._rounds.expect(begun)
        # Charged first: a run whose plan is kept goes on.
        self._charge_elsewhere(begun, elsewhere)
        kept = canonical_bytes({"plan": plan.to_dict(), "table": self._releases.table_digest})
        if self._journal.record(f"{step.run}/plan", "plan", kept) != kept:
            raise self._refusal(step, "the run has begun with another plan or other rows")
        return Done()

    def _check_key(self, step: Begin) -> None:
        if (modulus := step.plan.modulus) is not None:
            self._policy.check_key(modulus.bit_length(), self.party)
            try:
                paillier.check_modulus(modulus)
            except ValueError as error:
                raise self._refusal(step, str(error)) from error

    def _manifest_of(self, step: Step) -> Manifest:
        """The manifest under which this party enrolled in the run."""
        if self._manifest_kept[0] == step.run:
            return self._manifest_kept[1]
        stored = self._journal.recall(f"{step.run}/manifest", "manifest")
        if stored is None:
            raise self._refusal(step, "the party did not enrol in this run")
        self._manifest_kept = (step.run, manifest_of_run(stored, step.run))
        return self._manifest_kept[1]

    def _begun(self, step: Step) -> Begun:
        """The plan of a run that this party has begun, if everything it agreed to still holds."""
        stored = self._journal.recall(f"{step.run}/plan", "plan")
        if stored is None:
            raise self._refusal(step, "the run has not begun")
        kept = parse(stored)
        if kept["table"] != self._releases.table_digest:
            raise self._refusal(step, CHANGED)
        begun = self._as_begun(step, RunPlan.from_dict(kept["plan"]))
        elsewhere = begun.plan.rows_elsewhere(self.party, begun.manifest.parties_per_person)
        self._policy.check_run(begun.plan.spec, self.party, elsewhere)
        self._check_own_rows(step, begun.plan)
        self._charge_elsewhere(begun, elsewhere)
        return begun

    def _charge_elsewhere(self, begun: Begun, rows: int) -> None:
        """Once for the run, whatever is asked of this party in it."""
        spec = begun.plan.spec
        if rows and self._charged_elsewhere != spec.run:
            self._releases.charge_elsewhere(spec.run, spec.epsilon * rows, begun.allowance)
            self._charged_elsewhere = spec.run

    def _check_own_rows(self, step: Step, plan: RunPlan) -> None:
        own = next(e for e in plan.enrolments if e.party == self.party)
        if (own.rows, own.rows_per_person) != (self._releases.rows, self._policy.population.rows_per_person):
            raise self._refusal(step, "the plan states other row counts for this party")

    def _check_population(self, step: Step) -> None:
        """Refuse to go on once the rows a person were declared anew: the rows here were read by the former number."""
        if self._releases.ledger.population.rows_per_person != self._policy.population.rows_per_person:
            raise self._refusal(step, "the rows a person were declared anew since this node was started")

    def _as_begun(self, step: Step, plan: RunPlan) -> Begun:
        self._check_population(step)
        manifest = self._manifest_of(step)
        elsewhere = plan.rows_elsewhere(self.party, manifest.parties_per_person)
        allowance = self._policy.allowance(plan.spec, elsewhere)
        return Begun(plan, manifest, self._run_releases(step, plan.spec), allowance)

    def _contribute(self, step: Contribute) -> Reply:
        begun = self._begun(step)
        plan, algorithm = begun.plan, self._algorithm(step, begun.plan.spec)
        if algorithm.apart:
            # A model of its own and a revealed sum would be two views of the same rows at one observer.
            raise self._refusal(step, f"{plan.spec.algorithm} takes no sums")
        if step.round.replacement is not None and not algorithm.reveals_running_sums(plan.spec.settings):
            raise self._refusal(step, f"{plan.spec.algorithm} with these settings reveals sums over all parties only")
        asked = step.round
        fault = scores_fault(asked, plan.spec, begun.releases.schema) if asked.scores else price_fault(asked, plan.spec)
        if fault is not None:
            raise self._refusal(step, fault)
        self._rounds.check(step, begun)
        if asked.scores:
            # Else the evaluation's epsilon would bound each round, and not all of them.
            self._once(step, "scored", asked.digest)
        return self._rounds.contribute(step, begun)

    def _once(self, step: Step, what: str, content: str) -> None:
        """Refuse a second one in a run; the same one may come again."""
        key = f"{step.run}/{what}"
        if self._journal.content(key) not in (None, content.encode()):
            raise self._refusal(step, f"the run is {what} once")
        self._journal.record(key, what, content.encode())

    def _select(self, step: SelectionStep) -> Reply:
        begun = self._begun(step)
        if not self._algorithm(step, begun.plan.spec).may_select(begun.plan.spec.settings):
            raise self._refusal(step, f"{begun.plan.spec.algorithm} makes no selections with these settings")
        if (fault := price_fault(step, begun.plan.spec)) is not None:
            raise self._refusal(step, fault)
        return Choice(begun.releases.select(step, begun.allowance))

    def _learn(self, step: Learn) -> Reply:
        begun = self._begun(step)
        plan = begun.plan
        if not self._algorithm(step, plan.spec).apart:
            raise self._refusal(step, f"{plan.spec.algorithm} learns no model of one party's rows")
        algorithm = ALGORITHMS.get(step.algorithm)
        if algorithm is None or algorithm.apart:
            raise self._refusal(step, f"{step.algorithm!r} is nothing that one party can learn alone")
        # A model of one party is learnt for pure epsilon, whatever the run may spend.
        algorithm.check_request(step.settings, begun.releases.schema, PURE)
        if step.epsilon > plan.spec.epsilon:
            # Its first releases would be within the run's epsilon, and spent for nothing.
            raise self._refusal(step, f"epsilon {step.epsilon} is asked for, more than the run's")
        # What it is made of stays until the run ends.
        self._once(step, "learned from", step_digest(step))
        allowance = replace(begun.allowance, delta=PURE)
        session = LocalSession(step.run, begun.releases.schema, begun.releases, allowance, prefix=f"{step.name}/")
        return Learned(complete(algorithm.learn(session, step.epsilon, step.settings)).to_dict())
