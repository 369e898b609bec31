"""``privity run plan``: what a run would cost, move and take, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from privity.common.consortium.manifest import open_manifest, read_organiser_key
from privity.common.consortium.member_folder import ORGANISER_KEY, SCHEMA
from privity.common.data.schema import Schema, load_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import parse_json
from privity.common.privacy.budget import parse_delta, parse_epsilon, readable
from privity.common.privacy.zcdp_budget import RhoBudget
from privity.common.protocol.dry_session import PlannedSession, rehearse
from privity.common.protocol.evaluation_scores import evaluation_of
from privity.common.protocol.secure_sum_method import Method, sum_kind
from privity.common.release.evaluation.scores_over_parties import check_evaluation
from privity.common.release.synthetic_rows import check_release_size
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference.fit_choice import PGM, Inference
from privity.common.text import text_table
from privity.common.text.terminal import say, say_json
from privity.deploy.operator import request_options as options
from privity.deploy.operator.operator_folder import SETTINGS, client_of
from privity.deploy.planning.cost_forecast import PhasePlan, Planner
from privity.deploy.planning.pure_and_approximate import LIKELY_DELTA, BothKinds, both_kinds

LIKELY_ROWS = 10_000
SUMMED = ("cells", "ciphertexts", "bytes", "relayed")


def plan_command(
    spec: options.Spec = None,
    epsilon: options.Epsilon = None,
    algorithm: options.AlgorithmName = options.ALGORITHM,
    delta: options.Delta = options.NO_DELTA,
    settings: options.Settings = options.NO_SETTINGS,
    inference: options.Inference = None,
    tolerate: options.Tolerate = options.ONE,
    attributes: options.Attributes = None,
    secure_sum: options.SecureSum = Method.PAILLIER,
    key_bits: options.KeyBits = None,
    exponents: options.ExponentsKind = None,
    evaluation_epsilon: options.EvaluationEpsilon = None,
    evaluation_target: options.EvaluationTargets = None,
    party_rows: Annotated[
        list[int] | None, typer.Option(help="rows that a party is taken to hold: one number, or one for each party")
    ] = None,
    parties: Annotated[int | None, typer.Option(help="how many; asked of the curator if left out")] = None,
    schema: Annotated[Path | None, typer.Option(help="the schema; that of the operator's folder if left out")] = None,
    config: Annotated[Path, typer.Option(help="operator.toml")] = Path(SETTINGS),
    as_json: Annotated[bool, typer.Option("--json", help="JSON, to be read by programs")] = False,
) -> None:
    """Say by phase what a run would cost each party, reveal, move and take, and how far off its tables would be."""
    request = options.run_request(
        spec, epsilon, algorithm, delta, settings, tolerate, attributes, secure_sum, key_bits, exponents, None,
        evaluation_epsilon, evaluation_target, inference,
    )  # fmt: skip
    names = numbered(parties) if parties else _parties_of(config)
    over = about(load_schema(schema or config.parent / SCHEMA), request.get("attributes"))
    held = rows_held(names, party_rows or [LIKELY_ROWS])
    plan = planned(request, over, held)
    if as_json:
        say_json(plan_document(request, held, plan))
    else:
        show_plan(plan, held, request)


def numbered(parties: int) -> list[str]:
    """Names of parties that have none yet."""
    return [f"party {k}" for k in range(1, parties + 1)]


@dataclass(frozen=True)
class Planned:
    """A run that was rehearsed.

    Attributes:
        account: in rho: the run's own, or what a pure run would have with ``LIKELY_DELTA``; None if its algorithm
            spends delta otherwise, or none.
        kinds: noise of its tables, pure and with that account.
        inference: how its tables would be fitted, of a structure chosen at random; None if its algorithm has its
            own way.
    """

    phases: list[PhasePlan]
    rho_budget: RhoBudget | None
    kinds: list[BothKinds]
    inference: Inference | None = None


def planned(request: dict[str, Any], schema: Schema, rows: dict[str, int]) -> Planned:
    """A run over parties that hold so many rows, by phase.

    Raises:
        PrivityError: what could not run.
    """
    epsilon, delta, tolerate = parse_epsilon(request["epsilon"]), parse_delta(request["delta"]), request["tolerate"]
    name = request["algorithm"]
    if name not in ALGORITHMS:
        hint = f"Possible: {', '.join(ALGORITHMS)}."
        raise PrivityError(Catalogue.BAD_OPTION, option="algorithm", reason=f"{name!r} is unknown", hint=hint)
    check_tolerated(tolerate, len(rows))
    ALGORITHMS[name].check_request(request["settings"], schema, delta)
    evaluation = evaluation_of(request)
    check_evaluation(evaluation, name, epsilon, schema)
    check_release_size(request.get("rows") or 0, schema)
    learning = epsilon - (evaluation.epsilon if evaluation else 0)
    rho_budget = ALGORITHMS[name].rho_budget(request["settings"], learning, delta)
    session = PlannedSession(schema, rows, tolerate, delta, rho_budget)
    rehearse(session, name, learning, request["settings"], evaluation)
    kind = sum_kind(request["secure_sum"], request["exponents"])
    planner = Planner(session, tolerate, kind, request["key_bits"])
    compared = rho_budget or (
        None if delta else ALGORITHMS[name].rho_budget(request["settings"], learning, LIKELY_DELTA)
    )
    kinds = [] if compared is None else both_kinds(planner.rounds, compared, len(rows), len(rows) - tolerate)
    return Planned(planner.phases(), compared, kinds, session.record.inference)


def check_tolerated(tolerate: int, parties: int) -> None:
    """Refuse a number of colluding parties that cannot be; one owner alone has none.

    Raises:
        PrivityError: bad-option.
    """
    least, most = (1, parties - 1) if parties > 1 else (0, 0)
    if not least <= tolerate <= most:
        reason = f"{tolerate} colluding parties of {parties}"
        hint = f"Possible: {least} to {most}." if parties > 1 else "One owner alone has 0; leave it out."
        raise PrivityError(Catalogue.BAD_OPTION, option="tolerate", reason=reason, hint=hint)


def plan_document(request: dict[str, Any], rows: dict[str, int], plan: Planned) -> dict[str, Any]:
    """The plan for programs."""
    phases = plan.phases
    return {
        "format_version": 1,
        "request": request,
        "party_rows": rows,
        "phases": [phase.to_dict() for phase in phases],
        "total": {
            "epsilon": str(sum((phase.epsilon for phase in phases), Fraction(0))),
            **{
                key: sum(getattr(phase, key) for phase in phases)
                for key in ("cells", "ciphertexts", "bytes", "relayed")
            },
            "seconds": round(sum(phase.seconds for phase in phases), 2),
        },
        "inference": None if plan.inference is None else plan.inference.document(),
        "pure_or_approximate": _compared(plan),
    }


def _compared(plan: Planned) -> dict[str, Any] | None:
    """What either kind of run buys, for programs; None where there is nothing to compare."""
    rho_budget = plan.rho_budget
    if rho_budget is None:
        return None
    return {
        "epsilon": str(rho_budget.epsilon),
        "delta": str(rho_budget.delta),
        "rho": str(rho_budget.rho),
        "noise": [kinds.to_dict() for kinds in plan.kinds],
    }


def _parties_of(config: Path) -> list[str]:
    """The parties of the consortium, by its manifest."""
    client = client_of(config)
    name = f"the manifest of {client.address}"
    manifest = open_manifest(
        parse_json(client.manifest(), name), read_organiser_key(config.parent / ORGANISER_KEY), name
    )
    return list(manifest.members)


def about(schema: Schema, attributes: list[str] | None) -> Schema:
    """The schema of the attributes that a run is about; None stands for all.

    Raises:
        PrivityError: bad-option, for an attribute that the schema lacks.
    """
    try:
        return schema.over(attributes)
    except KeyError as error:
        hint = f"Possible: {', '.join(schema.names)}."
        raise PrivityError(
            Catalogue.BAD_OPTION, option="attribute", reason=f"the schema has no {error}", hint=hint
        ) from None


def rows_held(names: list[str], given: list[int]) -> dict[str, int]:
    """Rows of each party, from one number for all or one for each.

    Raises:
        PrivityError: bad-option.
    """
    counts = given * len(names) if len(given) == 1 else given
    if len(counts) != len(names) or min(counts) < 1:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="party-rows", reason=f"{given} for {len(names)} parties",
            hint="Give one number of 1 or more, or one for each party.",
        )  # fmt: skip
    return dict(zip(names, counts, strict=True))


def show_plan(plan: Planned, rows: dict[str, int], request: dict[str, Any]) -> None:
    """Print a plan."""
    phases = plan.phases
    numbers = ("epsilon", "draws", "tables", "cells", "ciphertexts", "sent", "seconds", "error")
    shown = text_table.table("phase", *numbers, numbers=numbers, box=None)
    for phase in phases:
        error = "" if phase.error is None else f"{phase.error:.3f}"
        counted = [phase.draws, phase.tables, phase.cells, phase.ciphertexts]
        counts = [f"{number:,}" if number else "" for number in counted]
        sent = f"{phase.bytes / 1000:,.0f} kB" if phase.bytes else ""
        text_table.add(shown, phase.phase, readable(phase.epsilon), *counts, sent, f"{phase.seconds:.1f}", error)
    text_table.show(shown)
    held = ", ".join(f"{name} {count:,}" for name, count in rows.items())
    relayed = sum(phase.relayed for phase in phases)
    say(f"epsilon {request['epsilon']} and delta {request['delta']} for each row. Rows taken to be held: {held}.")
    say(f"sent: by one party; {relayed / 1000:,.0f} kB in all pass the curator.")
    say("seconds: arithmetic on machines of two cores like this one, besides making a key, and the network.")
    say("error: total variation distance that noise alone makes in a marginal, on average.")
    say("Which attributes depend on which was chosen at random here: cells may differ.")
    if plan.inference is not None:
        say(_fit(plan.inference))
    _show_compared(plan)


def _fit(inference: Inference) -> str:
    """Which fit will be used, and about what it takes."""
    size = inference.size
    takes = ""
    if size is not None:
        takes = (
            f": about {size.cells:,} cells, {size.bytes / 1e6:,.1f} MB of memory and {size.seconds:,.0f} s on one core"
        )
    if inference.method == PGM:
        return f"fit: a graphical model of all tables (pgm){takes}."
    consistent = "consistency post-processing of all tables (tables)"
    if not inference.reason:
        return f"fit: {consistent}."
    return f"fit: {consistent}. A graphical model (pgm) was asked for{takes}. Not used: {inference.reason}."


def _show_compared(plan: Planned) -> None:
    rho_budget = plan.rho_budget
    if rho_budget is None or not plan.kinds:
        return
    delta = f"delta {float(rho_budget.delta):g}"
    columns = ("tables", "pure", f"with {delta}")
    shown = text_table.table("noise of a cell", *columns, numbers=columns, box=None)
    for kinds in plan.kinds:
        text_table.add(shown, kinds.phase, f"{kinds.tables:,}", f"{kinds.pure:,.1f}", f"{kinds.approximate:,.1f}")
    say()
    text_table.show(shown)
    say(
        f"Standard deviations, for the same tables at epsilon {readable(rho_budget.epsilon)}. With {delta} (--delta)"
        f" a run has rho {float(rho_budget.rho):.6g} to spend."
    )
