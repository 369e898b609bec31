"""Constants of MST and AIM, each varied on public tables, which they were chosen by, and on the reported ones.

The noise is that of a seeded generator, the same for the same table at every value (benchmarks/methods/
seeded_session.py): it protects nobody. Distances are those of the model, before rows are drawn.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any, cast

from benchmarks.data import Data
from benchmarks.experiment import (
    CODE,
    NONE,
    Experiment,
    Picture,
    Point,
    Record,
    Table,
    Text,
    Values,
    Where,
    chosen,
    markdown,
    mean_ratio,
    standard_error,
)
from benchmarks.methods.public_tables import grounds, some_attributes
from benchmarks.methods.seeded_session import Ground, mean_distance, session_over
from benchmarks.methods.varied_constants import (
    AIM,
    MST,
    REFERENCE,
    SHIPPED,
    TOGETHER,
    Change,
    Constants,
    changes,
    in_place,
)
from benchmarks.plots import Panel
from privity.common.protocol.session import complete
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.learning.budget_split import one_way_share, tables_for
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel

EPSILONS, DELTAS = ("0.1", "0.4", "1.6"), ("0", "1e-9")
REPORTED = ("adult", "nltcs", "diabetes130", "cps_taxunits")
MOST_WORK = 400
"""Rounds of AIM times attributes: a point of more is left out, as a run of it takes more than some five seconds."""

COLUMNS: dict[str, Where] = {"both": {}, "AIM": {"algorithm": AIM}, "MST": {"algorithm": MST}}


@cache
def ground(name: str, data: Data, *, quick: bool) -> Ground:
    found = grounds(quick=quick).get(name)
    return found or Ground(name, some_attributes(data.table(name)))


def key_of(point: Point, on: Ground, constants: Constants) -> dict[str, Any]:
    """What decides a run: changes that come to the same have one key."""
    epsilon, delta = Fraction(point["epsilon"]), Fraction(point["delta"])
    session = session_over(on, epsilon, delta, 1)
    with in_place(constants) as settings:
        tables, one_way = tables_for(session, session.budget.whole), one_way_share(session, session.budget.whole)
    key = {**settings, "tables": tables, "one_way": str(one_way), "handicap": constants.handicap}
    if point["algorithm"] == AIM:
        return {**key, "prior": constants.prior, "ridge": constants.ridge}
    return {**key, "tables": min(tables, len(on.table.schema.domain) - 1)}


def distance(point: Point, seed: int, on: Ground, constants: Constants) -> float:
    epsilon = Fraction(point["epsilon"])
    session = session_over(on, epsilon, Fraction(point["delta"]), seed)
    with in_place(constants) as settings:
        model = complete(ALGORITHMS[point["algorithm"]].learn(session, session.budget.whole, settings))
    return mean_distance(on, cast("JunctionTreeModel", model))


def measure(point: Point, seed: int, data: Data) -> list[Values]:
    """Every change on one table under one budget: the distance over that at the reference."""
    on = ground(point["table"], data, quick=point["quick"])
    pure = point["delta"] == "0"
    reference = REFERENCE[pure]
    rounds = key_of(point, on, reference)["tables"]
    if point["algorithm"] == AIM and rounds * len(on.table.schema.domain) > MOST_WORK:
        return []
    tried = [SHIPPED] if point["all_together"] else changes(point["algorithm"], pure=pure)
    known: dict[str, float] = {}
    found = []
    for change in (None, *tried):
        constants = reference if change is None else change.of(reference)
        key = str(key_of(point, on, constants))
        if key not in known:
            known[key] = distance(point, seed, on, constants)
        if change is None:
            at_reference = known[key]
        else:
            found.append({"change": change.name, "by": change.by, "ratio": known[key] / at_reference})
    return found


def points(quick: bool) -> list[Point]:
    """The first ones have each table and each budget equally often."""
    names = list(grounds(quick=quick)) + ([] if quick else list(REPORTED))
    budgets = [(epsilon, delta) for delta in DELTAS for epsilon in EPSILONS]
    found = []
    for turn in range(len(budgets)):
        for place, name in enumerate(names):
            epsilon, delta = budgets[(place + turn * 5) % len(budgets)]
            found += [
                {"table": name, "algorithm": algorithm, "epsilon": epsilon, "delta": delta, "all_together": together,
                 "quick": quick, "seeds": 3 if together else 1}
                for algorithm in (AIM, MST)
                for together in ((True, False) if name in REPORTED else (False,))
            ]  # fmt: skip
    return found[:2] if quick else found


@dataclass(frozen=True)
class Constant:
    """One thing to choose.

    Attributes:
        name: as in ``Change``.
        pure: whose runs count; None for those of both ways of adding up.
    """

    name: str
    pure: bool | None

    @property
    def title(self) -> str:
        return self.name if self.pure is None else f"{self.name}, {'pure' if self.pure else 'with a delta'}"

    @property
    def where(self) -> Mapping[str, Any]:
        own = {"change": self.name, "all_together": False}
        return own if self.pure is None else {**own, "delta": "0" if self.pure else "1e-9"}

    def value(self, by: float | None) -> float:
        """The constant's own number under a change; of a power the power."""
        reference = REFERENCE[self.pure is not False]
        constants = reference if by is None else Change(self.name, by).of(reference)
        field, _, power = self.name.partition(" ")
        value = getattr(constants, field)
        return float(value.power if power else getattr(value, "at_one", value))

    def by_change(self, records: Sequence[Record]) -> dict[float, list[Record]]:
        """How it was changed -> the runs, in the order of its values."""
        found: dict[float, list[Record]] = {}
        for record in chosen(records, self.where):
            found.setdefault(record["by"], []).append(record)
        return {by: found[by] for by in sorted(found, key=self.value)}


SPLIT = ("tables", "tables power", "one_way", "one_way power")
CONSTANTS = [Constant(name, pure) for pure in (True, False) for name in SPLIT]
CONSTANTS += [Constant(name, None) for name in ("handicap", "selecting", "prior", "ridge")]


def mean_log(records: Sequence[Record]) -> tuple[float, float]:
    """Mean over tables of the logarithm of the ratio, each table weighing the same, and its standard error."""
    logs: dict[str, list[float]] = {}
    for record in records:
        logs.setdefault(record["table"], []).append(math.log(record["ratio"]))
    means = [statistics.fmean(values) for values in logs.values()]
    return statistics.fmean(means), standard_error(means)


def supported(constant: Constant, records: Sequence[Record]) -> float | None:
    """Of the changes within a standard error of the best the nearest to none; None if that is no change."""
    known = {by: mean_log(some) for by, some in constant.by_change(records).items()}
    mean, error = min(known.values(), default=(0.0, 0.0))
    if mean + error >= 0:
        return None
    near = [by for by, (other, _) in known.items() if other <= mean + error]
    return min(near, key=lambda by: abs(by if "power" in constant.name else math.log(by)))


def public(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record["table"] not in REPORTED]


def tried(records: Sequence[Record]) -> list[str]:
    """Every value of every constant, the one that was held in bold."""
    rows = []
    for constant in CONSTANTS:
        held = constant.value(None)
        found = {held: [constant.title, f"**{held:.3g}**", "1", "1", "1"]}
        for by, some in constant.by_change(public(records)).items():
            cells = [mean_ratio(chosen(some, where)) for where in COLUMNS.values()]
            found[constant.value(by)] = [constant.title, f"{constant.value(by):.3g}", *cells]
        rows += [found[value] for value in sorted(found)] if len(found) > 1 else []
    return markdown(["constant", "value", *COLUMNS], rows) if rows else []


def choices(records: Sequence[Record]) -> list[str]:
    """What the public tables support; and for each reported one, left out of the choice, its ratio."""
    rows = []
    for constant in CONSTANTS:
        known = public(records)
        if not chosen(known, constant.where):
            continue
        by = supported(constant, known)
        ratio = "1" if by is None else mean_ratio(constant.by_change(known)[by])
        cells = []
        for name in REPORTED:
            best = supported(constant, [record for record in records if record["table"] != name])
            own = constant.by_change(chosen(records, {"table": name}))
            cells.append(NONE if best is None or best not in own else f"{math.exp(mean_log(own[best])[0]):.3f}")
        value = "the same" if by is None else f"{constant.value(by):.3g}"
        rows.append([constant.title, f"{constant.value(None):.3g}", value, ratio, *cells])
    return markdown(["constant", "was", "supported", "ratio", *REPORTED], rows) if rows else []


def panel(constant: Constant, records: Sequence[Record]) -> Panel:
    lines = {}
    for algorithm in (AIM, MST):
        found = constant.by_change(chosen(public(records), {"algorithm": algorithm}))
        # A power may be negative: its size is drawn.
        line = {abs(round(constant.value(by), 3)): math.exp(mean_log(some)[0]) for by, some in found.items()}
        if line:
            lines[algorithm] = {x: [y] for x, y in {**line, abs(constant.value(None)): 1.0}.items()}
    return Panel(constant.title, "value; size of a power", "ratio of distances", lines, log_y=True)


EXPERIMENT = Experiment(
    title="Constants of MST and AIM, varied on public tables",
    points=points,
    measure=measure,
    shows=(
        Text("what was tried", tried),
        Text("what the tables support", choices),
        Table(
            "changes together, pure", ("change",), mean_ratio, columns=COLUMNS,
            where={"change": tuple(change.name for change in TOGETHER), "delta": "0",
                   "table": lambda name: name not in REPORTED},
        ),
        Table(
            "shipped now, public tables", ("delta",), mean_ratio, columns=COLUMNS,
            where={"change": SHIPPED.name, "table": lambda name: name not in REPORTED},
        ),
        Table(
            "shipped now, reported tables", ("table", "delta"), mean_ratio, columns=COLUMNS,
            where={"change": SHIPPED.name, "table": REPORTED, "all_together": True},
        ),
    ),
    tables=REPORTED,
    pictures=(Picture("ratios", [partial(panel, c) for c in CONSTANTS]),),
    code=(*CODE, "benchmarks/methods/seeded_session.py", "benchmarks/methods/varied_constants.py"),
)  # fmt: skip
