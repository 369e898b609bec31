"""A party's answers to steps: verify, obey the policy, answer once.

Everything that this party believes about a run it has checked against the manifest and its own policy;
the curator is believed nothing. The reply to a step is stored before it is sent, and a repetition gets
the same bytes.
"""

from __future__ import annotations

from common.canonical import canonical_bytes, parse
from common.crypto.identity import Identity
from common.errors import Catalogue, PrivityError
from common.protocol import secure_sum
from common.protocol.limits import check_tables
from common.protocol.manifest import Manifest
from common.protocol.plan import Enrolment, RunPlan
from common.protocol.steps import (
    Begin,
    Choice,
    Close,
    Combine,
    Contribute,
    Contribution,
    Done,
    Enrol,
    Enrolled,
    Product,
    Refusal,
    Reply,
    Select,
    Step,
    step_digest,
)
from common.wire.codec import encode_reply
from party.policy import Policy
from party.releases import ChargedReleases


class PartyEngine:
    """One party's side of every run.

    Args:
        releases: the rows behind ledger and journal.
        policy, identity, manifest: what this party allows, its own keys, and whom it knows.
    """

    def __init__(self, releases: ChargedReleases, policy: Policy, identity: Identity, manifest: Manifest) -> None:
        if releases.schema.digest != manifest.schema_digest:
            raise PrivityError(
                Catalogue.STEP_REFUSED, step="start", reason="the schema is not the one that the manifest names"
            )
        self.party = releases.party
        self._releases = releases
        self._journal = releases.journal
        self._policy = policy
        self._identity = identity
        self._manifest = manifest

    def handle(self, step: Step) -> bytes:
        """The encoded reply to a step; a refusal is a reply too, but is not stored."""
        key = f"{step.run}/reply/{step.key}"
        digest = step_digest(step)
        try:
            self._check_open(step)
            stored = self._journal.recall(key, digest)
            if stored is None:
                stored = self._journal.record(key, digest, encode_reply(step.run, step.key, self._answer(step)))
            if isinstance(step, Close):
                self._forget(step.run)
            return stored
        except PrivityError as error:
            return encode_reply(step.run, step.key, Refusal(error.code, error.message, error.remedy))

    def _check_open(self, step: Step) -> None:
        closed = self._journal.recall(f"closed/{step.run}", "closed") is not None
        if closed and not isinstance(step, Close):
            raise self._refusal(step, "the run is closed")

    def _forget(self, run: str) -> None:
        # The mark goes first: a crash in between leaves a run that is closed and not yet erased.
        self._journal.record(f"closed/{run}", "closed", b"")
        self._releases.forget(run)

    def _refusal(self, step: Step, reason: str) -> PrivityError:
        return PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason=reason)

    def _answer(self, step: Step) -> Reply:
        match step:
            case Enrol():
                return self._enrol(step)
            case Begin():
                return self._begin(step)
            case Contribute():
                return self._contribute(step)
            case Combine():
                return self._combine(step)
            case Select():
                return self._select(step)
            case Close():
                return Done()

    def _enrol(self, step: Enrol) -> Reply:
        if step.spec.manifest_digest != self._manifest.digest:
            raise self._refusal(step, "the run belongs to another manifest")
        self._policy.check_run(step.spec, self.party)
        enrolment = Enrolment.signed(self.party, step.spec, self._releases.rows, self._identity)
        return Enrolled(enrolment.to_dict())

    def _begin(self, step: Begin) -> Reply:
        plan = step.plan
        if self._journal.recall(f"{step.run}/reply/enrol", step_digest(Enrol(plan.spec))) is None:
            raise self._refusal(step, "the party did not enrol in this run")
        plan.check(self._manifest)
        if plan.rows_of(self.party) != self._releases.rows:
            raise self._refusal(step, "the plan states another row count for this party")
        self._policy.check_key(plan.modulus.bit_length(), self.party)
        self._journal.record(f"{step.run}/plan", "plan", canonical_bytes(plan.to_dict()))
        return Done()

    def _plan(self, step: Step) -> RunPlan:
        stored = self._journal.recall(f"{step.run}/plan", "plan")
        if stored is None:
            raise self._refusal(step, "the run has not begun")
        return RunPlan.from_dict(parse(stored))

    def _context(self, step: Contribute | Combine) -> secure_sum.RoundContext:
        return secure_sum.RoundContext(
            plan=self._plan(step),
            manifest=self._manifest,
            round=step.round,
            attempt=step.attempt,
            combiner=step.combiner,
            schema=self._releases.schema,
        )

    def _contribute(self, step: Contribute) -> Reply:
        context = self._context(step)
        plan = context.plan
        vector = self._releases.noisy_vector(step.round, plan.noise_quota, self._policy.allowance(plan.spec))
        return Contribution(secure_sum.contribute(vector, context, self.party, self._identity))

    def _combine(self, step: Combine) -> Reply:
        if step.combiner != self.party:
            raise self._refusal(step, "another party is this round's combiner")
        context = self._context(step)
        own = self._journal.recall(
            f"{step.run}/reply/contribute/{step.round.round}/{step.attempt}",
            step_digest(Contribute(step.round, step.attempt, step.combiner)),
        )
        if own is None:
            raise self._refusal(step, "this party did not contribute to the round")
        return Product(tuple(secure_sum.combine(step.blobs, context, self._identity)))

    def _select(self, step: Select) -> Reply:
        plan = self._plan(step)
        schema = self._releases.schema
        check_tables([c.marginal for c in step.candidates], schema.names, schema.domain)
        if not all(c.parents for c in step.candidates):
            raise self._refusal(step, "a candidate has no parents")
        return Choice(self._releases.select(step, self._policy.allowance(plan.spec)))
