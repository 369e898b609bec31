"""From the repository's pages to HTML, and what is wrong with the result."""

from __future__ import annotations

import shutil
from pathlib import Path

from sphinx.cmd.build import build_main

from docs.site.checking import broken_references
from docs.site.staging import stage

CONF = Path(__file__).parent


def build(folder: Path, work: Path | None = None) -> list[str]:
    """Build the site anew in a folder; what is laid out for it is in another one beside it.

    Returns:
        What is wrong: warnings of Sphinx, links that lead nowhere, files that a browser would fetch from elsewhere.
    """
    work = work or folder.with_name(f"{folder.name}-source")
    for old in (folder, work):
        shutil.rmtree(old, ignore_errors=True)
    stage(work)
    warnings = work / "warnings.txt"
    options = ["-q", "-b", "html", "-c", str(CONF), "-d", str(work / "doctrees"), "-w", str(warnings)]
    code = build_main([*options, str(work / "pages"), str(folder)])
    found = warnings.read_text(encoding="utf-8").splitlines() if warnings.exists() else []
    if code:
        return found or ["Sphinx failed: see above"]
    shutil.rmtree(folder / "_sources", ignore_errors=True)
    return [*found, *broken_references(folder)]
