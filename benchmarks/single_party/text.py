"""The document of the sweep over PrivBayes: its sections in order, from results alone."""

from __future__ import annotations

import json
from collections.abc import Mapping

from benchmarks.cache import Results
from benchmarks.classifiers import HUBER, REGULARISATIONS
from benchmarks.markdown import not_measured, table
from benchmarks.series import Series, of_series
from benchmarks.single_party import tables
from benchmarks.single_party.measure import digest_of
from benchmarks.single_party.points import (
    IN_BITS,
    METHODS,
    SCORE_DATA,
    SLOW_BITS,
    TARGET_DATA,
    Plan,
    Point,
    is_binary,
)
from benchmarks.single_party.series import all_series
from privity.common.data.coded_table import CodedTable

FOLDER = "single_party"  # of the pictures, beside the document

NOT_AT_HAND = "The table ({}) is not at hand; {} stands for {} tables"
FIGURES = (
    ("4: scores, by the information of the network", "reproduced", "nltcs and adult: *Scores*"),
    ("5: encodings, marginals, Adult", "reproduced", "*Encodings*"),
    ("6, 8: encodings, BR2000", "declined", NOT_AT_HAND.format("BR2000", "adult", "general")),
    ("7: encodings, SVM, Adult", "reproduced", "*Encodings*"),
    (
        "9: choice of beta", "reproduced",
        "nltcs (4-way, outside) and adult (3-way, sex) at three epsilons: *Beta and theta*; without ACS and BR2000",
    ),
    ("10: choice of theta", "reproduced", "the same; beta is .3, as in the paper"),
    ("11: source of error", "reproduced", "nltcs and adult, all tasks: *Source of error*; without ACS and BR2000"),
    (
        "12: marginals, NLTCS", "substituted",
        "the table is nltcs itself; MWEM measures whole tables, Fourier rounds instead of solving a linear programme: "
        "*Marginals against rivals*",
    ),
    ("13, 17: ACS", "declined", NOT_AT_HAND.format("ACS", "nltcs", "binary")),
    ("14: marginals, Adult", "substituted", "the table is adult itself; Fourier as above, over the bits of the codes"),
    ("15, 19: BR2000", "declined", NOT_AT_HAND.format("BR2000", "adult", "general")),
    (
        "16, 18: four SVM tasks, NLTCS and Adult", "reproduced",
        "*Classifiers*, without PrivGene: it would have to be rebuilt from its description, and there is nothing to "
        "check a rebuild against",
    ),
)  # fmt: skip

SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "scores": (
        "Scores (Figure 4)",
        (
            "Sum over the drawn network of the mutual information between an attribute and its parents, in bits, on",
            "the real rows: computed for evaluation only, not private. Vanilla encoding and beta .3 for all, so that",
            "all scores may draw the same tables. Without noise each draw takes the candidate of the largest score;",
            "by I this is the paper's NoPrivacy.",
            "F is for binary attributes. Where the tables of a tree would drown, few edges are drawn at all.",
        ),
    ),
    "encodings": (
        "Encodings (Figures 5 and 7)",
        (
            "One model of 80 % of the rows for distances (to these rows) and errors (on the others). A network of bits",
            f"takes most of a minute from epsilon {SLOW_BITS[0]} on: one run there for {' and '.join(IN_BITS)}.",
        ),
    ),
    "parameters": (
        "Beta and theta (Figures 9 and 10)",
        (
            "As above, a model of 80 % of the rows. Theta is 4 where beta varies; beta is .3 where theta does. The",
            "default of PrivBayes here is no fixed beta: what the draws need, between .1 and .3.",
        ),
    ),
    "sources": (
        "Source of error (Figure 11)",
        (
            "*best network*: draws without noise, tables with it. *best tables*: the reverse. *no noise*: what is left",
            "is the error of a network of such tables, and of sampling. Epsilon is divided as if there were noise.",
            "These three are not private: they exist in this benchmark only.",
        ),
    ),
    "marginals": (
        "Marginals against rivals (Figures 12 and 14)",
        (
            "Mean distance over all marginals. PrivBayes and the 1-way release answer by one synthetic table, whatever",
            "the size of the marginals; Laplace, Fourier and MWEM spend all of epsilon on marginals of that size.",
            "Negative counts of rivals become 0 and the rest is rescaled. Contingency and MWEM write down the table of",
            "all attributes: nltcs only. Noise is for a replaced row (2 a table); where papers count an added or",
            "removed row, it is half of that. MWEM takes the worst whole table in a round, not one cell, with",
            "several passes over all that it measured: far better than a cell a round.",
        ),
    ),
    "classifiers": (
        "Classifiers (Figures 16 and 18)",
        (
            "PrivBayes: one synthetic table for all four tasks. PrivateERM and Majority: a quarter of epsilon a task;",
            "*one task* is PrivateERM with all of epsilon for each, which one release could not do. PrivateERM:",
            f"objective perturbation with the Huber loss (h = {HUBER:g}), one-hot rows of norm 1, for a replaced row;",
            f"the better Lambda of {' and '.join(f'{value:g}' for value in REGULARISATIONS)} on the test rows counts, "
            "at no charge, which favours it.",
        ),
    ),
}

WHY_SCORES = (
    "",
    "Of the paper's order, F before R before I at small epsilon, the half holds: I is behind, F and R are alike. The",
    "ranges overlap and the order of their means changes from run to run. Without noise I is the best (*Scores*), so",
    "what holds it back is its noise. At 1.6 F is no longer the best. Without noise, F draws networks of less",
    "information and larger distance than R and I: from .4 on it is held back by the score itself, R and I by the",
    "noise of their draws.",
)
"""What the tables of F, R and I show; to be read again with every new run."""


def document(
    results: Results[Point],
    data: Mapping[str, CodedTable],
    plan: Plan,
    pictures: Mapping[tuple[str, str], str],
    command: str,
) -> str:
    series = {name: all_series(name, plan, binary=is_binary(rows.schema)) for name, rows in data.items()}
    lines = [*_head(data, plan, command)]
    lines += ["", "## Figures of the paper", *table(["figure", "", "how, or why not"], FIGURES)]
    if TARGET_DATA in data:
        lines += [
            "",
            "## Targets",
            "",
            f"{TARGET_DATA}, PrivBayes with default settings and the light fit (`--inference tables`).",
            *tables.targets(results),
        ]
        lines += ["", "Beside the release of 1-way tables, and against hoped-for marks:", *tables.moonshots(results)]
    if SCORE_DATA in data:
        lines += ["", "## F, R and I", "", f"{SCORE_DATA}, mean 3-way distance; the default beta depends on the score."]
        lines += ["A difference is told with its size in standard errors.", *tables.score_order(results), *WHY_SCORES]
    lines += _rivals(results, series)
    for section, (title, text) in SECTIONS.items():
        lines += ["", f"## {title}", "", *text]
        for name in data:
            lines += _section(results, series[name].get(section, []), pictures.get((section, name)))
    lines += ["", "## Seconds of a fit", "", "All rows, one core; other work may have run beside."]
    for name in data:
        lines += ["", f"{name}:", *tables.seconds(results, name, plan)]
    return "\n".join([*lines, *_methods(), *not_measured(results.failed)]) + "\n"


def _head(data: Mapping[str, CodedTable], plan: Plan, command: str) -> list[str]:
    sizes = "; ".join(f"{name}: {rows.rows:,} rows, {len(rows.schema.names)} attributes" for name, rows in data.items())
    return [
        "# PrivBayes of one owner",
        "",
        "The experiments of Zhang, Cormode, Procopiuc, Srivastava, Xiao, *PrivBayes: Private Data Release via Bayesian",
        "Networks* (TODS 2017), on the tables at hand. Distances are total variation distances between marginals of",
        "the real and of a synthetic table of equal size, numbers in the schema's bins. A cell is the mean",
        f"(least-greatest) of {plan.seeds} runs ({max(plan.seeds, plan.target_seeds)} for the targets and the default "
        "scores). Epsilon is pure, for one replaced",
        "row. Seeds decide the split of the rows and the sampling; noise has none.",
        "",
        "Classification: a linear support vector machine (C = 1, squared hinge loss, one-hot of the codes), trained on",
        "a synthetic table learned from a random 80 % of the rows, tested on the other 20 %. For the education task",
        "`education-num` is left out, because it repeats `education`.",
        "",
        f"{sizes}.",
        f"Models are of the code with the digest {digest_of('whole')}, rivals of {digest_of('marginals')}.",
        "",
        "```",
        command,
        "```",
    ]  # fmt: skip


def _rivals(results: Results[Point], series: Mapping[str, Mapping[str, list[Series[Point]]]]) -> list[str]:
    private = [s for by_section in series.values() for key in ("marginals", "classifiers") for s in by_section[key]]
    return [
        "",
        "## Where a rival is better",
        "",
        f"Rivals whose mean is below that of PrivBayes by {tables.CLOSE:g} standard errors or more. In the paper "
        "PrivBayes wins nearly",
        "everywhere. Here rivals are stronger: MWEM takes whole tables, Contingency keeps negative cells until a",
        "marginal is summed up, PrivateERM tunes for free. nltcs has 65,536 cells only, three times its rows.",
        "With few runs a difference that is not listed may be real; among so many, one that is listed may be chance.",
        *tables.better_rivals(results, private),
    ]


def _section(results: Results[Point], found: list[Series[Point]], picture: str | None) -> list[str]:
    lines = ["", f"![{found[0].title}]({FOLDER}/{picture})"] if picture else []
    for series in found:
        if series.values(results):
            lines += [
                "",
                f"{series.title}, {series.y_label}:",
                *of_series(results, series, 2 if series.y_label == "bits" else 3),
            ]
    return lines


def _methods() -> list[str]:
    rows = [
        [
            name, f"`{method.algorithm}`", f"`{json.dumps(method.settings)}`" if method.settings else "default",
            " and ".join([*(["draws"] if method.exact_draws else []), *(["tables"] if method.exact_tables else [])]),
        ]
        for name, method in METHODS.items()
    ]  # fmt: skip
    return ["", "## Settings", *table(["name", "algorithm", "settings", "without noise (not private)"], rows)]
