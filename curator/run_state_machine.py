"""The states of a run at the curator, the events, and which leads to which: one table, and nothing moves a run but it.

docs/data_model.md draws it. What is on disk says the same after every event (run_progress_marks.py): a curator that
starts again finds a run STOPPED or ended where it was, and every other one QUEUED.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    """Where a run stands.

    Attributes:
        QUEUED: its turn has not come, or has not come again.
        RUNNING: it has one of the places at work.
        WAITING: a party waits for a person, or did and the run waits for its place.
        STOPPED: it may be resumed. DISCARDED, COMPLETED, FAILED, EXPIRED: ended for good.
    """

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    STOPPED = "STOPPED"
    DISCARDED = "DISCARDED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    EXPIRED = "EXPIRED"


class Event(StrEnum):
    """What happens to a run."""

    BEGIN = "its turn comes"
    WAIT = "a party waits for a person"
    GO_ON = "nobody is waited for any more, and a place is free"
    STOP = "the operator stops it"
    SILENCE = "a party was silent for the patience"
    RESUME = "the operator resumes it"
    DISCARD = "the operator discards it"
    EXPIRE = "it stood still for the lease"
    FAIL = "a party refuses, or a check fails"
    COMPLETE = "its release is written"
    RESTART = "the curator starts again, or retries it after an error of its own"


QUEUED, RUNNING, WAITING, STOPPED, DISCARDED, COMPLETED, FAILED, EXPIRED = State

AT_WORK = frozenset({RUNNING, WAITING})
"""A driver is there for the run."""
ENDED = frozenset({DISCARDED, COMPLETED, FAILED, EXPIRED})
FINAL = frozenset({STOPPED, *ENDED})
"""States in which nothing goes on."""

_INTERRUPTED = {
    Event.STOP: STOPPED,
    Event.SILENCE: STOPPED,
    Event.DISCARD: DISCARDED,
    Event.EXPIRE: EXPIRED,
    Event.FAIL: FAILED,
    Event.RESTART: QUEUED,
}

TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    QUEUED: {Event.BEGIN: RUNNING, Event.STOP: STOPPED, Event.DISCARD: DISCARDED, Event.RESTART: QUEUED},
    RUNNING: {Event.WAIT: WAITING, Event.COMPLETE: COMPLETED, **_INTERRUPTED},
    WAITING: {Event.GO_ON: RUNNING, **_INTERRUPTED},
    STOPPED: {
        Event.RESUME: QUEUED,
        Event.DISCARD: DISCARDED,
        Event.EXPIRE: EXPIRED,
        Event.RESTART: STOPPED,
    },
    **{ended: {Event.RESTART: ended} for ended in sorted(ENDED)},
}


def may(state: State, event: Event) -> bool:
    """Whether the event means anything to a run in this state."""
    return event in TRANSITIONS[state]


def after(state: State, event: Event) -> State:
    """The state that follows.

    Raises:
        ValueError: none does.
    """
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise ValueError(f"a run that is {state} cannot be moved by: {event}") from None
