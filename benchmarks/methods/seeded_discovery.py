"""Discoveries of open numbers under noise of a seed: hundreds of them, without a ledger. Nothing here is private."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.common.data.value_grids import nearest
from privity.common.privacy.noise_distribution import GAUSSIAN
from privity.common.privacy.run_budget import RunBudget
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.session import Backend, Session, complete
from privity.common.protocol.steps import Learn, SelectionStep
from privity.common.synthesis.learning.domain_discovery import SHARE, Discovered, discover
from privity.common.synthesis.models import Model

Floats = npt.NDArray[np.float64]


def points(schema: Schema, name: str, texts: list[str]) -> Floats:
    """The values of an open number in points of its lattice, NaN for a missing one: shape (rows,)."""
    attribute = schema.attributes[schema.index(name)]
    assert attribute.point is not None
    numbers = (None if text in attribute.missing_texts else attribute.read(text) for text in texts)
    return np.array([np.nan if number is None else nearest(number, attribute.point) for number in numbers])


@dataclass
class SeededBackend(Backend):
    """One owner's values; the same seed gives the same noise.

    Args:
        values: of each attribute, as ``points`` gives them.
    """

    schema: Schema
    values: tuple[Floats, ...]
    seed: tuple[int, ...]
    members = ("owner",)
    quota, coin, population, rows_per_person = 1, "00", "benchmark", (1,)
    _codes: dict[int, npt.NDArray[np.int64]] = field(default_factory=dict)
    _rounds: int = 0

    def __post_init__(self) -> None:
        self.party_rows = (len(self.values[0]),)
        self.recode = lambda schema, prefix: SeededBackend(schema, self.values, (*self.seed, len(prefix)))

    def _counts(self, marginal: Marginal) -> npt.NDArray[np.int64]:
        (index,), derived = marginal, self.schema.derived
        base = derived.base[index]
        if base not in self._codes:
            self._codes[base] = codes_of(self.schema, base, self.values[base])
        return np.bincount(derived.derive(index, self._codes[base]), minlength=derived.domain[index])

    async def reveal(self, round_: Round) -> np.ndarray:
        assert isinstance(round_.query, Tables)
        self._rounds += 1
        generator, parts = np.random.default_rng((*self.seed, self._rounds)), []
        for table, weight in zip(round_.query.marginals, round_.query.weights, strict=True):
            counts, law = self._counts(table), round_.noise.law(weight)
            assert law.name == GAUSSIAN
            noise = float(law.scale) ** 0.5 * generator.standard_normal(counts.size)
            parts.append(counts + np.rint(noise).astype(np.int64))
        return np.concatenate(parts)

    async def select(self, party: int, step: SelectionStep) -> int:
        raise NotImplementedError

    async def learn(self, step: Learn) -> list[Model]:
        raise NotImplementedError


def codes_of(schema: Schema, place: int, values: Floats) -> npt.NDArray[np.int64]:
    """Codes of values in points: of bins or of a grid, those beyond it at its ends."""
    attribute: Any = schema.attributes[place]
    edges = np.array(attribute.point_edges, dtype=float)
    codes = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, attribute.values - 1)
    missing = np.isnan(values)
    return np.where(missing, attribute.missing_code or 0, codes) if missing.any() else codes


def discovered(schema: Schema, values: tuple[Floats, ...], budget: RunBudget, seed: int) -> Discovered:
    """What the first quarter of the budget discovers, as in a fit.

    Raises:
        PrivityError: the domains would be below the noise.
    """
    session = Session(SeededBackend(schema, values, (seed,)), schema, budget, "benchmark")
    return complete(discover(session, "domains", budget.whole * SHARE))
