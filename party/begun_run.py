"""A run that this party has begun: checked once, and kept; what may be asked in it, and at which price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from privity.common.consortium.manifest import Manifest
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.mechanisms import Mechanism
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.run_budget import PureBudget, RunBudget
from privity.common.protocol.evaluation_scores import TreeScore
from privity.common.protocol.round import Round, Scores
from privity.common.protocol.run_spec import RunPlan
from privity.common.protocol.steps import Contribute, Learn, Recode, SelectionStep, Step
from privity.common.synthesis.algorithms import ALGORITHMS, Algorithm
from privity.common.synthesis.learning.domain_discovery import check_edges, with_edges
from privity.party.charged_releases import ChargedReleases


@dataclass(frozen=True)
class BegunRun:
    """What this party verified when the run began.

    Attributes:
        manifest: under which it enrolled.
        algorithm: what the run was approved as: its kinds of answers are all that it may ask for.
        whole: its rows; ``table`` names the state in which they were then.
        allowance: what the run may be charged, with its budget.
        edges: of numbers that are coded anew for the step at hand, by name.
    """

    plan: RunPlan
    manifest: Manifest
    algorithm: Algorithm
    whole: ChargedReleases
    table: str
    allowance: Allowance
    budget: RunBudget
    edges: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict)

    @property
    def releases(self) -> ChargedReleases:
        """The rows as far as the run sees them: coded anew if another run's were held meanwhile."""
        whole = self.whole
        if self.edges:
            places = {whole.schema.index(name): edges for name, edges in self.edges.items()}
            whole = whole.recoded(with_edges(whole.schema, places))
        return whole.over(self.plan.spec.attributes)

    def recoded(self, step: Recode) -> BegunRun:
        """The same run over rows that are coded anew, for the steps below this one.

        Raises:
            PrivityError: step-refused: the run was not approved as one that looks closer, or its edges are none.
        """
        schema = self.releases.schema
        if not (self.algorithm.discovers and self.whole.recodes):
            raise step_refused(step.key, f"{self.plan.spec.algorithm} codes no rows anew")
        try:
            check_edges(schema, dict(step.edges))
        except ValueError as error:
            raise step_refused(step.key, str(error)) from error
        return replace(self, edges={schema.names[place]: edges for place, edges in step.edges})

    def check_kind(self, step: Contribute) -> None:
        """Refuse a kind of round that the run was not approved with.

        Raises:
            PrivityError: step-refused.
        """
        round_, spec = step.round, self.plan.spec
        if self.algorithm.apart:
            # A model of its own and a revealed sum would be two views of the same rows at one observer.
            raise step_refused(step.key, f"{spec.algorithm} takes no sums")
        if round_.replacement is not None and not self.algorithm.reveals_running_sums(spec.settings):
            raise step_refused(step.key, f"{spec.algorithm} with these settings reveals sums over all parties only")

    def check_price(self, step: Contribute) -> None:
        """Refuse a round that costs more than it may, or has scores that the run was not approved with.

        Raises:
            PrivityError: step-refused.
        """
        round_ = step.round
        fault = self._scores_fault(round_) if isinstance(round_.query, Scores) else self._price_fault(round_.noise)
        if fault is not None:
            raise step_refused(step.key, fault)

    def check_selection(self, step: SelectionStep) -> None:
        """Both for a selection.

        Raises:
            PrivityError: step-refused.
        """
        if not self.algorithm.may_select(self.plan.spec.settings):
            raise step_refused(step.key, f"{self.plan.spec.algorithm} makes no selections with these settings")
        if (fault := self._price_fault(step.mechanism)) is not None:
            raise step_refused(step.key, fault)

    def check_learning(self, step: Learn) -> None:
        """Both for a model of this party's rows.

        Raises:
            PrivityError, ProblemsFound: step-refused, or settings that cannot be.
        """
        spec = self.plan.spec
        if not self.algorithm.apart:
            raise step_refused(step.key, f"{spec.algorithm} learns no model of one party's rows")
        algorithm = ALGORITHMS.get(step.algorithm)
        if algorithm is None or algorithm.apart:
            raise step_refused(step.key, f"{step.algorithm!r} is nothing that one party can learn alone")
        budget = PureBudget(step.loss.epsilon)
        algorithm.check_request(step.settings, self.releases.schema, budget.delta)
        if step.loss.epsilon > spec.epsilon:
            # Its first releases would be within the run's epsilon, and spent for nothing.
            raise step_refused(step.key, f"epsilon {step.loss.epsilon} is asked for, more than the run's")

    def only_once(self, step: Step, what: str, content: str) -> None:
        """Refuse a second one in the run; the same one may come again.

        Raises:
            PrivityError: step-refused.
        """
        journal, key = self.releases.journal, f"{step.run}/{what}"
        if journal.content(key) not in (None, content.encode()):
            raise step_refused(step.key, f"the run is {what} once")
        journal.record(key, what, content.encode())

    def _price_fault(self, mechanism: Mechanism) -> str | None:
        return self.budget.fault(mechanism.loss(RELATION))

    def _scores_fault(self, round_: Round) -> str | None:
        """Why the run was not approved with these scores; None if it was."""
        evaluation = self.plan.spec.evaluation
        assert isinstance(round_.query, Scores)
        if evaluation is None:
            return "the run is not one that scores what comes out"
        if PureBudget(evaluation.epsilon).fault(round_.noise.loss(RELATION)) is not None:
            return "it asks for more epsilon than the evaluation's"
        allowed = {self.releases.schema.index(name) for name in evaluation.targets}
        if any(isinstance(score, TreeScore) and score.attribute not in allowed for score in round_.query.scores):
            return "it predicts an attribute that the evaluation does not name"
        return None


def step_refused(key: str, reason: str) -> PrivityError:
    """That a step is refused, and why."""
    return PrivityError(Catalogue.STEP_REFUSED, step=key, reason=reason)
