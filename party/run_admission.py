"""Which runs this party takes part in: it enrols, verifies the plan once when the run begins, and keeps the result.

Everything that it believes about a run it has checked against the manifest and its own policy; the curator is believed
nothing. What may change while a run goes on is looked at again at every step: the rows, and how many a person has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from privity.common.consortium.manifest import Manifest, manifest_of_run
from privity.common.crypto import paillier
from privity.common.crypto.identity import PublicIdentity
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.run_spec import Enrolment, RunPlan, RunSpec
from privity.common.protocol.steps import (
    Begin,
    Contribute,
    Done,
    Enrol,
    Enrolled,
    Learn,
    Recode,
    SelectionStep,
    Step,
    step_digest,
)
from privity.common.release.evaluation.scores_over_parties import check_evaluation
from privity.common.runs.run_limits import RunLimits, cost_of_a_person, lower
from privity.common.runs.signed_request import SignedRequest
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.common.synthesis.algorithms import ALGORITHMS, Algorithm
from privity.common.synthesis.learning.domain_discovery import undiscovered
from privity.common.wire.codec import decode_reply, decode_step
from privity.party.approvals import Approvals, closed_key, under_key
from privity.party.begun_run import BegunRun, step_refused
from privity.party.charged_releases import ChargedReleases
from privity.party.daily_limits import ApprovedByPolicy
from privity.party.keys import Keys
from privity.party.policy import Policy, refuse
from privity.party.run_expiry import MOST_RUNS, LastHeard
from privity.party.signed_requests import signed_request_of

CHANGED = "the rows of this party have changed since the run began"


class RunAdmission:
    """One party's yes to runs.

    Args:
        policy: gives the policy of now, or refuses every run if there is none that can be obeyed.
        approvals, heard: of this party's runs; the engine's.
        process: the number of this node's process, which enrolments state.
    """

    def __init__(
        self,
        releases: ChargedReleases,
        policy: Callable[[], Policy],
        keys: Keys,
        approvals: Approvals,
        heard: LastHeard,
        process: str,
    ) -> None:
        self._process = process
        self.party = releases.party
        self._releases = releases
        self._journal = releases.journal
        self._policy = policy
        self._keys = keys
        self._approvals = approvals
        self._by_policy = ApprovedByPolicy(releases.journal)
        self._heard = heard
        self._begun: dict[str, BegunRun] = {}
        self._bound: dict[str, tuple[Policy, BegunRun]] = {}

    def adopt(self, manifest: Manifest) -> None:
        """New runs must be under this manifest from now on; runs that have begun go on under theirs.

        Raises:
            PrivityError: it names another schema, or other keys for this party.
        """
        self._keys.of(manifest)
        self.manifest = manifest

    def keys_needed(self) -> set[PublicIdentity]:
        """The public halves of those keys that the manifest of now lists, or that of a run that is open."""
        needed = {self.manifest.keys_of(self.party)}
        for run in self._heard.runs():
            stored = self._journal.recall(f"{run}/manifest", "manifest")
            # Without one it was never taken part in, or is closed in this very moment.
            if stored is not None and self._journal.content(closed_key(run)) is None:
                needed.add(manifest_of_run(stored).keys_of(self.party))
        return needed

    def enrol(self, step: Enrol) -> Enrolled:
        """Take part in a run, or refuse it before anything is counted."""
        manifest, spec, policy = self._asked_under(step), step.spec, self._policy()
        _check_agreed(step, self.manifest)
        signed = signed_request_of(step, manifest, self.manifest)
        self._check_population(step, policy)
        # How many rows a person has at the others shows only in the plan; it is one at least.
        elsewhere = manifest.parties_per_person - 1
        here = policy.population.rows_per_person
        reasons = policy.refusals(
            spec, self.party, here=here, elsewhere=elsewhere, parties_per_person=manifest.parties_per_person
        )
        try:
            self._releases.check_affordable(cost_of_a_person(spec, here + elsewhere))
        except PrivityError as error:
            if not reasons or error.kind is not Catalogue.BUDGET_EXHAUSTED:
                raise
            reasons.append(error.message)
        refuse(self.party, reasons)
        schema, algorithm = self._seen(step, spec).schema, _algorithm(step, spec)
        algorithm.check_request(spec.settings, schema, spec.delta)
        algorithm.check_size(spec.settings, schema, len(spec.members), evaluated=spec.evaluation is not None)
        if algorithm.discovers and undiscovered(schema) and not self._releases.recodes:
            raise step_refused(step.key, "the rows of this party are coded once and for all")
        check_evaluation(spec.evaluation, spec.algorithm, spec.epsilon, schema)
        if self._heard.is_full(step.run):
            raise step_refused(step.key, f"{MOST_RUNS} runs are open here already")
        self._approvals.file(spec, signed)
        under = canonical_bytes(manifest.to_dict())
        entries, most = [(f"{step.run}/manifest", "manifest", under)], cost_of_a_person(spec, here + elsewhere)
        if not self._approvals.approved(spec) and self._by_policy.admits(policy, step.run, most.epsilon):
            self._by_policy.forget_old()
            entries.append(self._by_policy.entry(step.run, spec.digest, most.epsilon))
        else:
            self._approvals.demand_approval(spec, under)
        self._journal.record_together(entries, instead_of=[under_key(step.run)])
        keys, rows, whose = self._keys.of(manifest), self._releases.rows, policy.population.name
        enrolment = Enrolment.signed(self.party, spec, rows, keys, here, process=self._process, population=whose)
        return Enrolled(enrolment.to_dict())

    def operators_request(self, step: Enrol) -> SignedRequest | None:
        """What an operator signed to ask for this run; None unless one did."""
        try:
            return signed_request_of(step, self._asked_under(step), self.manifest)
        except PrivityError:
            return None

    def _asked_under(self, step: Enrol) -> Manifest:
        """The manifest of now; or the one under which the run was asked for first, if both say the same of it.

        Raises:
            PrivityError: step-refused: neither is the run's.
        """
        spec, now = step.spec, self.manifest
        if spec.manifest_digest == now.digest:
            return now
        kept = self._journal.content(f"{step.run}/manifest") or self._journal.content(under_key(step.run))
        if kept is not None:
            then = manifest_of_run(kept)
            same_keys = all(then.members.get(name) == now.members.get(name) for name in spec.members)
            others_same = (then.schema_digest, then.parties_per_person) == (now.schema_digest, now.parties_per_person)
            if then.digest == spec.manifest_digest and same_keys and others_same:
                return then
        raise step_refused(step.key, "the run belongs to another manifest")

    def begin(self, step: Begin, prepare: Callable[[BegunRun], None]) -> Done:
        """Verify the complete plan, reserve its budget, charge what it costs whatever is asked, and keep it.

        Args:
            prepare: gets ready for the run, or refuses it.
        """
        plan = step.plan
        enrolled = self._journal.recall(f"{step.run}/reply/enrol", step_digest(Enrol(plan.spec)))
        if enrolled is None:
            raise step_refused(step.key, "the party did not enrol in this run")
        own = [Enrolled(each.to_dict()) for each in plan.enrolments if each.party == self.party]
        if decode_reply(enrolled)[2] not in own:
            # Signed by this party's key: a copy of this node has it too, and samples noise of its own.
            raise step_refused(step.key, "another node enrolled under this party's name")
        policy = self._policy()
        begun = self._verified(step, plan, policy, policy)
        self._check_key(step)
        prepare(begun)
        # Before anything is charged: a run that began under other limits, before a crash, keeps those.
        kept_limits = canonical_bytes(policy.limits())
        begun = self._within(begun, _limits(self._journal.record(f"{step.run}/limits", "limits", kept_limits)))
        if self._journal.recall(f"{step.run}/plan", "plan") is None:
            most = cost_of_a_person(plan.spec, self._rows_of_a_person(plan, begun.manifest))
            self._releases.reserve(step.run, most)
        # Reserved and charged first: a run whose plan is kept goes on.
        self._charge_elsewhere(begun)
        schema = begun.releases.schema.stated
        kept = canonical_bytes({"plan": plan.to_dict(), "table": begun.table, "schema": schema})
        if self._journal.record(f"{step.run}/plan", "plan", kept) != kept:
            raise step_refused(step.key, "the run has begun with another plan or other rows")
        self._begun[step.run] = begun
        return Done()

    def begun(self, step: Step) -> BegunRun:
        """The run of a step, as it was verified when it began, if everything that this rests on still holds.

        A step that is charged is allowed what both the limits under which the run began and the policy of now allow.
        """
        policy = self._policy()
        kept = self._begun.get(step.run) or self._recalled(step, policy)
        self._check_population(step, policy)
        if isinstance(step, Contribute | SelectionStep | Learn):
            last, bound = self._bound.get(step.run, (None, kept))
            if last is not policy:
                bound = self._within(kept, policy)
                self._bound[step.run] = policy, bound
            kept = bound
        if kept.table != self._releases.table_digest:
            raise step_refused(step.key, CHANGED)
        for name in self._journal.keys(f"{step.run}/recoded/") if kept.algorithm.discovers else ():
            stored = self._journal.content(name)
            if stored is not None and step.key.partition("/")[2].startswith(f"{name.split('/', 2)[2]}/"):
                recode = decode_step(stored)
                assert isinstance(recode, Recode)
                return kept.recoded(recode)
        return kept

    def forget(self, run: str) -> None:
        """A run is closed."""
        self._begun.pop(run, None)
        self._bound.pop(run, None)

    def _recalled(self, step: Step, policy: Policy) -> BegunRun:
        """What an earlier process began, verified anew."""
        stored = self._journal.recall(f"{step.run}/plan", "plan")
        limits = self._journal.recall(f"{step.run}/limits", "limits")
        if stored is None or limits is None:
            raise step_refused(step.key, "the run has not begun")
        kept = parse(stored)
        if kept["table"] != self._releases.table_digest:
            raise step_refused(step.key, CHANGED)
        begun = self._verified(step, RunPlan.from_dict(kept["plan"]), policy, _limits(limits))
        self._charge_elsewhere(begun)
        self._begun[step.run] = begun
        return begun

    def _verified(self, step: Step, plan: RunPlan, policy: Policy, limits: RunLimits) -> BegunRun:
        self._check_population(step, policy)
        stored = self._journal.recall(f"{step.run}/manifest", "manifest")
        if stored is None:
            raise step_refused(step.key, "the party did not enrol in this run")
        manifest = manifest_of_run(stored)
        plan.check(manifest)
        if manifest.schema_digest != self._releases.schema.digest:
            raise step_refused(step.key, "the rows are coded by another schema than the run's manifest names")
        own = next(enrolment for enrolment in plan.enrolments if enrolment.party == self.party)
        if (own.rows, own.rows_per_person) != (self._releases.rows, policy.population.rows_per_person):
            raise step_refused(step.key, "the plan states other row counts for this party")
        self._check_limits(plan, manifest, limits)
        algorithm = _algorithm(step, plan.spec)
        allowance = limits.allowance(plan.spec, self._rows_of_a_person(plan, manifest))
        assert allowance.budget is not None
        self._seen(step, plan.spec)
        table = self._releases.table_digest
        return BegunRun(plan, manifest, algorithm, self._releases, table, allowance, allowance.budget)

    def _within(self, begun: BegunRun, limits: RunLimits) -> BegunRun:
        """The run as far as these limits allow it, too.

        Raises:
            PrivityError: refused-by-policy: they do not.
        """
        plan, manifest = begun.plan, begun.manifest
        self._check_limits(plan, manifest, limits)
        allowed = limits.allowance(plan.spec, self._rows_of_a_person(plan, manifest))
        return replace(begun, allowance=lower(begun.allowance, allowed))

    def _check_limits(self, plan: RunPlan, manifest: Manifest, limits: RunLimits) -> None:
        elsewhere = plan.rows_elsewhere(self.party, manifest.parties_per_person)
        here = self._rows_of_a_person(plan, manifest) - elsewhere
        of_person = manifest.parties_per_person
        refuse(
            self.party,
            limits.refusals(
                plan.spec,
                self.party,
                here=here,
                elsewhere=elsewhere,
                key_bits=plan.key_bits,
                parties_per_person=of_person,
            ),
        )

    def _rows_of_a_person(self, plan: RunPlan, manifest: Manifest) -> int:
        """Those that one person may have, here and at the other parties."""
        here = next(enrolment.rows_per_person for enrolment in plan.enrolments if enrolment.party == self.party)
        return here + plan.rows_elsewhere(self.party, manifest.parties_per_person)

    def _charge_elsewhere(self, begun: BegunRun) -> None:
        """Once for the run, whatever is asked of this party in it."""
        spec = begun.plan.spec
        if rows := begun.plan.rows_elsewhere(self.party, begun.manifest.parties_per_person):
            loss = PureDP(spec.epsilon, RELATION).scaled(rows)
            self._releases.charge_elsewhere(spec.run, loss, begun.allowance)

    def _check_key(self, step: Begin) -> None:
        if (modulus := step.plan.modulus) is not None:
            try:
                paillier.check_modulus(modulus)
            except ValueError as error:
                raise step_refused(step.key, str(error)) from error

    def _check_population(self, step: Step, policy: Policy) -> None:
        """Refuse to go on once the rows a person were declared anew: the rows here were read by the former number."""
        if self._releases.ledger.population.rows_per_person != policy.population.rows_per_person:
            raise step_refused(step.key, "the rows a person were declared anew since this node was started")

    def _seen(self, step: Step, spec: RunSpec) -> ChargedReleases:
        """The rows, as far as the run sees them."""
        try:
            return self._releases.over(spec.attributes)
        except KeyError:
            raise step_refused(step.key, "it names attributes that the schema does not have") from None


def _limits(stored: bytes) -> RunLimits:
    return RunLimits.of_limits(parse(stored))


def _algorithm(step: Step, spec: RunSpec) -> Algorithm:
    algorithm = ALGORITHMS.get(spec.algorithm)
    if algorithm is None:
        raise step_refused(step.key, "the algorithm is none that this party knows")
    return algorithm


def _check_agreed(step: Enrol, manifest: Manifest) -> None:
    """Refuse what the members agreed never to run, whatever this party's own policy says."""
    if faults := manifest.faults_of_run(step.spec.members, step.spec.tolerate):
        raise step_refused(step.key, "; ".join(reason for _, reason, _ in faults))
