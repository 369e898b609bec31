"""The data owner's policy: what this party agrees to. Mandatory; absent or broken means refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

from privity.common.crypto.residues import Exponents
from privity.common.errors import Catalogue, PrivityError, Problem
from privity.common.formats.toml_file import read_toml
from privity.common.privacy.budget import budget_problems, parse_delta, parse_epsilon, readable
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.secure_sum_method import Method
from privity.common.runs.run_limits import RunLimits, cost_of_a_person
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.text.short_values import shorten

FORMAT_VERSION = 1


class Approval(Enum):
    """Who approves a run that the policy allows."""

    MANUAL = "manual"
    BY_POLICY = "by-policy"


@dataclass(frozen=True, kw_only=True)
class Policy(RunLimits):
    """All that an owner agrees to: limits of which none is left open, on rows of certain people.

    Attributes:
        population: the people in these rows, as they are declared.
        secure_sums: Paillier alone unless the file says so.
        exponents: short ones only if the file says so.
        approval: whether a person approves each run.
        runs_per_day, epsilon_per_day: most runs, and most that they may cost one of these people, that are approved
            within a day without asking anybody; None sets no limit.
        published: names of the limits that operators may know beforehand.
    """

    population: Population
    epsilon_per_run: Fraction = field()
    delta_per_run: Fraction = field()
    algorithms: tuple[str, ...] = field()
    minimum_parties: int = field()
    minimum_tolerate: int = field()
    minimum_key_bits: int = field()
    secure_sums: tuple[str, ...] = (Method.PAILLIER.value,)
    exponents: tuple[str, ...] = (Exponents.HALF.value, Exponents.FULL.value)
    approval: Approval = Approval.MANUAL
    runs_per_day: int | None = None
    epsilon_per_day: Fraction | None = None
    parties_per_person: int = 1
    evaluation: bool = False
    published: tuple[str, ...] = ()

    def publication(self) -> tuple[RunLimits, int]:
        """The limits that operators may know, and the rows of a person that prices are counted with."""
        limits = RunLimits.of_limits({name: value for name, value in self.limits().items() if name in self.published})
        priced = limits.epsilon_per_run is not None or limits.delta_per_run is not None
        return limits, self.population.rows_per_person if priced else 1

    @property
    def a_day_in_words(self) -> str:
        """What is approved within a day without asking; empty if that has no limit."""
        limits = [] if self.runs_per_day is None else [f"{self.runs_per_day} runs"]
        limits += [] if self.epsilon_per_day is None else [f"epsilon {readable(self.epsilon_per_day)}"]
        return " and ".join(limits)

    def check_manifest(self, parties_per_person: int, party: str) -> None:
        """Refuse a manifest under which a person is at fewer parties than these people are."""
        refuse(party, self.manifest_refusals(parties_per_person))

    def cost_of_a_person(self, spec: RunSpec, rows_elsewhere: int) -> ApproxDP:
        """What the run may cost one of these people, all of whose rows may be in it."""
        return cost_of_a_person(spec, self.population.rows_per_person + rows_elsewhere)


def refuse(party: str, reasons: Sequence[str]) -> None:
    """Refuse a run for all these reasons; go on if there is none.

    Raises:
        PrivityError: refused-by-policy.
    """
    if reasons:
        raise PrivityError(Catalogue.REFUSED_BY_POLICY, party=party, reason="; ".join(reasons), reasons=tuple(reasons))


def load_policy(path: Path, declared: Callable[[str], Population], known: Sequence[str] | None = None) -> Policy:
    """Read policy.toml; raises PrivityError or ProblemsFound, and then the party must refuse all runs.

    Args:
        declared: finds the declaration of a population by its name.
        known: names of the schema's attributes, where there is a schema.
    """
    document = read_toml(path, "policy", lambda found: _problems(found, str(path), known))
    population = declared(document["population"])
    delta, daily = document.get("delta_per_run"), document.get("epsilon_per_day")
    return Policy(
        population=population,
        epsilon_per_run=parse_epsilon(document["epsilon_per_run"]),
        delta_per_run=population.total_delta if delta is None else parse_delta(delta),
        algorithms=tuple(document["algorithms"]),
        minimum_parties=document["minimum_parties"],
        minimum_tolerate=document["minimum_tolerate"],
        minimum_key_bits=document["minimum_key_bits"],
        approval=Approval(document.get("approval", Approval.MANUAL.value)),
        runs_per_day=document.get("runs_per_day"),
        epsilon_per_day=None if daily is None else parse_epsilon(daily, "epsilon_per_day"),
        parties_per_person=document.get("parties_per_person", 1),
        attributes=tuple(document["attributes"]) if "attributes" in document else None,
        evaluation=document.get("evaluation", False),
        **{key: tuple(document[key]) for key in ("secure_sums", "exponents", "published") if key in document},
    )


def _problems(document: dict[str, Any], file: str, known: Sequence[str] | None) -> list[Problem]:
    """Faults that the format does not know of: epsilons and deltas, and names of things that do not exist."""
    problems = budget_problems(document, file, ["epsilon_per_run", "epsilon_per_day"], ["delta_per_run"])
    problems += _idle(document, file)
    problems += _unknown(document, file, "algorithms", ALGORITHMS)
    if known is not None:
        problems += _unknown(document, file, "attributes", known)
    return problems


def _idle(document: dict[str, Any], file: str) -> Iterator[Problem]:
    """Limits that would bound nothing."""
    for key in ("runs_per_day", "epsilon_per_day"):
        if key in document and document.get("approval", Approval.MANUAL.value) == Approval.MANUAL.value:
            message = "It bounds what is approved without asking, and a person approves each run."
            remedy = f'Write approval = "{Approval.BY_POLICY.value}", or leave it out.'
            yield Problem(file, key, "approval", message, remedy)


def _unknown(document: dict[str, Any], file: str, key: str, known: Iterable[str]) -> Iterator[Problem]:
    """Names in a list that stand for nothing."""
    given, names = document.get(key), list(known)
    for place, name in enumerate(given if isinstance(given, list) else []):
        if isinstance(name, str) and name and name not in names:
            message = f"{shorten(name)} is none of the {key} that there are."
            yield Problem(file, f"{key}[{place}]", "known", message, f"Write some of: {', '.join(names)}.")
