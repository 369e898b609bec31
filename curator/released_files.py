"""The files that a run released, for those to whom they belong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import read_json
from privity.common.release.release_contents import LEARNT, PRIVACY
from privity.curator.run_progress_marks import End
from privity.curator.run_state import Run
from privity.curator.run_state_machine import COMPLETED, ENDED, FINAL


def released_files(run: Run, folder: Path, party: str = "") -> list[Path]:
    """Files of the release of a run that has ended: an unfinished one, if it ended after it had learnt.

    Args:
        folder: of this release.
        party: who asks, if it is one: only parties of the run are given it.

    Raises:
        PrivityError: out-of-order: it has not ended; run-failed: there is no release; run-unknown: to this party.
    """
    if run.state not in FINAL:
        first = f"the end of the run, for which privity run watch {run.name} waits"
        raise PrivityError(Catalogue.OUT_OF_ORDER, missing=f"the release of {run.name}", first=first)
    # What one party said of a run is not told to others, as in its end (announcements.py).
    reason, hint = "it released nothing" if party else run.reason, "Only a run that has learnt its model has a release."
    if run.state in ENDED and folder.is_dir():
        if party and all(party != each["name"] for each in read_json(folder / PRIVACY)["parties"]):
            hint = "Only its operator and the parties that took part in it fetch its release."
            raise PrivityError(Catalogue.RUN_UNKNOWN, run=f"{run.name} with {party} in it", hint=hint)
        return sorted(folder.iterdir())
    if run.state == COMPLETED:
        reason = "its release was deleted at the curator"
        hint = "Ask whoever fetched it; the parties were charged for it, so think before you run it anew."
    raise PrivityError(Catalogue.RUN_FAILED, run=run.name, state=run.state, reason=reason, hint=hint)


def with_release(run: str, end: End, folder: Path) -> End:
    """The end of a run, with a word on its release if it ended after it had learnt."""
    if end.state == COMPLETED or not folder.is_dir():
        return end
    return replace(end, remedy=f"{end.remedy} {LEARNT}: privity run fetch {run}".strip())
