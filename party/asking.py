"""What a run asks of this house, in plain words: what leaves, who sees it, what it costs these people."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from common.errors import PrivityError
from common.planning.session import PlannedSession, rehearse
from common.privacy.ledger import Ledger
from common.privacy.record import OWN_MODEL, Cost
from common.protocol.plan import RunSpec
from common.schema import Schema
from party.policy import Policy

LIKELY_ROWS = 10_000
"""Rows that each party is taken to hold: how many they are shows only when all have enrolled."""


def in_words(spec: RunSpec, party: str, schema: Schema, policy: Policy, parties_per_person: int) -> Iterator[str]:
    """What the run is and what will leave this house, paragraph by paragraph."""
    names = schema.over(spec.attributes).names
    settings = f" with the settings {spec.settings}" if spec.settings else ""
    yield f"{spec.algorithm}{settings} over {len(spec.members)} parties: {', '.join(spec.members)}."
    yield f"It is about {len(names)} attributes: {', '.join(names)}."
    yield "What leaves this house:"
    yield "- the number of its rows: to the curator and to every party, in clear."
    for cost in _costs(spec, schema):
        yield f"- {_leaves(cost, spec)} ({cost.phase}: epsilon {cost.epsilon}{_delta(cost)})"
    yield (
        "That is what the algorithm asks for. The curator is bound to the kinds of answers, the attributes and the"
        " epsilon in all, not to these shares: within them it may ask for other tables and choices."
    )
    yield (
        "What is published: a synthetic table, the model that it was drawn from, and the noisy tables, for everybody"
        " to whom the operator gives them."
    )
    yield from _against_policy(spec, party, policy, parties_per_person - 1)


def _costs(spec: RunSpec, schema: Schema) -> list[Cost]:
    """The run's charges by phase and mechanism, as its algorithm will ask for them."""
    session = PlannedSession(
        schema.over(spec.attributes), dict.fromkeys(spec.members, LIKELY_ROWS), spec.tolerate, spec.delta
    )
    rehearse(session, spec.algorithm, spec.epsilon, spec.settings)
    together: dict[tuple[str, str], Cost] = {}
    for cost in session.record.costs:
        before = together.get((cost.phase, cost.mechanism))
        epsilon, delta = (before.epsilon, before.delta) if before else (Fraction(0), Fraction(0))
        together[cost.phase, cost.mechanism] = Cost(
            cost.phase, cost.mechanism, epsilon + cost.epsilon, cost.payers, delta + cost.delta
        )
    return list(together.values())


def _delta(cost: Cost) -> str:
    return f", delta {cost.delta}" if cost.delta else ""


def _leaves(cost: Cost, spec: RunSpec) -> str:
    if cost.mechanism == OWN_MODEL:
        return "a model of its rows alone, learnt here under noise that this party draws: the curator sees it"
    if "contingency tables" in cost.mechanism:
        hidden = spec.secure_sum.in_words(None).replace(" with a None-bit modulus", "")
        return (
            f"counts of its rows, hidden by {hidden} and with noise in them: nobody sees this party's; the sum over"
            f" parties is opened, under noise of which any {len(spec.members) - spec.tolerate} parties' part is enough"
        )
    return f"outcomes of random choices on its rows, {cost.mechanism}: the curator sees which candidate was chosen"


def _against_policy(spec: RunSpec, party: str, policy: Policy, rows_elsewhere: int) -> Iterator[str]:
    person = policy.epsilon_of_a_person(spec, rows_elsewhere)
    yield (
        f"What it costs: epsilon {spec.epsilon}, delta {spec.delta} for each row; epsilon {person} for a person"
        f" (up to {policy.rows_per_person} rows here, {rows_elsewhere} elsewhere at least). No outcome becomes more"
        f" than e^{person} times as likely, whether these people's rows were used as they are or replaced by others."
    )
    try:
        policy.check_run(spec, party, rows_elsewhere)
    except PrivityError as error:
        yield f"The policy does not allow it: {error.message}"


def budget_in_words(spec: RunSpec, policy: Policy, ledger: Ledger, rows_elsewhere: int) -> str:
    """What is left in the ledger, before and after."""
    spent, of_run = ledger.spent(), ledger.spent(spec.run)
    left = policy.total_epsilon - spent
    after = left - (policy.epsilon_of_a_person(spec, rows_elsewhere) - of_run)
    return (
        f"The ledger of {policy.population!r}: epsilon {left} left of {policy.total_epsilon}, {after} after this run."
    )
