"""Every pair of figures of a release that must agree, in one place: for ``verify``, the report and ``Release``.

What a run cost is computed anew from the charges that ``run.json`` states, by the classes that charged them, and each
noisy marginal must lie under the noise of a charge. So whoever states a smaller loss has to state noise that was not
added, too, and no party signs that (``privity.party.attestations``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import islice
from typing import Any

from privity.common.consortium.manifest import Split
from privity.common.data.regression_formula import ANALYSES as FORMULAS
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.noise_distribution import NoiseLaw
from privity.common.privacy.noisy_count_intervals import half_width
from privity.common.privacy.privacy_loss import ZCDP
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.protocol.plausible_sums import PlausibleSums
from privity.common.protocol.run_record import Cost, RunRecord
from privity.common.protocol.stated_charges import check_sizes, cost_of, loss_of_categories, noise_of
from privity.common.release.marginals_file import read_tables
from privity.common.release.release_contents import (
    ANALYSES,
    EVENTS,
    MARGINALS,
    MODEL,
    PRIVACY,
    RUN,
    SCHEMA,
    SCORES,
    is_unfinished,
)
from privity.common.release.statement import largest, privacy_statement
from privity.common.text.short_values import shorten

IMPLAUSIBLE = Catalogue.IMPLAUSIBLE_SUM.value.code
FIGURE, OTHER_RUN, OTHER_SCHEMA, OTHER_FILES = "other-figures", "other-run", "other-schema", "other-files"

WORDS = ("format_version", "in_words", "mechanisms", "assumption")
"""Of a statement: another version may word them in another way."""

CLOSE = 1e-9
"""How far floats may lie apart that two machines computed."""


@dataclass(frozen=True)
class Disagreement:
    """A figure that does not agree with another.

    Attributes:
        file, field: where it stands; rule: a word for its kind.
    """

    file: str
    field: str
    rule: str
    message: str


def disagreements(documents: Mapping[str, dict[str, Any]], schema: Schema | None = None) -> Iterator[Disagreement]:
    """Each figure that does not agree, and why.

    Args:
        documents: content of the files of a release by name, each in its format; ``run.json`` is among them.
        schema: that of the release.
    """
    run, privacy, scores = documents[RUN], documents.get(PRIVACY), documents.get(SCORES)
    if schema is not None:
        yield from _with_the_schema(documents, schema)
    yield from _of_files_asked(run)
    if (analyses := documents.get(ANALYSES)) is not None:
        yield from _of_analyses(analyses, run)
    if privacy is None:
        return
    if privacy["run"] != run["run"]:
        message = f"the statement is of run {privacy['run']}, not {run['run']}."
        yield Disagreement(PRIVACY, "run", OTHER_RUN, message)
    try:
        yield from _of_statement(privacy, run)
        if MARGINALS in documents:
            yield from _of_marginals(documents[MARGINALS], privacy, run)
        if schema is not None and MARGINALS in documents:
            yield from _of_sums(documents[MARGINALS], scores, schema, privacy, run)
        if scores is not None:
            yield from _of_scores(scores, privacy, run)
        if MODEL in documents:
            yield from _of_model(documents[MODEL], privacy)
    except (ArithmeticError, ValueError, KeyError, TypeError, PrivityError) as error:
        reason = shorten(str(error))
        yield _figure(PRIVACY, "", f"a figure of it, or of the charges of {RUN}, is no number that can be: {reason}.")


def _figure(file: str, field: str, message: str) -> Disagreement:
    return Disagreement(file, field, FIGURE, message)


def _with_the_schema(documents: Mapping[str, dict[str, Any]], schema: Schema) -> Iterator[Disagreement]:
    run, scores, privacy = documents[RUN], documents.get(SCORES), documents.get(PRIVACY)
    if privacy is not None:
        yield from _of_stated_schema(privacy["schema"], schema, run["run"])
    if run["schema_digest"] != schema.digest:
        yield Disagreement(SCHEMA, "", OTHER_SCHEMA, f"the schema is not the one that {RUN} names.")
    for name, found in ((SCORES, scores), (ANALYSES, documents.get(ANALYSES))):
        if found is not None and found["schema_digest"] != schema.digest:
            message = f"they are not about the schema that {RUN} names."
            yield Disagreement(name, "schema_digest", OTHER_SCHEMA, message)
    if "files" in run and (EVENTS in run["files"]) != (schema.history is not None and not is_unfinished(run)):
        message = f"{EVENTS} is there if and only if {SCHEMA} is of persons and their events."
        yield Disagreement(RUN, "files", OTHER_FILES, message)
    if run.get("attributes", [*schema.names]) != [*schema.names]:
        yield Disagreement(RUN, "attributes", OTHER_SCHEMA, f"they are not those of {SCHEMA}.")


def _of_stated_schema(stated: dict[str, Any], schema: Schema, run: str) -> Iterator[Disagreement]:
    """The statement tells of the schema what the schema does; what the run itself discovered is in its own cost."""
    told = schema.stated
    own = [each for each in told["discoveries"] if each not in stated["discoveries"]]
    known = [each for each in told["discoveries"] if each in stated["discoveries"]]
    if known != stated["discoveries"] or any(each["run"] != run for each in own):
        message = f"its discoveries are not those that {SCHEMA} names."
        yield Disagreement(PRIVACY, "schema.discoveries", OTHER_SCHEMA, message)
    for key in ("absent_rows", "histories", "stored_types", "read_off_rows"):
        if told.get(key) != stated.get(key):
            yield Disagreement(PRIVACY, f"schema.{key}", OTHER_SCHEMA, f"it is not what {SCHEMA} says.")


def _of_analyses(analyses: dict[str, Any], run: dict[str, Any]) -> Iterator[Disagreement]:
    found, declared = [each["formula"] for each in analyses["analyses"]], run["settings"].get(FORMULAS, [])
    if found != declared:
        yield _figure(ANALYSES, "analyses", f"they are not those that {RUN} declares.")


def _of_files_asked(run: dict[str, Any]) -> Iterator[Disagreement]:
    # Whoever asks a party to sign has no files yet.
    if "files" not in run:
        return
    for name, asked, field, message in (
        (SCORES, run.get("evaluation"), "evaluation", "the parties scored the run"),
        (ANALYSES, run["settings"].get(FORMULAS), "settings", "the run declared analyses"),
    ):
        there = name in run["files"]
        if there != bool(asked) and not (asked and is_unfinished(run)):
            yield Disagreement(RUN, field, OTHER_FILES, f"{name} is there if and only if {message}.")


def _of_statement(privacy: dict[str, Any], run: dict[str, Any]) -> Iterator[Disagreement]:
    names = [party["name"] for party in privacy["parties"]]
    if len(set(names)) != len(names):
        yield _figure(PRIVACY, "parties", "a party is listed twice.")
        return
    for strange in sorted({name for moved in run["bytes"].values() for name in moved} - {*names}):
        yield _figure(PRIVACY, "parties", f"party {strange} is not listed, and {RUN} says what it sent.")
    for what, said in zip(("epsilon", "delta"), largest(privacy, "row"), strict=True):
        if said > Fraction(run[what]):
            yield _figure(PRIVACY, "parties", f"a row loses {what} {said}, and {RUN} asks for {run[what]}.")
    check_sizes(run["charges"])
    costs = [cost_of(charge, shared=len(names) > 1) for charge in run["charges"]]
    for place, cost in enumerate(costs):
        if not cost.payers or not {*cost.payers} <= {*names}:
            yield _figure(RUN, f"charges[{place}].paid_by", f"not the parties that {PRIVACY} lists.")
    for field, said, found in _differences("", privacy, _restated(privacy, run, costs)):
        message = f"it is {shorten(said)}, and what {RUN} says was charged makes it {shorten(found)}."
        yield _figure(PRIVACY, field, message)


def _restated(privacy: dict[str, Any], run: dict[str, Any], costs: Sequence[Cost]) -> dict[str, Any]:
    """The statement anew, from what was charged and from what cannot be computed."""
    evaluation = run.get("evaluation")
    # What is charged beside the budget of the algorithm.
    apart = loss_of_categories(costs)
    epsilon = Fraction(run["epsilon"]) - (Fraction(evaluation["epsilon"]) if evaluation else 0) - apart.epsilon
    delta = Fraction(run["delta"]) - apart.delta
    in_rho = any(isinstance(cost.loss, ZCDP) for cost in costs)
    budget = RhoBudget(epsilon, delta) if in_rho else PureBudget(epsilon)
    parties = privacy["parties"]
    return privacy_statement(
        run=privacy["run"],
        parties={party["name"]: party["rows"] for party in parties},
        tolerate=run["tolerate"],
        protection=run["secure_sum"] and "cryptography",
        record=RunRecord(costs=[*costs], budget=budget),
        split=Split(privacy["split"]),
        curator_member=privacy["curator_member"],
        schema=privacy["schema"],
        rows_per_person={party["name"]: party["rows_per_person"] for party in parties},
        parties_per_person=privacy["parties_per_person"],
        left_out=privacy.get("left_out", ()),
    )


def _differences(path: str, said: Any, found: Any) -> Iterator[tuple[str, Any, Any]]:
    """Each value that is another: where, what it is, and what it should be."""
    if isinstance(said, dict) and isinstance(found, dict):
        for key in sorted({*said, *found} - {*WORDS}):
            yield from _differences(f"{path}.{key}".lstrip("."), said.get(key), found.get(key))
    elif isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        for place, (one, other) in enumerate(zip(said, found, strict=True)):
            yield from _differences(f"{path}[{place}]", one, other)
    elif said != found:
        yield path, said, found


def _of_marginals(marginals: dict[str, Any], privacy: dict[str, Any], run: dict[str, Any]) -> Iterator[Disagreement]:
    """Each table lies under the noise of a charge, over the rows of those who paid it."""
    rows = {party["name"]: party["rows"] for party in privacy["parties"]}
    variables = _variables(privacy)
    if Fraction(marginals["noise_variables"]) != variables:
        yield _figure(MARGINALS, "noise_variables", f"K/(K - t) is {variables}.")
    entries, next_one = marginals["tables"], 0
    level, quota = Fraction(marginals["interval_level"]), privacy["K"] - privacy["t"]

    @cache
    def of_noise(name: str, scale: str) -> tuple[NoiseLaw, float, int]:
        law = NoiseLaw(name, Fraction(scale))
        return law, len(rows) * law.share_variance(quota), half_width(law, variables, level=level)

    for place, charge in enumerate(run["charges"]):
        if not charge.get("published"):
            continue
        noise, covered = noise_of(charge), sum(rows[name] for name in charge["paid_by"])
        free = Counter({noise.law(int(weight)): count for weight, count in charge["tables"].items()})
        for number in range(next_one, min(next_one + charge["published"], len(entries))):
            entry, field = entries[number], f"tables[{number}]"
            law, variance, width = of_noise(entry["law"], entry["scale"])
            free[law] -= 1
            if free[law] < 0 or entry["phase"] != charge["phase"]:
                message = f"it is not under the noise that charges[{place}] of {RUN} states."
                yield _figure(MARGINALS, f"{field}.scale", message)
            if entry["rows"] != covered:
                message = f"{entry['rows']} rows, and those who paid for it have {covered}."
                yield _figure(MARGINALS, f"{field}.rows", message)
            if not math.isclose(entry["variance"], variance, rel_tol=CLOSE):
                yield _figure(MARGINALS, f"{field}.variance", f"that of its noise is {variance:.6g}.")
            if abs(entry["half_width"] - width) > 1:
                yield _figure(MARGINALS, f"{field}.half_width", "it is not that of its noise.")
        next_one += charge["published"]
    if next_one != len(entries):
        yield _figure(MARGINALS, "tables", f"{len(entries)} tables, and the charges of {RUN} publish {next_one}.")


def _of_sums(
    marginals: dict[str, Any],
    scores: dict[str, Any] | None,
    schema: Schema,
    privacy: dict[str, Any],
    run: dict[str, Any],
) -> Iterator[Disagreement]:
    """What was revealed is a sum of rows and noise, as the curator compared it, as far as it is published."""
    tables = iter(read_tables(marginals, schema, MARGINALS))
    sums = PlausibleSums(schema.derived, _variables(privacy))
    for charge in run["charges"]:
        file, field, fault = MARGINALS, "tables", None
        if "tables" in charge:
            own = [table for _, table in islice(tables, charge["published"])]
            fault = sums.fault(own, revealed=sum(charge["tables"].values()))
        elif "scores" in charge and scores is not None:
            file, field, rows = SCORES, "scores", sum(party["rows"] for party in privacy["parties"])
            values = [score["sum"] for score in scores["scores"]]
            fault = sums.fault_of_scores(values, noise_of(charge).law(1), rows)
        if fault is not None:
            yield Disagreement(file, field, IMPLAUSIBLE, f"{charge['phase']}: {fault}.")


def _of_scores(scores: dict[str, Any], privacy: dict[str, Any], run: dict[str, Any]) -> Iterator[Disagreement]:
    charges = [charge for charge in run["charges"] if "scores" in charge]
    rows, cost = sum(party["rows"] for party in privacy["parties"]), run["evaluation"]["epsilon"]
    wanted = {
        "epsilon": cost,
        "rows": rows,
        "noise_variables": str(_variables(privacy)),
        "scale": charges[0]["scale"] if len(charges) == 1 else None,
    }
    for key, value in wanted.items():
        if scores[key] != value:
            yield _figure(SCORES, key, f"it is {scores[key]}, and the other files make it {value}.")
    if [len(scores["scores"])] != [charge["scores"] for charge in charges]:
        yield _figure(SCORES, "scores", f"not as many as {RUN} says were charged.")


def _of_model(model: dict[str, Any], privacy: dict[str, Any]) -> Iterator[Disagreement]:
    if "parts" in model and [part["rows"] for part in model["parts"]] != [p["rows"] for p in privacy["parties"]]:
        yield _figure(MODEL, "parts", f"their rows are not those of the parties that {PRIVACY} lists.")


def _variables(privacy: dict[str, Any]) -> Fraction:
    return Fraction(privacy["K"], privacy["K"] - privacy["t"])
