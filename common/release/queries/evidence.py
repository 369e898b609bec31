"""What a release holds that a question can be answered by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.data.schema import Schema
from privity.common.release.release_contents import Release
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference.pooled_estimates import PooledEstimates
from privity.common.synthesis.models import Model

Numbers = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

MODEL_ROWS = 1 << 17
"""Of the released model, in the place of its probabilities: a stratified sample, which is near to them."""

FLAT = 0.03
"""Part of these rows that is spread over all codes: a cell to which the model gives nothing can move."""

SEED = 0
"""Of these rows: the same question has the same answer."""


@dataclass(frozen=True)
class Evidence:
    """A release as questions see it.

    Attributes:
        measured: every noisy marginal with its phase, in the order in which they were revealed.
        variables: of a table's law that the noise on one cell amounts to, K/(K-t).
        algorithm: name of the one that learnt the model.
        rows: public number of rows of all owners; places for rows, if some may be absent.
        rows_per_person: the most rows of one person.
    """

    model: Model
    measured: Sequence[tuple[str, NoisyTable]]
    variables: Fraction
    algorithm: str
    rows: int
    rows_per_person: int = 1

    @classmethod
    def of(cls, release: Release) -> Evidence:
        """What is in a release."""
        parties = release.privacy["parties"]
        return cls(
            release.model,
            release.tables(),
            Fraction(release.marginals["noise_variables"]),
            release.run["algorithm"],
            release.places,
            max(party["rows_per_person"] for party in parties),
        )

    @property
    def schema(self) -> Schema:
        """Of the release."""
        return self.model.schema

    @cached_property
    def tables(self) -> list[NoisyTable]:
        """Those over all rows: what fewer owners have is no sample of all."""
        return [table for _, table in self.measured if table.rows == self.rows]

    @cached_property
    def overview(self) -> list[NoisyTable]:
        """Coarse tables of all pairs, if the algorithm measured them before it selected some."""
        phase = None if (known := ALGORITHMS.get(self.algorithm)) is None else known.overview
        return [table for name, table in self.measured if name == phase and table.rows == self.rows]

    @cached_property
    def selected(self) -> list[NoisyTable]:
        """Those that were each selected because a model of the ones before them explained it worst; in their order."""
        phase = None if (known := ALGORITHMS.get(self.algorithm)) is None else known.rounds
        return [table for name, table in self.measured if name == phase]

    @cached_property
    def pooled(self) -> PooledEstimates:
        """What the tables tell without a model."""
        return PooledEstimates(self.tables, self.schema.derived, self.variables)

    @cached_property
    def model_rows(self) -> ModelRows:
        """Rows of the released model."""
        generator = np.random.default_rng(SEED)
        table = self.model.sample(MODEL_ROWS, generator)
        count = round(MODEL_ROWS * FLAT)
        columns = []
        for column, size in zip(table.columns, self.schema.domain, strict=True):
            shares = np.bincount(column, minlength=size) / len(column)
            flat = generator.choice(size, count, p=(shares + 1 / size) / 2)
            columns.append(np.concatenate([column.astype(np.int64), flat.astype(np.int64)]))
        return ModelRows(self.schema, columns, MODEL_ROWS)


@dataclass(frozen=True)
class ModelRows:
    """Coded rows of a model, and after them rows that are spread over all codes.

    Attributes:
        columns: int64, shape (rows,), one for each attribute.
        own: how many of the rows are the model's.
    """

    schema: Schema
    columns: Sequence[Codes]
    own: int

    def cells(self, marginal: Marginal) -> Codes:
        """The cell of each row in a table, derived attributes included; shape (rows,)."""
        derived = self.schema.derived
        codes = [derived.derive(index, self.columns[derived.base[index]]) for index in marginal]
        sizes = [derived.domain[index] for index in marginal]
        return np.ravel_multi_index(codes, sizes).astype(np.int64)
