"""The data owner's policy: what this party agrees to. Mandatory; absent or broken means refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from common.crypto.residues import Exponents
from common.errors import Catalogue, PrivityError, Problem
from common.privacy.budget import parse_delta, parse_epsilon
from common.privacy.ledger import Allowance
from common.protocol.plan import RunSpec
from common.protocol.sum_kind import Method, SumKind
from common.toml_file import read_toml

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Policy:
    """Limits on what any run may do with this party's rows.

    Attributes:
        population: the people whose rows these are; the ledger is kept under this name.
        total_epsilon: what all runs together may cost these people, ever.
        epsilon_per_run: what one run may cost them.
        total_delta, delta_per_run: the same for delta; 0 allows pure differential privacy only.
        algorithms: names of the algorithms that may run.
        minimum_parties: a run over fewer parties is refused.
        minimum_tolerate: a run that tolerates fewer colluding parties is refused; at least 1.
        minimum_key_bits: a run under a shorter Paillier modulus is refused.
        secure_sums: methods of secure sums that may be used; Paillier alone unless the file says so.
        exponents: kinds of exponents of Paillier's randomness; short ones only if the file says so.
    """

    population: str
    total_epsilon: Fraction
    epsilon_per_run: Fraction
    total_delta: Fraction
    delta_per_run: Fraction
    algorithms: tuple[str, ...]
    minimum_parties: int
    minimum_tolerate: int
    minimum_key_bits: int
    secure_sums: tuple[str, ...] = (Method.PAILLIER.value,)
    exponents: tuple[str, ...] = (Exponents.HALF.value, Exponents.FULL.value)

    def check_run(self, spec: RunSpec, party: str) -> None:
        """Refuse a run that this policy does not allow, naming the first rule that it breaks."""
        rules = [
            (spec.algorithm in self.algorithms, f"algorithm {spec.algorithm!r} is not among those allowed"),
            (spec.epsilon <= self.epsilon_per_run, f"epsilon {spec.epsilon} is above {self.epsilon_per_run} a run"),
            (
                spec.delta <= self.delta_per_run,
                f"delta {spec.delta} is above {self.delta_per_run} a run",
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

    def allowance(self, spec: RunSpec) -> Allowance:
        """What the ledger may be charged for this run: what it declared, within what is allowed."""
        return Allowance(self.total_epsilon, min(spec.epsilon, self.epsilon_per_run), self.total_delta, spec.delta)


def load_policy(path: Path) -> Policy:
    """Read policy.toml; raises PrivityError or ProblemsFound, and then the party must refuse all runs."""
    amounts: dict[str, Fraction] = {"total_delta": Fraction(0)}
    readers: dict[str, Callable[[str, str], Fraction]] = {
        "total_epsilon": parse_epsilon,
        "epsilon_per_run": parse_epsilon,
        "total_delta": parse_delta,
        "delta_per_run": parse_delta,
    }

    def bad_amounts(document: dict[str, Any]) -> list[Problem]:
        problems = []
        for key, read in readers.items():
            text = document.get(key)
            if isinstance(text, str) and text:  # all else is a fault of the format
                try:
                    amounts[key] = read(text, key)
                except PrivityError as error:
                    rule = "epsilon" if read is parse_epsilon else "delta"
                    problems.append(Problem(str(path), key, rule, error.message + ".", error.remedy))
        return problems

    document = read_toml(path, "policy", bad_amounts)
    return Policy(
        population=document["population"],
        total_epsilon=amounts["total_epsilon"],
        epsilon_per_run=amounts["epsilon_per_run"],
        total_delta=amounts["total_delta"],
        delta_per_run=amounts.get("delta_per_run", amounts["total_delta"]),
        algorithms=tuple(document["algorithms"]),
        minimum_parties=document["minimum_parties"],
        minimum_tolerate=document["minimum_tolerate"],
        minimum_key_bits=document["minimum_key_bits"],
        **{key: tuple(document[key]) for key in ("secure_sums", "exponents") if key in document},
    )
