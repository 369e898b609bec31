"""What a run would cost, move and take, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privity.assessment.planning import secure_sum_choice
from privity.assessment.planning.cost_forecast import PhasePlan, Planner
from privity.assessment.planning.pair_forecast import PairForecast, pair_forecast
from privity.assessment.planning.pure_and_approximate import LIKELY_DELTA, BothKinds, both_kinds
from privity.assessment.planning.secure_sum_choice import SumChoice
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import parse_delta, parse_epsilon, readable
from privity.common.privacy.category_budget import CategoryBudget, category_budget
from privity.common.privacy.run_budget import RhoBudget
from privity.common.protocol.evaluation_scores import evaluation_of
from privity.common.protocol.secure_sum_method import sum_kind
from privity.common.release.evaluation.scores_over_parties import check_evaluation
from privity.common.release.report.quality import CHANGED
from privity.common.release.synthetic_rows import check_release_size
from privity.common.runs.carried_runs import check_carried
from privity.common.runs.modelled_together import Together, foreseen, in_words
from privity.common.runs.planned_run import planned_session, rehearse
from privity.common.runs.run_request import over_attributes
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference.fit_choice import PGM, Inference
from privity.common.synthesis.learning.category_discovery import check_delta, open_texts
from privity.common.synthesis.learning.domain_discovery import SHARE, stand_in
from privity.common.text import text_table
from privity.common.text.terminal import say


@dataclass(frozen=True)
class Planned:
    """A run that was rehearsed.

    Attributes:
        account: in rho: the run's own, or what a pure run would have with ``LIKELY_DELTA``; None if its algorithm
            spends delta otherwise, or none.
        kinds: noise of its tables, pure and with that account.
        hidden: attributes whose domain is yet to be discovered.
        inference: how its tables would be fitted, of a structure chosen at random; None if its algorithm has its
            own way.
        sums: what its sums would take by masks and by Paillier; None if it takes none over parties.
        together: what would be modelled together and what alone; None if nothing is known to be alone.
        pairs: of which pairs of attributes its report will tell; None where that is not said.
    """

    phases: list[PhasePlan]
    rho_budget: RhoBudget | None
    kinds: list[BothKinds]
    inference: Inference | None = None
    hidden: tuple[str, ...] = ()
    categories: CategoryBudget | None = None
    sums: SumChoice | None = None
    together: Together | None = None
    pairs: PairForecast | None = None


def planned(request: dict[str, Any], schema: Schema, rows: dict[str, int]) -> Planned:
    """A run over parties that hold so many rows, by phase; domains yet to be discovered are as large as they may be.

    Raises:
        PrivityError: what could not run.
    """
    epsilon, delta, tolerate = parse_epsilon(request["epsilon"]), parse_delta(request["delta"]), request["tolerate"]
    name = request["algorithm"]
    if name not in ALGORITHMS:
        hint = f"Possible: {', '.join(ALGORITHMS)}."
        raise PrivityError(Catalogue.BAD_OPTION, option="algorithm", reason=f"{name!r} is unknown", hint=hint)
    check_tolerated(tolerate, len(rows))
    hidden, declared = tuple(open_domains(schema)), schema
    evaluation, texts = evaluation_of(request), open_texts(schema)
    asked = learning = epsilon - (evaluation.epsilon if evaluation else 0)
    first, asked_delta = None, delta
    if texts and len(rows) == 1:
        check_delta(schema, delta)
        (alone,) = rows.values()
        first = category_budget(len(texts), learning, delta, rows=alone)
        learning, delta = first.epsilon, first.delta
        schema = stand_in(schema, numbers=False, categories=first.most(alone))
    if not ALGORITHMS[name].discovers:
        schema = stand_in(schema)
    ALGORITHMS[name].check_request(request["settings"], schema, delta)
    check_carried(
        name, request["settings"], schema, [*rows.values()], tolerate, learning, delta,
        asked=lambda own: own * asked / learning + (epsilon - asked),
    )  # fmt: skip
    check_evaluation(evaluation, name, epsilon, schema)
    check_release_size(request.get("rows") or 0, schema)
    settings = request["settings"]
    budget = ALGORITHMS[name].budget(settings, learning, delta)
    session = rehearse(planned_session(schema, rows, tolerate, budget), name, settings, evaluation)
    kind = sum_kind(request["secure_sum"], request["exponents"])
    planner = Planner(session, tolerate, kind, request["key_bits"])
    likely = budget if delta else ALGORITHMS[name].budget(settings, learning, LIKELY_DELTA)
    compared = likely if isinstance(likely, RhoBudget) else None
    kinds = [] if compared is None else both_kinds(planner.rounds, compared, len(rows), len(rows) - tolerate)
    phases = planner.phases()
    sums = secure_sum_choice.compared(session, tolerate, phases, kind, request["key_bits"])
    together = foreseen(declared, [*rows.values()], tolerate, name, settings, epsilon, asked_delta, epsilon - asked)
    fit, pairs = session.record.inference, pair_forecast(session)
    return Planned(phases, compared, kinds, fit, hidden, first, sums, together, pairs)


def open_domains(schema: Schema) -> list[str]:
    """Names of the attributes whose domain is yet to be discovered."""
    return [attribute.name for attribute in schema.attributes if attribute.discover]


def check_tolerated(tolerate: int, parties: int) -> None:
    """Refuse a number of colluding parties that cannot be; a single owner has none.

    Raises:
        PrivityError: bad-option.
    """
    least, most = (1, parties - 1) if parties > 1 else (0, 0)
    if not least <= tolerate <= most:
        reason = f"{tolerate} colluding parties of {parties}"
        hint = f"Possible: {least} to {most}." if parties > 1 else "A single owner has 0; leave it out."
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
        "pairs": None if plan.pairs is None else plan.pairs.to_dict(),
        "undiscovered": list(plan.hidden),
        "inference": None if plan.inference is None else plan.inference.document(),
        "pure_or_approximate": _compared(plan),
        "secure_sums": None if plan.sums is None else plan.sums.to_dict(),
        "together": None if plan.together is None else plan.together.to_dict(),
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


def about(schema: Schema, attributes: list[str] | None) -> Schema:
    """The schema of the attributes that a run is about; None stands for all.

    Raises:
        PrivityError: bad-option, for an attribute that the schema lacks.
    """
    try:
        return over_attributes(schema, attributes)
    except KeyError as error:
        hint = f"Possible: {', '.join(schema.names)}."
        raise PrivityError(
            Catalogue.BAD_OPTION, option="attribute", reason=f"the schema has no {error}", hint=hint
        ) from None


def show_plan(plan: Planned, rows: dict[str, int], request: dict[str, Any]) -> None:
    """Print a plan."""
    phases = plan.phases
    numbers = ("epsilon", "selections", "tables", "cells", "ciphertexts", "sent", "seconds", "error")
    shown = text_table.table("phase", *numbers, numbers=numbers, box=None)
    for phase in phases:
        error = "" if phase.error is None else f"{phase.error:.3f}"
        counted = [phase.selections, phase.tables, phase.cells, phase.ciphertexts]
        counts = [f"{number:,}" if number else "" for number in counted]
        sent = f"{phase.bytes / 1000:,.0f} kB" if phase.bytes else ""
        text_table.add(shown, phase.phase, readable(phase.epsilon), *counts, sent, f"{phase.seconds:.1f}", error)
    text_table.show(shown)
    held = ", ".join(f"{name} {count:,}" for name, count in rows.items())
    relayed = sum(phase.relayed for phase in phases)
    say(f"epsilon {request['epsilon']} and delta {request['delta']} for each row. Rows taken to be held: {held}.")
    say(f"sent: by one party; {relayed / 1000:,.0f} kB in all pass the curator.")
    say("seconds: of the sums, on machines of two cores like this one, besides making a key, and the network.")
    say("error: total variation distance that noise alone makes in a marginal, on average.")
    say("Which attributes depend on which was chosen at random here: cells may differ.")
    if plan.together is not None:
        budget = parse_epsilon(request["epsilon"]), parse_delta(request["delta"])
        say(*in_words(plan.together.to_dict(), sum(rows.values()), *budget))
    if plan.pairs is not None:
        say(_pairs(plan.pairs))
    if plan.hidden:
        say(_undiscovered(plan, len(rows), request["algorithm"]))
    if plan.inference is not None:
        say(_fit(plan.inference))
    if plan.sums is not None:
        plan.sums.show()
    _show_compared(plan)


def _pairs(pairs: PairForecast) -> str:
    """What the report will tell of pairs."""
    if not pairs.measured:
        return f"pairs: none of {pairs.pairs:,} measured together."
    told = (
        f"pairs: {pairs.measured:,} of {pairs.pairs:,} measured together, of {pairs.told:,} the report can tell whether"
    )
    told += f" their dependence was kept (noise in Cramer's V of at most {CHANGED:g})"
    return f"{told}." if pairs.error is None else f"{told}; error of a pair by all tables together: {pairs.error:.3f}."


def _undiscovered(plan: Planned, parties: int, algorithm: str) -> str:
    """What a plan says of domains that are not known yet."""
    names = ", ".join(plan.hidden)
    if ALGORITHMS[algorithm].discovers:
        return (
            f"Of {names} whole grids are measured: their error does not matter, for domains are made of what stands out"
            " of the noise. The release tells them: privity schema discover --release RELEASE."
        )
    planned_as = f"The domains of {names} are yet to be discovered: they are planned as large as they may become."
    if parties > 1:
        return (
            f"{planned_as} Until they are, this run is refused. Run the algorithm discover first, and plan that run,"
            " too; categories of texts each owner discovers in its own rows: privity schema discover --data."
        )
    if (categories := plan.categories) is not None:
        of, least = categories.mechanism, categories.mechanism.threshold
        planned_as += (
            f" Categories of texts come first, at epsilon {readable(of.epsilon)} and delta {readable(of.delta)}: those"
            f" that more than about {least} rows have."
        )
    return f"{planned_as} Of the rest, up to {readable(SHARE)} is for domains of numbers: not planned here."


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
