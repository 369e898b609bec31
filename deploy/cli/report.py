"""``privity report``: the page of a release, made again from its other files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privity.common.release.release_contents import REPORT
from privity.common.release.release_folder import report_of
from privity.common.storage.safe_files import write_text
from privity.common.text.terminal import say
from privity.deploy.options import refuse_existing


def report_command(
    release: Annotated[Path, typer.Argument(help="folder of a release")],
    out: Annotated[
        Path | None, typer.Option(help="file to write; must not exist; report.html here if left out")
    ] = None,
) -> None:
    """Make a release's report again from its other files: the same page, to the byte."""
    file = out or Path(REPORT)
    refuse_existing(file)
    page = report_of(release)
    write_text(page, file)
    say(f"Report written to {file}: {len(page.encode()):,} bytes.")
