"""Documents of releases that an earlier version of Privity wrote, in the form of today."""

from __future__ import annotations

from typing import Any

from privity.common.privacy.statement import FORMAT_VERSION as PRIVACY_VERSION
from privity.common.privacy.statement import Split, largest, rounded_up
from privity.common.release.release_contents import FORMAT_VERSION as RUN_VERSION

FORMER_SENTENCE = (
    "An earlier version of Privity wrote this statement. For all rows of a person the figures are epsilon = {epsilon}"
    " and delta = {delta}; the sentences below begin with the loss of a single row."
)
FORMER_SPLIT = (
    "The statement does not say how the simulation gave rows to the parties. Read the guarantee for the split as given:"
    " neighbouring tables are tables of one party that differ in one row."
)


def current_run(run: dict[str, Any]) -> dict[str, Any]:
    """``run.json`` without the times that version 1 had."""
    return {key: value for key, value in run.items() if key != "seconds"} | {"format_version": RUN_VERSION}


def current_privacy(privacy: dict[str, Any]) -> dict[str, Any]:
    """``privacy.json`` with the loss of a person where version 1 had that of a row, and the row's figures named so."""
    if privacy["format_version"] == PRIVACY_VERSION:
        return privacy
    split = Split.GIVEN if privacy["simulation"] else Split.NONE
    found = privacy | {
        "format_version": PRIVACY_VERSION,
        "split": split.value,
        "curator_member": None,
        "parties": [_named(party) for party in privacy["parties"]],
        "phases": [_named(phase) for phase in privacy["phases"]],
    }
    epsilon, delta = largest(found, "person")
    found["observers"] = [
        {key: value for key, value in observer.items() if key != "epsilon_by_phase"}
        | {"epsilon": str(epsilon), "delta": str(delta)}
        for observer in privacy["observers"]
    ]
    words = list(privacy["in_words"])
    if (epsilon, delta) != largest(found, "row"):
        words.insert(0, FORMER_SENTENCE.format(epsilon=rounded_up(epsilon), delta=rounded_up(delta)))
    if split is Split.GIVEN:
        words.append(FORMER_SPLIT)
    return found | {"in_words": words}


def _named(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry whose figures of a row are named so."""
    names = {
        "epsilon": "epsilon_per_row",
        "delta": "delta_per_row",
        "rho": "rho_per_row",
        "epsilon_by_phase": "epsilon_per_row_by_phase",
    }
    return {names.get(key, key): value for key, value in entry.items()}
