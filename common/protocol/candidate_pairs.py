"""The candidates of a selection: a sequence of pairs, kept as groups of attributes with the same parent sets.

A selection has up to a million candidates, but most attributes share all their parent sets: what concerns the sets
alone (checks, sizes, texts) is done once a group.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain, groupby
from typing import overload

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import AttributeParentPair, Marginal


class ParentSets:
    """Parent sets in their order, with what is made of them kept."""

    def __init__(self, sets: Iterable[Marginal]) -> None:
        self.sets = tuple(sets)

    @classmethod
    def single(cls, parents: Sequence[int]) -> ParentSets:
        """Each of the parents by itself."""
        return cls(zip(parents, strict=True))

    @cached_property
    def by_length(self) -> list[npt.NDArray[np.int64]]:
        """The sets of each length as one array, shape (sets, length)."""
        lengths = set(map(len, self.sets))
        if len(lengths) == 1:
            (length,) = lengths
            return [np.fromiter(chain.from_iterable(self.sets), np.int64).reshape(len(self.sets), length)]
        found: dict[int, list[Marginal]] = {}
        for some in self.sets:
            found.setdefault(len(some), []).append(some)
        return [np.array(sets, dtype=np.int64).reshape(len(sets), length) for length, sets in sorted(found.items())]

    @cached_property
    def texts(self) -> list[str]:
        """Each set as it stands in a step's content, after its attribute."""
        return ["".join([f",{parent}" for parent in some]) for some in self.sets]

    def cells(self, domain: Sequence[int]) -> npt.NDArray[np.float64]:
        """Cells of the sets in some order, shape (sets,); exact below 2^53.

        Raises:
            IndexError: an attribute that the domain does not have.
        """
        sizes = np.asarray(domain, dtype=np.float64)
        return np.concatenate([np.zeros(0), *(sizes[members].prod(axis=1) for members in self.by_length)])


class CandidateGroup:
    """Every attribute of some with every one of their parent sets, attribute after attribute."""

    def __init__(self, attributes: Iterable[int], parents: ParentSets) -> None:
        self.attributes = tuple(attributes)
        self.parents = parents

    def __len__(self) -> int:
        return len(self.attributes) * len(self.parents.sets)


class Candidates(Sequence[AttributeParentPair]):
    """Attribute-parent pairs in order; equal to any sequence of the same pairs.

    Neighbouring groups with equal parent sets are one.
    """

    def __init__(self, groups: Iterable[CandidateGroup]) -> None:
        joined: list[tuple[list[int], ParentSets]] = []
        for group in groups:
            if not len(group):
                continue
            if joined and (joined[-1][1] is group.parents or joined[-1][1].sets == group.parents.sets):
                joined[-1][0].extend(group.attributes)
            else:
                joined.append((list(group.attributes), group.parents))
        self.groups = tuple(CandidateGroup(attributes, parents) for attributes, parents in joined)
        self._ends = list(accumulate(map(len, self.groups)))

    @classmethod
    def of(cls, pairs: Sequence[AttributeParentPair]) -> Candidates:
        """The pairs, grouped; they themselves if they are already."""
        if isinstance(pairs, Candidates):
            return pairs
        by_attribute = groupby(pairs, key=lambda pair: pair.attribute)
        return cls(CandidateGroup((x,), ParentSets(pair.parents for pair in some)) for x, some in by_attribute)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, place: int) -> AttributeParentPair: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[AttributeParentPair]: ...

    def __getitem__(self, place: int | slice) -> AttributeParentPair | Sequence[AttributeParentPair]:
        if isinstance(place, slice):
            return tuple(self)[place]
        place = range(len(self))[place]
        number = bisect_right(self._ends, place)
        group = self.groups[number]
        attribute, parents = divmod(place - (self._ends[number] - len(group)), len(group.parents.sets))
        return AttributeParentPair(group.attributes[attribute], group.parents.sets[parents])

    def __iter__(self) -> Iterator[AttributeParentPair]:
        for group in self.groups:
            for attribute in group.attributes:
                for parents in group.parents.sets:
                    yield AttributeParentPair(attribute, parents)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Candidates, list, tuple)):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Candidates({len(self)} pairs)"

    @cached_property
    def text(self) -> str:
        """All pairs as one text: ``attribute,parent,parent;attribute,parent``."""
        return ";".join(
            [
                f"{attribute}" + f";{attribute}".join(group.parents.texts)
                for group in self.groups
                for attribute in group.attributes
            ]
        )

    def cells(self, domain: Sequence[int]) -> int:
        """Cells of all tables together.

        Raises:
            IndexError: an attribute that the domain does not have.
        """
        sums = (
            sum(domain[a] for a in group.attributes) * int(group.parents.cells(domain).sum()) for group in self.groups
        )
        return sum(sums)
