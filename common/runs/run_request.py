"""What an operator asks for when it submits a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from privity.common.consortium.manifest import Manifest
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.formats import parse_json, require
from privity.common.privacy.budget import exact_number, parse_delta, parse_epsilon
from privity.common.protocol.evaluation_scores import Evaluation, evaluation_of
from privity.common.protocol.run_spec import LARGEST_SPEC, RunSpec
from privity.common.protocol.secure_sum_method import PAILLIER, USUAL_KEY_BITS, Method, SumKind, sum_kind
from privity.common.release.evaluation.scores_over_parties import check_evaluation
from privity.common.release.synthetic_rows import check_release_size
from privity.common.synthesis.algorithms import ALGORITHMS

REQUEST = "run request"
"""In the place of a path in what operators are told."""


@dataclass(frozen=True)
class RunRequest:
    """What the operator asked for; see common/formats/run_request.schema.json.

    Attributes:
        parties: names of those that the run is over; None stands for all that are not paused.
        automatic: why the algorithm was chosen, and by which rules, if the operator left it open.
    """

    algorithm: str
    settings: dict[str, Any]
    epsilon: Fraction
    tolerate: int
    key_bits: int | None
    rows: int | None
    delta: Fraction = Fraction(0)
    secure_sum: SumKind = PAILLIER
    attributes: tuple[str, ...] | None = None
    evaluation: Evaluation | None = None
    automatic: dict[str, Any] | None = None
    parties: tuple[str, ...] | None = None

    def over(self, parties: Sequence[str]) -> RunRequest:
        """The same over exactly these parties."""
        return replace(self, parties=tuple(parties))

    def spec(self, run: str, manifest: Manifest) -> RunSpec:
        return RunSpec(
            run=run,
            algorithm=self.algorithm,
            settings=self.settings,
            epsilon=self.epsilon,
            tolerate=self.tolerate,
            members=manifest.members_of_run(self.parties),
            manifest_digest=manifest.digest,
            delta=self.delta,
            secure_sum=self.secure_sum,
            attributes=self.attributes,
            evaluation=self.evaluation,
        )

    def check(self, manifest: Manifest, schema: Schema) -> None:
        """Refuse what cannot run, before any party is asked."""
        if faults := manifest.faults_of_run(self.parties, self.tolerate):
            raise as_one_error(faults)
        rules = [
            (self.algorithm in ALGORITHMS, "algorithm", f"{self.algorithm!r} is unknown", ", ".join(ALGORITHMS)),
            ((self.key_bits is None) == (self.secure_sum.method is Method.MASKS), "key_bits",
             f"{self.key_bits} with secure sums by {self.secure_sum.method.value}",
             "2048, 3072 or 4096 with Paillier, null with masks"),
        ]  # fmt: skip
        for holds, option, reason, possible in rules:
            if not holds:
                raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=f"Possible: {possible}.")
        if schema.digest != manifest.schema_digest:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="schema",
                reason="the curator's differs from the one that the manifest of this run names",
                hint="Submit the run again. If that is refused too, the curator lacks the schema of its newest"
                " manifest: privity curator accept MANIFEST --schema FILE.",
            )  # fmt: skip
        unknown = [name for name in self.attributes or () if name not in schema.names]
        if unknown:
            reason = f"the schema has no {', '.join(map(repr, unknown))}"
            hint = f"Possible: {', '.join(schema.names)}."
            raise PrivityError(Catalogue.BAD_OPTION, option="attributes", reason=reason, hint=hint)
        over = schema.over(self.attributes)
        check_release_size(self.rows or 0, over)
        ALGORITHMS[self.algorithm].check_request(self.settings, over, self.delta)
        parties, evaluated = len(manifest.members_of_run(self.parties)), self.evaluation is not None
        ALGORITHMS[self.algorithm].check_size(self.settings, over, parties, evaluated=evaluated)
        check_evaluation(self.evaluation, self.algorithm, self.epsilon, over)


def as_one_error(faults: Sequence[tuple[str, str, str]]) -> PrivityError:
    """Faults of a request's options, (option, reason, remedy) each, all at once."""
    if len(faults) == 1:
        ((option, reason, remedy),) = faults
        return PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=remedy)
    return ProblemsFound(Problem(REQUEST, option, "bad-option", f"{why}.", remedy) for option, why, remedy in faults)


def parse_request(data: bytes, *, bounded: bool = True) -> RunRequest:
    """A run request from its JSON; every fault at once.

    Args:
        bounded: whether its epsilon and delta must be such as an operator may ask for. A party goes by its policy.
    """
    epsilon, delta = (parse_epsilon, parse_delta) if bounded else (_exact, _exact)
    if len(data) > LARGEST_SPEC:
        reason = f"larger than {LARGEST_SPEC} bytes, as no run's description may be"
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=REQUEST, reason=reason)
    document: Any = parse_json(data, REQUEST)
    require(document, "run_request", REQUEST)
    method = Method(document.get("secure_sum", Method.PAILLIER.value))
    return RunRequest(
        algorithm=document["algorithm"],
        settings=document.get("settings", {}),
        epsilon=epsilon(document["epsilon"]),
        tolerate=document.get("tolerate", 1),
        key_bits=document.get("key_bits", USUAL_KEY_BITS if method is Method.PAILLIER else None),
        rows=document.get("rows"),
        delta=delta(document.get("delta", "0")),
        secure_sum=sum_kind(method.value, document.get("exponents")),
        attributes=None if document.get("attributes") is None else tuple(document["attributes"]),
        evaluation=evaluation_of(document),
        automatic=document.get("automatic"),
        parties=None if document.get("parties") is None else tuple(document["parties"]),
    )


def _exact(text: str) -> Fraction:
    try:
        return exact_number(text)
    except ValueError as error:
        hint = "Give a decimal such as 1.0 or a fraction such as 1/3."
        raise PrivityError(Catalogue.BAD_OPTION, option="epsilon or delta", reason=str(error), hint=hint) from None
