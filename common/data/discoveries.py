"""What a schema keeps of domains that were discovered in rows: their cost goes with the attributes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from privity.common.errors import Problem
from privity.common.privacy.discovery import Discovery, read_discovery
from privity.common.text.short_values import shorten


def discoveries_of(discoveries: Iterable[Discovery], names: Collection[str]) -> tuple[Discovery, ...]:
    """Those that tell the domain of any of these attributes, of which each has cost all that it cost."""
    kept = ((one, tuple(name for name in one.attributes if name in names)) for one in discoveries)
    return tuple(replace(one, attributes=attributes) for one, attributes in kept if attributes)


def discovery_problems(entries: Sequence[Mapping[str, Any]], names: Collection[str], file: str) -> Iterator[Problem]:
    """Discoveries that cannot be, or of attributes that the schema does not have: their cost must not get lost."""
    for place, entry in enumerate(entries):
        where = f"discoveries[{place}]"
        for name in (name for name in entry["attributes"] if name not in names):
            message = f"{shorten(name)} is no attribute with a domain of its own."
            remedy = "Name the attributes as the fields do; drop the entry only together with all its fields."
            yield Problem(file, f"{where}.attributes", "unknown-attribute", message, remedy)
        try:
            read_discovery(entry)
        except (ValueError, ArithmeticError):
            message, remedy = "epsilon and delta are no loss.", "Copy the entry again from where it was written."
            yield Problem(file, where, "no-loss", message, remedy)
