"""The page of the comparison: its sections in order, from results alone."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence

from benchmarks.accuracy import fits, series, verdict
from benchmarks.accuracy.distances import MOST_TRIPLES
from benchmarks.accuracy.methods import COMPARED, FITS, METHODS
from benchmarks.accuracy.points import (
    AUTHORS,
    CURVE,
    DELTA,
    GUARANTEES,
    PEERS,
    REPLACED,
    TARGET_DATA,
    Plan,
    Point,
)
from benchmarks.cache import Results
from benchmarks.markdown import NONE, not_measured, table
from benchmarks.series import Series, of_series
from privity.common.data.coded_table import CodedTable

FOLDER = "accuracy"  # of the pictures and results, beside the document


def document(
    results: Results[Point],
    tables: Mapping[str, CodedTable],
    plan: Plan,
    refused: Mapping[str, str],
    pictures: Mapping[str, str],
    command: str,
    code: str,
) -> str:
    """The page.

    Args:
        refused: method -> why it was not run; pictures: key -> file name; code: the digest of ours.
    """
    names = list(tables)
    lines = [*_head(plan, command, code), *_guarantees(), *_compared(refused)]
    lines += ["", "## Who is ahead where", "", *_WINNERS, *verdict.in_words(results, names, plan)]
    lines += verdict.winners(results, names, plan)
    lines += ["", "## Targets", "", *_TARGETS, *verdict.targets(results)]
    if beside := verdict.at_their_count(results):
        lines += ["", *_THEIR_COUNT, *beside]
    lines += ["", f"Over parties ({TARGET_DATA}, rows split at random), above the same method's one party:"]
    lines += verdict.party_targets(results, TARGET_DATA, plan)
    for name, found in tables.items():
        lines += _section(results, name, found, plan, pictures)
    lines += not_measured(results.failed)
    return "\n".join(lines) + "\n"


_WINNERS = [
    "One party, mean 2-way distance, at the same guarantee: one replaced row. Of ours it is that of the synthetic",
    "table; of opendp's that of the model itself, in their favour, as their sampler could be a better one. *Within",
    f"chance*: the means are less than {verdict.CLOSE:g} standard errors apart; a peer with one run has no spread, and",
    "that of ours stands for both.",
]
_TARGETS = [
    f"Those that were set for {TARGET_DATA}, mean 2-way distance, one party. Seconds are of learning, on two cores",
    "that other work shared. *Best of ours* is chosen with hindsight: the least of the methods below. They were set",
    "beside figures of MST and AIM at their authors' count, one row more or less, which is the lighter guarantee.",
]


_THEIR_COUNT = [
    "What the lighter guarantee buys: a run of ours at twice the rho, whose tables have the noise of one at the",
    "targets' epsilon for one row more or less. These are no results at the targets' epsilon for a replaced row.",
]
_FITS = [
    "What the last fit makes of the same kind of run (docs/inference.md): mean 2-way distance with the light fit, then",
    "with one graphical model of all tables, the change, and the seconds of learning. Runs are separate: each has",
    "noise of its own.",
]


def _head(plan: Plan, command: str, code: str) -> list[str]:
    return [
        "# Accuracy at equal guarantee",
        "",
        "Total variation distances over all pairs (2-way) or triples (3-way) of attributes, numbers in the schema's",
        "bins, between the real table and a synthetic one of as many rows, which is what a release holds: sampling is",
        f"part of the error. Of a table with more than {MOST_TRIPLES:,} triples so many stand for all. A cell is the",
        f"mean (least-greatest) of up to {plan.seeds} runs, as many as the results hold, of {plan.peer_seeds} of a",
        "peer. Epsilon is what a party is",
        "charged in all, for one replaced row. K = 1 is one party; from K = 2 on, t = 1, and parties stand in one",
        "process, where what is opened has the law that it has over the network. Rows are split at random unless it is",
        "said. Seeds decide the split, the rows held out and the sampling; noise has none.",
        "",
        "```",
        command,
        "```",
        "",
        f"Results, one line of JSON each, are in [accuracy/](accuracy). Ours are of {code}.",
    ]


def _guarantees() -> list[str]:
    rows = [
        [
            f"*{name}*",
            peer.version,
            GUARANTEES[peer.delta],
            f"{peer.dearer:.3g}" if peer.dearer else NONE,
            peer.neighbours,
        ]
        for name, peer in PEERS.items()
    ]
    return [
        "",
        "## Which guarantee",
        "",
        "An epsilon means nothing without the two tables that it is about. Here they differ in one replaced row, and",
        "the number of rows is public. Others count one row more or less. A replaced row is one row less and one more:",
        "a table of counts moves by 2 in L1 and by sqrt 2 in L2 instead of 1, a score by twice as much, and the same",
        "noise costs about twice the rho. A comparison at the same epsilon under different counts is worth nothing, so",
        "peers are shown in two ways:",
        "",
        f"- **{REPLACED}**: they get the rho with which the whole of their run costs (eps, 1e-9) for one replaced row:",
        "  that of ours, divided by how much dearer such a row is than the one they count (the table below: twice for",
        "  tables under Gaussian noise, 4 times for draws, in the parts in which they spend it). All comparisons with",
        "  ours are of this kind.",
        f"- **{AUTHORS}**: they get what their documentation says, for reading beside published figures only.",
        "",
        "Both go by one conversion of rho to (eps, delta), ours. Rows of opendp's models are sampled (its method",
        "`sample`, independent rows): the default of mbi 1.1.0, which rounds, lets attributes with one parent move",
        "together, and is much worse. *Its model* is the distance of the fitted model before any row is sampled, which",
        "the best of samplers would come close to.",
        *table(
            ["peer", "version", "guarantee", "rho of a replaced row, times theirs", "what its accountant counts"], rows
        ),
    ]


def _compared(refused: Mapping[str, str]) -> list[str]:
    rows = []
    for name in (name for name in METHODS if name not in FITS):
        method = METHODS[name]
        text = f"`{json.dumps(dict(method.settings))}`" if method.settings else "default"
        rows.append([name, f"`{method.algorithm}`", text, f"**not run**: {refused[name]}" if name in refused else ""])
    lines = ["", "## What is ours", *table(["name", "algorithm", "settings", "note"], rows)]
    return [*lines, "", "`one-way` is the release without any structure: what is not clearly below it learnt nothing."]


def _section(
    results: Results[Point], data: str, found: CodedTable, plan: Plan, pictures: Mapping[str, str]
) -> list[str]:
    lines = ["", f"## {data}", "", f"{found.rows:,} rows, {len(found.schema.attributes)} attributes."]
    lines += ["", f"### {data}: one party", *_picture(pictures, f"epsilons_{data}")]
    for guarantee in plan.guarantees:
        for measure in series.MEASURES:
            lines += _titled(results, series.single(data, plan, guarantee, measure, models=True))
    lines += _titled(results, series.own_count(data, plan), note="Not to be compared with the tables above.")
    for guarantee in plan.guarantees:
        lines += _titled(results, series.seconds(data, plan, guarantee), digits=1)
    lines += ["", f"### {data}: over parties", *_picture(pictures, f"parties_{data}")]
    for guarantee in plan.guarantees:
        for measure in series.MEASURES:
            lines += _titled(results, series.over_parties(data, plan, guarantee, CURVE, measure))
    for method in COMPARED:
        lines += _titled(results, series.over_parties_by_epsilon(data, plan, method))
    lines += _wire(results, data, plan)
    lines += ["", f"### {data}: unlike parties", "", *_SKEWED]
    skewed = [
        _titled(results, series.skewed(data, plan, e, k, measure))
        for k in plan.skew_parties
        for e in plan.skew_epsilons
        for measure in ("mean2", "largest2")
    ]
    lines += [line for part in skewed for line in part] or ["", "Not measured."]
    both = {guarantee: fits.fits_table(results, data, plan, guarantee) for guarantee in plan.guarantees}
    if any(both.values()):
        lines += ["", f"### {data}: the two fits", "", *_FITS]
        for guarantee, found_fits in both.items():
            lines += ["", f"{GUARANTEES[guarantee]}:", *found_fits] if found_fits else []
    if any(series.tasks(data, plan)):
        lines += ["", f"### {data}: classification", "", *_TASKS, *_picture(pictures, f"tasks_{data}")]
        for one in series.tasks(data, plan):
            lines += _titled(results, one)
    return lines


_SKEWED = [
    "Rows sorted by an attribute and cut into equal parts, or each value of an attribute shared out by a draw of the",
    "symmetric Dirichlet law: the smaller alpha, the more unlike the parties. A run that is not asked for a",
    "selection takes one of the two by public numbers (docs/algorithms/aim.md).",
]
_TASKS = [
    "Misclassification of the held-out fifth of the real rows by a linear support vector machine (C = 1, one-hot of",
    "the codes) that was trained on a synthetic table learnt from the other four fifths.",
]


def _titled(results: Results[Point], one: Series[Point], digits: int = 3, note: str = "") -> list[str]:
    """The series' title and table; nothing if there is no result."""
    if not one.values(results):
        return []
    return ["", f"{one.title[:1].upper()}{one.title[1:]}.{' ' if note else ''}{note}", *of_series(results, one, digits)]


def _wire(results: Results[Point], data: str, plan: Plan) -> list[str]:
    """Megabytes of the secure sums by method and K."""
    names = {
        "sent_paillier": "a party sends", "relayed_paillier": "the curator relays, both ways, all parties together",
        "sent_masks": "a party sends, under masks alone",
    }  # fmt: skip
    lines: list[str] = []
    for measure, title in names.items():
        one = series.wire(data, plan, measure)
        rows = [
            [name, *(f"{statistics.mean(cell) / 1e6:.3f}" if cell else NONE for cell in cells)]
            for name, cells in one.values(results).items()
        ]
        if rows:
            lines += ["", f"Megabytes that {title}:", *table([f"eps {CURVE}", *(f"K = {k}" for k in one.x)], rows)]
    if not lines:
        return []
    kind = (
        "3072-bit Paillier unless masks are named; payload of the secure sums, without envelopes and requests for draws"
    )
    return ["", f"Over the wire, {GUARANTEES[DELTA]}: {kind}.", *lines]


def _picture(pictures: Mapping[str, str], key: str) -> Sequence[str]:
    return ["", f"![{key.replace('_', ' ')}]({FOLDER}/{pictures[key]})"] if key in pictures else []
