"""``privity party console`` and ``privity operator console``: pages on this machine alone."""

from __future__ import annotations

import contextlib
import logging
import secrets
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.safe_files import write_private
from privity.common.text.terminal import say

if TYPE_CHECKING:
    # A web server, which no other command needs.
    from privity.interfaces.console.local_site import LocalSite

Port = Annotated[int, typer.Option(help="port of 127.0.0.1; by default any free one", min=0, max=65535)]
Open = Annotated[bool, typer.Option("--open", help="open it in this machine's browser")]


def party_console(
    config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml"),
    port: Port = 0,
    open_it: Open = False,
) -> None:
    """Show this party's runs, budget, ledger, policy and keys in a browser, and approve or reject runs there."""
    from privity.interfaces.console.party_console import party_site

    _serve(lambda: party_site(config), config.absolute().parent, port, open_it)


def operator_console(
    config: Annotated[Path, typer.Option(help="operator.toml")] = Path("operator.toml"),
    port: Port = 0,
    open_it: Open = False,
) -> None:
    """Show parties and runs in a browser, and plan, submit, stop and resume runs there."""
    from privity.interfaces.console.operator_console import operator_site

    _serve(lambda: operator_site(config), config.absolute().parent, port, open_it)


def _serve(make: Callable[[], LocalSite], folder: Path, port: int, open_it: bool) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    site, page = make(), folder / f"console-{secrets.token_hex(8)}.html"

    def ready(link: str) -> None:
        say("The console is at this link. It opens once, in one browser:", link)
        if not open_it:
            here = link.split("/")[2]
            say(f"From another machine, first: ssh -L {here.split(':')[1]}:{here} THIS-MACHINE")
            return
        open_in_browser(link, page)

    try:
        site.serve(port, ready)
    except OSError as error:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="port", reason=f"{port} cannot be used: {error.strerror}",
            hint="Give another one, or leave it out.",
        ) from None  # fmt: skip
    finally:
        with contextlib.suppress(OSError):
            page.unlink(missing_ok=True)
    say("The console is closed.")


def open_in_browser(link: str, page: Path) -> None:
    """Open a console's link in this machine's browser.

    Args:
        page: a file to make. The command lines of this machine are for all its users to see, and a browser's names what
            it opens: it is given this file, which is of this user alone.
    """
    write_private(page, f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={link}">'.encode())
    if not webbrowser.open(page.as_uri()):
        say("No browser was found here: open the link in one.")
