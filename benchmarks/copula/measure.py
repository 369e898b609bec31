"""One point of the copula's benchmark, measured once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cache import CODE, Cache, Results, Values, attempt, code_digest
from benchmarks.copula.outputs import DELTA, errors
from benchmarks.copula.points import COST, DISTANCE, ERRORS, Plan, Point
from benchmarks.cost import in_own_process
from benchmarks.datasets import Dataset, load
from benchmarks.sweep import Work, collect
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.deploy.planning.in_process_session import InProcessSession

OWN = ("large", "outputs", "queries")
PLACES = (
    *CODE,
    "common/data/pair_tables.py",
    *(f"benchmarks/copula/{name}.py" for name in OWN),
)


@dataclass(frozen=True)
class Sources:
    """The paper's table and the one on which algorithms are compared."""

    paper: Dataset
    compared: Dataset

    @cached_property
    def conjunctions(self) -> CodedTable:
        """The paper's table without its last attribute, the class: 14 attributes of Adult."""
        return without_last(load(self.paper.data, self.paper.schema_file))


def without_last(table: CodedTable) -> CodedTable:
    descriptor: dict[str, Any] = table.schema.table_schema()
    descriptor["fields"] = descriptor["fields"][:-1]
    return CodedTable(parse_schema(descriptor, table.schema.name or "table"), table.columns[:-1])


def distance(sources: Sources, what: str, epsilon: Fraction, seed: int) -> Values:
    """Mean and largest total variation distance of the 1- and 2-way marginals of a sample of as many rows."""
    table = load(sources.compared.data, sources.compared.schema_file)
    algorithm, _, delta = what.partition(", delta")
    spent = DELTA if delta else Fraction(0)
    session = InProcessSession(
        [table], epsilon, delta=spent, rho_budget=ALGORITHMS[algorithm].rho_budget({}, epsilon, spent)
    )
    model = asyncio.run(ALGORITHMS[algorithm].learn(session, epsilon, {}))
    return marginal_distances(table, model.sample(table.rows, np.random.default_rng(seed)), ways=(1, 2))


def cost(sources: Sources, what: str) -> Values:
    """Seconds and memory in a process of its own."""
    if what == "table":
        given = ["--data", str(sources.paper.data), "--schema", str(sources.paper.schema_file)]
        return in_own_process("benchmarks.junction_tree.cost", [*given, "--algorithm", "copula", "--epsilon", "1"])
    rows, sizes = what.split()
    return in_own_process("benchmarks.copula.large", ["--rows", rows, "--sizes", sizes])


def measure(sources: Sources, point: Point, seed: int) -> Values:
    if point.kind == ERRORS:
        return errors(sources.conjunctions, point.what, Fraction(point.epsilon), seed)
    if point.kind == DISTANCE:
        return distance(sources, point.what, Fraction(point.epsilon), seed)
    return cost(sources, point.what)


def run_all(
    sources: Sources, plan: Plan, file: Path | None, say: Callable[[str], None], *, any_code: bool, only_cached: bool
) -> Results[Point]:
    """Every point and seed of the plan, one after another: some of them take all cores."""
    cache_ = Cache(file, code_digest(places=PLACES), any_code=any_code)

    def key(point: Point, seed: int) -> dict[str, Any]:
        data = {ERRORS: sources.paper, DISTANCE: sources.compared, COST: sources.paper}[point.kind].digest
        return {"kind": point.kind, "what": point.what, "epsilon": point.epsilon, "data": data, "seed": seed}

    def each(left: Sequence[Work[Point]]) -> Iterator[tuple[Work[Point], Values | str]]:
        for work in left:
            yield work, attempt(lambda work=work: measure(sources, *work))

    return collect(
        plan.points(), lambda _: cache_, key, each, say, only_cached=only_cached, always=lambda p: p.kind == COST
    )
