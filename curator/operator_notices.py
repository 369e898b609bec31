"""What operators are told without asking: whom a run waits for, that it was stopped, and how it ended."""

from __future__ import annotations

from privity.common.notices.outbox import Outbox
from privity.common.text.visible import cut
from privity.curator.run_progress_marks import End
from privity.curator.run_state_machine import COMPLETED

MOST_REASONS = 5
"""Reasons why a run waits at one party that are told: one that gives ever new ones keeps no other notice out."""


class OperatorNotices:
    """Posts the news of a curator's runs."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def waits(self, run: str, party: str, reason: str) -> None:
        """A party has said what the run waits for there."""
        what = f"{run} waits for {party}: {cut(reason)}"
        text = f"{what}. To see all that it waits for: privity run why {run}"
        if self._outbox.told(f"{run}/waits/{party}/") < MOST_REASONS:
            self._outbox.post(f"{run}/waits/{party}/{reason}", what, text)

    def stands(self, run: str, end: End, since: str) -> None:
        """It was stopped, or has ended, at this time."""
        what = f"{run} is {end.state}" + (f": {cut(end.reason)}" if end.reason else "")
        fetch = f"To get what it released: privity run fetch {run} --out FOLDER"
        remedy = fetch if end.state == COMPLETED else end.remedy
        self._outbox.post(f"{run}/{end.state}/{since}", f"{run} is {end.state}", f"{what}. {cut(remedy)}")
