"""Made by ``python -m privity.stubs``: not to be edited."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privity.common.errors import PrivityError as PrivityError
from privity.common.errors import ProblemsFound as ProblemsFound
from privity.common.privacy.budget import Number
from privity.connections import connect as connect
from privity.ledgers import Ledger as Ledger
from privity.ledgers import declare_population as declare_population
from privity.local_learner import NotFittedError as NotFittedError
from privity.releases import Release as Release
from privity.saved_models import SavedModel as SavedModel
from privity.saved_models import load_model as load_model
from privity.schemas import Schema as Schema
from privity.simulations import simulate as simulate
from privity.synthesizers import Synthesizer as Synthesizer

__all__ = [  # noqa: RUF022
    "AIM",
    "DPCCBN",
    "DPSUBN",
    "GaussianCopula",
    "Independent",
    "JTree",
    "Ledger",
    "MST",
    "NotFittedError",
    "OneWay",
    "PrivBayes",
    "PrivHD",
    "PrivityError",
    "ProblemsFound",
    "Release",
    "SavedModel",
    "Schema",
    "Synthesizer",
    "connect",
    "declare_population",
    "load_model",
    "simulate",
]

class AIM(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
        one_way: Number | None = ...,
        selecting: Number = ...,
        rounds: int | None = ...,
        cells: int = ...,
        selection: str | None = ...,
    ) -> None: ...

class DPCCBN(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
        inference: str = ...,
    ) -> None: ...

class DPSUBN(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
        correlations: Number = ...,
        initialisation: Number = ...,
        update: Number = ...,
        parameters: Number = ...,
        theta: Number = ...,
        frontier_theta: Number = ...,
        largest_degree: int = ...,
        degree: int | None = ...,
        frontier_degree: int | None = ...,
        frontier: str = ...,
        attributes: str = ...,
        views: str = ...,
        quotas: str = ...,
        edges: str = ...,
        parents: str = ...,
        schedule: str = ...,
        first_attribute: str | None = ...,
        inference: str = ...,
    ) -> None: ...

class GaussianCopula(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
        one_way: Number = ...,
        certainty: Number = ...,
        composition: str | None = ...,
    ) -> None: ...

class Independent(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
        privbayes: Mapping[str, Any] | None = ...,
    ) -> None: ...

class JTree(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
        strength: Number = ...,
        edges: int | None = ...,
        beta: Number | None = ...,
        theta: Number = ...,
        largest_clique: int = ...,
        clusters: str = ...,
        inference: str = ...,
    ) -> None: ...

class MST(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
        one_way: Number | None = ...,
        selecting: Number = ...,
        edges: int | None = ...,
        selection: str | None = ...,
        inference: str = ...,
    ) -> None: ...

class OneWay(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
    ) -> None: ...

class PrivBayes(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
        encoding: str = ...,
        score: str | None = ...,
        beta: Number | None = ...,
        theta: Number = ...,
        largest_degree: int = ...,
        first_attribute: str | None = ...,
        inference: str = ...,
    ) -> None: ...

class PrivHD(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
        filter: str = ...,
        filtering: Number = ...,
        threshold: Number = ...,
        strength: Number = ...,
        theta: Number = ...,
        largest_clique: int = ...,
        inference: str = ...,
    ) -> None: ...
