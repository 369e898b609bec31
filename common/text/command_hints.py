"""Commands that a message names: to be typed as they stand."""

from __future__ import annotations

import shlex
from pathlib import Path


def option(name: str, given: Path, default: Path) -> str:
    """An option of the command that was run, to be repeated in the next one; nothing if it was left out."""
    return "" if given == default else f" --{name} {shlex.quote(str(given))}"
