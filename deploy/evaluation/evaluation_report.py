"""What ``privity evaluate`` tells: the figures in a terminal, and the two files."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from privity.common import formats
from privity.common.pages import render
from privity.common.release.evaluation.evaluation_document import Document, Question, evaluate_tables
from privity.common.storage.safe_files import write_text
from privity.common.text import terminal
from privity.common.text.terminal import say


def judged(question: Question, say: Callable[[str], None]) -> Document:
    """``evaluate_tables``, without what a library of attacks writes on the screen at each try."""
    logging.getLogger("anonymeter").setLevel(logging.ERROR)
    return evaluate_tables(question, say)


def write_evaluation(document: Document, json_out: Path | None, html_out: Path | None) -> None:
    """The two files, where they are wanted: data owner only."""
    formats.require(document, "evaluation", "evaluation.json")
    if json_out is not None:
        write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", json_out, private=True)
    if html_out is not None:
        write_text(evaluation_page(document), html_out, private=True)


def evaluation_page(document: Document) -> str:
    """One HTML file. The template asks for every section, also for those that are not there."""
    sections = ("shapes", "utility", "propensity", "attacks", "parties")
    return render(str(__package__), "evaluation.html.j2", evaluation={**dict.fromkeys(sections), **document})


BESIDE = {"independent": "  no structure", "resampled": "  only sampling"}


def show(document: Document) -> None:
    """The main figures, for a terminal."""
    console, rows = terminal.console(), document["rows"]
    say(document["notice"])
    say(f"Rows: {rows['real']} real, {rows['synthetic']} synthetic.")
    told = _table("Total variation distance (0: equal, 1: disjoint)", "marginals of", "mean", "largest", "worst")
    for entry in document["distances"]:
        way, worst = entry["way"], " & ".join(entry["worst"][0]["attributes"])
        for name, label in {"synthetic": _ways(way), **BESIDE}.items():
            mean, largest = entry[name]["mean"], entry[name]["largest"]
            told.add_row(label, f"{mean:.4f}", f"{largest:.4f}", worst if name == "synthetic" else "")
    console.print(told)
    for entry in document["k_marginal"]:
        others = f"no structure {entry['independent']:.0f}, only sampling {entry['resampled']:.0f}"
        say(f"k-marginal score, k = {entry['k']}: {entry['synthetic']:.0f} of 1000 ({others}).")
    if "shapes" in document:
        for name, what in (("columns", "Column shapes"), ("pairs", "Pair trends")):
            mean = document["shapes"][name]["mean"]
            say(f"{what}: {'not defined' if mean is None else f'{mean:.4f}'} (1: equal).")
    if "utility" in document:
        _show_utility(document["utility"], console)
    if "propensity" in document:
        found = document["propensity"]
        ratio = "" if found["ratio"] is None else f", {found['ratio']:.1f} times what a true model has"
        areas = f"area under the curve {found['auc_logistic']:.3f}, with trees {found['auc_trees']:.3f}"
        say(f"Telling synthetic rows from real ones: pMSE {found['pmse']:.3g}{ratio}; {areas} (.5: cannot).")
    if "attacks" in document:
        _show_attacks(document["attacks"], console)
    for party in document.get("parties", []):
        distances = ", ".join(f"{one['mean']:.4f}" for one in party["distances"])
        say(f"{party['party']}, {party['rows']} rows: mean distances {distances}.")
    for one in document["left_out"]:
        say(f"Left out: {one['section']}: {one['reason']}. {one['remedy']}")


def _show_utility(utility: Document, console: Console) -> None:
    title = f"Errors of classifiers on {utility['test_rows']} real rows ({utility['test']})"
    told = _table(title, "target", "majority", "classifier", "synthetic", "real")
    for task in utility["tasks"]:
        name = task["attribute"] + (f" = {', '.join(task['positive'])}" if task["positive"] else "")
        for place, one in enumerate(task["errors"]):
            first = (name, f"{task['majority']:.3f}") if not place else ("", "")
            told.add_row(*first, one["classifier"], f"{one['synthetic']:.3f}", f"{one['real']:.3f}")
    console.print(told)


def _show_attacks(attacks: Document, console: Console) -> None:
    told = _table("Attacks: success on real and on control rows", "attack", "made", "real", "control", "risk", "95 %")
    for one in attacks["made"]:
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


def _ways(way: int) -> str:
    return f"{way} attribute{'s' * (way > 1)}"
