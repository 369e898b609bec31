"""What may be asked of a run and parties enrol in, each option declared once: type, bounds, default and meaning.

From this follow run requests and their JSON Schema (``privity.common.runs.run_request``), what parties enrol in
(``run_spec.py``), the options of commands, the arguments in Python, the operator's form, and the table in the docs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privity.common.crypto.residues import Exponents
from privity.common.data.regression_formula import ANALYSES, MOST_FORMULAS
from privity.common.privacy.budget import parse_delta, parse_epsilon
from privity.common.protocol.declared_options import (
    EVERY,
    NAME,
    OF_A_CONSORTIUM,
    SETTINGS,
    Option,
    Term,
    choice,
    exact,
    names,
    term,
    terms_of,
    whole,
)
from privity.common.protocol.evaluation_scores import MOST_TARGETS, Evaluation, evaluation_of
from privity.common.protocol.secure_sum_method import PAILLIER, Method, SumKind, sum_kind

AUTO = "auto"
"""In the place of an algorithm that is to be chosen by public numbers."""

MOST_PARTIES = 1_000
"""Of a run, and of a consortium."""


class SumTerm(Term):
    """The secure sum: its method, and what randomness Paillier takes."""

    def __init__(self, method: Option, exponents: Option) -> None:
        super().__init__(method)
        self._exponents = exponents

    def options(self, name: str) -> dict[str, Option]:
        return {name: self._option, "exponents": self._exponents}

    def read(self, name: str, request: Mapping[str, Any]) -> SumKind:
        return sum_kind(request[name], request["exponents"])

    def default(self) -> SumKind:
        return PAILLIER

    def content(self, value: SumKind) -> dict[str, Any]:
        return value.content()

    def of_plan(self, content: Any) -> SumKind:
        return SumKind.from_content(content)

    def asked(self, name: str, value: SumKind) -> dict[str, Any]:
        return {name: value.method.value, "exponents": value.exponents and value.exponents.value}


class SettingsTerm(Term):
    """The algorithm's settings, one of which has an option of its own."""

    def __init__(self, settings: Option, analysis: Option) -> None:
        super().__init__(settings)
        self._analysis = analysis

    def options(self, name: str) -> dict[str, Option]:
        return {name: self._option, ANALYSES: self._analysis}


class EvaluationTerm(Term):
    """Scores over the parties: their share of epsilon, and what a classifier predicts for them."""

    def __init__(self, epsilon: Option, targets: Option) -> None:
        super().__init__(epsilon)
        self._targets = targets

    def options(self, name: str) -> dict[str, Option]:
        return {f"{name}_epsilon": self._option, f"{name}_targets": self._targets}

    def read(self, name: str, request: Mapping[str, Any]) -> Evaluation | None:
        return evaluation_of(request)

    def default(self) -> None:
        return None

    def content(self, value: Evaluation | None) -> dict[str, Any] | None:
        return None if value is None else value.to_dict()

    def of_plan(self, content: Any) -> Evaluation | None:
        return None if content is None else Evaluation.from_dict(content)


@dataclass(frozen=True, kw_only=True)
class RunTerms:
    """What an operator asks of a run, and parties enrol in.

    Attributes:
        settings: plain document, fractions as text.
        attributes: None stands for all of the schema.
        evaluation: None if the parties score nothing.
    """

    algorithm: str = term(
        Option(
            "name of the algorithm (docs/algorithms/settings.md)", NAME, AUTO,
            "auto, which chooses by public numbers (docs/choosing.md)", EVERY, label="Algorithm", is_required=True,
        )
    )  # fmt: skip
    settings: dict[str, Any] = term(
        SettingsTerm(
            Option("the algorithm's settings, a JSON object", SETTINGS, {}, "those of the algorithm", EVERY),
            Option(
                "a regression that will be made, such as \"income ~ age + C(region)\": the tables that span it are"
                " measured, and the release has its estimate (docs/statistics.md)",
                names(MOST_FORMULAS, between=";"), by_default="none", takers=EVERY, key=("settings", ANALYSES),
                flag="analysis", label="Regressions that will be made (several between semicolons)",
            ),
        )
    )  # fmt: skip
    epsilon: Fraction = term(
        Option(
            "the most epsilon that the run costs, exact, such as 1.0 or 1/3",
            exact(parse_epsilon), takers=EVERY, is_required=True,
        )
    )  # fmt: skip
    delta: Fraction = term(
        Option(
            "the same for delta, at most 0.001, such as 1e-9; 0 is pure differential privacy",
            exact(parse_delta), "0", takers=EVERY, label="Delta",
        )
    )  # fmt: skip
    tolerate: int = term(
        Option(
            "t, how many parties may pool what they know, and learn no more about the others' people",
            whole(1, MOST_PARTIES, of_one_owner=0), 1, label="How many parties may collude",
        )
    )  # fmt: skip
    secure_sum: SumKind = term(
        SumTerm(
            Option(
                "how sums over the parties are taken: paillier, by encryption, or masks, by random numbers that cancel,"
                " which is faster (docs/secure_sums.md)",
                choice(Method), Method.PAILLIER.value, label="How sums are taken",
            ),
            Option(
                "randomness of Paillier's encryption: half, short or full; masks have none", choice(Exponents),
                by_default="half",
            ),
        )
    )  # fmt: skip
    attributes: tuple[str, ...] | None = term(
        Option(
            "names of the attributes that the run is about", names(), by_default="all of the schema",
            takers=OF_A_CONSORTIUM, flag="attribute", label="Attributes",
        )
    )  # fmt: skip
    evaluation: Evaluation | None = term(
        EvaluationTerm(
            Option(
                "share of epsilon for which the parties score the synthetic table on their rows",
                exact(parse_epsilon), by_default="none", key=("evaluation", "epsilon"),
            ),
            Option(
                "attributes that a classifier predicts for these scores", names(MOST_TARGETS, least=0),
                by_default="none", key=("evaluation", "targets"), flag="evaluation-target",
            ),
        )
    )  # fmt: skip

    @property
    def learning_epsilon(self) -> Fraction:
        """What is left for the algorithm."""
        return self.epsilon - (self.evaluation.epsilon if self.evaluation else 0)

    def terms(self) -> dict[str, Any]:
        """Its fields that ``RunTerms`` declares, by name."""
        return {name: getattr(self, name) for name in terms_of(RunTerms)}

    def content(self) -> dict[str, Any]:
        """As plans and releases have it, a plain document."""
        return {name: how.content(getattr(self, name)) for name, how in terms_of(RunTerms).items()}

    def asked(self) -> dict[str, Any]:
        """As a run request has it, a plain document."""
        return {
            key: value
            for name, how in terms_of(RunTerms).items()
            for key, value in how.asked(name, getattr(self, name)).items()
        }
