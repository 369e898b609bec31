"""The data owner's policy: what this party agrees to. Mandatory; absent or broken means refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

from privity.common.crypto.residues import Exponents
from privity.common.errors import Catalogue, PrivityError, Problem
from privity.common.formats import shorten
from privity.common.formats.toml_file import read_toml
from privity.common.privacy.budget import budget_problems, parse_delta, parse_epsilon
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.secure_sum_method import Method, SumKind
from privity.common.synthesis.algorithms import ALGORITHMS, budget_of

FORMAT_VERSION = 1
DECLARED = ("total_epsilon", "total_delta", "rows_per_person")
"""What policies of earlier versions said, and the declaration of a population says now."""


class Approval(Enum):
    """Who approves a run that the policy allows."""

    MANUAL = "manual"
    AUTO = "auto"


@dataclass(frozen=True)
class Policy:
    """Limits on what any run may do with this party's rows.

    Attributes:
        population: the people whose rows these are, as they are declared.
        epsilon_per_run: what one run may cost one of them.
        delta_per_run: the same for delta; 0 allows pure differential privacy only.
        algorithms: names of the algorithms that may run.
        minimum_parties: a run over fewer parties is refused.
        minimum_tolerate: a run that tolerates fewer colluding parties is refused; at least 1.
        minimum_key_bits: a run under a shorter Paillier modulus is refused.
        secure_sums: methods of secure sums that may be used; Paillier alone unless the file says so.
        exponents: kinds of exponents of Paillier's randomness; short ones only if the file says so.
        approval: whether a person approves each run.
        parties_per_person: most parties of the consortium at which one of these people has rows.
        attributes: names of those that a run may be about; None stands for all.
        evaluation: whether runs may score what comes out on these rows, for a share of their epsilon.
    """

    population: Population
    epsilon_per_run: Fraction
    delta_per_run: Fraction
    algorithms: tuple[str, ...]
    minimum_parties: int
    minimum_tolerate: int
    minimum_key_bits: int
    secure_sums: tuple[str, ...] = (Method.PAILLIER.value,)
    exponents: tuple[str, ...] = (Exponents.HALF.value, Exponents.FULL.value)
    approval: Approval = Approval.MANUAL
    parties_per_person: int = 1
    attributes: tuple[str, ...] | None = None
    evaluation: bool = False

    def check_manifest(self, parties_per_person: int, party: str) -> None:
        """Refuse a manifest under which a person is at fewer parties than these people are."""
        if parties_per_person < self.parties_per_person:
            reason = (
                f"the manifest says that a person is at {parties_per_person} parties, not {self.parties_per_person}"
            )
            raise PrivityError(Catalogue.REFUSED_BY_POLICY, party=party, reason=reason)

    def check_run(self, spec: RunSpec, party: str, rows_elsewhere: int = 0) -> None:
        """Refuse a run that this policy does not allow, naming the first rule that it breaks.

        Args:
            rows_elsewhere: rows that one person may have at other parties, as far as it is known.
        """
        most = self.cost_of_a_person(spec, rows_elsewhere)
        epsilon, delta = most.epsilon, most.delta
        several = "" if epsilon == spec.epsilon else f", {epsilon} for a person with several rows,"
        several_delta = "" if delta == spec.delta else f", {delta} for a person with several rows,"
        rules = [
            (spec.algorithm in self.algorithms, f"algorithm {spec.algorithm!r} is not among those allowed"),
            (
                epsilon <= self.epsilon_per_run,
                f"epsilon {spec.epsilon}{several} is above {self.epsilon_per_run} a run",
            ),
            (not (spec.delta and rows_elsewhere), "a run with a delta needs people at one party each"),
            *self._attribute_rules(spec.attributes),
            (spec.evaluation is None or self.evaluation, "an evaluation over the parties is not allowed"),
            (
                delta <= self.delta_per_run,
                f"delta {spec.delta}{several_delta} is above {self.delta_per_run} a run",
            ),
            (len(spec.members) >= self.minimum_parties, f"fewer than {self.minimum_parties} parties"),
            (spec.tolerate >= self.minimum_tolerate, f"tolerates fewer than {self.minimum_tolerate} colluding parties"),
            (spec.tolerate < len(spec.members), "tolerates as many colluding parties as there are"),
            (party in spec.members, f"{party} is not a member of the run"),
            *self._sum_rules(spec.secure_sum),
        ]
        for holds, reason in rules:
            if not holds:
                raise PrivityError(Catalogue.REFUSED_BY_POLICY, party=party, reason=reason)

    def cost_of_a_person(self, spec: RunSpec, rows_elsewhere: int) -> ApproxDP:
        """What the run may cost one of these people, all of whose rows may be in it."""
        rows = self.population.rows_per_person + rows_elsewhere
        return budget_of(spec).most_of_a_person(rows, spec.epsilon - spec.learning_epsilon)

    def _attribute_rules(self, asked: tuple[str, ...] | None) -> list[tuple[bool, str]]:
        if self.attributes is None:
            return []
        if asked is None:
            return [(False, f"it is about every attribute, and only {', '.join(self.attributes)} are allowed")]
        return [(name in self.attributes, f"the attribute {name!r} is not among those allowed") for name in asked]

    def _sum_rules(self, kind: SumKind) -> list[tuple[bool, str]]:
        method, exponents = kind.method.value, kind.exponents
        return [
            (method in self.secure_sums, f"secure sums by {method!r} are not among those allowed"),
            (
                exponents is None or exponents.value in self.exponents,
                f"{exponents and exponents.value!r} exponents are not among those allowed",
            ),
        ]

    def check_key(self, bits: int, party: str) -> None:
        """Refuse a run whose Paillier modulus is shorter than allowed."""
        if bits < self.minimum_key_bits:
            reason = f"a {bits}-bit Paillier modulus is shorter than {self.minimum_key_bits} bits"
            raise PrivityError(Catalogue.REFUSED_BY_POLICY, party=party, reason=reason)

    def allowance(self, spec: RunSpec, rows_elsewhere: int = 0) -> Allowance:
        """What the ledger may be charged for this run: what it declared, within what is allowed."""
        most = self.cost_of_a_person(spec, rows_elsewhere)
        per_run, per_run_delta = min(most.epsilon, self.epsilon_per_run), min(most.delta, self.delta_per_run)
        return Allowance(per_run, per_run_delta, budget_of(spec))


def load_policy(path: Path, declared: Callable[[str], Population], known: Sequence[str] | None = None) -> Policy:
    """Read policy.toml; raises PrivityError or ProblemsFound, and then the party must refuse all runs.

    Args:
        declared: finds the declaration of a population by its name.
        known: names of the schema's attributes, where there is a schema.
    """
    document = read_toml(path, "policy", lambda found: _problems(found, str(path), known))
    population = declared(document["population"])
    delta = document.get("delta_per_run")
    return Policy(
        population=population,
        epsilon_per_run=parse_epsilon(document["epsilon_per_run"]),
        delta_per_run=population.total_delta if delta is None else parse_delta(delta),
        algorithms=tuple(document["algorithms"]),
        minimum_parties=document["minimum_parties"],
        minimum_tolerate=document["minimum_tolerate"],
        minimum_key_bits=document["minimum_key_bits"],
        approval=Approval(document.get("approval", Approval.MANUAL.value)),
        parties_per_person=document.get("parties_per_person", 1),
        attributes=tuple(document["attributes"]) if "attributes" in document else None,
        evaluation=document.get("evaluation", False),
        **{key: tuple(document[key]) for key in ("secure_sums", "exponents") if key in document},
    )


def _problems(document: dict[str, Any], file: str, known: Sequence[str] | None) -> list[Problem]:
    """Faults that the format does not know of: epsilons and deltas, and names of things that do not exist."""
    problems = budget_problems(document, file, ["epsilon_per_run"], ["delta_per_run"])
    problems += _declared_elsewhere(document, file)
    problems += _unknown(document, file, "algorithms", ALGORITHMS)
    if known is not None:
        problems += _unknown(document, file, "attributes", known)
    return problems


def _declared_elsewhere(document: dict[str, Any], file: str) -> Iterator[Problem]:
    """Keys of earlier versions, with the command that declares what they said."""
    said = {"total_epsilon": "TOTAL", **{key: document[key] for key in DECLARED if key in document}}
    options = " ".join(f"--{key.replace('_', '-')} {value}" for key, value in said.items())
    remedy = f"Remove it, and declare it once: privity population declare {document.get('population')!r} {options}"
    for key in DECLARED:
        if key in document:
            message = "the total and the rows a person are declared with the population, and kept in its ledger."
            yield Problem(file, key, "moved", message, remedy)


def _unknown(document: dict[str, Any], file: str, key: str, known: Iterable[str]) -> Iterator[Problem]:
    """Names in a list that stand for nothing."""
    given, names = document.get(key), list(known)
    for place, name in enumerate(given if isinstance(given, list) else []):
        if isinstance(name, str) and name and name not in names:
            message = f"{shorten(name)} is none of the {key} that there are."
            yield Problem(file, f"{key}[{place}]", "known", message, f"Write some of: {', '.join(names)}.")
