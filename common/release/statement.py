"""The privacy statement of a release: who is protected against whom, with which epsilon, by what."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from privity.common.consortium.manifest import Split
from privity.common.privacy.discovery import loss_of, read_discovery
from privity.common.protocol.run_record import OWN_MODEL, RunRecord
from privity.common.protocol.stated_charges import CATEGORIES
from privity.common.text.first_few import first_few

FORMAT_VERSION = 1

SIMULATION = "simulation: one machine saw all rows"

LOSS = ("epsilon", "delta")

DIGITS = 6
"""Significant digits of a number in a sentence; it is rounded up."""

_PURE = (
    "No outcome becomes more than e^{epsilon} times as likely: this is pure differential privacy with epsilon"
    " = {epsilon}."
)
_APPROXIMATE = (
    "No outcome becomes more than e^{epsilon} times as likely, plus a probability of {delta}: this is approximate"
    " differential privacy with epsilon = {epsilon} and delta = {delta}."
)
_ROW = (
    "Anyone who sees this release learns almost the same about a person whether that person's row was used as it is"
    " or replaced by another."
)
_PERSON = (
    "Anyone who sees this release learns almost the same about a person whether all of that person's rows were used as"
    " they are or replaced by others."
)
_HISTORY = (
    "Anyone who sees this release learns almost the same about a person whether all data of that person in both tables"
    " were used as they are or replaced by others. The number of events is protected, too."
)

SENTENCES = {
    "row, pure": f"{_ROW} {_PURE}",
    "row, approximate": f"{_ROW} {_APPROXIMATE}",
    "person, pure": f"{_PERSON} {_PURE}",
    "person, approximate": f"{_PERSON} {_APPROXIMATE}",
    "history, pure": f"{_HISTORY} {_PURE}",
    "history, approximate": f"{_HISTORY} {_APPROXIMATE}",
    "one person": (
        "A person counts as one row, which holds one of the person's own events, and is taken to be at one party."
    ),
    "any history": "The other data may be any that the rules of the schema accept, with any number of events.",
    "person counts": "The number of persons of each party is public and not protected.",
    "several rows": (
        "A person has up to {m} rows at a party, and rows at up to {s} of the parties. The figures above are for all"
        " rows of a person. For a single row they are epsilon = {epsilon} and delta = {delta}."
    ),
    "one row, pure": (
        "A person is taken to have one row, at one party. A person with m rows has m times the privacy loss."
    ),
    "one row, approximate": (
        "A person is taken to have one row, at one party. A person with m rows has m times the epsilon and"
        " m e^((m-1) epsilon) times the delta."
    ),
    "one row, rho": (
        "A person is taken to have one row, at one party. A person with m rows has m^2 times the rho, charged at the"
        " same delta."
    ),
    "schema": (
        "Of these figures, epsilon = {schema_epsilon} and delta = {schema_delta} are for the schema: {discovered}. They"
        " are counted once, however many releases by this schema somebody sees; the run itself cost epsilon ="
        " {run_epsilon} and delta = {run_delta}."
    ),
    "read off the rows": (
        "What the schema declares of {attributes} was read off the rows, and the {role} declared it public. The"
        " guarantee holds only if it is: it does not cover what that tells."
    ),
    "stored types": (
        "The types of the attributes are those that the columns were stored with, and the data owner declared them"
        " public. The guarantee holds only if they are."
    ),
    "left out": (
        "The run was over {k} parties of the consortium. {left_out} took no part: none of their rows is in what is"
        " published, and nothing was charged for them."
    ),
    "any row": "The other row may be any row that the rules of the schema accept.",
    "any rows": (
        "The other rows may be any rows that the rules of the schema and the rules for one person's rows accept."
    ),
    "start": (
        "Whether a party's node starts, and so whether there is a release, tells whether all rows of the party are"
        " accepted. That is not protected."
    ),
    "places": (
        "A person has as many places as rows_per_person says, and a place without a row counts as an absent row: so how"
        " many rows a person has is protected too."
    ),
    "rows of a person": "How many rows a person has is not protected.",
    "row counts": "The number of rows of each party is public and not protected.",
    "rho": (
        "All noisy marginals and selections of the run are charged in rho (zero-concentrated differential privacy),"
        " as a privacy filter does: all of the run's rho costs exactly its epsilon and delta, and a part of it costs"
        " more than its share, as the run may stop anywhere. A phase's epsilon is what it added to the total, after the"
        " phases before it; the first phase bears what is due at once."
    ),
    "categories": (
        "Before that, categories of texts were discovered, at epsilon = {categories_epsilon} and delta ="
        " {categories_delta} for a row. These are parts of the figures above and add to those of the rest. m rows have"
        " m times that epsilon, and m e^((m-1) epsilon) times that delta."
    ),
    "large delta": (
        "Delta is not below one over the number of rows ({rows}). Such a delta would allow the release of one real row,"
        " chosen at random. The guarantee means little."
    ),
    "shared noise": (
        "The same holds against the curator, against each of the {k} parties, and against up to {t} of them together,"
        " who know their own shares of the noise: the shares of the others make up the whole noise that is claimed."
    ),
    "own noise": (
        "The same holds against the curator, against each of the {k} parties, and against up to {t} of them together:"
        " each party's rows lie under noise that this party alone sampled and knows."
    ),
    "cryptography": (
        "Against the curator and the parties the guarantee rests on cryptography that is believed hard to break today"
        " (it is not secure against a quantum computer), on parties and curator following the protocol, and on the"
        " curator colluding with nobody."
    ),
    "cryptography, member": (
        "Against the curator and the parties the guarantee rests on cryptography that is believed hard to break today"
        " (it is not secure against a quantum computer), on parties and curator following the protocol, and on the"
        " curator colluding with nobody but party {member}, which runs it."
    ),
    "member": (
        "Party {member} runs the curator and knows all that the curator knows. So the guarantee against the curator,"
        " against {member}, and against a group that {member} belongs to, is a guarantee against them and the curator"
        " together."
    ),
    "liar": (
        "The guarantee does not cover a party that lies about its rows. It does not hide a party's rows from the party"
        " itself."
    ),
    "simulation": f"This was a {SIMULATION}.",
    "split by position": (
        "The simulation gave rows to the parties by their position in the table, whatever they hold. So the guarantee"
        " holds for the joint table too: one replaced row of it is one replaced row of one party."
    ),
    "split as given": (
        "The simulation gave rows to the parties by what the rows hold. The guarantee holds for the split as given:"
        " neighbouring tables are tables of one party that differ in one row. The split itself is not protected, nor is"
        " what the number of rows of each party tells of it."
    ),
}
"""Every sentence that a statement may have in words; docs/privacy.md lists each with its test."""


def privacy_statement(
    *,
    run: str,
    parties: dict[str, int],
    tolerate: int,
    protection: str | None,
    record: RunRecord,
    split: Split = Split.NONE,
    curator_member: str | None = None,
    schema: Mapping[str, Any],
    rows_per_person: Mapping[str, int] | None = None,
    parties_per_person: int = 1,
    left_out: Sequence[str] = (),
) -> dict[str, Any]:
    """The content of ``privacy.json``.

    Args:
        run: Name of the run.
        parties: Public row count of each party.
        tolerate: t, how many parties may pool what they know.
        protection: The cryptography that hides each party's vector, in words; None in single-party mode.
        record: What was charged to whom, for one replaced row.
        split: How rows came to the parties; anything but ``NONE`` is a simulation.
        curator_member: The party that runs the curator, if one does.
        schema: What the schema under which the run began says of itself (``Schema.stated``).
        rows_per_person: Most rows of one person at each party; one if it is left out.
        parties_per_person: Most parties at which one person has rows.
        left_out: Parties of the consortium that took no part.

    Returns:
        The document, in the format ``privacy``.

    Raises:
        ValueError: A delta was spent on people with rows at several parties: what they lose is not known.
    """
    several = {name: (rows_per_person or {}).get(name, 1) for name in parties}
    losses = record.of_people(several, parties_per_person)
    schema_loss = loss_of(map(read_discovery, schema["discoveries"]))
    epsilon = max(loss.epsilon for loss in losses.values()) + schema_loss.epsilon
    delta = min(max(loss.delta for loss in losses.values()) + schema_loss.delta, Fraction(1))
    mechanisms = list(dict.fromkeys(cost.mechanism for cost in record.costs))
    observers = _observers(list(parties), tolerate, protection, curator_member, "approximate" if delta else "pure")
    statement: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "run": run,
        "relation": "replace one row",
        "split": split.value,
        "curator_member": curator_member,
        "rows_per_person": max(several.values()),
        "parties_per_person": parties_per_person,
        "parties": [
            {
                "name": name,
                "rows": rows,
                "rows_per_person": several[name],
                "epsilon_per_person": str(losses[name].epsilon),
                "delta_per_person": str(losses[name].delta),
                "epsilon_per_row": str(record.epsilon(name)),
                "delta_per_row": str(record.delta(name)),
                **({"rho_per_row": str(record.rho(name))} if record.in_rho else {}),
                "epsilon_per_row_by_phase": {phase: str(eps) for phase, eps in record.phases(name).items()},
            }
            for name, rows in parties.items()
        ],
        **({"left_out": list(left_out)} if left_out else {}),
        "schema": dict(schema),
        "K": len(parties),
        "t": tolerate,
        "observers": [
            {**observer, "epsilon": str(epsilon), "delta": str(delta), "mechanisms": mechanisms}
            for observer in observers
        ],
        "mechanisms": mechanisms,
        "phases": [_phase(record, phase) for phase in dict.fromkeys(cost.phase for cost in record.costs)],
        "simulation": split is not Split.NONE,
    }
    statement["in_words"] = in_words(statement, protection is not None)
    return statement


def headline(statement: Mapping[str, Any]) -> str:
    """The loss of a person in one line, and after it that of a row if it is another."""
    person, row, whole = largest(statement, "person"), largest(statement, "row"), whole_loss(statement)
    told = f"Privacy loss of a person: epsilon {rounded_up(whole[0])}, delta {rounded_up(whole[1])}."
    part = of_the_schema(statement)
    told += f" Of that, {part}." if part else ""
    if person != row:
        alone = ", by the run alone" if part else ""
        told += f" Of a single row{alone}: epsilon {rounded_up(row[0])}, delta {rounded_up(row[1])}."
    if statement["split"] == Split.GIVEN:
        told += " For the split as given: the split depends on the rows and is not protected."
    return told


def rounded_up(number: Fraction, digits: int = DIGITS) -> str:
    """A number of few digits for people, not below the exact one."""
    if not number:
        return "0"
    exponent = math.floor(math.log10(number)) - digits + 1
    unit = Fraction(10) ** exponent
    text = f"{float(math.ceil(number / unit) * unit):.{digits}g}"
    if Fraction(text) < number:
        text = f"{float((math.ceil(number / unit) + 1) * unit):.{digits}g}"
    return text


def whole_loss(statement: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    """Epsilon and delta of a person, by the run and by what the schema cost: what every observer is stated to learn."""
    public = statement["observers"][0]
    return Fraction(public["epsilon"]), Fraction(public["delta"])


def of_the_schema(statement: Mapping[str, Any]) -> str:
    """The part of the loss that is for the schema, in a few words; none if no domain was discovered before the run."""
    if not (discoveries := statement["schema"]["discoveries"]):
        return ""
    loss = loss_of(map(read_discovery, discoveries))
    figures = f"epsilon {rounded_up(loss.epsilon)} and delta {rounded_up(loss.delta)}"
    return f"{figures} for the schema, {_discovered(discoveries)}"


def _discovered(discoveries: Sequence[Mapping[str, Any]]) -> str:
    """Where domains were discovered."""
    return "discovered in " + first_few(list(dict.fromkeys(one["population"] for one in discoveries)))


def largest(statement: Mapping[str, Any], of: str) -> tuple[Fraction, Fraction]:
    """The largest epsilon and delta of any party, of a "person" or of a "row"."""
    found = [(Fraction(p[f"epsilon_per_{of}"]), Fraction(p[f"delta_per_{of}"])) for p in statement["parties"]]
    return max(epsilon for epsilon, _ in found), max(delta for _, delta in found)


def _observers(
    parties: list[str], tolerate: int, protection: str | None, member: str | None, kind: str
) -> list[dict[str, Any]]:
    """Against whom the guarantee holds, of which kind it is, and what it rests on."""
    noise = "the parties sample their noise as agreed" if protection else "none"
    found = [{"observer": "public", "guarantee": kind, "assumption": noise}]
    if not protection:
        return found
    nobody = "nobody" if member is None else f"nobody but party {member}, which runs it and knows all that it knows"
    assumption = (
        f"computational: {protection}, HPKE and Ed25519 hold;"
        f" parties and curator follow the protocol; the curator colludes with {nobody}"
    )
    coalition = "1 party" if tolerate == 1 else f"{tolerate} parties"
    inside = ["curator", *(f"party {name}" for name in parties), f"any coalition of up to {coalition}"]
    return found + [
        {"observer": name, "guarantee": f"{kind}, computational", "assumption": assumption} for name in inside
    ]


def _phase(record: RunRecord, phase: str) -> dict[str, Any]:
    costs = [cost for cost in record.costs if cost.phase == phase]
    spent = record.most(phase)
    return {
        "phase": phase,
        "mechanisms": list(dict.fromkeys(cost.mechanism for cost in costs)),
        "epsilon_per_row": str(spent.epsilon),
        "delta_per_row": str(spent.delta),
        **({"rho_per_row": str(spent.rho)} if record.in_rho else {}),
        "paid_by": sorted({payer for cost in costs for payer in cost.payers}),
    }


def in_words(statement: Mapping[str, Any], protected: bool) -> list[str]:
    """The sentences of the statement, the loss of a person first.

    Args:
        protected: Whether cryptography hides the parties' vectors.
    """
    m, s, k, t = (statement[key] for key in ("rows_per_person", "parties_per_person", "K", "t"))
    one = (m, s) == (1, 1)
    in_rho = any("rho_per_row" in party for party in statement["parties"])
    (epsilon, delta), of_run = whole_loss(statement), largest(statement, "person")
    row, schema = largest(statement, "row"), statement["schema"]
    of_schema = loss_of(map(read_discovery, schema["discoveries"]))
    rows = sum(party["rows"] for party in statement["parties"])
    kind = "approximate" if delta else "pure"
    histories = "histories" in schema
    names = [f"{'history' if histories else 'row' if one else 'person'}, {kind}"]
    if schema["discoveries"]:
        names.append("schema")
    if histories:
        names += ["one person" if one else "several rows", "any history"]
    else:
        names += [f"one row, {'rho' if in_rho else kind}", "any row"] if one else ["several rows", "any rows"]
    names.append("start")
    if schema["absent_rows"]:
        names.append("places")
    elif not one and not histories:
        names.append("rows of a person")
    names.append("person counts" if histories else "row counts")
    if left_out := statement.get("left_out"):
        names.append("left out")
    if in_rho:
        names.append("rho")
    told: dict[str, Any] = {}
    of_categories = next((phase for phase in statement["phases"] if phase["phase"] == CATEGORIES), None)
    if of_categories is not None:
        names.append("categories")
        told |= {f"categories_{what}": rounded_up(Fraction(of_categories[f"{what}_per_row"])) for what in LOSS}
    if delta * rows >= 1:
        names.append("large delta")
    member = statement["curator_member"]
    if protected:
        names.append("own noise" if OWN_MODEL in statement["mechanisms"] else "shared noise")
        names += ["cryptography"] if member is None else ["cryptography, member", "member"]
        names.append("liar")
    if statement["simulation"]:
        names += ["simulation", "split as given" if statement["split"] == Split.GIVEN else "split by position"]
    told |= {"left_out": ", ".join(left_out or ()), "m": m, "s": s, "k": k, "t": t, "rows": rows, "member": member}
    told |= {"schema_epsilon": rounded_up(of_schema.epsilon), "schema_delta": rounded_up(of_schema.delta)}
    told |= {"run_epsilon": rounded_up(of_run[0]), "run_delta": rounded_up(of_run[1])}
    told |= {"discovered": _discovered(schema["discoveries"])}
    of_row = {"epsilon": rounded_up(row[0]), "delta": rounded_up(row[1])}
    of_person = {"epsilon": rounded_up(epsilon), "delta": rounded_up(delta)}
    if schema["stored_types"]:
        names.append("stored types")
    said = [SENTENCES[name].format(**told, **(of_row if name == "several rows" else of_person)) for name in names]
    for each in schema["read_off_rows"]:
        attributes, role = first_few(each["attributes"]), each["declared_by"]
        said.append(SENTENCES["read off the rows"].format(attributes=attributes, role=role))
    return said
