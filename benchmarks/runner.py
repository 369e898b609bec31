"""Run an experiment: measure its points, keep what was found, and show it as tables, pictures and a page."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks import experiments
from benchmarks.data import Data
from benchmarks.experiment import Experiment, Picture, Point, Record, chosen
from benchmarks.plots import draw
from benchmarks.store import ROOT, Store, code_digest
from privity.assessment.planning.worker_processes import worker_processes
from privity.common.errors import PrivityError

PAGES = ROOT / "docs/benchmarks"
NAMES = sorted(module.name for module in pkgutil.iter_modules(experiments.__path__))
QUICK_ROWS = 2000
"""Of each table that are looked at in a quick run."""

SAY_SECONDS = 10.0
BLOCK = re.compile(r"(<!-- begin (?P<name>.+?) -->\n).*?(<!-- end (?P=name) -->)", re.DOTALL)
DESCRIPTION = """Measure what docs/benchmarks shows.

Results are kept in the folder OUT, one line for each point and seed, so that a run can be cut off, go on, and be
widened. All tables stand in OUT/tables.md, pictures beside it; --page writes those of the page into docs/benchmarks."""

Work = tuple[Point, int]


def load(name: str) -> Experiment:
    experiment: Experiment = importlib.import_module(f"benchmarks.experiments.{name}").EXPERIMENT
    return experiment


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", choices=NAMES, metavar="NAME", help="of the experiment")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--data", type=Path, help="folder of NAME.csv.gz and NAME.schema.json")
    parser.add_argument("--out", type=Path, help="folder of results, tables and pictures; build/benchmarks/NAME")
    parser.add_argument("--quick", action="store_true", help=f"few points on {QUICK_ROWS:,} rows, to see that it works")
    parser.add_argument("--only", nargs="+", default=[], metavar="KEY=VALUE", help="points that have one of the values")
    parser.add_argument("--first", type=int, help="only so many of the points")
    parser.add_argument("--seeds", type=int, help="runs of each point")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--any-code", action="store_true", help="take results of other versions of the code too")
    parser.add_argument("--only-known", action="store_true", help="measure nothing, show what was found before")
    parser.add_argument("--page", action="store_true", help="write the blocks and the picture of docs/benchmarks, too")
    options = parser.parse_args(arguments)
    if not options.list:
        if options.name is None:
            parser.error("which experiment? --list names them")
        if options.page and options.quick:
            parser.error("a quick run is no result for a page")
        missing = load(options.name).tables if options.data is None else ()
        if missing:
            parser.error(f"--data DIR must hold {', '.join(missing)}: NAME.csv.gz and NAME.schema.json")
        options.out = options.out or Path("build/benchmarks") / options.name
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.list:
        for name in NAMES:
            print(f"{name:15} {load(name).title}")
        return 0
    # Processes that a measure starts have folders of their own, and must find what this one finds.
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    with patch.dict(os.environ, PYTHONPATH=paths):
        return run(options.name, load(options.name), options)


def run(name: str, experiment: Experiment, options: argparse.Namespace) -> int:
    """Measure and show; 1 if a point gave no result, or the results break a bound."""
    scratch = options.out.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    data = Data(options.data.resolve() if options.data else scratch, scratch)
    if options.quick and experiment.tables:
        data = data.first_rows(experiment.tables, QUICK_ROWS)
    store = Store(scratch / "results.jsonl", code_digest(experiment.code), any_code=options.any_code)
    if store.old:
        say(f"{store.old} results of other versions of the code do not count (--any-code takes them)")
    works = list(unique(wanted(experiment, options), options.seeds))
    digests = {names: data.digest(names) for names in {_tables(point, experiment) for point, _ in works}}

    def key(work: Work) -> dict[str, Any]:
        return {"point": work[0], "seed": work[1], "data": digests[_tables(work[0], experiment)]}

    left = [work for work in works if store.get(key(work)) is None]
    say(f"{len(works)} runs, {len(works) - len(left)} of them known")
    failed: dict[str, str] = {}
    if not options.only_known:
        for work, values in told(measured(name, experiment, left, data, options.processes), len(left)):
            if isinstance(values, str):
                failed[label(work)] = values
            else:
                store.put(key(work), values)
    records = [record for work in works for record in records_of(work, store.get(key(work)))]
    text = "\n".join([f"# {experiment.title}", *all_tables(experiment, records), *_failures(failed)]) + "\n"
    (scratch / "tables.md").write_text(text, encoding="utf-8")
    pictures(name, experiment.pictures, records, scratch)
    print(text)
    if options.page:
        page = PAGES / f"{name}.md"
        made = with_blocks(page.read_text(encoding="utf-8"), experiment, records)
        page.write_text(made, encoding="utf-8")
        if f"({name}.svg)" in made:
            pictures(name, experiment.pictures[:1], records, PAGES)
    broken = experiment.broken(records)
    for bound in broken:
        say(f"out of bounds: {bound}")
    return 1 if failed or broken else 0


def wanted(experiment: Experiment, options: argparse.Namespace) -> list[Point]:
    """The points that are asked for."""
    only: dict[str, list[str]] = {}
    for text in options.only:
        key, _, value = text.partition("=")
        only.setdefault(key, []).append(value)
    points = [
        point
        for point in experiment.points(options.quick)
        if all(str(point.get(key, "")) in values for key, values in only.items())
    ]
    return points[: options.first]


def unique(points: Sequence[Point], seeds: int | None = None) -> Iterator[Work]:
    """Each point with each of its seeds; of a point that is there twice the larger number."""
    found: list[tuple[Point, int]] = []
    place: dict[str, int] = {}
    for point in points:
        times = seeds or point.get("seeds", 1)
        bare = {key: value for key, value in point.items() if key != "seeds"}
        at = place.setdefault(repr(sorted(bare.items())), len(found))
        if at == len(found):
            found.append((bare, times))
        else:
            found[at] = (bare, max(times, found[at][1]))
    # A seed of every point before the next seed: what was cut off shows all points.
    for seed in range(1, max((times for _, times in found), default=0) + 1):
        yield from ((point, seed) for point, times in found if seed <= times)


def _tables(point: Point, experiment: Experiment) -> tuple[str, ...]:
    """The tables on which a point rests."""
    return (point["data"],) if point.get("data") in experiment.tables else tuple(experiment.tables)


def label(work: Work) -> str:
    return ", ".join(f"{key} {value}" for key, value in {**work[0], "seed": work[1]}.items())


def attempt(experiment: Experiment, point: Point, seed: int, data: Data) -> Any:
    """The values, or why there are none: one bad point does not end the others."""
    try:
        return experiment.measure(point, seed, data)
    except PrivityError as error:
        return " ".join(error.message.split())
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())


def _in_worker(name: str, point: Point, seed: int, data: Data) -> Any:
    return attempt(load(name), point, seed, data)


def measured(
    name: str, experiment: Experiment, left: Sequence[Work], data: Data, processes: int
) -> Iterator[tuple[Work, Any]]:
    """What each point and seed gave; those that are measured alone come last."""
    last = [work for work in left if experiment.alone(work[0])]
    many = [work for work in left if not experiment.alone(work[0])]
    if processes > 1 and many:
        with worker_processes(processes) as pool:
            futures = {pool.submit(_in_worker, name, *work, data): work for work in many}
            for future in as_completed(futures):
                yield futures[future], future.result()
        many = []
    for work in many + last:
        yield work, attempt(experiment, *work, data)


def told(found: Iterator[tuple[Work, Any]], total: int) -> Iterator[tuple[Work, Any]]:
    """The same, with a line every few seconds, at the end, and for each point without a result."""
    started = said = time.perf_counter()
    for done, (work, values) in enumerate(found, 1):
        now = time.perf_counter()
        refused = f", no result: {values}" if isinstance(values, str) else ""
        if refused or now - said > SAY_SECONDS or done == total:
            said, spent = now, now - started
            say(f"{done} / {total}, {spent:.0f} s, {spent / done * (total - done):.0f} s left: {label(work)}{refused}")
        yield work, values


def records_of(work: Work, values: Any) -> list[Record]:
    if values is None:
        return []
    several = values if isinstance(values, list) else [values]
    return [{**one, **work[0], "seed": work[1]} for one in several]


def all_tables(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    lines = []
    for block in experiment.shows:
        found = block.lines(records)
        lines += ["", f"## {block.name}", "", *found] if found else []
    return lines


def _failures(failed: Mapping[str, str]) -> list[str]:
    """A section on the runs that gave no result, by reason."""
    by_reason: dict[str, list[str]] = {}
    for work, reason in failed.items():
        by_reason.setdefault(reason, []).append(work)
    lines = [f"- {reason} ({len(works)}, first: {works[0]})" for reason, works in by_reason.items()]
    return ["", "## Not measured", "", *lines] if lines else []


def pictures(name: str, wanted_: Sequence[Picture], records: Sequence[Record], folder: Path) -> None:
    for place, picture in enumerate(wanted_):
        draw(picture.drawn(records), folder / (f"{name}-{picture.name}.svg" if place else f"{name}.svg"))


def with_blocks(page: str, experiment: Experiment, records: Sequence[Record]) -> str:
    """The page with its generated blocks made anew; one without results stays as it is."""
    by_name = {block.name: block for block in experiment.shows}

    def block(match: re.Match[str]) -> str:
        lines = by_name[match["name"]].lines(records)
        return "\n".join([match[1], *lines, "", match[3]]) if lines else match[0]

    return BLOCK.sub(block, page)


def known_blocks(page: str) -> list[str]:
    """Names of the generated blocks of a page."""
    return [match["name"] for match in BLOCK.finditer(page)]


__all__ = ["NAMES", "chosen", "load", "main", "run"]
