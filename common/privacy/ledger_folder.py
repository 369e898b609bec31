"""Where ledgers are: by default one for each population and user account, wherever nodes, rows and programs are."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.ledger_file import MERGED
from privity.common.privacy.population import Population
from privity.common.storage.journal import MEMORY
from privity.common.storage.safe_files import private_folder, write_private

SUFFIX = ".sqlite"
WITHIN = Path("privity", "ledgers")
PLACES = "places"
"""Folder beside the ledgers: one small file for each ledger that this account has used anywhere."""


def ledgers_folder() -> Path:
    """``$XDG_STATE_HOME/privity/ledgers``, or the same below ``~/.local/state``; it may not exist."""
    state = os.environ.get("XDG_STATE_HOME", "")
    found = Path(state) / WITHIN if state.startswith("/") else _home_folder()
    if found is None:
        reason = "this user account has no home folder, and XDG_STATE_HOME names no other"
        hint = "Set XDG_STATE_HOME to a folder that stays, or name the ledger: ledger = in party.toml, --ledger."
        raise PrivityError(Catalogue.BAD_OPTION, option="ledger", reason=reason, hint=hint)
    return found


def _home_folder() -> Path | None:
    """The folder of ledgers without the variable, which is set in one shell and not in another."""
    try:
        return Path.home() / ".local" / "state" / WITHIN
    except RuntimeError:
        return None


def default_ledger(population: str) -> Path:
    """The account's ledger of these people; it may not exist."""
    return ledgers_folder() / _file_name(population)


def _file_name(population: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9._-]', '_', population)}{SUFFIX}"


def _named(population: str, file: Path | str | None) -> Path:
    """The ledger that is meant.

    Raises:
        PrivityError: bad-option: it would be kept in memory alone.
    """
    if str(file) == MEMORY:
        reason, hint = "a ledger in memory forgets what was spent", "Name a file, or leave it out."
        raise PrivityError(Catalogue.BAD_OPTION, option="ledger", reason=reason, hint=hint)
    return default_ledger(population) if file is None else Path(file)


def declare(population: Population, file: Path | str | None = None) -> Ledger:
    """Make the ledger of a population, or open the one that says the same already.

    Raises:
        PrivityError: bad-option: this account has a ledger of these people elsewhere, or it was declared with other
            terms; ledger-unusable.
    """
    path = _named(population.name, file)
    with _told(path):
        private_folder(path.parent)
        there = path.exists() and path.stat().st_size > 0
    if not there and _note_of(path).exists():
        hint = f"Restore it. Only if these people's budget is to begin anew, remove {_note_of(path)}"
        reason = f"it was used before, and is gone or empty. {hint}"
        raise PrivityError(Catalogue.LEDGER_UNUSABLE, file=path, reason=reason)
    elsewhere = [] if there else other_ledgers(population.name, path)
    if elsewhere:
        reason = f"{population.name!r} has a ledger already: {elsewhere[0]}"
        hint = "Use that one: two ledgers would be two budgets. To have it here, stop what uses it, and move it."
        raise PrivityError(Catalogue.BAD_OPTION, option="population", reason=reason, hint=hint)
    found = Ledger.declare(path, population)
    note_place(path, population.name)
    return found


def open_ledger(population: str, file: Path | str | None = None, node: str = "") -> Ledger:
    """The ledger of a population that was declared.

    Raises:
        PrivityError: population-undeclared; ledger-unusable.
    """
    path = _named(population, file)
    with _told(path):
        there = path.exists()
    if not there:
        raise PrivityError(Catalogue.POPULATION_UNDECLARED, population=population, file=path, known=_known(population))
    found = Ledger(path, population, node)
    note_place(path, population)
    return found


def declared() -> dict[str, Path]:
    """Every population that this account has declared or used, and where its ledger is."""
    found: dict[str, Path] = {}
    for path in [*sorted(_files(ledgers_folder(), f"*{SUFFIX}")), *(path for _, path in _places())]:
        name = _population_of(path)
        if name is not None:
            found.setdefault(name, path)
    return found


def other_ledgers(population: str, file: Path) -> list[Path]:
    """Ledgers of these people, other than this file, that this account has used and that are still there."""
    home = _home_folder()
    candidates = [default_ledger(population), *([] if home is None else [home / _file_name(population)])]
    candidates += [path for name, path in _places() if name == population]
    here = file.resolve()
    others = [path for path in dict.fromkeys(path.resolve() for path in candidates) if path != here]
    return [path for path in others if _population_of(path) == population]


def _population_of(path: Path) -> str | None:
    """Whose ledger a file is; None if it is none that can be read, or was merged into another."""
    try:
        return whose(path)
    except PrivityError:
        return None


def whose(path: Path) -> str | None:
    """Whose ledger a file is; None if there is none, or it was merged into another.

    Raises:
        PrivityError: ledger-unusable: it cannot be read, or is no ledger.
    """
    with _told(path):
        if not path.exists():
            return None
        try:
            with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
                about = dict(db.execute("SELECT key, value FROM about"))
        except sqlite3.Error as error:
            raise PrivityError(Catalogue.LEDGER_UNUSABLE, file=path, reason=f"SQLite says: {error}") from error
    return None if MERGED in about else about.get("population")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise PrivityError(Catalogue.LEDGER_UNUSABLE, file=path, reason=reason) from error


def note_place(path: Path, population: str) -> None:
    """Remember where a ledger of these people is, so that a second one is noticed. What cannot be written is let be."""
    file = _note_of(path)
    with suppress(OSError):
        if not file.exists():
            private_folder(file.parent)
            write_private(file, json.dumps({"population": population, "path": str(path.resolve())}).encode())


def _note_of(path: Path) -> Path:
    name = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32]
    return ledgers_folder() / PLACES / f"{name}.json"


def _places() -> list[tuple[str, Path]]:
    found = []
    for file in sorted(_files(ledgers_folder() / PLACES, "*.json")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            document = json.loads(file.read_text(encoding="utf-8"))
            found.append((str(document["population"]), Path(document["path"])))
    return found


def _files(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def _known(population: str) -> str:
    names = list(declared())
    if not names:
        return "none"
    close = difflib.get_close_matches(population, names, n=1)
    return ", ".join(map(repr, names)) + (f"; is {close[0]!r} meant?" if close else "")
