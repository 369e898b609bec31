"""The findings of an audit as a table for people, as markdown, and as a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from privity.assessment.audit.auditor import Finding
from privity.assessment.audit.independence import FALSE_ALARM, Judged
from privity.assessment.audit.loss_estimate import CONFIDENCE

FORMAT_VERSION = 1
WIDE = 160
"""Columns, where there is no terminal: no line of the table breaks."""

HEADINGS = ("mechanism", "case", "observer", "runs per world", "claimed eps", "observed at least", "verdict")


HEADINGS_OF_SAMPLERS = ("sampler", "samples tested", "most alike", "of the bound", "verdict")


def verdict(finding: Finding) -> str:
    """One word: ``UNPAID`` if the ledger was charged less than is claimed."""
    return "holds" if finding.holds else "BROKEN" if finding.paid else "UNPAID"


def cells(finding: Finding) -> tuple[str, ...]:
    """One line of the table."""
    return (
        finding.subject.mechanism,
        finding.subject.name,
        finding.observer,
        f"{finding.runs:,}",
        f"{float(finding.claim):.4g}",
        f"{finding.bound.epsilon:.3f}",
        verdict(finding),
    )


def as_table(findings: Sequence[Finding], title: str) -> Table:
    """For the terminal."""
    table = Table(title=title, title_justify="left")
    for place, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if 3 <= place <= 5 else "left")
    for finding in findings:
        table.add_row(*cells(finding), style=None if finding.holds else "bold red")
    return table


def cells_of_sampler(judged: Judged) -> tuple[str, ...]:
    """One line of the table of samplers."""
    found = judged.found
    verdict = "holds" if judged.holds else "DEPENDENT"
    return judged.sampler, f"{found.samples:,}", found.in_words, f"{found.strength:.2f}", verdict


def samplers_as_table(samplers: Sequence[Judged]) -> Table:
    """For the terminal."""
    title = f"Independence of samples: a right sampler is beyond the bound with a chance of {FALSE_ALARM:g}"
    table = Table(title=title, title_justify="left")
    for place, heading in enumerate(HEADINGS_OF_SAMPLERS):
        table.add_column(heading, justify="right" if place in (1, 3) else "left")
    for judged in samplers:
        table.add_row(*cells_of_sampler(judged), style=None if judged.holds else "bold red")
    return table


def as_markdown(findings: Sequence[Finding], samplers: Sequence[Judged] = ()) -> str:
    """For the documentation."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---|---|---|--:|--:|--:|---|"]
    lines += ["| " + " | ".join(cells(finding)) + " |" for finding in findings]
    if samplers:
        lines += ["", "| " + " | ".join(HEADINGS_OF_SAMPLERS) + " |", "|---|--:|---|--:|---|"]
        lines += ["| " + " | ".join(cells_of_sampler(judged)) + " |" for judged in samplers]
    return "\n".join(lines) + "\n"


def as_document(findings: Sequence[Finding], samplers: Sequence[Judged], quick: bool) -> dict[str, Any]:
    """For machines."""
    return {
        "format_version": FORMAT_VERSION,
        "quick": quick,
        "confidence": CONFIDENCE,
        "findings": [
            {
                "mechanism": f.subject.mechanism,
                "case": f.subject.name,
                "observer": f.observer,
                "runs_per_world": f.runs,
                "claimed_epsilon": str(f.claim),
                "claimed_delta": str(f.subject.delta),
                "charged_epsilon": None if f.charged is None else str(f.charged),
                "observed_epsilon_at_least": f.bound.epsilon,
                "event": f.bound.event,
                "event_seen": [f.bound.likely, f.bound.rarely],
                "event_tested": list(f.bound.tested),
                "holds": f.holds,
            }
            for f in findings
        ],
        "independence": [
            {
                "sampler": judged.sampler,
                "samples": judged.found.samples,
                "most_alike": judged.found.in_words,
                "of_the_bound": judged.found.strength,
                "holds": judged.holds,
            }
            for judged in samplers
        ],
    }
