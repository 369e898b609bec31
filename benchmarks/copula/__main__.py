"""The Gaussian copula's paper: its errors, its pictures, its times, and how accurate the other algorithms are.

    python -m benchmarks.copula --data adult_train.csv.gz adult.csv.gz --schema adult_train.schema.json \
        adult.schema.json --cache copula.jsonl --out docs/benchmarks

writes copula.md, and pictures into copula/ beside it. The first table is the paper's, whose last attribute, the class,
is left out for the errors; on the second the algorithms are compared. Large tables are made on the way, one after
another; the largest needs 12 GB and half an hour. ``--quick`` makes small ones in their place.
"""

from __future__ import annotations

import time

from benchmarks.copula.measure import Sources, run_all
from benchmarks.copula.points import QUICK, Plan
from benchmarks.copula.text import FOLDER, document, draw_all
from benchmarks.datasets import Dataset
from benchmarks.sweep import command_of, make_parser, read_options, say

PACKAGE = "copula"


def main(arguments: list[str] | None = None) -> None:
    parser = make_parser(PACKAGE, __doc__)
    options = read_options(parser, arguments)
    if len(options.data) != 2:
        parser.error("two tables are needed: the paper's, and the one for comparison")
    started = time.perf_counter()
    sources = Sources(*(Dataset.read(data, schema) for data, schema in zip(options.data, options.schema, strict=True)))
    plan = QUICK if options.quick else Plan(*(2 * [options.seeds] if options.seeds else []))
    results = run_all(sources, plan, options.cache, say, any_code=options.any_code, only_cached=options.only_cached)
    draw_all(results, options.out / FOLDER)
    text = document(results, sources, plan, command_of(PACKAGE, options))
    (options.out / f"{PACKAGE}.md").write_text(text, encoding="utf-8")
    say(f"{options.out / PACKAGE}.md: {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
