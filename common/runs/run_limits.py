"""Limits on what a run may do with a party's rows, and why they refuse one: the same rules for owner and operator.

A party's whole policy is such limits (``privity.party.policy``), and so is the part of it that its owner publishes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from privity.common.crypto.residues import Exponents
from privity.common.formats import LINE
from privity.common.formats import declared_keys as declare
from privity.common.privacy.budget import budget_problems, parse_delta, parse_epsilon, readable
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.run_terms import MOST_PARTIES
from privity.common.protocol.secure_sum_method import Method, SumKind
from privity.common.synthesis.algorithms import ALGORITHMS, budget_of

Rules = list[tuple[bool, str]]
"""Whether each holds, and what to say if it does not."""

LINE_OF_TEXT = {"type": "string", "maxLength": 1000, "pattern": LINE}


def epsilon_key(meaning: str, **how: Any) -> Any:
    """A key of a settings file that holds an epsilon."""
    problems = lambda found, file: budget_problems(found, file, epsilons=[*found])  # noqa: E731
    return declare.text(meaning, 100, read=lambda value, _folder: parse_epsilon(value), problems=problems, **how)


def delta_key(meaning: str, **how: Any) -> Any:
    """The same of a delta."""
    problems = lambda found, file: budget_problems(found, file, deltas=[*found])  # noqa: E731
    return declare.text(meaning, 100, read=lambda value, _folder: parse_delta(value), problems=problems, **how)


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """Limits by the keys of policy.toml. None refuses nothing: what is not known here, or not limited."""

    epsilon_per_run: Fraction | None = declare.or_none(epsilon_key(
        "the most epsilon that one run may cost one of these people, exact. Write for instance 0.5 or 1/3; less is more"
        " private, and makes a less accurate table", start="1", label="Most one run may cost (epsilon)",
    ))  # fmt: skip
    delta_per_run: Fraction | None = declare.or_none(delta_key(
        "the most delta that one run may cost one of these people, exact: the small chance that it may exceed its"
        " epsilon. 0 allows none", default=None, by_default="the total that is declared for these people",
        label="Most one run may cost besides (delta)",
    ))  # fmt: skip
    algorithms: tuple[str, ...] | None = declare.or_none(declare.names(
        "names of the algorithms that may run (docs/algorithms/settings.md)", LINE_OF_TEXT, choices=tuple(ALGORITHMS),
        label="Algorithms",
    ))  # fmt: skip
    minimum_parties: int | None = declare.or_none(declare.whole(
        "a run over fewer parties is refused", 2, MOST_PARTIES, label="Fewest parties"
    ))  # fmt: skip
    minimum_tolerate: int | None = declare.or_none(declare.whole(
        "a run that tolerates fewer colluding parties is refused. So many of the other parties may join forces without"
        " learning this party's sums", 1, MOST_PARTIES, label="Fewest colluding parties tolerated", technical=True,
    ))  # fmt: skip
    minimum_key_bits: int | None = declare.or_none(declare.whole(
        "a run with a shorter Paillier modulus is refused. It is the key of encrypted sums, in bits; 3072 is usual",
        2048, 8192, start=3072, label="Shortest key of encrypted sums, in bits", technical=True,
    ))  # fmt: skip
    secure_sums: tuple[str, ...] | None = declare.or_none(declare.some_of(
        "the allowed methods of secure sums (docs/secure_sums.md): `paillier`, by encryption, and `masks`, by random"
        " numbers that cancel, which is faster", [one.value for one in Method], default=[Method.PAILLIER.value],
        label="Secure sums", technical=True,
    ))  # fmt: skip
    exponents: tuple[str, ...] | None = declare.or_none(declare.some_of(
        "the allowed kinds of randomness of Paillier's encryption. `short` is fastest, and rests on a stronger"
        " assumption", [one.value for one in Exponents], default=[Exponents.HALF.value, Exponents.FULL.value],
        label="Exponents of encrypted sums", technical=True,
    ))  # fmt: skip
    parties_per_person: int | None = declare.or_none(declare.whole(
        "the most parties of the consortium at which one of these people has rows. What a run costs a person is counted"
        " with it; a manifest with a smaller number is refused", 1, MOST_PARTIES, default=1,
        label="Most parties at which one person has rows",
    ))  # fmt: skip
    attributes: tuple[str, ...] | None = declare.or_none(declare.names(
        "names of the attributes that a run may be about", LINE_OF_TEXT | {"minLength": 1}, default=None,
        by_default="all of the schema", example='["age"]', label="Attributes",
    ))  # fmt: skip
    evaluation: bool | None = declare.or_none(declare.flag(
        "whether runs may spend a share of their epsilon on scoring the synthetic table on these rows", default=False,
        example="true", label="Scores of the synthetic table",
    ))  # fmt: skip

    def refusals(
        self,
        spec: RunSpec,
        party: str,
        *,
        here: int = 1,
        elsewhere: int = 0,
        key_bits: int | None = None,
        parties_per_person: int | None = None,
    ) -> list[str]:
        """Every rule that a run breaks, in words; none if it is allowed.

        Args:
            here, elsewhere: rows that one person may have at this party, and at others as far as it is known.
            key_bits: of the run's Paillier modulus; None if it has none, or it is not known yet.
            parties_per_person: what the manifest says; None if it has been compared before.
        """
        rules = [
            *self._manifest_rules(parties_per_person),
            *_among(self.algorithms, spec.algorithm, f"algorithm {spec.algorithm!r} is not among those allowed"),
            *self._price_rules(spec, here, elsewhere),
            (not (spec.delta and elsewhere), "a run with a delta needs people at one party each"),
            *self._attribute_rules(spec.attributes),
            (spec.evaluation is None or self.evaluation is not False, "an evaluation over the parties is not allowed"),
            (_reaches(len(spec.members), self.minimum_parties), f"fewer than {self.minimum_parties} parties"),
            (
                _reaches(spec.tolerate, self.minimum_tolerate),
                f"tolerates fewer than {self.minimum_tolerate} colluding parties",
            ),
            (spec.tolerate < len(spec.members), "tolerates as many colluding parties as there are"),
            (party in spec.members, f"{party} is not a member of the run"),
            *self._sum_rules(spec.secure_sum),
            (
                key_bits is None or _reaches(key_bits, self.minimum_key_bits),
                f"a {key_bits}-bit Paillier modulus is shorter than {self.minimum_key_bits} bits",
            ),
        ]
        return [reason for holds, reason in rules if not holds]

    def manifest_refusals(self, parties_per_person: int) -> list[str]:
        """Why a manifest cannot be gone by, in words."""
        return [reason for holds, reason in self._manifest_rules(parties_per_person) if not holds]

    def _manifest_rules(self, parties_per_person: int | None) -> Rules:
        if parties_per_person is None:
            return []
        reason = f"the manifest says that a person is at {parties_per_person} parties, not {self.parties_per_person}"
        return [(_reaches(parties_per_person, self.parties_per_person), reason)]

    def _price_rules(self, spec: RunSpec, here: int, elsewhere: int) -> Rules:
        most = cost_of_a_person(spec, here + elsewhere)
        return [
            _within(word, most_of, asked, limit)
            for word, most_of, asked, limit in (
                ("epsilon", most.epsilon, spec.epsilon, self.epsilon_per_run),
                ("delta", most.delta, spec.delta, self.delta_per_run),
            )
            if limit is not None
        ]

    def _attribute_rules(self, asked: tuple[str, ...] | None) -> Rules:
        if self.attributes is None:
            return []
        if asked is None:
            return [(False, f"it is about every attribute, and only {', '.join(self.attributes)} are allowed")]
        others = [repr(name) for name in asked if name not in self.attributes]
        named = f"attribute {''.join(others)} is" if len(others) == 1 else f"attributes {', '.join(others)} are"
        return [(not others, f"the {named} not among those allowed")]

    def _sum_rules(self, kind: SumKind) -> Rules:
        method, exponents = kind.method.value, kind.exponents and kind.exponents.value
        rules = _among(self.secure_sums, method, f"secure sums by {method!r} are not among those allowed")
        if exponents is not None:
            rules += _among(self.exponents, exponents, f"{exponents!r} exponents are not among those allowed")
        return rules

    def allowance(self, spec: RunSpec, rows: int) -> Allowance:
        """What the ledger may be charged for this run: what it declared, within what is allowed.

        Args:
            rows: that one person may have, at all parties.
        """
        most = cost_of_a_person(spec, rows)
        return Allowance(
            most.epsilon if self.epsilon_per_run is None else min(most.epsilon, self.epsilon_per_run),
            most.delta if self.delta_per_run is None else min(most.delta, self.delta_per_run),
            budget_of(spec),
        )

    def limits(self) -> dict[str, Any]:
        """What is limited, as a document with the keys of policy.toml; numbers of a price as text."""
        found = {field.name: getattr(self, field.name) for field in fields(RunLimits)}
        return {name: _plain(value) for name, value in found.items() if value is not None}

    @staticmethod
    def of_limits(document: dict[str, Any]) -> RunLimits:
        """The inverse of ``limits``, of a document that fits its format."""
        exact: dict[str, Any] = {
            name: Fraction(document[name]) for name in ("epsilon_per_run", "delta_per_run") if name in document
        }
        rest: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
        }
        return RunLimits(**(rest | exact))


def cost_of_a_person(spec: RunSpec, rows: int) -> ApproxDP:
    """What a run may cost a person with so many rows, at all parties, all of which may be in it."""
    return budget_of(spec).most_of_a_person(rows, spec.epsilon - spec.learning_epsilon)


def lower(one: Allowance, other: Allowance) -> Allowance:
    """What both allow, of one run."""
    assert one.epsilon is not None
    assert other.epsilon is not None
    assert one.delta is not None
    assert other.delta is not None
    return Allowance(min(one.epsilon, other.epsilon), min(one.delta, other.delta), one.budget)


def _reaches(number: int, least: int | None) -> bool:
    return least is None or number >= least


def _among(allowed: tuple[str, ...] | None, name: str, reason: str) -> Rules:
    return [] if allowed is None else [(name in allowed, reason)]


def _within(word: str, most: Fraction, asked: Fraction, limit: Fraction) -> tuple[bool, str]:
    rounded = [readable(number) for number in (asked, most, limit)]
    # What is a little above its limit must not read as equal to it.
    own, of_a_person, most_a_run = rounded if rounded[1] != rounded[2] else map(str, (asked, most, limit))
    several = "" if most == asked else f", {of_a_person} for a person with several rows,"
    return most <= limit, f"{word} {own}{several} is above {most_a_run} a run"


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Fraction) else value
