"""How bins are named: by their edges, and an end bin that also holds what lies farther out as "87 and more"."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from privity.common.data.value_grids import number_text

ALL = "all values"


class Binned(Protocol):
    """What an attribute in bins tells of itself; ``privity.common.data.attribute`` says what it means."""

    @property
    def type(self) -> str: ...
    @property
    def whole(self) -> bool: ...
    @property
    def values(self) -> int: ...
    @property
    def open_ended(self) -> bool: ...
    @property
    def edges(self) -> tuple[Fraction, ...]: ...
    @property
    def point_edges(self) -> tuple[int, ...]: ...
    def name_of(self, value: Fraction | int, /) -> str: ...


def edge_texts(attribute: Binned) -> list[str]:
    """The edges of its bins, distinct; of whole numbers the last one is the last value."""
    if attribute.whole:
        return [attribute.name_of(edge) for edge in (*attribute.point_edges[:-1], attribute.point_edges[-1] - 1)]
    return _distinct_texts(attribute.edges)


def bin_labels(attribute: Binned) -> list[str]:
    """Of each bin."""
    texts = edge_texts(attribute)
    return [_label(attribute, texts, code, code) for code in range(attribute.values)]


def run_label(attribute: Binned, first: int, last: int) -> str:
    """Of neighbouring bins as one."""
    return _label(attribute, edge_texts(attribute), first, last)


def _label(attribute: Binned, texts: Sequence[str], first: int, last: int) -> str:
    open_, dated = attribute.open_ended, attribute.type in ("date", "datetime")
    from_start, to_end = first == 0, last == attribute.values - 1
    if open_ and from_start and to_end:
        return ALL
    if open_ and to_end:
        return f"{texts[first]} and {'later' if dated else 'more'}"
    if open_ and from_start and attribute.whole:
        return f"{attribute.name_of(attribute.point_edges[last + 1] - 1)} and {'earlier' if dated else 'less'}"
    if open_ and from_start:
        return f"below {texts[last + 1]}"
    return f"[{texts[first]}, {texts[last + 1]}{']' if to_end else ')'}"


def _distinct_texts(edges: tuple[Fraction, ...]) -> list[str]:
    """Write edges as decimals of as few digits as tell them apart; as fractions if no number does.

    An edge that a short decimal gives exactly is written so.
    """
    for digits in (6, 9, 12, 15, 18):
        texts = []
        for edge in edges:
            exact = number_text(edge)
            texts.append(exact if Fraction(exact) == edge else number_text(edge, digits))
        if len(set(texts)) == len(texts):
            return texts
    return [str(edge) for edge in edges]
