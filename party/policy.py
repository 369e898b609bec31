"""The data owner's policy: what this party agrees to. Mandatory; absent or broken means refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from privity.common.errors import Catalogue, PrivityError, Problem
from privity.common.formats import declared_keys as declare
from privity.common.privacy.budget import readable
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.protocol.run_spec import RunSpec
from privity.common.runs.run_limits import RunLimits, cost_of_a_person, epsilon_key
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.text.short_values import shorten


class Approval(Enum):
    """Who approves a run that the policy allows."""

    MANUAL = "manual"
    BY_POLICY = "by-policy"


@dataclass(frozen=True, kw_only=True)
class People:
    """Whose rows a policy is about: the first key of the file."""

    population: Population = declare.text(
        "the people in these rows, by the name in `privity population declare`, which also states what all releases may"
        " cost one of them and how many rows one of them has. A new extract of the same people keeps the name"
    )


@dataclass(frozen=True, kw_only=True)
class Policy(RunLimits, People):
    """All that an owner agrees to: limits of which none is left open, on rows of certain people."""

    FILE: ClassVar = declare.SettingsFile(
        "policy", "policy.toml: what a data owner agrees to",
        "Nothing runs that it does not allow: review every line. A node at work obeys a change at once.",
    )  # fmt: skip

    epsilon_per_run: Fraction = declare.always(RunLimits, "epsilon_per_run")
    delta_per_run: Fraction = declare.always(RunLimits, "delta_per_run")
    approval: Approval = declare.choice(
        "who approves a run that this policy allows: with `manual` each run waits for `privity party approve`; with"
        " `by-policy` it goes on by itself", Approval, default=Approval.MANUAL.value, label="Who approves a run",
    )  # fmt: skip
    runs_per_day: int | None = declare.whole(
        "with `by-policy`: the most runs that are approved within 24 hours without asking, however they ended. One more"
        " waits for `privity party approve`, or until it is within the limit", 1, 100_000, default=None,
        by_default="no limit", example="3", label="Most runs a day without asking",
    )  # fmt: skip
    epsilon_per_day: Fraction | None = epsilon_key(
        "with `by-policy`: the most epsilon that those runs together may cost one of these people, exact", default=None,
        by_default="no limit", example='"1"', label="Most these runs may cost a day (epsilon)",
    )  # fmt: skip
    published: tuple[str, ...] = declare.some_of(
        "names of the limits whose values operators may know before they submit a run, so that they ask for none that"
        " would be refused. A refusal names its limit in any case", list(declare.keys_of(RunLimits)), 0, default=[],
        by_default="none", start=list(declare.keys_of(RunLimits)), label="Limits that operators may know",
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name, key in declare.keys_of(RunLimits).items():
            if getattr(self, name) is None and key.required:
                raise TypeError(f"a policy without {name}")
            if getattr(self, name) is None and key.default is not None:
                object.__setattr__(self, name, key.by_itself())

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


def load_policy(file: Path, declared: Callable[[str], Population], known: Sequence[str] | None = None) -> Policy:
    """Read policy.toml; raises PrivityError or ProblemsFound, and then the party must refuse all runs.

    Args:
        declared: finds the declaration of a population by its name.
        known: names of the schema's attributes, where there is a schema.
    """
    values = declare.read_settings(Policy, file, lambda found: _problems(found, str(file), known))
    people = declared(values["population"])
    return Policy(**{"delta_per_run": people.total_delta, **values, "population": people})


def _problems(document: dict[str, Any], file: str, known: Sequence[str] | None) -> list[Problem]:
    """Faults that lie between keys, and names of things that do not exist."""
    problems = [*_idle(document, file), *_unknown(document, file, "algorithms", ALGORITHMS)]
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
