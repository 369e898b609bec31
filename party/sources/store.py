"""What a store must be able to do; everything else is the same for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from privity.party.sources.row_sums import RowSums, Sums
from privity.party.sources.store_columns import Column

Codes = npt.NDArray[np.unsignedinteger[Any]]


class Store(Protocol):
    """A place where rows are, that answers SQL.

    Every method may raise PrivityError: source-unreachable, source-refused. Its text holds no value, count or secret.

    Attributes:
        name: for messages, without a secret.
        relation: what stands behind FROM.
        columns: by name, as the store declares them.
        counts: whether it should count by itself, because its rows are elsewhere; else coded columns are read from it.
        grouping_sets: whether it knows them.
        one_state: whether a pass is about one state of the rows, unless ``state`` tells of a change during it.
        fence: what stands at the end of a subquery that is not to be merged into the query around it.
    """

    name: str
    relation: str
    counts: bool
    grouping_sets: bool
    one_state: bool
    fence: str

    @property
    def columns(self) -> Mapping[str, Column]: ...

    def value(self, column: Column) -> str:
        """SQL of a column's value; a text so that it is compared byte by byte."""
        ...

    def rows(self, query: str) -> Sequence[Sequence[Any]]:
        """The rows of a small result: integers, texts and NULLs."""
        ...

    def batches(self, query: str, sizes: Sequence[int]) -> Iterator[list[Codes]]:
        """The rows of a large result, some at a time: an array a column; each code is at most its size."""
        ...

    def state(self) -> str:
        """What changes when the rows may have changed, without reading them; empty if nothing shows it."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


@runtime_checkable
class Summing(Protocol):
    """A store whose workers run numpy over its coded rows."""

    def summed(self, query: str, sizes: Sequence[int], sums: RowSums) -> Sums:
        """What ``sums`` says of all rows of the query, in one pass; each code is at most its size.

        Raises:
            PrivityError: source-unreachable, source-refused.
        """
        ...


@runtime_checkable
class Parted(Protocol):
    """A store whose rows can be read in parts, one after another."""

    def parts(self) -> int:
        """How many there are; the same ones as long as the store is open."""
        ...

    def part(self, number: int) -> Store:
        """The same store with the rows of this part alone."""
        ...
