"""Which tables count as neighbours, and the error for what must not be mixed."""

from __future__ import annotations

from enum import Enum


class Relation(Enum):
    """The neighbouring relation under which a sensitivity or a privacy loss is stated.

    Two numbers stated under different relations mean different things, and are never combined.
    """

    REPLACE_ONE = "replace one row"
    """One row is replaced by any other; the number of rows is public. Privity's own relation."""

    ADD_OR_REMOVE_ONE = "add or remove one row"
    """One row more or less; the number of rows is protected too."""


RELATION = Relation.REPLACE_ONE
"""The neighbouring relation of every step, of every ledger and of every statement."""


class PrivacyMismatchError(TypeError):
    """Losses of two kinds, sensitivities in two norms, or two relations met where only one may be."""


def check_same_relation(one: Relation, other: Relation) -> None:
    """Refuse two numbers that are stated under different relations.

    Raises:
        PrivacyMismatchError: they differ.
    """
    if one is not other:
        raise PrivacyMismatchError(
            f"one is stated for '{one.value}', the other for '{other.value}': convert explicitly first"
        )
