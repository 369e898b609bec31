"""The privacy statement of a release: who is protected against whom, with which epsilon, by what."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from common.privacy.person import Amount
from common.privacy.record import OWN_MODEL, RunRecord

FORMAT_VERSION = 1

SIMULATION = "simulation: one machine saw all rows"


def privacy_statement(
    *,
    run: str,
    parties: dict[str, int],
    tolerate: int,
    protection: str | None,
    record: RunRecord,
    simulation: bool,
    rows_per_person: Mapping[str, int] | None = None,
    parties_per_person: int = 1,
    absent_rows: bool = False,
) -> dict[str, Any]:
    """The content of ``privacy.json``.

    Args:
        parties: public row count of each party.
        protection: the cryptography that hides each party's vector, in words; None in single-party mode.
        record: what was charged to whom, for one replaced row.
        rows_per_person: most rows of one person at each party; one if it is left out.
        parties_per_person: most parties at which one person has rows.
        absent_rows: whether each person has exactly so many rows, those that are not there counted as absent.

    Raises:
        ValueError: a delta was spent on people with rows at several parties: what they lose is not known.
    """
    several = {name: (rows_per_person or {}).get(name, 1) for name in parties}
    delta = max(record.delta(name) for name in parties)
    if delta and parties_per_person > 1:
        raise ValueError("a run with a delta is for people at one party each")
    kind = "approximate" if delta else "pure"
    statements = [_against("public", kind, protection, computational=False)]
    if protection:
        coalition = "1 party" if tolerate == 1 else f"{tolerate} parties"
        inside = ["curator", *(f"party {name}" for name in parties), f"any coalition of up to {coalition}"]
        statements += [_against(name, kind, protection, computational=True) for name in inside]
    totals = {name: record.epsilon(name) for name in parties}
    persons = {name: record.of_a_person(name, several[name]) for name in parties}
    largest = max(totals.values())
    mechanisms = list(dict.fromkeys(cost.mechanism for cost in record.costs))
    by_phase = [_phase(record, phase) for phase in dict.fromkeys(cost.phase for cost in record.costs)]
    statement: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "run": run,
        "relation": "replace one row",
        "rows_per_person": max(several.values()),
        "parties_per_person": parties_per_person,
        "parties": [
            {
                "name": name,
                "rows": rows,
                "epsilon": str(totals[name]),
                "delta": str(record.delta(name)),
                **({"rho": str(record.rho(name))} if record.in_rho else {}),
                "rows_per_person": several[name],
                "epsilon_per_person": str(_of_a_person(name, persons, parties_per_person)),
                "delta_per_person": str(persons[name][1]),
                "epsilon_by_phase": {phase: str(eps) for phase, eps in record.phases(name).items()},
            }
            for name, rows in parties.items()
        ],
        "K": len(parties),
        "t": tolerate,
        "observers": [
            {
                **observer,
                "epsilon": str(largest),
                "delta": str(delta),
                "epsilon_by_phase": {phase["phase"]: phase["epsilon"] for phase in by_phase},
                "mechanisms": mechanisms,
            }
            for observer in statements
        ],
        "mechanisms": mechanisms,
        "phases": by_phase,
        "simulation": simulation,
    }
    statement["in_words"] = _in_words(statement, largest, delta, protection, absent_rows=absent_rows)
    return statement


def _of_a_person(party: str, persons: Mapping[str, Amount], parties: int) -> Fraction:
    """Epsilon that the run costs a person of this party at worst: all its rows, here and where else it costs most."""
    elsewhere = sorted((persons[name][0] for name in persons if name != party), reverse=True)
    return sum(elsewhere[: parties - 1], persons[party][0])


def _above(delta: Fraction) -> str:
    """Three digits, not below delta."""
    text = f"{float(delta):.2e}"
    if Fraction(text) < delta:
        mantissa, exponent = text.split("e")
        text = f"{float(mantissa) + 0.01:.2f}e{exponent}"
    return text


def _against(observer: str, kind: str, protection: str | None, *, computational: bool) -> dict[str, Any]:
    assumption = "the parties draw their noise as agreed" if protection else "none"
    if computational:
        assumption = (
            f"computational: {protection}, HPKE and Ed25519 hold;"
            " parties and curator follow the protocol; the curator colludes with nobody"
        )
    guarantee = f"{kind}, computational" if computational else kind
    return {"observer": observer, "guarantee": guarantee, "assumption": assumption}


def _phase(record: RunRecord, phase: str) -> dict[str, Any]:
    costs = [cost for cost in record.costs if cost.phase == phase]
    spent = record.most(phase)
    return {
        "phase": phase,
        "mechanisms": list(dict.fromkeys(cost.mechanism for cost in costs)),
        "epsilon": str(spent.epsilon),
        "delta": str(spent.delta),
        **({"rho": str(spent.rho)} if record.in_rho else {}),
        "paid_by": sorted({payer for cost in costs for payer in cost.payers}),
    }


def _of_people(statement: dict[str, Any], delta: Fraction, *, absent_rows: bool) -> list[str]:
    m, s = statement["rows_per_person"], statement["parties_per_person"]
    if (m, s) == (1, 1):
        several = "m times the loss" + (", and m e^((m-1) epsilon) times the delta" if delta else "")
        if _in_rho(statement):
            several = "m^2 times the loss in rho, which is to be converted at the same delta"
        return [
            f"One person is taken to have one row, at one party. A person with m rows has {several}.",
            *_places(absent_rows),
        ]
    worst = max((Fraction(p["epsilon_per_person"]) for p in statement["parties"]), default=Fraction(0))
    most = max((Fraction(p["delta_per_person"]) for p in statement["parties"]), default=Fraction(0))
    but = f", and {_above(most)} in probability besides" if most else ""
    by = "epsilon_per_person" + (" and delta_per_person" if most else "")
    return [
        f"One person has up to {m} rows at a party, and rows at up to {s} of the parties. Whether all of them were"
        f" used as they are or replaced by others makes no outcome more than e^{worst} times as likely{but}: the loss"
        f" of a person, by party, is {by}." + ("" if absent_rows else " How many rows a person has is not protected."),
        *_places(absent_rows),
    ]


def _in_rho(statement: dict[str, Any]) -> bool:
    return any("rho" in party for party in statement["parties"])


def _told(epsilon: Fraction) -> str:
    """Exact, for people: what was converted from rho has few digits."""
    return f"{float(epsilon):.7g}" if Fraction(f"{float(epsilon):.7g}") == epsilon else str(epsilon)


def _places(absent_rows: bool) -> list[str]:
    if not absent_rows:
        return []
    return [
        "The rows of a party are places: each person has as many there as rows_per_person says, and those that no row"
        " fills are counted as absent. So how many rows a person has is protected too."
    ]


def _in_words(
    statement: dict[str, Any], largest: Fraction, delta: Fraction, protection: str | None, *, absent_rows: bool
) -> list[str]:
    k, t = statement["K"], statement["t"]
    but = f", and {_above(delta)} in probability besides," if delta else ""
    kind = "approximate" if delta else "pure"
    told = _told(largest) if _in_rho(statement) else str(largest)
    words = [
        f"Anyone who sees this release learns almost the same about a person whether that person's row was"
        f" used as it is or replaced by another: no outcome becomes more than e^{told} times as likely{but}"
        f" ({kind} differential privacy, epsilon = {told}, delta = {delta}).",
        *_of_people(statement, delta, absent_rows=absent_rows),
        "The number of rows of each party is public and not protected.",
    ]
    if _in_rho(statement):
        words.append(
            "The run has one account of zero-concentrated differential privacy: the rho of all its noisy tables and"
            " choices adds up, and the sum is converted to (epsilon, delta) once. Beside each phase stands its rho, and"
            " as epsilon what the phase added to the total, after the phases before it."
        )
    rows = sum(party["rows"] for party in statement["parties"])
    if delta * rows >= 1:
        words.append(
            f"Delta is not below one over the number of rows ({rows}): to publish a row drawn at random would be"
            " allowed by as much. The guarantee means little."
        )
    if protection and OWN_MODEL in statement["mechanisms"]:
        words.append(
            f"The same holds against the curator, against each of the {k} parties, and against any {t} of them"
            " together: each party's rows lie under noise that this party alone drew and knows."
        )
    elif protection:
        words.append(
            f"The same holds against the curator, against each of the {k} parties, and against any {t} of them"
            f" together, who know their own share of the noise: the shares of any {k - t} parties alone make"
            " up the whole noise that is claimed."
        )
    if protection:
        words += [
            "Against the curator and the parties the guarantee rests on cryptography that is believed hard to"
            " break today (it is not secure against a quantum computer), on parties and curator keeping to the"
            " protocol, and on the curator colluding with nobody.",
            "It does not cover a party that lies about its rows, and it does not hide a party's rows from"
            " the party itself.",
        ]
    if statement["simulation"]:
        words.append(f"This was a {SIMULATION}.")
    return words
