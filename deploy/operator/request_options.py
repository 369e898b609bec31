"""A run as its operator asks for it on the command line: the options, and the request that they make."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from privity.common.crypto.residues import Exponents
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError, Problem
from privity.common.formats.toml_file import read_toml
from privity.common.privacy.budget import budget_problems, parse_delta, parse_epsilon
from privity.common.protocol.evaluation_scores import Evaluation, evaluation_of
from privity.common.protocol.secure_sum_method import USUAL_KEY_BITS, Method
from privity.common.runs.automatic_choice import AUTO, check_automatic, choose
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference.fit_choice import INFERENCES
from privity.deploy.options import learning_settings, sum_options

FORMAT_VERSION = 1
OF_ALGORITHM = f"{AUTO}, which chooses by public numbers (docs/choosing.md), or {', '.join(ALGORITHMS)}"
NO_DELTA, ONE = "0", 1

Inference = Annotated[
    str | None, typer.Option(help=f"how the model is fitted: {' or '.join(INFERENCES)} (docs/inference.md)")
]
EvaluationEpsilon = Annotated[
    str | None,
    typer.Option(help="share of epsilon for scores of the synthetic table on the parties' rows; by default none"),
]
EvaluationTargets = Annotated[
    list[str] | None,
    typer.Option("--evaluation-target", help="attribute that a classifier predicts for these scores; may repeat"),
]


@dataclass(frozen=True)
class RunOptions:
    """A run as the options of a command give it; texts are not checked yet."""

    spec: Annotated[
        Path | None, typer.Option(help="the run as a TOML file, instead of these options (docs/formats.md)")
    ] = None
    epsilon: Annotated[
        str | None, typer.Option(help="epsilon that the run costs each party, exact, such as 1.0 or 1/3")
    ] = None
    algorithm: Annotated[str, typer.Option(help=OF_ALGORITHM)] = AUTO
    delta: Annotated[
        str, typer.Option(help="delta that the run costs each party, such as 1e-9; with 0 the run is pure epsilon-DP")
    ] = NO_DELTA
    settings: Annotated[str, typer.Option(help="the algorithm's settings as JSON")] = "{}"
    inference: Inference = None
    tolerate: Annotated[
        int | None,
        typer.Option(help="t: number of parties that may pool what they know; by default 1, or 0 for one owner"),
    ] = None
    attributes: Annotated[
        list[str] | None,
        typer.Option("--attribute", help="an attribute that the run is about; may repeat; by default all"),
    ] = None
    parties: Annotated[
        str | None,
        typer.Option(
            help="names of the run's parties, with commas; by default all that are not paused. For privity plan also"
            " their number; with --accuracy several numbers to compare, such as 1,3,10"
        ),
    ] = None
    secure_sum: Annotated[Method, typer.Option(help="how sums over the parties are computed (docs/secure_sums.md)")] = (
        Method.PAILLIER
    )
    key_bits: Annotated[int | None, typer.Option(help="bits of the Paillier modulus; by default 3072")] = None
    exponents: Annotated[
        Exponents | None, typer.Option(help="exponents of Paillier's randomness; by default half the modulus' bits")
    ] = None
    evaluation_epsilon: EvaluationEpsilon = None
    evaluation_target: EvaluationTargets = None


def takes_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `RunOptions`, and their values as its first argument."""
    shared = inspect.signature(RunOptions, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True)

    @wraps(command)
    def call(**given: Any) -> None:
        command(RunOptions(**{name: given.pop(name) for name in shared}), **given)

    _, *others = own.parameters.values()
    options = [*shared.values(), *others]
    parameters = [option.replace(kind=option.KEYWORD_ONLY) for option in options]
    call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


def run_request(asked: RunOptions, rows: int | None = None) -> dict[str, Any]:
    """The request as a document (common/formats/run_request.schema.json).

    Args:
        rows: of the release; as many as the parties hold if left out.

    Raises:
        PrivityError: an option that cannot be.
        ProblemsFound: every fault of the file.
    """
    if asked.spec is not None:
        if asked != RunOptions(spec=asked.spec) or rows is not None:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="spec", reason="options are given that the file already contains",
                hint="Leave them out, or the file.",
            )  # fmt: skip
        return read_spec(asked.spec)
    if asked.epsilon is None:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="epsilon", reason="it is left out", hint="Give --epsilon, or a file by --spec."
        )
    kind, bits = sum_options(asked.secure_sum, asked.exponents, asked.key_bits)
    parse_epsilon(asked.epsilon)
    parse_delta(asked.delta)
    evaluation = evaluation_option(asked.evaluation_epsilon, asked.evaluation_target)
    return {
        "format_version": FORMAT_VERSION,
        "algorithm": asked.algorithm,
        "settings": learning_settings(asked.algorithm, asked.settings, asked.inference),
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        "tolerate": ONE if asked.tolerate is None else asked.tolerate,
        "key_bits": bits,
        "secure_sum": kind.method.value,
        "exponents": None if kind.exponents is None else kind.exponents.value,
        "rows": rows,
        "attributes": asked.attributes or None,
        "parties": None if asked.parties is None else [n for n in map(str.strip, asked.parties.split(",")) if n],
        "evaluation": None if evaluation is None else evaluation.to_dict(),
    }


def with_algorithm(request: dict[str, Any], schema: Schema, party_rows: Sequence[int]) -> dict[str, Any]:
    """The request with the algorithm that it left to be chosen, and why; as it is if it names one.

    Args:
        schema: of the attributes that the run is about.
        party_rows: public numbers of rows, or likely ones.

    Raises:
        PrivityError: bad-option: settings of an algorithm that is not named.
    """
    if request["algorithm"] != AUTO:
        return request
    check_automatic(request["settings"])
    learning = parse_epsilon(request["epsilon"])
    if (evaluation := evaluation_of(request)) is not None:
        learning -= evaluation.epsilon
    chosen = choose(schema, party_rows, request["tolerate"], learning, parse_delta(request["delta"]))
    return {**request, "algorithm": chosen.algorithm, "automatic": chosen.document()}


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
        if isinstance(name, str) and name and name not in (AUTO, *ALGORITHMS):
            message, remedy = f"{name!r} is no algorithm.", f"Write one of: {', '.join((AUTO, *ALGORITHMS))}."
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
