"""What many parties ask of MST and AIM that one does not: how to select marginals, and how many.

Over K parties marginals are selected by draws at one party after the other, on few rows each, or from an overview of
all pairs. What is public says by how much a draw is noisier than a table of the overview
(``worst_explained.noise_of_selections``) and how many marginals noise allows (``budget_split.tables_for``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from typing import Any, cast

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Picture, Point, Record, Table, Values, Where, chosen, mean_ratio
from benchmarks.methods.public_tables import Made, grounds, made_grounds, ratios, session_of, tries
from benchmarks.methods.seeded_session import Ground, mean_distance
from benchmarks.plots import Panel
from privity.common.synthesis.learning.budget_split import one_way_share, tables_for
from privity.common.synthesis.learning.worst_explained import (
    COARSE,
    JOINT,
    PARTIES,
    candidate_pairs,
    most_edges,
    noise_of_selections,
)
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel

AIM, MST = "aim", "mst"
COUNT = {AIM: "tables", MST: "edges"}
"""The setting that says how many marginals are selected."""

NUMBERS = (3, 10, 25)
"""Of parties."""

DRAWS = Fraction(1, 10)
"""The default setting ``selecting`` of both."""

MOST_WORK = 300
"""Rounds of AIM times attributes: a try of more is left out for its time, but on narrow tables, which take less."""

NARROW: tuple[Made, ...] = (
    ("typical", 20_000, (2,) * 14), ("strong", 40_000, (2, 3) * 6), ("typical", 60_000, (2, 4, 2, 2, 3) * 3),
)  # fmt: skip
"""Generated tables of few values beside the others, of which few are narrow."""

FACTORS = (0.7, 1.4, 2.0)
"""Of the number of marginals."""

BINS = (0.0, 0.1, 0.25, 0.4, 0.7, math.inf)
THRESHOLDS = (0.0, 0.1, 0.25, 0.4, 0.55, 0.7, math.inf)
"""Of the noise of a draw over that of an overview."""

SAME, OVERVIEW = "draws, the rule's tables", "an overview"
COLUMNS: dict[str, Where] = {"both": {}, "AIM": {"algorithm": AIM}, "MST": {"algorithm": MST}}


def ways(algorithm: str, tables: int, most: int) -> dict[str, Mapping[str, Any]]:
    """Every way with its settings; one with more tables than there may be is that with as many as may be."""
    count = COUNT[algorithm]
    found: dict[str, Mapping[str, Any]] = {
        SAME: {"selection": PARTIES, count: tables},
        OVERVIEW: {"selection": JOINT, count: tables},
        "draws get a fifth": {"selection": PARTIES, count: tables, "selecting": "1/5"},
    }
    for factor in FACTORS:
        chosen_ = max(1, min(most, round(factor * tables)))
        found[f"{factor:g} times the tables"] = {"selection": PARTIES, count: chosen_}
    return found


def forecast(ground: Ground, point: Point) -> tuple[int, int, float]:
    """How many tables noise allows one party, how many there may be, and the noise of a draw over the overview's."""
    session = session_of(ground, point)
    share = session.budget.whole
    most = most_edges(candidate_pairs(session)) if point["algorithm"] == MST else 4 * len(ground.table.schema.domain)
    tables = min(most, tables_for(session, share))
    return tables, most, noise_of_selections(session, tables, share * (1 - one_way_share(session, share)) * DRAWS)


@cache
def tables(*, quick: bool) -> dict[str, Ground]:
    return grounds(quick=quick) | ({} if quick else made_grounds("narrow", NARROW))


def measure(point: Point, seed: int, _data: Data) -> list[Values]:
    ground = tables(quick=point["quick"])[point["table"]]
    domain = ground.table.schema.domain
    count, most, noise = forecast(ground, point)
    if point["algorithm"] == AIM and max(domain) > COARSE and count * len(domain) > MOST_WORK:
        return []
    known = ways(point["algorithm"], count, most)
    found = ratios(ground, point, seed, known, lambda model: mean_distance(ground, cast("JunctionTreeModel", model)))
    return [{**values, "noise": noise} for values in found]


def points(quick: bool) -> list[Point]:
    found = tries(list(tables(quick=quick)), (MST, AIM), (3,) if quick else NUMBERS)
    return [{**point, "quick": quick} for point in found][: 4 if quick else 200]


def by_noise() -> Table:
    bins = {
        (f"{low:g} to {high:g}" if high < math.inf else f"from {low:g}"): {
            "noise": lambda noise, low=low, high=high: low <= noise < high
        }
        for low, high in pairwise(BINS)
    }
    return Table(
        "overview by noise of a draw", ("algorithm",), mean_ratio, columns={"all": {}, **bins}, where={"way": OVERVIEW}
    )


def overview_from(threshold: float, records: Sequence[Record]) -> str:
    """The mean ratio if tries with less noise have draws."""
    return mean_ratio([r if r["noise"] >= threshold else {**r, "ratio": 1.0} for r in records])


def panel(algorithm: str, records: Sequence[Record]) -> Panel:
    """The overview's ratio over noise, a line for each K."""
    lines: dict[str, dict[float, list[float]]] = {}
    for record in chosen(records, {"algorithm": algorithm, "way": OVERVIEW}):
        lines.setdefault(f"K = {record['parties']}", {})[record["noise"]] = [record["ratio"]]
    return Panel(algorithm, "noise of a draw over the overview's", "overview / draws", lines, log_y=True)


EXPERIMENT = Experiment(
    title="What many parties ask of MST and AIM: how to select marginals, and how many",
    points=points,
    measure=measure,
    shows=(
        Table(
            "how many tables", ("way", "parties"), mean_ratio, columns=COLUMNS, where={"way": lambda w: w != OVERVIEW}
        ),
        by_noise(),
        Table(
            "overview from a noise on",
            ("algorithm",),
            {("never" if t == math.inf else f"from {t:g}"): partial(overview_from, t) for t in THRESHOLDS},
            where={"way": OVERVIEW},
        ),
    ),
    pictures=(Picture("ratios", [partial(panel, a) for a in (AIM, MST)]),),
    code=(*CODE, "benchmarks/methods/public_tables.py"),
)
