"""How to ask for the same run again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from privity.common.privacy.budget import readable
from privity.common.protocol.declared_options import Taker, options_of, terms_of
from privity.common.protocol.run_terms import RunTerms
from privity.common.protocol.secure_sum_method import PAILLIER
from privity.common.release.release_contents import Release

COMMANDS = {Taker.SUBMIT: "run submit", Taker.SIMULATE: "simulate", Taker.SYNTHESIZE: "synthesize"}


def decimal(text: str) -> str:
    """An exact number as a decimal, if there is one that is as exact and short."""
    short = readable(Fraction(text))
    return short if Fraction(short) == Fraction(text) else text


def run_request(release: Release) -> dict[str, Any] | None:
    """A run request as operators submit it; None for a release of a single owner."""
    run = release.run
    return None if run["secure_sum"] is None else {"format_version": 1, **_asked(run), "key_bits": run["key_bits"]}


def _asked(run: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked of a run, and is still said of it: as a run request has it, without what is null."""
    said = {name: run.get(name) for name in terms_of(RunTerms)}
    said["secure_sum"] = run["secure_sum"] or PAILLIER.content()
    terms = RunTerms(**{name: how.of_plan(said[name]) for name, how in terms_of(RunTerms).items()})
    asked = {
        **terms.asked(),
        "epsilon": decimal(run["epsilon"]),
        "delta": decimal(run["delta"]),
        "rows": run.get("rows"),
    }
    if terms.evaluation is not None:
        asked["evaluation"]["epsilon"] = decimal(asked["evaluation"]["epsilon"])
    return {name: value for name, value in asked.items() if value is not None}


def command(release: Release) -> str:
    """A command line, with words in capitals where a file or a name is to be put in."""
    run, privacy = release.run, release.privacy
    files: dict[str, Any]
    if run["secure_sum"] is None:
        taker, files = Taker.SYNTHESIZE, {"data": "TABLE", "schema": "schema.json", "population": "NAME"}
        if privacy["rows_per_person"] > 1:
            files |= {"rows-per-person": privacy["rows_per_person"], "person": "COLUMN", "order": "COLUMN"}
    elif privacy["simulation"]:
        taker, files = Taker.SIMULATE, {"data": "TABLE", "schema": "schema.json", "parties": privacy["K"]}
    else:
        taker, files = Taker.SUBMIT, {}
    if "histories" in privacy["schema"] and files:
        files = {"data": "PERSONS", "events": "EVENTS", **{key: value for key, value in files.items() if key != "data"}}
    asked, words = _asked(run), [*files.items()]
    for name, option in options_of(RunTerms, taker).items():
        value: Any = asked
        for key in option.key or (name,):
            value = value.get(key) if value else None
        if value not in (None, "0", {}, []):
            flag = option.flag or name.replace("_", "-")
            words += [(flag, each) for each in (value if isinstance(value, list) else [value])]
    words.append(("key-bits", run["key_bits"]))
    words.append(("rows", None if taker is Taker.SIMULATE else run.get("rows")))
    words.append(("out", "FOLDER"))
    return f"privity {COMMANDS[taker]} " + " ".join(
        f"--{flag} {shlex.quote(json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value))}"
        for flag, value in words
        if value is not None
    )
