"""``privity report``: the page of a release, made again from its other files."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from privity.common.release.release_contents import REPORT
from privity.common.release.report.report_page import report_of
from privity.common.storage.safe_files import refuse_existing, write_text
from privity.common.text.terminal import say


def report_command(
    release: Annotated[Path, typer.Argument(help="folder of a release")],
    out: Annotated[
        Path | None, typer.Option(help="file to write, which must not exist; by default report.html in this folder")
    ] = None,
    open_it: Annotated[
        bool, typer.Option("--open", help="open it in this machine's browser; without --out, from a temporary folder")
    ] = False,
) -> None:
    """Make a release's report again from its other files, byte for byte the same."""
    if out is not None or not open_it:
        refuse_existing(out or Path(REPORT))
    page = report_of(release)
    file = out or (Path(tempfile.mkdtemp(prefix="privity-report-")) / REPORT if open_it else Path(REPORT))
    write_text(page, file)
    say(f"Report written to {file}: {len(page.encode()):,} bytes.")
    if open_it and not webbrowser.open(file.absolute().as_uri()):
        say("No browser was found here: open the file in one.")
