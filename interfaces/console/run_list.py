"""The list of runs on a page: searched, by state, so many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import flask

from privity.interfaces.console.local_site import LocalSite

A_PAGE = 50


@dataclass(frozen=True)
class RunLine:
    """A run in a line; every value as people read it.

    Attributes:
        why: how it stands, and why.
        charged: so far; empty where that is not told.
    """

    run: str
    asked_at: str
    algorithm: str
    epsilon: str
    state: str
    why: str
    charged: str = ""


def run_list(site: LocalSite, lines: Sequence[RunLine], lead: str) -> flask.Response:
    """The page of these runs, as its address asks for them.

    Args:
        lead: what the runs are.
    """
    asked = flask.request.args
    wanted, search, first = asked.get("state", ""), asked.get("search", "").strip(), asked.get("first", 0, type=int)
    of_state = [one for one in lines if wanted in ("", one.state)]
    found = [one for one in of_state if search.lower() in f"{one.run} {one.state} {one.why}".lower()]
    first = max(0, first)
    return site.page(
        "runs.html.j2", place="runs", states=sorted({one.state for one in lines}), wanted=wanted, search=search,
        found=found[first : first + A_PAGE], first=first, count=len(found), a_page=A_PAGE, lead=lead,
    )  # fmt: skip
