"""Configuration files that people write: TOML, checked against a committed format, every fault at once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from common.errors import Catalogue, PrivityError
from common.formats import require


def read_toml(path: Path, format_name: str) -> dict[str, Any]:
    """The document of a TOML file.

    Raises:
        PrivityError: file-missing or file-unreadable.
        ProblemsFound: everything in which it does not fit ``common/formats/FORMAT_NAME.schema.json``.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PrivityError(Catalogue.FILE_MISSING, file=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=f"not TOML: {error}") from None
    require(document, format_name, str(path))
    return document
