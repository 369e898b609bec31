"""What a run asks of this party, in plain words: what leaves, who sees it, what it costs these people."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product

from privity.common.consortium.manifest_file import ManifestFile
from privity.common.data.regression_formula import ANALYSES
from privity.common.data.schema import Schema, load_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import readable
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP, compose
from privity.common.privacy.run_budget import RhoBudget
from privity.common.protocol.round import Scores, Tables
from privity.common.protocol.run_record import OWN_MODEL, Cost
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.session import Session
from privity.common.runs.planned_run import planned_session, rehearse
from privity.common.synthesis.algorithms import ALGORITHMS, budget_of
from privity.common.text.first_few import first_few
from privity.common.text.visible import cut
from privity.party.approvals import Filed
from privity.party.config import PartyConfig
from privity.party.policy import Approval, Policy

LIKELY_ROWS = (1_000, 10_000, 100_000, 1_000_000)
"""Rows that each party may hold: how many they do shows only when all have enrolled, and phases may depend on it."""

PUBLISHED = (
    "A synthetic table, the model that it was drawn from, and the noisy marginals, for everybody to whom the operator"
    " gives them."
)

LEAVES = "What leaves this party"
"""Heading of the section that an owner must not miss."""

LONGEST_OPERATOR = 100
"""Characters of an operator's name that are shown."""

LARGEST_TOLD = 20
"""Epsilon above which e^epsilon is no number that says anything."""


_ABOVE = re.compile(r"(epsilon|delta) ([^ ,]+)(, [^ ]+ for a person with several rows)?,? is above ([^ ]+) a run")
_TOO_LITTLE_LEFT = re.compile(r"[^ ]+: asked (.+?), ([^ ]+) left of (.+) for population .*")


@dataclass(frozen=True)
class Leaving:
    """One kind of answers in one phase.

    Attributes:
        cost: the most that it may cost this party.
        running_sums: whether sums over some of the parties are revealed, too.
    """

    cost: Cost
    running_sums: bool


@dataclass(frozen=True)
class Section:
    """What an owner is told under one heading; a line that begins with "- " is one of a list.

    Attributes:
        technical: the same exactly, for whoever wants it.
    """

    heading: str
    lines: list[str]
    technical: list[str] = field(default_factory=list)


def explained(
    filed: Filed,
    settings: PartyConfig,
    opened: Callable[[], tuple[Policy, Ledger]],
    find: Callable[[RunSpec, Schema], list[Leaving]],
) -> list[Section]:
    """What a run that was asked for would take from this party, and what it costs, by the files of its node.

    Args:
        opened: gives the policy of now, and the node's ledger.
        find: finds what will leave: as ``leaving``, and never in a process for which a person waits.
    """
    if filed.denied is not None and not filed.enrolled:
        # What a run that is refused would take may be nothing that can be said: of no algorithm, of no attribute.
        return [Section("Why it was refused", [f"- {as_sentence(one)}" for one in filed.denied.reasons])]
    manifest = ManifestFile(settings.manifest, settings.organiser_key).current()
    policy, ledger = opened()
    everywhere = manifest.parties_per_person
    if filed.spec.manifest_digest == manifest.digest:
        named = f"serial {manifest.serial}, which names the schema with SHA-256 {manifest.schema_digest}"
        found = sections(filed.spec, settings.name, load_schema(settings.schema), policy, everywhere, find)
        found[0].technical.append(f"It is under the manifest of {named}.")
    else:
        earlier = "It was asked for under an earlier manifest: what follows is by the schema and the policy of now."
        found = [Section("Under which manifest", [earlier])]
        # It may be about attributes, or for domains, that the schema does not have any more.
        with contextlib.suppress(PrivityError, KeyError):
            found += sections(filed.spec, settings.name, load_schema(settings.schema), policy, everywhere, find)
    if filed.denied is not None:
        found.insert(0, Section("Why it was refused", [f"- {as_sentence(one)}" for one in filed.denied.reasons]))
    if attested := list(_attested(filed, settings.name)):
        found.append(Section("What this party attests", attested))
    if filed.waits and policy.approval is Approval.BY_POLICY and policy.a_day_in_words:
        beyond = f"It is beyond what the policy approves a day without asking: {policy.a_day_in_words}."
        until = "It goes on once it is approved, or within that again."
        found.insert(0, Section("Why it waits for you", [beyond, until]))
    if filed.pending:
        found.append(Section("What is left", [budget_in_words(filed.spec, policy, ledger, everywhere - 1)]))
    return found


def asked_by(filed: Filed, settings: PartyConfig) -> str:
    """Who asks for a run: the operator who signed the request for it, whom the organiser names."""
    if not filed.submitter:
        return "the curator; no operator signed a request for it"
    manifest = ManifestFile(settings.manifest, settings.organiser_key).current()
    listed = manifest.certificate_of("operator", filed.submitter)
    unknown = "" if listed else "; the organiser's manifest lists no operator of this name"
    return f"the operator {cut(filed.submitter, LONGEST_OPERATOR)}, who signed the request for it{unknown}"


def _attested(filed: Filed, party: str) -> Iterator[str]:
    """What this party signed of the run's release, or why it did not (docs/signed_releases.md)."""
    if filed.attested:
        yield (
            f"{party} took part, at what its ledger was charged, and was told of the release with the digest"
            f" {filed.attested} (the SHA-256 of its run.json)."
        )
    elif filed.unattested:
        yield f"Nothing: it was shown a release, and refused to sign. {filed.unattested}."
        yield "The release lacks this party's signature. Ask the operator, and compare privacy.json with your ledger."


def in_words(found: Iterable[Section]) -> Iterator[str]:
    """Line by line, for a terminal."""
    for section in found:
        yield f"{section.heading}:"
        yield from section.lines
        yield from section.technical


def sections(
    spec: RunSpec,
    party: str,
    schema: Schema,
    policy: Policy,
    parties_per_person: int,
    find: Callable[[RunSpec, Schema], list[Leaving]] | None = None,
) -> list[Section]:
    """What the run is, what will leave this party, what that costs, what is published, and what the policy says."""
    refused = policy.refusals(spec, party, here=policy.population.rows_per_person, elsewhere=parties_per_person - 1)
    try:
        asked_for = (find or leaving)(spec, schema)
        leaves = Section(LEAVES, list(_in_short(spec, asked_for)), list(_left(spec, asked_for)))
    except PrivityError as error:
        if error.kind is not Catalogue.NOT_TOLD_IN_TIME:
            raise
        leaves = Section(LEAVES, [as_sentence(error.message), error.remedy])
    found = [
        Section("What it is", list(_asked(spec, schema))),
        leaves,
        Section("What it costs", list(_price(spec, policy, parties_per_person - 1))),
        Section("What is published", [PUBLISHED]),
    ]
    if refused:
        found.append(
            Section("What your policy says", [f"The policy does not allow it: {reason}." for reason in refused])
        )
    return found


def _asked(spec: RunSpec, schema: Schema) -> Iterator[str]:
    names = schema.over(spec.attributes).names
    others = {name: value for name, value in spec.settings.items() if name != ANALYSES}
    settings = f" with the settings {json.dumps(others, default=str)}" if others else ""
    yield f"{spec.algorithm}{settings} over {len(spec.members)} parties: {', '.join(spec.members)}."
    yield ALGORITHMS[spec.algorithm].title
    yield f"It is about {len(names)} attributes: {', '.join(names)}."
    if analyses := spec.settings.get(ANALYSES):
        yield f"Regressions whose tables it measures and whose estimates it publishes: {'; '.join(analyses)}."
    if found := [attribute.name for attribute in schema.over(spec.attributes).attributes if attribute.discover]:
        yield f"Domains that it discovers: those of {', '.join(found)}."
    stated = schema.over(spec.attributes)
    for discovery in stated.discoveries:
        loss = f"epsilon {readable(discovery.loss.epsilon)} and delta {readable(discovery.loss.delta)}"
        yield (
            f"The domains of {first_few(discovery.attributes)} were discovered in {discovery.population}, at {loss}:"
            " whoever sees the release has seen both. Nobody is charged for it again."
        )
    for declared in stated.stated["read_off_rows"]:
        attributes, role = first_few(declared["attributes"]), declared["declared_by"]
        yield f"What the schema declares of {attributes} was read off rows, and the {role} declared it public."


def _in_short(spec: RunSpec, asked_for: list[Leaving]) -> Iterator[str]:
    """All that others learn, without technical words."""
    mechanisms = [leaving.cost.mechanism for leaving in asked_for]
    scored = any(Scores.in_words in each for each in mechanisms)
    summed = [leaving for leaving in asked_for if Tables.in_words in leaving.cost.mechanism]
    chosen = any(
        each != OWN_MODEL and Scores.in_words not in each and Tables.in_words not in each for each in mechanisms
    )
    yield "No row leaves this party."
    yield (
        "How many rows it holds, and how many one person has at most, becomes known to the curator and all members, and"
        " is published."
    )
    if summed:
        yield "Sums over the parties are revealed with noise in them, and are published."
    if any(leaving.running_sums for leaving in summed):
        yield "Some are sums over the first parties only: the first party's own counts, too, are seen under noise."
    if OWN_MODEL in mechanisms:
        yield "The curator sees a model of your rows alone, which is made here under noise; it is published."
    if chosen:
        yield "The curator also sees some selections made from your rows alone, under noise."
    if scored:
        yield "How far the synthetic table is from all the rows is summed over the parties, and published with noise."
    yield "A synthetic table is published, and the model that it is drawn from."
    yield (
        "The curator may choose which counts are taken; it can never spend more than"
        f" {_loss(spec.epsilon, spec.delta)} for each row, or use other columns."
    )


def _left(spec: RunSpec, asked_for: list[Leaving]) -> Iterator[str]:
    yield "- the number of its rows, and how many one person has at most: to all members, and published."
    for leaving in asked_for:
        cost = leaving.cost
        price = f"rho {_about(cost.loss.rho)}" if isinstance(cost.loss, ZCDP) else _loss(*_epsilon_delta(cost.loss))
        yield f"- {_in_a_phrase(leaving, spec)} ({cost.phase}: up to {price})"
    budget = budget_of(spec)
    if isinstance(budget, RhoBudget):
        yield (
            f"The rho of all of it adds up to at most {_about(budget.rho)}"
            f" (zero-concentrated differential privacy), which is {_loss(budget.epsilon, budget.delta)}."
        )
    yield (
        f"Together they cost at most {_loss(spec.epsilon, spec.delta)}; how it is divided may depend on the"
        " numbers of rows."
    )
    yield (
        "That is what the algorithm asks for. The curator is bound to these kinds of answers, the attributes and the"
        " epsilon in all, not to the phases: within them it may ask for other tables, selections and scores."
    )


def leaving(spec: RunSpec, schema: Schema) -> list[Leaving]:
    """What the run's algorithm will ask for, by phase and mechanism, for whatever numbers of rows there are.

    Raises:
        PrivityError: run-too-large, and what the algorithm refuses.
    """
    over, budget, algorithm = schema.over(spec.attributes), budget_of(spec), ALGORITHMS[spec.algorithm]
    algorithm.check_size(spec.settings, over, len(spec.members), evaluated=spec.evaluation is not None)
    found: dict[tuple[str, str], Leaving] = {}
    order: list[tuple[str, str]] = []
    for rows, settings in product(LIKELY_ROWS, algorithm.possible(spec.settings)):
        parties = dict.fromkeys(spec.members, rows)
        session = planned_session(over, parties, spec.tolerate, budget, only_tells=True)
        rehearse(session, spec.algorithm, settings, spec.evaluation)
        place = 0
        costs = [cost for cost in session.record.costs if spec.members[0] in cost.payers]
        for (phase, mechanism), cost in _summed(costs).items():
            # What comes with some numbers of rows only has its place behind what goes before it.
            if (phase, mechanism) not in order:
                order.insert(place, (phase, mechanism))
            place = order.index((phase, mechanism)) + 1
            before = found.get((phase, mechanism))
            if before is None or _size(before.cost) < _size(cost):
                found[phase, mechanism] = Leaving(cost, _reveals_running_sums(session, phase, len(spec.members)))
    return [found[key] for key in order]


def _summed(costs: list[Cost]) -> dict[tuple[str, str], Cost]:
    """The first party's costs, by phase and mechanism: it is in every sum."""
    together: dict[tuple[str, str], Cost] = {}
    for c in costs:
        before = together.get((c.phase, c.mechanism))
        # One mechanism has one kind of loss.
        together[c.phase, c.mechanism] = c if before is None else replace(before, loss=compose([before.loss, c.loss]))
    return together


def _size(cost: Cost) -> tuple[Fraction, Fraction]:
    return (cost.loss.rho, Fraction(0)) if isinstance(cost.loss, ZCDP) else (Fraction(0), cost.loss.epsilon)


def _epsilon_delta(loss: PureDP | ApproxDP) -> tuple[Fraction, Fraction]:
    return loss.epsilon, loss.delta if isinstance(loss, ApproxDP) else Fraction(0)


def _reveals_running_sums(session: Session, phase: str, parties: int) -> bool:
    replaced = (round_.replacement for round_ in session.rounds if round_.phase == phase)
    return any(r is not None and r.coverage < parties for r in replaced)


def _loss(epsilon: Fraction, delta: Fraction) -> str:
    return f"epsilon {readable(epsilon)}" + (f", delta {readable(delta)}" if delta else "")


def _about(rho: Fraction) -> str:
    return f"{float(rho):.4g}"


def _rows(number: int) -> str:
    return "one row" if number == 1 else f"up to {number} rows"


def _factor(epsilon: Fraction) -> str:
    """e^epsilon as a number, rounded up."""
    if epsilon > LARGEST_TOLD:
        return f"e^{readable(epsilon)}"
    return f"{math.ceil(math.exp(epsilon) * 100) / 100:,.2f}"


def _in_a_phrase(leaving: Leaving, spec: RunSpec) -> str:
    mechanism = leaving.cost.mechanism
    if mechanism == OWN_MODEL:
        return "a model of its rows alone, learnt here under noise that this party draws: the curator sees it"
    hidden = spec.secure_sum.in_words(None).replace(" with a None-bit modulus", "")
    noise = f"under noise of which any {len(spec.members) - spec.tolerate} parties' share is enough"
    if Scores.in_words in mechanism:
        names = spec.evaluation.targets if spec.evaluation else ()
        predicted = f", and how many a classifier predicts right in {', '.join(names)}" if names else ""
        return (
            f"how far the synthetic table is from its rows{predicted}, hidden by {hidden} and with noise in it: nobody"
            f" sees this party's; the sums over all parties are revealed and published, {noise}"
        )
    if Tables.in_words not in mechanism:
        return f"outcomes of private selections on its rows, {mechanism}: the curator sees which candidate was chosen"
    if leaving.running_sums:
        return (
            f"counts of its rows, hidden by {hidden} and with noise in them: the sums over the first parties are"
            f" revealed as one after another joins, so that of the first party alone too, {noise}"
        )
    return (
        f"counts of its rows, hidden by {hidden} and with noise in them: nobody sees this party's; the sum over all"
        f" parties is revealed, {noise}"
    )


def _price(spec: RunSpec, policy: Policy, rows_elsewhere: int) -> Iterator[str]:
    most = policy.cost_of_a_person(spec, rows_elsewhere)
    person, delta = most.epsilon, most.delta
    yield f"Epsilon {readable(spec.epsilon)}, delta {readable(spec.delta)} for each row."
    here = f"For a person with {_rows(policy.population.rows_per_person)} here"
    if rows_elsewhere:
        # How many rows the others' people have shows only in the plan, after the approval.
        yield (
            f"{here} and some elsewhere: epsilon {readable(person)} at least, and {readable(policy.epsilon_per_run)} at"
            " most, which the policy sets."
        )
        person = policy.epsilon_per_run
    else:
        yield f"{here}: {_loss(person, delta)}."
    but = f", and {readable(delta)} in probability besides" if delta else ""
    yield (
        f"No outcome becomes more than {_factor(person)} times as likely (e to the power of this epsilon){but}, whether"
        " that person's rows were used as they are or replaced by others."
    )


def most_of_a_person(spec: RunSpec, policy: Policy, rows_elsewhere: int) -> Fraction:
    """The most epsilon that the run may cost one person here, whatever rows that person has elsewhere."""
    return policy.epsilon_per_run if rows_elsewhere else policy.cost_of_a_person(spec, rows_elsewhere).epsilon


def yardstick(spec: RunSpec, policy: Policy, rows_elsewhere: int) -> str:
    """What epsilon and delta mean for one person: of this run, and of all runs within the total."""
    people = policy.population
    delta = policy.cost_of_a_person(spec, rows_elsewhere).delta
    return (
        "Whatever is published, one person's rows in it change the odds of what anyone can conclude about that person"
        f" by a factor of at most {_factor(most_of_a_person(spec, policy, rows_elsewhere))}{_but(delta)}; all runs"
        f" within the total together by at most {_factor(people.total_epsilon)}{_but(people.total_delta)}."
    )


def _but(delta: Fraction) -> str:
    return f" (but for a chance of 1 in {math.floor(1 / delta):,} besides)" if delta else ""


def as_sentence(reason: str) -> str:
    """Why a run was refused, to its owner."""
    if found := _ABOVE.fullmatch(reason):
        word, asked, several, most = found.groups()
        return f"It asked for {word} {asked}{several or ''}. You allow at most {most} a run."
    if found := _TOO_LITTLE_LEFT.fullmatch(reason):
        asked, left, total = found.groups()
        return f"It asked for {asked}. Only {left} was left of {total}."
    return f"{reason[:1].upper()}{reason[1:]}{'' if reason.endswith('.') else '.'}"


def budget_in_words(spec: RunSpec, policy: Policy, ledger: Ledger, rows_elsewhere: int) -> str:
    """What is left in the ledger, before and after."""
    left, of_run, population = ledger.left(spec.run)[0], ledger.spent(spec.run), ledger.population
    after = left - (policy.cost_of_a_person(spec, rows_elsewhere).epsilon - of_run)
    held = ledger.held(spec.run)[0]
    others = f"; other runs have reserved {readable(held)} besides" if held else ""
    return (
        f"The ledger of {population.name!r}: epsilon {readable(left)} left of {readable(population.total_epsilon)},"
        f" {readable(after)} after this run{others}."
    )
