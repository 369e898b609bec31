"""What the curator says of a run, as documents for programs and in words for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from privity.common.consortium.schema_file import END_AWAITED, SCHEMA_AWAITED
from privity.common.text.awaited_words import OWNER, answer_to, awaits
from privity.common.wire.v1.privity_pb2 import Awaited, PartyStatus, RunEvent, RunStatus

JUST_NOW_SECONDS = 10


def event_document(run: str, event: RunEvent) -> dict[str, Any]:
    """One event of a run that is watched."""
    return {
        "run": run,
        "state": event.state,
        "reason": event.reason,
        "remedy": event.remedy,
        "phase": event.phase,
        "answers": event.done,
        "expected": event.parties,
        "cells": event.cells,
        "ciphertexts": event.ciphertexts,
        "bytes": event.bytes,
        "epsilon": event.epsilon,
        "note": event.note,
    }


def two_nodes(parties: Iterable[PartyStatus]) -> list[str]:
    """Of each party under whose certificate two nodes were seen, in words with what to do."""
    return [
        f"Two nodes serve under the certificate of {one.party}: the older one was last refused at {one.other}."
        f" Have {one.party} stop one of them, and look at both ledgers: privity doctor"
        for one in parties
        if one.other
    ]


def status_document(status: RunStatus) -> dict[str, Any]:
    """A run as it stands."""
    return {
        "run": status.run,
        "algorithm": status.algorithm,
        "epsilon": status.epsilon,
        "submitted": status.submitted,
        "submitter": status.submitter,
        "state": status.state,
        "since": status.since,
        "reason": status.reason,
        "remedy": status.remedy,
        "phase": status.phase,
        "answers": status.done,
        "expected": status.parties,
        "last_error": status.last_error,
        "refusals": [
            {"party": one.party, "code": one.code, "message": one.message, "remedy": one.remedy}
            for one in status.refusals
        ],
        "awaited": [
            {
                "party": awaited.party,
                "step": awaited.step,
                "phase": awaited.phase,
                "seconds": awaited.seconds,
                "silent_seconds": awaited.silent_seconds,
                "note": awaited.note,
                "since": awaited.since,
                "silent_since": awaited.silent_since,
                "words": words(awaited),
                "remedy": remedy(status.run, awaited),
            }
            for awaited in status.awaited
        ],
    }


def explained(status: RunStatus) -> Iterator[str]:
    """Where the run stands, who is awaited, and what to do, in words."""
    yield from standing(status)
    for awaited in status.awaited:
        yield f"It {words(awaited)}."
        yield f"  {remedy(status.run, awaited)}"


def standing(status: RunStatus) -> Iterator[str]:
    """Where the run stands, and what to do, but for those who are awaited."""
    at_work = status.state in ("RUNNING", "WAITING")
    several = len(status.refusals) > 1
    why = f"{len(status.refusals)} parties refuse it" if several else status.reason
    since = f", since {status.since}" if status.since else ""
    reason = f": {why}" if why else ""
    yield f"{status.run} is {status.state}{f' in {status.phase}' if at_work else ''}{since}{reason}."
    if status.submitter:
        yield f"The operator {status.submitter} submitted it."
    for one in status.refusals if several else ():
        yield f"{one.message}."
        yield f"  {one.remedy}"
    if status.remedy and not several:
        yield f"  {status.remedy}"
    if status.state == "QUEUED":
        yield "It begins when there is a place for it beside the runs before it: privity run list"
    if at_work and status.parties:
        yield f"{status.done} of the {status.parties} answers that {status.phase} needs are in."
    if status.state == "RUNNING" and not status.awaited:
        yield "It waits for nobody: the curator is at work."
    if status.state == "WAITING" and not any(awaited.note for awaited in status.awaited):
        yield "It goes on when one of the runs at work makes place: privity run list"
    if status.last_error:
        what = "Amiss" if status.state == "COMPLETED" else "Last error, which was tried again"
        yield f"{what}: {status.last_error}"


def at_a_glance(status: RunStatus) -> str:
    """Why the run stands where it does, in a cell of a table: its reason, who has to do something, or its phase."""
    people = [words(awaited) for awaited in status.awaited if awaited.note or awaited.silent_since]
    return status.reason or "; ".join(people) or status.phase


def words(awaited: Awaited) -> str:
    """Who is awaited, for what, since when, as the owner reads it too."""
    return awaits(awaited.party, awaited.note or answer_to(awaited.step), awaited.since, awaited.silent_since)


def remedy(run: str, awaited: Awaited) -> str:
    """What to do about a step that is waited for."""
    if awaited.silent_since:
        return f"See whether its node runs; at {awaited.party}: privity doctor"
    if awaited.note == SCHEMA_AWAITED:
        return f"At {awaited.party}: privity party accept --schema FILE, with the schema that the organiser sent."
    if awaited.note == END_AWAITED:
        return "See privity run list: resume a run that was stopped there, or discard it (privity run stop --discard)."
    if awaited.note == OWNER:
        return f"At {awaited.party}: privity party show {run}, or its console; then approve or reject it."
    if awaited.note:
        return f"Have {awaited.party} see to it: the run goes on by itself then."
    return "It was asked just now: wait." if awaited.seconds < JUST_NOW_SECONDS else "It is at work: wait."


__all__ = [
    "RunEvent", "RunStatus", "at_a_glance", "event_document", "explained", "remedy", "standing", "status_document",
    "two_nodes", "words",
]  # fmt: skip
