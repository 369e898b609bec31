"""Runs without end over real nodes: what grows, and what must not.

    python -m benchmarks.soak --minutes 60 --parties 3 --results soak-3.json
    python -m benchmarks.soak --minutes 0 --parties 50 --results soak-50.json
    python -m benchmarks.soak --page soak-3.json soak-50.json --out docs/benchmarks

The first two soak, print what they found, and end with 1 if a bound is broken; ``--minutes 0`` ends when the queued
runs have. The third makes the page of results that are there.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.soak.text import page, picture
from benchmarks.soak.verdict import Soaked
from benchmarks.soak.work import Soak, soak


def command_of(soaked: Soaked) -> str:
    raw = soaked.raw
    return f"python -m benchmarks.soak --minutes {raw['minutes']:g} --parties {raw['parties']} --runs {raw['queued']}"


def write_page(soaks: list[Soaked], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "soak.md").write_text(page([(command_of(one), one) for one in soaks]), encoding="utf-8")
    for one in soaks:
        if one.raw["minutes"]:
            picture(one, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="for which runs are submitted")
    parser.add_argument("--parties", type=int, default=3)
    parser.add_argument("--runs", type=int, default=20, help="that are kept queued")
    parser.add_argument("--every", type=float, default=5, help="seconds between two samples")
    parser.add_argument("--results", type=Path, help="file of the results, JSON")
    parser.add_argument("--page", type=Path, nargs="+", help="make the page of these results, and soak nothing")
    parser.add_argument("--out", type=Path, help="folder of soak.md")
    options = parser.parse_args()
    if options.page:
        if options.out is None:
            parser.error("--page needs --out")
        write_page([Soaked(json.loads(file.read_text(encoding="utf-8"))) for file in options.page], options.out)
        return
    soaked = Soaked(soak(Soak(options.parties, options.runs, options.minutes, options.every)))
    if options.results:
        options.results.write_text(json.dumps(soaked.raw), encoding="utf-8")
    if options.out:
        write_page([soaked], options.out)
    print(page([(command_of(soaked), soaked)]))
    # Twenty runs are too few to tell growth from a start.
    sys.exit(1 if options.minutes and soaked.breaches() else 0)


if __name__ == "__main__":
    main()
