"""How far this party has come in a run, from its own journal: for its owner."""

from __future__ import annotations

import re
from dataclasses import dataclass

from privity.common.storage.journal import Journal
from privity.common.text.utc_times import utc
from privity.common.text.visible import cut

LONGEST_PHASE = 100
_PHASE = re.compile(r"/\d+-([^/]+)")
"""In the key of a step: its round, selection or model is called NUMBER-PHASE."""


@dataclass(frozen=True)
class Progress:
    """How far a party has come.

    Attributes:
        phase: of the last step that it answered; answers: so far; at: of the last one, in UTC.
    """

    phase: str
    answers: int
    at: str


def progress_of(journal: Journal, run: str) -> Progress | None:
    """What this party answered of a run that is open here; None before the first answer, and when it is erased."""
    answered = f"{run}/transcript/step/"
    last = journal.last(answered)
    if last is None:
        return None
    step = last[0].removeprefix(answered)
    found = _PHASE.search(step)
    phase = found[1] if found else "enrolment" if step in ("enrol", "begin") else step
    return Progress(cut(phase, LONGEST_PHASE), journal.count(answered), utc(last[1]))
