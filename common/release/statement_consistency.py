"""Whether the figures of ``privacy.json`` fit one another, and what ``run.json`` asked for."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from privity.common.privacy.discovery import loss_of, read_discovery
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.privacy.run_record import of_a_person
from privity.common.privacy.statement import largest


def misfits(privacy: dict[str, Any], run: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each field of ``privacy.json`` that does not fit, and why.

    A run may spend less than it was asked to, so less than ``run.json`` says is no misfit.
    """
    try:
        yield from _with_the_run(privacy, run)
        yield from _of_parties(privacy)
        yield from _of_phases(privacy)
        yield from _of_observers(privacy)
    except (ArithmeticError, ValueError):
        yield "", "a figure of it, or epsilon or delta of run.json, is no number."


def _with_the_run(privacy: dict[str, Any], run: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for what, said in zip(("epsilon", "delta"), largest(privacy, "row"), strict=True):
        if said > Fraction(run[what]):
            yield "parties", f"a row loses {what} {said}, and run.json asks for {run[what]}."
    if privacy["t"] != run["tolerate"]:
        yield "t", f"it is {privacy['t']}, and run.json tolerates {run['tolerate']}."
    names = {party["name"] for party in privacy["parties"]}
    if privacy["K"] != len(names) or privacy["K"] != len(privacy["parties"]):
        yield "K", f"it is {privacy['K']}, and {len(names)} different parties are listed."
    for strange in sorted({name for moved in run["bytes"].values() for name in moved} - names):
        yield "parties", f"party {strange} is not listed, and run.json says what it sent."


def _of_parties(privacy: dict[str, Any]) -> Iterator[tuple[str, str]]:
    parties = privacy["parties"]
    exact = not any(party["delta_per_row"] != "0" or "rho_per_row" in party for party in parties)
    persons = {
        p["name"]: PureDP(Fraction(p["epsilon_per_row"]), RELATION).scaled(p["rows_per_person"]) for p in parties
    }
    for place, party in enumerate(parties):
        row, person = (Fraction(party[f"epsilon_per_{of}"]) for of in ("row", "person"))
        if row != sum(map(Fraction, party["epsilon_per_row_by_phase"].values())):
            yield f"parties[{place}].epsilon_per_row", f"{row} is not the sum over its phases."
        least = of_a_person(party["name"], persons, privacy["parties_per_person"]) if exact else row
        if person != least and (exact or person < least):
            yield f"parties[{place}].epsilon_per_person", f"it is {person}, and its rows make it {least} or more."
        if Fraction(party["delta_per_person"]) < Fraction(party["delta_per_row"]):
            yield f"parties[{place}].delta_per_person", "it is less than that of a single row."


def _of_phases(privacy: dict[str, Any]) -> Iterator[tuple[str, str]]:
    paid: dict[str, list[Fraction]] = {}
    for party in privacy["parties"]:
        for phase, epsilon in party["epsilon_per_row_by_phase"].items():
            paid.setdefault(phase, []).append(Fraction(epsilon))
    if sorted(paid) != sorted(entry["phase"] for entry in privacy["phases"]):
        yield "phases", "they are not the phases that the parties paid for."
    for place, entry in enumerate(privacy["phases"]):
        found, said = paid.get(entry["phase"], []), Fraction(entry["epsilon_per_row"])
        # In rho, what a phase adds depends on what came before it: it is that of one of the parties.
        if found and (said not in found if "rho_per_row" in entry else said != max(found)):
            yield f"phases[{place}].epsilon_per_row", f"it is {said}, and no party that paid most paid that."


def _of_observers(privacy: dict[str, Any]) -> Iterator[tuple[str, str]]:
    of_run, of_schema = largest(privacy, "person"), loss_of(map(read_discovery, privacy["schema"]["discoveries"]))
    person = of_run[0] + of_schema.epsilon, min(of_run[1] + of_schema.delta, Fraction(1))
    for place, observer in enumerate(privacy["observers"]):
        if (Fraction(observer["epsilon"]), Fraction(observer["delta"])) != person:
            yield (
                f"observers[{place}]",
                f"its loss is not that of the parties and of the schema, epsilon {person[0]} and delta {person[1]}.",
            )
