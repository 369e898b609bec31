"""The page on sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from benchmarks.markdown import table
from benchmarks.plots import Curves, draw
from privity.party.sources.table_supersets import WIDEST_CELLS

Values = Mapping[str, Any]
Found = Mapping[str, Sequence[Values]]

PICTURE = "sources/rows.svg"
MILLION = 1_000_000
WIDTH = 118
FILE_SECONDS, FILE_GB = 600, 4
MEMORY_SECONDS = {True: 0.05, False: 5}
"""Targets; of bits and of attributes."""

NAMES = {"parquet": "Parquet, embedded", "postgresql": "PostgreSQL", "spark": "Spark"}
HEAD = """\
# Counting where the rows are

All pairs of the attributes of a table, counted as one question by the sources of [sources.md](../sources.md). The made
rows have 20 attributes, five each of integers and of texts with 4 to 12 categories, and of doubles and of 64-bit
integers in 16 bins: 190 tables, 27,160 cells. Every file measurement is a process of its own that opens the rows (the
pass that looks at all of them) and counts; **peak** is its largest resident memory. Two cores, shared with other work,
so that seconds vary; the processor's seconds of the process vary less, and are those of all of its life."""


def page(found: Found, command: str) -> str:
    """A section for each part that was measured."""
    lines = [HEAD, "", "```", command, "```"]
    for part, section in SECTIONS.items():
        if found.get(part):
            lines += ["", *section(found[part])]
    return "\n".join(lines) + "\n"


def _files(found: Sequence[Values]) -> list[str]:
    rows = []
    for v in found:
        both = v["open"] + v["count"]
        rows.append([
            f"{v['rows'] / MILLION:,g}", f"{v['bytes'] / 1e9:.2f}", f"`{v['hold']}`", f"{v['memory']:g}",
            f"{v['open']:.1f}", f"{v['count']:.1f}", f"{both:.1f}", f"{v['cpu']:.0f}",
            f"{1e6 * v['cpu'] / v['rows']:.2f}", f"{v['peak']:.2f}",
        ])  # fmt: skip
    most = max(v["rows"] for v in found)
    reached = [f"`{v['hold']}` {_said(v)}" for v in found if v["rows"] == most]
    head = ["million rows", "file, GB", "hold", "memory, GB", "open, s", "count, s", "both, s",
            "processor, s", "us a row", "peak, GB"]  # fmt: skip
    text = (
        f"Target: 100 million rows within {FILE_SECONDS // 60} minutes and {FILE_GB} GB, linear in the rows. With"
        f" {most / MILLION:,g} million rows: {'; '.join(reached)}. With `store` every question reads the file again;"
        " `auto` loads the codes as it opens, and counts in memory from then on. What other work takes of the machine"
        " shows in the seconds: whether they are linear, the processor's (a row: microseconds) say."
    )
    return [
        "## Parquet files",
        "",
        *wrap(text, WIDTH),
        *table(head, rows),
        "",
        f"![Seconds over rows]({PICTURE})",
    ]


def _said(values: Values) -> str:
    both = values["open"] + values["count"]
    fits = both <= FILE_SECONDS and values["peak"] <= FILE_GB
    return f"{'holds' if fits else 'misses'} it ({both:.0f} s, {values['peak']:.2f} GB)"


def _memory(found: Sequence[Values]) -> list[str]:
    rows = []
    for v in found:
        target, best = MEMORY_SECONDS[v["bits"]], min(v["seconds"])
        rows.append([
            f"{v['name']}{', its bits' if v['bits'] else ''}", f"{v['rows']:,}", str(v["columns"]),
            f"{v['tables']:,}", f"{1000 * best:,.0f} ({1000 * max(v['seconds']):,.0f})", f"{1000 * target:,.0f}",
            "reached" if best <= target else "missed",
        ])  # fmt: skip
    text = "A warm process, packing included. The best of some, and in brackets the worst."
    head = ["table", "rows", "columns", "tables", "ms", "target, ms", ""]
    return ["## In memory", "", text, *table(head, rows)]


def _servers(found: Sequence[Values]) -> list[str]:
    base = {v["hold"]: v["count"] for v in found if v["store"] == "parquet"}
    rows = []
    for v in found:
        beside = f"{v['count'] / base[v['hold']]:.1f}"
        rows.append([
            NAMES[v["store"]], f"`{v['hold']}`", f"{v['open']:.1f}", f"{v['count']:.1f}", beside,
            f"{v['open'] + v['count']:.1f}",
            f"{v['peak']:.2f}",
        ])  # fmt: skip
    text = (
        f"{found[0]['rows']:,} rows, the same in each. With `store` a server counts by grouping sets, and only counts"
        " come back; with `memory` it codes, the codes are loaded as the rows are opened, and the node counts."
        " PostgreSQL as Debian has it, with 256 MB of shared buffers; Spark in local mode, two threads, 4 GB, its start"
        " in the opening."
    )
    told = (
        "A server's time goes to its tables one by one: for each of them it sorts or hashes all rows anew. A node that"
        " asks for many, and has the memory or the disk, is faster with `memory` or `cache`. Spark's rows come through"
        " ibis, which holds far more than their codes while it loads them: see the peak."
    )
    head = ["store", "hold", "open, s", "count, s", "times the file's", "both, s", "node's peak, GB"]
    return ["## Servers", "", *wrap(text, WIDTH), *table(head, rows), "", *wrap(told, WIDTH)]


def _sweep(found: Sequence[Values]) -> list[str]:
    stores = list(dict.fromkeys(v["store"] for v in found))
    by = {(v["widest"], v["store"]): v for v in found}
    rows = []
    for widest in dict.fromkeys(v["widest"] for v in found):
        some = [by[widest, store] for store in stores]
        rows.append([f"{widest:,}", str(some[0]["tables"]), *(f"{v['count']:.1f}" for v in some)])
    text = (
        "`WIDEST_CELLS` of `party/sources/table_supersets.py`: the 190 tables follow from fewer, wider ones, which the"
        f" server counts. {found[0]['rows']:,} rows, seconds; {WIDEST_CELLS:,} is what is used."
    )
    return [
        "## How wide a table is counted in the place of several",
        "",
        *wrap(text, WIDTH),
        *table(["cells at most", "tables", *(NAMES[store] for store in stores)], rows),
    ]


def _draws(found: Sequence[Values]) -> list[str]:
    rows = [
        [v["algorithm"], f"`{v['hold']}`", f"{v['open']:.1f}", f"{v['learn']:.1f}", str(v["passes"])] for v in found
    ]
    text = (
        f"A model of one party with {found[0]['rows']:,} rows in Parquet, epsilon 1, default settings. Passes are"
        " readings of the whole file, for draws and for the tables of rounds; in memory there are none."
    )
    return [
        "## Structures without loading",
        "",
        *wrap(text, WIDTH),
        *table(["algorithm", "hold", "open, s", "learn, s", "passes"], rows),
    ]


SECTIONS = {"files": _files, "memory": _memory, "servers": _servers, "sweep": _sweep, "draws": _draws}


def picture(found: Found, folder: Path) -> bool:
    """Seconds over rows; False if no files were measured."""
    files = found.get("files") or []
    panels = []
    for hold in dict.fromkeys(v["hold"] for v in files):
        some = sorted((v for v in files if v["hold"] == hold), key=lambda v: v["rows"])
        x = [0.0, *(v["rows"] / MILLION for v in some)]
        lines = {
            "open": (x, [0.0, *(v["open"] for v in some)]),
            "count": (x, [0.0, *(v["count"] for v in some)]),
            "both": (x, [0.0, *(v["open"] + v["count"] for v in some)]),
            "processor": (x, [0.0, *(v["cpu"] for v in some)]),
        }
        panels.append(Curves(f"hold = {hold}", "million rows", "seconds", lines, x[-1]))
    return draw(panels, folder / PICTURE)
