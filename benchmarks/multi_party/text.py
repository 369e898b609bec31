"""The document of the sweep over parties: its sections in order, from results alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from benchmarks.datasets import Dataset
from benchmarks.markdown import not_measured, table
from benchmarks.multi_party import tables, wire
from benchmarks.multi_party.cache import Results
from benchmarks.multi_party.points import CURVE, FIGURE_5, IN_BITS, MIDDLE, RIVALS, VARIANTS, Plan
from privity.common.data.coded_table import CodedTable

FOLDER = "multi_party"  # of the pictures, beside the document

FIGURES = (
    ("4: three parties over epsilon", "*Over epsilon*, for each table; nltcs is added"),
    ("5: over numbers of parties at epsilon 0.2", "*Over numbers of parties*, and the same at epsilon 1"),
    (
        "6: DistDiffGen, two parties, classification",
        "*Two parties*, without DistDiffGen. It would have to be rebuilt from its description, and there is nothing "
        "to check a rebuild against: one that does badly would say nothing about the original. Independent, the "
        "plain tree, the release of 1-way tables, the real rows and the majority stand there instead",
    ),
    (
        "7: the covering design against PriView",
        "*Covering design against all pairs*, without PriView. Its views come from a catalogue of designs, and the "
        "paper does not say which of them it took. All pairs, each as a table of its own, stand there instead",
    ),
    ("8: communication", "*Real processes*, beside the bytes of the unpacked protocol; without DistDiffGen"),
)

WHY = {
    "one-way": "It spends all of epsilon on one small table an attribute. Where pair tables drown in their noise, "
    "what DP-SUBN spends on a structure is lost, and its 1-way tables have more noise.",
    "plain tree": "It is DP-SUBN with one parent, all edges of a tree and no phases 1 and 3, so the two are nearly the "
    "same where DP-SUBN chooses that by itself; the difference is then chance.",
    "independent": "With two parties the noise of the shares, K/(K-1) = 2 variables, is as much as that of two "
    "releases side by side. With three it is 1.5 against 3.",
    "privbayes": "By default DP-SUBN leaves out its phases 1 and 3 on these tables and is then much like PrivBayes "
    "over the same parties: forests where tables drown, generalised parents where they are clear. The differences left "
    "are mostly chance.",
}
"""What is known of the exceptions, by rival."""


def document(
    results: Results,
    datasets: Mapping[str, tuple[Dataset, CodedTable]],
    plan: Plan,
    refused: Mapping[str, str],
    pictures: Mapping[str, str],
    command: str,
    key_bits: int,
) -> str:
    names = list(datasets)
    found = [item for name in names for item in tables.comparisons(results, name, plan)]
    lines = [*_head(plan, command), *_compared(refused), *_figures()]
    lines += ["", "## Targets", *tables.targets(results)]
    for name in names:
        lines += ["", f"{name}, DP-SUBN at epsilon {CURVE} against a single party:"]
        lines += tables.curve(results, name, plan)
    lines += ["", "## Where DP-SUBN does not beat the others", "", "Mean 2-way distance, rows split at random, K >= 2."]
    lines += tables.beaten(found)
    lines += tables.exceptions(found)
    lines += _why({item.rival for item in found if not item.beaten})
    for name in names:
        lines += _section(results, *datasets[name], plan, pictures)
    lines += ["", "## Covering design against all pairs", "", *_views_text(), *_picture(pictures, "views")]
    lines += tables.views(results, names, plan)
    lines += _real(results, names, plan, pictures, key_bits)
    lines += ["", "## Seconds of learning in one process", "", "One core, without encryption and network."]
    lines += tables.learning_seconds(results, names, plan)
    lines += ["", "## The whole grid", "", "Rows split at random."]
    for name in names:
        for measure, title in tables.MEASURES.items():
            lines += ["", f"{name}, {title}:", *tables.whole_grid(results, name, measure, plan)]
    lines += not_measured(results.failed)
    return "\n".join(lines) + "\n"


def _head(plan: Plan, command: str) -> list[str]:
    lines = [
        "# DP-SUBN over numbers of parties",
        "",
        "Total variation distances over all pairs (2-way) or triples (3-way) of attributes, numbers in the schema's",
        "bins, between the real table and a synthetic one of equal size. A cell is the mean (least-greatest) of",
        f"{plan.seeds} runs with different splits of the rows, of {max(plan.seeds, plan.curve_seeds)} at epsilon "
        f"{CURVE} with rows split at random.",
        "Epsilon is what each party is charged in all. K = 1 is the single party; from K = 2 on, t = 1. Parties stand",
        "in one process, where the released values have the law that they have over the network, unless *real",
        "processes* is said. Seeds decide the split and the sampling; noise has none.",
        "",
        "Classification: a linear support vector machine (C = 1, one-hot of the codes) is trained on a synthetic",
        "table learned from a random 80 % of the real rows, and tested on the other 20 %. For the degree,",
        "`education-num` is left out, because it repeats `education`.",
        "",
        "```",
        command,
        "```",
    ]
    if not plan.real:
        lines += ["", "This document was made without `--real`: the sample by real processes is missing."]
    return lines


def _compared(refused: Mapping[str, str]) -> list[str]:
    rows = []
    for name, (algorithm, settings) in VARIANTS.items():
        text = f"`{json.dumps(settings)}`" if settings else "default"
        note = f"**not run**: {refused[name]}" if name in refused else ""
        rows.append([name, f"`{algorithm}`", text, note])
    return ["", "## What is compared", *table(["name", "algorithm", "settings", "note"], rows)]


def _figures() -> list[str]:
    return ["", "## The figures of the paper", *table(["figure", "where it stands here"], FIGURES)]


def _why(rivals: set[str]) -> list[str]:
    lines = []
    for rival in RIVALS:
        if rival in rivals and rival in WHY:
            lines += ["", f"`{rival}`: {WHY[rival]}"]
    return lines


def _section(
    results: Results, dataset: Dataset, table: CodedTable, plan: Plan, pictures: Mapping[str, str]
) -> list[str]:
    name = dataset.name
    tasks = tables.task_names(name)
    lines = ["", f"## {name}", "", f"{table.rows:,} rows, {len(table.schema.attributes)} attributes."]
    lines += ["", f"### Over epsilon: {name}, K = {MIDDLE}", *_picture(pictures, f"budgets_{name}")]
    for measure, title in tables.MEASURES.items():
        lines += ["", f"{_capital(title)}:"]
        lines += tables.compared_by_epsilon(results, name, "distance", measure, plan, MIDDLE)
    for task in tasks:
        lines += ["", f"Misclassification, {task}:"]
        lines += tables.compared_by_epsilon(results, name, "svm", task, plan, MIDDLE)
    lines += ["", f"### Over numbers of parties: {name}", *_picture(pictures, f"parties_{name}")]
    for measure, title in tables.MEASURES.items():
        for epsilon in (FIGURE_5, CURVE):
            lines += ["", f"{_capital(title)}:"]
            lines += tables.compared_by_parties(results, name, "distance", measure, plan, epsilon)
    for task in tasks:
        lines += ["", f"Misclassification, {task}:"]
        lines += tables.compared_by_parties(results, name, "svm", task, plan, FIGURE_5)
    if tasks:
        lines += ["", f"### Two parties: {name}, classification", *_picture(pictures, f"two_parties_{name}")]
    for task in tasks:
        lines += ["", f"Misclassification, {task}:"]
        lines += tables.compared_by_epsilon(results, name, "svm", task, plan, 2)
    lines += ["", f"### Choices within DP-SUBN: {name}", "", "A schedule opens nothing without a frontier."]
    if any(point.variant in IN_BITS for point in results.points("distance", name)):
        lines += ["Rows with *binary* attributes or *bits* are of one run each: it takes long."]
    for measure in ("mean2", "largest2"):
        lines += ["", f"{_capital(tables.MEASURES[measure])}:", *tables.options(results, name, measure, plan)]
    lines += tables.options_by_parties(results, name, "mean2", plan)
    lines += ["", f"### Ways to split the rows: {name}"]
    for measure in ("mean2", "largest2"):
        lines += ["", f"{_capital(tables.MEASURES[measure])}:", *tables.splits(results, dataset, measure, plan)]
    return lines


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _views_text() -> list[str]:
    return [
        "The views alone for all of epsilon, one party and no model: the pair tables inside them, negative cells set",
        "to 0 and the rest scaled to 1, against the true pairs. *Bits* is the table with every attribute written as",
        "the bits of its code, as in the paper; distances between bits are smaller than between attributes. The",
        "design is the cheapest list of views that is known, so for some domains it is all pairs.",
    ]


def _real(results: Results, names: Sequence[str], plan: Plan, pictures: Mapping[str, str], key_bits: int) -> list[str]:
    lines = ["", "## Real processes", ""]
    points = [point for name in names for point in plan.real_of(name) if results.seeds(point)] if plan.real else []
    if not points:
        return [*lines, "Not run: `--real` makes them."]
    lines += [
        f"Curator and parties as processes, gRPC over TLS, {key_bits}-bit Paillier modulus; all processes share one",
        "machine. *Unpacked* is what the paper's protocol would move at the same key length: one ciphertext a cell,",
        "to the party and back. Bytes are both ways, without TLS and gRPC framing. *Secure sums alone* leaves out",
        "enrolment and the requests for draws, which hold no ciphertext. **below** is less than "
        f"{wire.RATIO} times fewer. A round's combiner receives the blobs of all parties: where most cells are in",
        "one round it moves K times as much as the others, and is the *worst party*; the mean stands below.",
        *wire.runs(results, points),
        *_picture(pictures, "communication"),
        *wire.figure_8(results, names),
        *wire.phases(results, points),
        "",
        "Mean 2-way distance of the real runs and of those in one process; the last column is of the order of 1 if",
        "the two have the same law:",
        *wire.agreement(results, points),
    ]
    return lines


def _picture(pictures: Mapping[str, str], key: str) -> list[str]:
    return ["", f"![{key.replace('_', ' ')}]({FOLDER}/{pictures[key]})"] if key in pictures else []
