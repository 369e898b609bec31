"""The people whose rows a budget protects: declared once, with a total that binds every release about them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privity.common.errors import Catalogue, PrivityError, by_face
from privity.common.privacy.budget import Number, parse_delta, parse_epsilon, readable

LONGEST_NAME = 200
MOST_ROWS_PER_PERSON = 1000


@dataclass(frozen=True)
class Population:
    """A declaration.

    Attributes:
        name: what the people are called; the ledger is kept under this name.
        total_epsilon, total_delta: what all releases about them together may ever cost one of them.
        rows_per_person: most rows that one of them has in any table.

    Raises:
        PrivityError: bad-option: a declaration that makes no sense.
    """

    name: str
    total_epsilon: Fraction
    total_delta: Fraction = Fraction(0)
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        name = self.name if isinstance(self.name, str) else ""
        composed = unicodedata.normalize("NFC", name)
        if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable() or name != composed.strip():
            hint = f"Use 1 to {LONGEST_NAME} printable characters (Unicode NFC), without spaces at either end."
            raise PrivityError(
                Catalogue.BAD_OPTION, option="population", reason=f"{self.name!r} is not a name", hint=hint
            )
        if self.total_epsilon <= 0 or not 0 <= self.total_delta <= 1:
            reason = f"a total of epsilon {self.total_epsilon} and delta {self.total_delta} is not possible"
            hint = "Give an epsilon above 0, and a delta from 0 to 1."
            raise PrivityError(Catalogue.BAD_OPTION, option="total", reason=reason, hint=hint)
        if type(self.rows_per_person) is not int or not 1 <= self.rows_per_person <= MOST_ROWS_PER_PERSON:
            raise PrivityError(
                Catalogue.BAD_OPTION,
                option="rows_per_person",
                reason=f"{self.rows_per_person} is not a number of rows of one person",
                hint=f"Use 1 to {MOST_ROWS_PER_PERSON}.",
            )

    def check_follows(self, now: Population, expected: Population) -> None:
        """Raises PrivityError (bad-option) if it cannot be declared in the place of ``now``.

        Args:
            expected: what the one who decided took for ``now``.
        """
        if now != expected:
            reason = f"the total was changed meanwhile, to epsilon {readable(now.total_epsilon)}"
            hint = f"Look at it again ({by_face('privity population list', 'Ledger(NAME)')}), and decide again."
            raise PrivityError(Catalogue.BAD_OPTION, option="population", reason=reason, hint=hint)
        if self.rows_per_person < now.rows_per_person:
            reason = f"a person has up to {now.rows_per_person} rows in tables that were released"
            hint = f"Keep {now.rows_per_person} or more."
            raise PrivityError(Catalogue.BAD_OPTION, option="rows_per_person", reason=reason, hint=hint)

    def terms(self) -> dict[str, Any]:
        """All but the name, ready for JSON."""
        return {
            "total_epsilon": str(self.total_epsilon),
            "total_delta": str(self.total_delta),
            "rows_per_person": self.rows_per_person,
        }

    @classmethod
    def of_terms(cls, name: str, terms: Mapping[str, Any]) -> Population:
        """The inverse of ``terms``."""
        return cls(name, Fraction(terms["total_epsilon"]), Fraction(terms["total_delta"]), terms["rows_per_person"])


def parse_population(
    name: str, total_epsilon: Number, total_delta: Number = "0", rows_per_person: int = 1
) -> Population:
    """A declaration from what a person writes, such as ``4`` and ``"1e-6"``.

    Raises:
        PrivityError: bad-option.
    """
    epsilon = parse_epsilon(total_epsilon, "total_epsilon")
    return Population(name, epsilon, parse_delta(total_delta, "total_delta"), rows_per_person)
