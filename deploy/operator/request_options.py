"""A run as its operator asks for it on the command line: the options, and the request that they make."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from privity.common.crypto.residues import Exponents
from privity.common.errors import Catalogue, PrivityError, Problem
from privity.common.formats.toml_file import read_toml
from privity.common.privacy.budget import budget_problems, parse_delta, parse_epsilon
from privity.common.protocol.evaluation_scores import Evaluation
from privity.common.protocol.secure_sum_method import USUAL_KEY_BITS, Method
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference.fit_choice import INFERENCES
from privity.deploy.options import learning_settings, sum_options

FORMAT_VERSION = 1

Epsilon = Annotated[str | None, typer.Option(help="exact, such as 1.0 or 1/3: what the run costs each party")]
AlgorithmName = Annotated[str, typer.Option("--algorithm", help=" or ".join(ALGORITHMS))]
Delta = Annotated[str, typer.Option(help="the same as epsilon, such as 0.000000001; 0 is pure")]
Settings = Annotated[str, typer.Option(help="the algorithm's settings as JSON")]
Inference = Annotated[
    str | None, typer.Option(help=f"how tables are fitted: {' or '.join(INFERENCES)}; the setting of this name")
]
Tolerate = Annotated[int, typer.Option(help="t, how many parties may pool what they know")]
Attributes = Annotated[
    list[str] | None, typer.Option("--attribute", help="one that the run is about, again for each; all if left out")
]
SecureSum = Annotated[Method, typer.Option(help="how sums are taken; docs/secure_sums.md")]
KeyBits = Annotated[int | None, typer.Option(help="of the Paillier modulus; 3072 if left out")]
ExponentsKind = Annotated[Exponents | None, typer.Option(help="of Paillier's randomness; half if left out")]
EvaluationEpsilon = Annotated[
    str | None,
    typer.Option(
        help="share of epsilon for which the parties score the synthetic table on their rows; none if left out"
    ),
]
EvaluationTargets = Annotated[
    list[str] | None,
    typer.Option("--evaluation-target", help="attribute that a classifier is to predict there, again for each"),
]


Spec = Annotated[
    Path | None, typer.Option("--spec", help="the run as a TOML file, in the place of these options: docs/formats.md")
]
"""Options of ``run_request``, with their defaults below."""

ALGORITHM, NO_DELTA, NO_SETTINGS, ONE = "dp-subn", "0", "{}", 1


def run_request(
    spec: Path | None,
    epsilon: str | None,
    algorithm: str,
    delta: str,
    settings: str,
    tolerate: int,
    attributes: list[str] | None,
    secure_sum: Method,
    key_bits: int | None,
    exponents: Exponents | None,
    rows: int | None,
    evaluation: str | None = None,
    targets: list[str] | None = None,
    inference: str | None = None,
) -> dict[str, Any]:
    """The request as a document (common/formats/run_request.schema.json).

    Raises:
        PrivityError: an option that cannot be.
        ProblemsFound: every fault of the file.
    """
    others = (epsilon, algorithm, delta, settings, tolerate, attributes or None, secure_sum, key_bits, exponents, rows)
    if spec is not None:
        unused = (None, ALGORITHM, NO_DELTA, NO_SETTINGS, ONE, None, Method.PAILLIER, None, None, None)
        if others != unused or evaluation is not None or targets or inference is not None:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="spec", reason="it comes with options that the file holds itself",
                hint="Leave them out, or the file.",
            )  # fmt: skip
        return read_spec(spec)
    if epsilon is None:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="epsilon", reason="it is left out", hint="Give --epsilon, or a file by --spec."
        )
    kind, bits = sum_options(secure_sum, exponents, key_bits)
    parse_epsilon(epsilon)
    parse_delta(delta)
    return {
        "format_version": FORMAT_VERSION,
        "algorithm": algorithm,
        "settings": learning_settings(algorithm, settings, inference),
        "epsilon": epsilon,
        "delta": delta,
        "tolerate": tolerate,
        "key_bits": bits,
        "secure_sum": kind.method.value,
        "exponents": None if kind.exponents is None else kind.exponents.value,
        "rows": rows,
        "attributes": attributes or None,
        "evaluation": None if (scored := evaluation_option(evaluation, targets)) is None else scored.to_dict(),
    }


def evaluation_option(epsilon: str | None, targets: list[str] | None) -> Evaluation | None:
    """The evaluation that two options ask for.

    Raises:
        PrivityError: bad-option.
    """
    if epsilon is None:
        if targets:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="evaluation-target", reason="no epsilon is given for it",
                hint="Give --evaluation-epsilon too.",
            )  # fmt: skip
        return None
    return Evaluation(parse_epsilon(epsilon, "evaluation-epsilon"), tuple(targets or ()))


def read_spec(path: Path) -> dict[str, Any]:
    """A run spec that a person wrote: TOML, in the format of a run request.

    Raises:
        PrivityError: file-missing or file-unreadable.
        ProblemsFound: every fault, with its line.
    """

    def also(document: dict[str, Any]) -> list[Problem]:
        problems = budget_problems(document, str(path), ("epsilon",), ("delta",))
        name = document.get("algorithm")
        if isinstance(name, str) and name and name not in ALGORITHMS:
            message, remedy = f"{name!r} is no algorithm.", f"Write one of: {', '.join(ALGORITHMS)}."
            problems.append(Problem(str(path), "algorithm", "known", message, remedy))
        return problems

    document = read_toml(path, "run_request", also)
    method = Method(document.get("secure_sum", Method.PAILLIER.value))
    defaults: dict[str, Any] = {
        "settings": {},
        "delta": NO_DELTA,
        "evaluation": None,
        "tolerate": ONE,
        "secure_sum": method.value,
        "exponents": None,
        "key_bits": USUAL_KEY_BITS if method is Method.PAILLIER else None,
    }
    return defaults | document
