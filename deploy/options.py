"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common.errors import Catalogue, PrivityError


def settings_option(text: str) -> dict[str, Any]:
    """An algorithm's settings from JSON text."""
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise PrivityError(
            Catalogue.BAD_OPTION, option="settings", reason="not a JSON object",
            hint="Write for instance '{\"largest_degree\": 2}'.",
        )  # fmt: skip
    return parsed


def refuse_existing(out: Path) -> None:
    """A release is never written over anything."""
    if out.exists():
        raise PrivityError(
            Catalogue.BAD_OPTION, option="out", reason=f"{out} exists already",
            hint="Name a folder that does not exist; nothing is overwritten.",
        )  # fmt: skip
