"""The rows of an owner as the handlers see them: something that counts tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import Request, count_marginals
from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.fingerprint import digest, fingerprint

Counts = npt.NDArray[np.int64]
Texts = Callable[[str], Mapping[str, int]]
"""How many rows have each text of an attribute whose categories are open."""

PASS_CELLS = 1 << 23
"""Of the tables of requests that are counted in one pass: 64 MiB of counts."""


class Rows(Protocol):
    """Rows of one state; they never change, or every further question about them is refused.

    Every method may raise PrivityError: source-unreachable, source-refused, source-changed. None depends on a row.

    Attributes:
        schema: what the rows are coded by.
        rows: how many there are, n_k; public.
        digest: names their state, in hexadecimal. It depends on rows and never leaves their owner.
    """

    @property
    def schema(self) -> Schema: ...

    @property
    def rows(self) -> int: ...

    @property
    def digest(self) -> str: ...

    def over(self, names: Collection[str] | None) -> Rows:
        """The same rows with some of the attributes; None stands for all. KeyError for one that the schema lacks."""
        ...

    def count(self, marginals: Sequence[Marginal]) -> Counts:
        """All cells of the tables, one after another, C order within each: int64 of shape (cells,), the caller's."""
        ...

    def joint_counts(self, requests: Sequence[Request]) -> Iterator[list[Counts]]:
        """For each (parents, attributes) each attribute's table with the parents: (size, cells of the parents)."""
        ...

    def texts(self, name: str) -> Mapping[str, int]:
        """How many rows have each text of an open attribute, of those texts that may become its categories.

        The rows are those of every other count: of a person no more than its places, and absent ones have no text.
        """
        ...

    def forget(self) -> None:
        """Drop what was kept for further questions of a run."""
        ...


def only_codes(_name: str) -> Mapping[str, int]:
    """The ``Texts`` of rows of which nothing but their codes is there.

    Raises:
        PrivityError: bad-option, always.
    """
    reason, hint = "some categories are yet to be discovered, and the rows are coded", "Give the table itself."
    raise PrivityError(Catalogue.BAD_OPTION, option="table", reason=reason, hint=hint)


class InMemory:
    """Rows as a coded table.

    Args:
        texts: of whoever coded it, about the same rows.
    """

    def __init__(self, table: CodedTable, texts: Texts = only_codes) -> None:
        self.table = table
        self.schema = table.schema
        self.rows = table.rows
        self.texts = texts

    @cached_property
    def digest(self) -> str:
        return digest(self.schema, self.rows, fingerprint(self.table.columns, self.schema))

    def over(self, names: Collection[str] | None) -> InMemory:
        return self if names is None else InMemory(self.table.over(names), self.texts)

    def count(self, marginals: Sequence[Marginal]) -> Counts:
        return count_marginals(self.table, marginals)

    def joint_counts(self, requests: Sequence[Request]) -> Iterator[list[Counts]]:
        return joint_in_passes(self, requests)

    def forget(self) -> None:
        """Nothing is kept but the rows."""


def joint_in_passes(rows: Rows, requests: Sequence[Request]) -> Iterator[list[Counts]]:
    """``Rows.joint_counts`` by ``Rows.count``, some requests at a time."""
    domain = rows.schema.derived.domain
    waiting: list[list[Marginal]] = []
    cells = 0
    for place, (parents, attributes) in enumerate(requests, 1):
        waiting.append([(attribute, *parents) for attribute in attributes])
        cells += prod(domain[p] for p in parents) * sum(domain[a] for a in attributes)
        if cells >= PASS_CELLS or place == len(requests):
            counts, start = rows.count([marginal for some in waiting for marginal in some]), 0
            for some in waiting:
                tables = []
                for attribute, *others in some:
                    stop = start + domain[attribute] * prod(domain[p] for p in others)
                    tables.append(counts[start:stop].reshape(domain[attribute], -1))
                    start = stop
                yield tables
            waiting, cells = [], 0
