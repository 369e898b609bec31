"""How a run stands, in the words of the owner's console."""

from __future__ import annotations

from privity.party.approvals import Filed
from privity.party.run_progress import Progress

COMPLETED = "COMPLETED"
ENROLMENT = "enrolment"
"""The phase in which parties say that they take part, and how many rows they hold."""


def under_way(filed: Filed) -> bool:
    """Whether this party takes part in it, or will when all parties have approved."""
    return (filed.enrolled or filed.approved) and not (filed.closed or filed.rejected or filed.denied)


def standing(filed: Filed, progress: Progress | None) -> tuple[str, str]:
    """Its state in a few words, and a sentence or two; moments in UTC."""
    state, since, why = filed.end
    if filed.rejected:
        reason = f", with this reason: {filed.rejection}" if filed.rejection else ""
        ended = f" It ended on {since}." if filed.closed and since else ""
        told = "The operator and the other members are told"
        return "rejected by you", f"Rejected by you{_on(filed.rejected_at)}. {told}{reason}{_end(reason)}{ended}"
    if filed.denied is not None:
        by = filed.denied.state.replace("by policy", "by your policy").replace("by the", "by your")
        return by, f"{by[0].upper()}{by[1:]}{_on(filed.denied.at)}"
    if filed.closed:
        if state == COMPLETED:
            return "finished", f"Finished{_on(since)}."
        ended = state.lower() or "ended"
        because = f": {why}" if why else "."
        return ended, f"Ended without a table{_on(since)}, {ended}{because}" if state else "Ended."
    if filed.waits:
        return "waits for you", f"It waits for your approval, since {filed.asked_at}."
    if filed.stopped:
        return "stopped", f"Stopped by the operator, since {filed.stopped}."
    if not (filed.enrolled or filed.approved):
        return filed.state, f"{filed.state[0].upper()}{filed.state[1:]}."
    yes = f"Approved by you{_on(filed.approved_at)}." if filed.approved else "Allowed by your policy."
    begins = "The run begins when all parties have approved."
    if not filed.enrolled:
        return "approved", f"{yes} {begins} Nothing has left yet."
    if progress is None or progress.phase == ENROLMENT:
        return "approved", f"{yes} {begins} Only the number of your rows has left yet."
    return "under way", f"Under way. {yes}"


def has_release(filed: Filed) -> bool:
    """Whether there is one to fetch: of a run that has completed, or that has learnt before it ended."""
    return filed.closed and (filed.end[0] == COMPLETED or bool(filed.attested))


def _on(at: str) -> str:
    return f" on {at}" if at else ""


def _end(reason: str) -> str:
    return "" if reason.endswith((".", "!", "?")) else "."
