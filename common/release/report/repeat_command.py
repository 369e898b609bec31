"""How to ask for the same run again."""

from __future__ import annotations

import json
import shlex
from fractions import Fraction
from typing import Any

from privity.common.privacy.budget import readable
from privity.common.release.release_contents import Release


def decimal(text: str) -> str:
    """An exact number as a decimal, if there is one that is as exact and short."""
    short = readable(Fraction(text))
    return short if Fraction(short) == Fraction(text) else text


def run_request(release: Release) -> dict[str, Any] | None:
    """A run request as operators submit it; None for a release of a single owner."""
    run = release.run
    if run["secure_sum"] is None:
        return None
    request = {
        "format_version": 1,
        "algorithm": run["algorithm"],
        "settings": run["settings"],
        "epsilon": decimal(run["epsilon"]),
        "delta": decimal(run["delta"]),
        "tolerate": run["tolerate"],
        "key_bits": run["key_bits"],
        "rows": run["rows"],
        "secure_sum": run["secure_sum"]["method"],
        "exponents": run["secure_sum"]["exponents"],
    }
    if run.get("attributes") is not None:
        request["attributes"] = run["attributes"]
    if run.get("evaluation") is not None:
        request["evaluation"] = run["evaluation"] | {"epsilon": decimal(run["evaluation"]["epsilon"])}
    return request


def command(release: Release) -> str:
    """A command line, with words in capitals where a file or a name is to be put in."""
    run, privacy = release.run, release.privacy
    options = {"algorithm": run["algorithm"], "epsilon": decimal(run["epsilon"])}
    if run["delta"] != "0":
        options["delta"] = decimal(run["delta"])
    if run["settings"]:
        options["settings"] = json.dumps(run["settings"], ensure_ascii=False)
    sums = {}
    if run["secure_sum"] is not None:
        sums = {"tolerate": run["tolerate"], "secure-sum": run["secure_sum"]["method"]}
        sums["exponents"] = run["secure_sum"]["exponents"]
        sums["key-bits"] = run["key_bits"]
    if run["secure_sum"] is None:
        name, files = "synthesize", {"data": "TABLE", "schema": "schema.json", "population": "NAME"}
        if privacy["rows_per_person"] > 1:
            files |= {"rows-per-person": privacy["rows_per_person"], "person": "COLUMN", "order": "COLUMN"}
        options["rows"] = run["rows"]
    elif privacy["simulation"]:
        name, files = "simulate", {"data": "TABLE", "schema": "schema.json", "parties": privacy["K"]}
    else:
        name, files = "run submit", {}
        options["rows"] = run["rows"]
    every = [*files.items(), *options.items(), *sums.items()]
    evaluation = run.get("evaluation") or {"epsilon": None, "targets": ()}
    every.append(("evaluation-epsilon", evaluation["epsilon"] and decimal(evaluation["epsilon"])))
    every += [("evaluation-target", target) for target in evaluation["targets"]]
    if name == "run submit":
        every += [("attribute", attribute) for attribute in run.get("attributes", ())]
    every.append(("out", "FOLDER"))
    words = [f"--{key} {shlex.quote(str(value))}" for key, value in every if value is not None]
    return f"privity {name} " + " ".join(words)
