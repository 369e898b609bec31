"""Which secure sum a run uses: what hides a party's vector, and from whom."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from privity.common.crypto.residues import SHORT_BITS, Exponents
from privity.common.errors import Catalogue, PrivityError

USUAL_KEY_BITS = 3072
"""Of a run's Paillier modulus unless it is asked otherwise."""


class Method(Enum):
    """``paillier``: under the curator's key, with masks inside. ``masks``: pairwise masks alone, and no key holder."""

    PAILLIER = "paillier"
    MASKS = "masks"


@dataclass(frozen=True)
class SumKind:
    """A secure sum; ``exponents`` say how the randomness of Paillier ciphertexts is made, None with masks."""

    method: Method
    exponents: Exponents | None

    def __post_init__(self) -> None:
        if (self.method is Method.PAILLIER) != (self.exponents is not None):
            raise ValueError("Paillier has exponents, masks have none")

    def in_words(self, key_bits: int | None) -> str:
        """What must hold for it to hide a party's vector."""
        if self.method is Method.MASKS:
            return "pairwise masks (X25519, HKDF-SHA256, ChaCha20)"
        short = f" and {SHORT_BITS}-bit exponents" if self.exponents is Exponents.SHORT else ""
        return f"Paillier with a {key_bits}-bit modulus{short}"

    def content(self) -> dict[str, Any]:
        return {"method": self.method.value, "exponents": self.exponents and self.exponents.value}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> SumKind:
        """The inverse of ``content``; raises ValueError, KeyError or TypeError for anything else."""
        exponents = content["exponents"]
        kind = cls(Method(content["method"]), None if exponents is None else Exponents(exponents))
        if kind.content() != content:
            raise ValueError("not a kind of secure sum")
        return kind


PAILLIER = SumKind(Method.PAILLIER, Exponents.HALF)
"""What runs use unless they are asked otherwise."""

MASKS = SumKind(Method.MASKS, None)


def sum_kind(method: str, exponents: str | None) -> SumKind:
    """What an operator asked for by name; Paillier has exponents of half the modulus unless others are named.

    Raises:
        PrivityError: bad-option.
    """
    if Method(method) is Method.MASKS:
        if exponents is not None:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="exponents", reason="masks have none", hint="Leave them out."
            )
        return MASKS
    return SumKind(Method.PAILLIER, PAILLIER.exponents if exponents is None else Exponents(exponents))
