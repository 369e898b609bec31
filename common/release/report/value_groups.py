"""Values of an attribute, or of what is derived of one, put together so that a picture has room for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privity.common.data.attribute import Attribute
from privity.common.data.bin_labels import edge_texts, run_label
from privity.common.release.report.number_texts import count

MORE = "..."
"""In the place of an edge beyond which a bin goes on."""


@dataclass(frozen=True)
class Group:
    """Codes that are drawn as one, with a label in full and a short one."""

    codes: tuple[int, ...]
    label: str
    short: str


def is_ordered(attribute: Attribute) -> bool:
    """Whether the order of its values means something."""
    return bool(attribute.edges) or attribute.numeric or attribute.ordered


def groups(attribute: Attribute, most: int, weights: Sequence[float]) -> list[Group]:
    """At most so many groups of the codes that rows have: neighbours of ordered values, else the rarest together.

    Missing values, and absent rows, stay groups of their own, after the others.

    Args:
        weights: of each code; those with the largest stay alone.
    """
    labels, values = attribute.labels, attribute.values
    single = [Group((code,), labels[code], labels[code]) for code in range(values, min(len(weights), attribute.size))]
    room = max(2, most - len(single))
    if values <= room:
        found = [_run(attribute, code, code) for code in range(values)]
    elif is_ordered(attribute):
        width = -(-values // room)
        found = [_run(attribute, first, min(first + width, values) - 1) for first in range(0, values, width)]
    else:
        kept = set(sorted(range(values), key=lambda code: (-weights[code], code))[: room - 1])
        rest = tuple(code for code in range(values) if code not in kept)
        found = [_run(attribute, code, code) for code in sorted(kept)]
        found.append(Group(rest, f"{count(len(rest))} others", f"{count(len(rest))} others"))
    return found + single


def _run(attribute: Attribute, first: int, last: int) -> Group:
    labels, codes = attribute.labels, tuple(range(first, last + 1))
    if not attribute.edges:
        label = labels[first] if first == last else f"{labels[first]} to {labels[last]}"
        return Group(codes, label, labels[first])
    short = _apart(edge_texts(attribute)[first])
    # An end bin that also holds what lies farther out does not begin at an edge.
    return Group(codes, run_label(attribute, first, last), MORE if attribute.open_ended and not first else short)


def last_edge(attribute: Attribute) -> str:
    """The upper edge of the last bin; empty without bins."""
    if not attribute.edges:
        return ""
    return MORE if attribute.open_ended else _apart(edge_texts(attribute)[-1])


def _apart(number: str) -> str:
    """A whole number with its thousands apart; any other text as it is."""
    return count(int(number)) if number.removeprefix("-").isdecimal() else number
