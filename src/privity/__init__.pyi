"""Made by ``python -m privity.stubs``: not to be edited."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__version__: str

from privity import connections, given
from privity.common.crypto.residues import Exponents
from privity.common.errors import PrivityError as PrivityError
from privity.common.errors import ProblemsFound as ProblemsFound
from privity.common.privacy.budget import Number
from privity.common.protocol.secure_sum_method import Method
from privity.connections import AsyncRun, Run
from privity.ledgers import Ledger as Ledger
from privity.ledgers import declare_population as declare_population
from privity.local_learner import NotFittedError as NotFittedError
from privity.progress_and_plans import Plan
from privity.releases import Release as Release
from privity.saved_models import SavedModel as SavedModel
from privity.saved_models import load_model as load_model
from privity.schemas import Schema as Schema
from privity.synthesizers import Synthesizer as Synthesizer

__all__ = [  # noqa: RUF022
    "AIM",
    "AllPairs",
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
        tables: int | None = ...,
        target: str | None = ...,
        analyses: Sequence[str] | None = ...,
        cells: int = ...,
        selection: str | None = ...,
    ) -> None: ...

class AllPairs(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
        analyses: Sequence[str] | None = ...,
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

class _Consortium(connections.Consortium):
    def plan(
        self,
        *,
        algorithm: str = ...,
        analyses: Sequence[str] | None = ...,
        epsilon: Number,
        delta: Number = ...,
        tolerate: int = ...,
        secure_sum: Method | str = ...,
        exponents: Exponents | str | None = ...,
        attributes: Sequence[str] | None = ...,
        evaluation_epsilon: Number | None = ...,
        evaluation_targets: Sequence[str] | None = ...,
        key_bits: int | None = ...,
        parties: Sequence[str] | None = ...,
        rows: int | Sequence[int] | Mapping[str, int] | None = ...,
        **settings: Any,
    ) -> Plan: ...
    def submit(
        self,
        *,
        algorithm: str = ...,
        analyses: Sequence[str] | None = ...,
        epsilon: Number,
        delta: Number = ...,
        tolerate: int = ...,
        secure_sum: Method | str = ...,
        exponents: Exponents | str | None = ...,
        attributes: Sequence[str] | None = ...,
        evaluation_epsilon: Number | None = ...,
        evaluation_targets: Sequence[str] | None = ...,
        key_bits: int | None = ...,
        rows: int | None = ...,
        parties: Sequence[str] | None = ...,
        name: str | None = ...,
        token: str | None = ...,
        held: int | Sequence[int] | Mapping[str, int] | None = ...,
        **settings: Any,
    ) -> Run: ...
    async def __aenter__(self) -> _AsyncConsortium: ...

class _AsyncConsortium(connections.AsyncConsortium):
    async def plan(
        self,
        *,
        algorithm: str = ...,
        analyses: Sequence[str] | None = ...,
        epsilon: Number,
        delta: Number = ...,
        tolerate: int = ...,
        secure_sum: Method | str = ...,
        exponents: Exponents | str | None = ...,
        attributes: Sequence[str] | None = ...,
        evaluation_epsilon: Number | None = ...,
        evaluation_targets: Sequence[str] | None = ...,
        key_bits: int | None = ...,
        parties: Sequence[str] | None = ...,
        rows: int | Sequence[int] | Mapping[str, int] | None = ...,
        **settings: Any,
    ) -> Plan: ...
    async def submit(
        self,
        *,
        algorithm: str = ...,
        analyses: Sequence[str] | None = ...,
        epsilon: Number,
        delta: Number = ...,
        tolerate: int = ...,
        secure_sum: Method | str = ...,
        exponents: Exponents | str | None = ...,
        attributes: Sequence[str] | None = ...,
        evaluation_epsilon: Number | None = ...,
        evaluation_targets: Sequence[str] | None = ...,
        key_bits: int | None = ...,
        rows: int | None = ...,
        parties: Sequence[str] | None = ...,
        name: str | None = ...,
        token: str | None = ...,
        held: int | Sequence[int] | Mapping[str, int] | None = ...,
        **settings: Any,
    ) -> AsyncRun: ...

def connect(config: Path | str = ...) -> _Consortium: ...
def simulate(
    table: given.Table,
    schema: given.Schema,
    *,
    algorithm: str = ...,
    analyses: Sequence[str] | None = ...,
    epsilon: Number,
    delta: Number = ...,
    tolerate: int = ...,
    secure_sum: Method | str = ...,
    exponents: Exponents | str | None = ...,
    evaluation_epsilon: Number | None = ...,
    evaluation_targets: Sequence[str] | None = ...,
    key_bits: int | None = ...,
    parties: int = ...,
    rows: int | None = ...,
    split: str = ...,
    seed: int | None = ...,
    patience: float = ...,
    evaluate: Path | str | None = ...,
    out: Path | str | None = ...,
    progress: bool = ...,
    **settings: Any,
) -> Release: ...
