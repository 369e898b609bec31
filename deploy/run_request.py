"""A run as its operator asks for it on the command line: the options, and the request that they make."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from common.algorithms import ALGORITHMS
from common.crypto.residues import Exponents
from common.privacy.budget import parse_delta, parse_epsilon
from common.protocol.sum_kind import Method
from deploy.options import settings_option, sum_options

FORMAT_VERSION = 1

Epsilon = Annotated[str, typer.Option(help="exact, such as 1.0 or 1/3: what the run costs each party")]
AlgorithmName = Annotated[str, typer.Option("--algorithm", help=" or ".join(ALGORITHMS))]
Delta = Annotated[str, typer.Option(help="the same as epsilon, for algorithms that can spend some: copula")]
Settings = Annotated[str, typer.Option(help="the algorithm's settings as JSON")]
Tolerate = Annotated[int, typer.Option(help="t, how many parties may pool what they know")]
Attributes = Annotated[
    list[str] | None, typer.Option("--attribute", help="one that the run is about, again for each; all if left out")
]
SecureSum = Annotated[Method, typer.Option(help="how sums are taken; docs/secure_sums.md")]
KeyBits = Annotated[int | None, typer.Option(help="of the Paillier modulus; 3072 if left out")]
ExponentsKind = Annotated[Exponents | None, typer.Option(help="of Paillier's randomness; half if left out")]


def run_request(
    epsilon: str,
    algorithm: str,
    delta: str,
    settings: str,
    tolerate: int,
    attributes: list[str] | None,
    secure_sum: Method,
    key_bits: int | None,
    exponents: Exponents | None,
    rows: int | None,
) -> dict[str, Any]:
    """The request as a document (common/formats/run_request.schema.json).

    Raises:
        PrivityError: an option that cannot be.
    """
    kind, bits = sum_options(secure_sum, exponents, key_bits)
    parse_epsilon(epsilon)
    parse_delta(delta)
    return {
        "format_version": FORMAT_VERSION,
        "algorithm": algorithm,
        "settings": settings_option(settings),
        "epsilon": epsilon,
        "delta": delta,
        "tolerate": tolerate,
        "key_bits": bits,
        "secure_sum": kind.method.value,
        "exponents": None if kind.exponents is None else kind.exponents.value,
        "rows": rows,
        "attributes": attributes,
    }
