"""By what it is known that files of rows are those that were read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.address import Address, found_files


def unreachable(name: str, error: Exception) -> PrivityError:
    """Files that cannot be read, now."""
    return PrivityError(
        Catalogue.SOURCE_UNREACHABLE, source=name, reason=f"it cannot be read ({type(error).__name__})",
        hint="See that the files are whole and readable, and that no other process holds the database to write.",
    )  # fmt: skip


def address_state(address: Address) -> str:
    """Changes when a file of an address is written or replaced, and when one comes or goes.

    Raises:
        PrivityError: source-unreachable: there is none; source-changed: they are others than when it was read.
    """
    try:
        files = found_files(address.pattern)
        if not files:
            raise FileNotFoundError
        if files != address.files:
            raise PrivityError(Catalogue.SOURCE_CHANGED, source=address.name)
        return files_state(files)
    except OSError as error:
        raise unreachable(address.name, error) from None


def files_state(files: Sequence[Path]) -> str:
    """Changes when a file is written or replaced; that of a database with what is still in its log.

    The time of a change of its record (ctime) is looked at too: a file can be written and given its old time again.
    """
    found = []
    for file in files:
        log = file.with_name(file.name + ".wal")
        for path in [file, log] if log.exists() else [file]:
            about = os.stat(path)
            found.append(f"{path}:{about.st_ino}:{about.st_size}:{about.st_mtime_ns}:{about.st_ctime_ns}")
    return "\n".join(found)
