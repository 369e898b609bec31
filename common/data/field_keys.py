"""Keys of a field of a schema: each is declared once, in ``common/formats/table_schema.schema.json``.

There stand its type, bounds and meaning, and in ``x-types`` the types of values that it goes with, if not with all.
Fields are written in that order. A key whose value an attribute holds as it stands is a ``plain`` field of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from privity.common.formats import load

FORM: dict[str, dict[str, Any]] = load("table_schema")["$defs"]["field"]["properties"]


@dataclass(frozen=True)
class PlainKey:
    """A key that is read, written and taken into digests by its declaration alone.

    Attributes:
        default: what holds where it is left out.
        digest: whether it is in a schema's digest where it is not left out.
        of_rows: whether it says how an owner's rows are written, so that a release has none.
    """

    key: str
    default: Any
    digest: bool = False
    of_rows: bool = False


def plain(key: str, default: Any, **how: bool) -> Any:
    """A field of an attribute that holds what stands under a key; arguments as ``PlainKey`` has them."""
    return field(default=default, metadata={"plain": PlainKey(key, default, **how)})


def types_of(key: str) -> tuple[str, ...]:
    """The types of values that a key goes with."""
    return tuple(FORM[key].get("x-types", ", ".join(FORM["type"]["enum"])).split(", "))
