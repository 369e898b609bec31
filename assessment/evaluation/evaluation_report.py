"""What ``privity evaluate`` tells: the verdict and the main figures in a terminal, and the files."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from privity.assessment.evaluation.evaluation import Evaluation, Question, evaluate
from privity.assessment.evaluation.evaluation_document import Document, evaluation_document
from privity.assessment.evaluation.pictures import Picture, pictures, write_pictures
from privity.common import formats
from privity.common.pages import render
from privity.common.storage.safe_files import write_text
from privity.common.text import terminal
from privity.common.text.terminal import say

MEASURES = {
    "ks": "distribution of numbers (KS)",
    "mean_error": "mean, in standard deviations",
    "spread_error": "standard deviation, relative",
    "quantile_error": "quantiles 5, 50, 95 %",
    "zero_error": "share of zeros",
    "top_error": "share of the most frequent value",
    "missing_error": "share of missing values",
    "category_distance": "distribution of categories",
    "pair_distance": "pairs, mean distance",
    "pair_distance_deciles": "pairs, by deciles alone",
    "pair_distance_largest": "pairs, largest distance",
    "correlation_error": "rank correlations",
    "coefficient_error": "regression coefficients",
    "small_group_error": "smallest tenth of groups",
}
"""Errors of a summary: 0 is equal."""

WORST = 5


@dataclass(frozen=True)
class Drawn:
    """A picture on the page."""

    section: str
    words: str
    source: str


def judged(question: Question, say: Callable[[str], None]) -> tuple[Evaluation, Document]:
    """``evaluate``, without what a library of attacks writes on the screen at each try, and its document."""
    logging.getLogger("anonymeter").setLevel(logging.ERROR)
    evaluation = evaluate(question, say)
    document = evaluation_document(evaluation)
    formats.require(document, "evaluation", "evaluation.json")
    return evaluation, document


@dataclass(frozen=True)
class Files:
    """Where to write; None: not."""

    json: Path | None = None
    html: Path | None = None
    pictures: Path | None = None


def write_evaluation(evaluation: Evaluation, document: Document, files: Files, say: Callable[[str], None]) -> None:
    """The files that are wanted: data owner only."""
    if files.json is not None:
        write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", files.json, private=True)
    if files.html is not None:
        write_text(evaluation_page(evaluation, document, say), files.html, private=True)
    if files.pictures is not None:
        write_pictures(evaluation, files.pictures, say)


def evaluation_page(evaluation: Evaluation, document: Document, say: Callable[[str], None]) -> str:
    """One HTML file with its pictures, which needs no network and no script."""
    drawn: dict[str, list[Drawn]] = {}
    for picture in pictures(evaluation):
        say(f"picture {picture.name}")
        drawn.setdefault(picture.section, []).append(_drawn(picture))
    return render(
        str(__package__), "evaluation.html.j2", evaluation=document, pictures=drawn, measures=MEASURES, worst=WORST
    )


def _drawn(picture: Picture) -> Drawn:
    packed = base64.b64encode(picture.rendered("svg")).decode()
    return Drawn(picture.section, picture.words, f"data:image/svg+xml;base64,{packed}")


def show(document: Document) -> None:
    """The verdict and the main figures, for a terminal."""
    console, rows = terminal.console(), document["rows"]
    say(document["notice"])
    drawn = "" if rows["real"] == rows["compared"] else f", of which {rows['compared']} drawn at random were compared"
    say(f"Rows: {rows['real']} real{drawn}.")
    if document["quick"]:
        say("A first answer, from a part of the rows: leave --quick out for the whole one.")
    for found in document["verdicts"]:
        _show_verdict(found, console)
    _show_summaries(document, console)
    for table in document["tables"]:
        _show_columns(table, console)
    if document["predictions"]:
        _show_predictions(document, console)
    for table in document["tables"]:
        if (found := table["propensity"]) is not None:
            ratio = (
                f", {found['pmse'] / found['expected']:.1f} times what a true model has" if found["expected"] else ""
            )
            area = f"trees tell them apart with an area of {found['area']:.3f} (.5: not at all)"
            say(f"{table['name']} beside real rows: pMSE {found['pmse']:.3g}{ratio}; {area}.")
        if table["attacks"]["made"]:
            _show_attacks(table, console)
    for party in document["parties"]:
        distances = ", ".join(f"{one['mean']:.4f}" for one in party["distances"])
        say(f"{party['party']}, {party['rows']} rows: mean distances {distances}.")
    for one in document["left_out"]:
        say(f"Left out: {one['section']}: {one['reason']}. {one['remedy']}")


def _show_verdict(found: Document, console: Console) -> None:
    say("", f"Verdict on {found['table']}:")
    for sentence in found["in_words"]:
        say(f"  {sentence}")
    told = Table(title=f"What {found['table']} can be asked")
    for heading in ("question", "verdict", "why"):
        told.add_column(heading)
    for one in found["questions"]:
        told.add_row(one["question"], one["grade"], one["words"])
    console.print(told)


def _show_summaries(document: Document, console: Console) -> None:
    tables = [*document["tables"], *document["beside"]]
    told = _table("Errors beside the real rows, on average (0: equal)", "", *(table["name"] for table in tables))
    for key, label in MEASURES.items():
        values = [table["summary"][key] for table in tables]
        if any(value is not None for value in values):
            told.add_row(label, *("" if value is None else f"{value:.4f}" for value in values))
    for place, one in enumerate(document["tables"][0]["distances"]):
        ways = f"bins of {one['way']} attribute{'s' * (one['way'] > 1)}, mean distance"
        told.add_row(ways, *(f"{table['distances'][place]['mean']:.4f}" for table in tables))
    console.print(told)


def _show_columns(table: Document, console: Console) -> None:
    told = _table(
        f"Variables of {table['name']} that are farthest off", "variable", "distance", "zeros", "mean", "spread"
    )
    columns = sorted(table["columns"], key=lambda column: -column["distance"])[:WORST]
    for column in columns:
        figures = (column[key] for key in ("distance", "zero_error", "mean_error", "spread_error"))
        told.add_row(column["name"], *("" if value is None else f"{value:.3f}" for value in figures))
    console.print(told)


def _show_predictions(document: Document, console: Console) -> None:
    names = [table["name"] for table in document["tables"]]
    title = f"Models tested on {document['rows']['test']} real rows"
    told = _table(title, "target", "score", "best constant", *(f"from {name}" for name in names), "from real rows")
    for one in document["predictions"]:
        scores = [one["constant"], *one["tables"], one["real"]]
        told.add_row(one["target"], one["score"], *("" if score is None else f"{score:.3f}" for score in scores))
    console.print(told)


def _show_attacks(table: Document, console: Console) -> None:
    title = f"Attacks on {table['name']}: success on real and on control rows"
    told = _table(title, "attack", "made", "real", "control", "risk", "95 %")
    for one in table["attacks"]["made"]:
        name = one["kind"] + (f" of {one['secret']}" if one["secret"] else "")
        if one["success"] is None:
            told.add_row(name, "0", "", "", "", "")
            continue
        risk, interval = "none to tell", ""
        if one["risk"] is not None:
            risk, interval = f"{one['risk']:.3f}", f"{one['low']:.3f} to {one['high']:.3f}"
        told.add_row(name, str(one["attacks"]), f"{one['success']:.3f}", f"{one['control']:.3f}", risk, interval)
    console.print(told)


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title)
    table.add_column(first)
    for heading in others:
        table.add_column(heading, justify="right")
    return table
