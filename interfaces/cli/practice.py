"""The command line of ``privity practice``."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privity.assessment.simulation.practice_consortium import ASKED, RUN, SHARES, practice
from privity.common.errors import Catalogue, PrivityError
from privity.common.release.statement import SIMULATION
from privity.common.text.first_few import first_few
from privity.common.text.terminal import say
from privity.interfaces.cli.console import open_in_browser

if TYPE_CHECKING:
    from privity.interfaces.console.local_site import LocalSite

CHECK_SECONDS, START_SECONDS = 0.5, 60.0


def practice_command(
    folder: Annotated[Path, typer.Argument(help="a new folder for all of it; remove it when you are done")] = Path(
        "practice"
    ),
    open_it: Annotated[bool, typer.Option("--open", help="open both consoles in this machine's browser")] = False,
) -> None:
    """Found a consortium of three on this machine, and open the consoles of its operator and of one data owner."""
    from privity.interfaces.console.operator_console import operator_site
    from privity.interfaces.console.party_console import party_site

    # Nothing of it is among the ledgers of this account.
    os.environ["XDG_STATE_HOME"] = str(folder.absolute() / "logs" / "state")
    say(f"Founding a consortium of {first_few(list(SHARES))} in {folder} ...")
    with practice(folder) as at_work:
        links: dict[str, str] = {}
        pages: list[Path] = []
        sites = {
            f"the data owner {ASKED}": _started(lambda: party_site(at_work.party(ASKED))),
            "the operator": operator_site(at_work.operator),
        }
        for whose, site in sites.items():
            ready = threading.Event()

            def known(link: str, whose: str = whose, ready: threading.Event = ready) -> None:
                links[whose] = link
                ready.set()

            threading.Thread(target=site.serve, args=(0, known), daemon=True).start()
            ready.wait(START_SECONDS)
        say(f"The run {RUN} waits until {ASKED} approves it. The consoles are at these links; each opens once:")
        for whose, link in links.items():
            say(f"  {whose}: {link}")
            if open_it:
                page = folder.absolute() / "logs" / f"{secrets.token_hex(8)}.html"
                pages.append(page)
                open_in_browser(link, page)
        say(f"Its releases say that they are of a {SIMULATION}. Ctrl-C ends everything; {folder} stays.")
        try:
            while True:
                at_work.group.check()
                time.sleep(CHECK_SECONDS)
        except KeyboardInterrupt:
            for site in sites.values():
                site.end()
        finally:
            for page in pages:
                page.unlink(missing_ok=True)
    say(f"Everything has ended. Remove {folder} when you are done.")


def _started(make: Callable[[], LocalSite]) -> LocalSite:
    """The console of a node, as soon as that has begun."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return make()
        except PrivityError as error:
            if error.kind is not Catalogue.OUT_OF_ORDER or time.monotonic() > deadline:
                raise
        time.sleep(CHECK_SECONDS)
