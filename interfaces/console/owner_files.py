"""What a node has on disk, for the pages of its owner: settings, journal, policy, ledgers that stay open."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.ledger_folder import default_ledger, open_ledger, whose
from privity.common.privacy.ledger_reader import LedgerReader
from privity.common.storage.journal import Journal
from privity.interfaces.console.release_files import RELEASES
from privity.party.approvals import Approvals
from privity.party.config import JOURNAL_FILE, PartyConfig, ledger_of, load_config
from privity.party.policy import Policy, load_policy


class OpenLedgers:
    """Ledgers that stay open, each with what was read of it: to open one reads all its lines."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Path, tuple[Ledger, LedgerReader]] = {}

    def of(self, name: str, path: Path, config: PartyConfig | None = None) -> Ledger:
        """The ledger of these people in this file.

        Args:
            config: of the node that charges it, if it is the node's.
        """
        return self._of(name, path, config)[0]

    def reader(self, name: str, path: Path) -> LedgerReader:
        """What is read of it."""
        return self._of(name, path, None)[1]

    def _of(self, name: str, path: Path, config: PartyConfig | None) -> tuple[Ledger, LedgerReader]:
        key = path.resolve()
        with self._lock:
            found = self._open.get(key)
            # It may have been taken away, merged, set back, or put in another's place since.
            stands = found is not None and whose(path) == name and found[0].is_as_read()
            # What a run of this node was charged is found by the node's own mark.
            if found is None or not stands or (config is not None and not found[0].node):
                book = open_ledger(name, path) if config is None else ledger_of(config, name)
                found = self._open[key] = (book, LedgerReader(book))
            return found


@dataclass
class OwnerFiles:
    """What a node has on disk, read anew for every page; the ledger stays open.

    Args:
        file: party.toml.

    Attributes:
        last_look: when this console last looked whether all is well, and how much was found.
    """

    file: Path

    def __post_init__(self) -> None:
        self.config: PartyConfig = load_config(self.file)
        journal = self.config.state / JOURNAL_FILE
        if not journal.exists():
            raise PrivityError(Catalogue.OUT_OF_ORDER, missing=journal, first="privity party serve")
        self.journal = Journal(journal)
        self.approvals = Approvals(self.journal)
        self.releases = self.file.absolute().parent / RELEASES
        self.books = OpenLedgers()
        self.last_look: tuple[str, int] | None = None

    def policy(self, file: Path | None = None, known: Sequence[str] | None = None) -> Policy:
        """As the node would read it now.

        Args:
            file: another one than the node's; known: names of the schema's attributes.
        """
        return load_policy(file or self.config.policy, lambda name: self._book(name).population, known)

    def ledger(self, policy: Policy) -> Ledger:
        """The population's ledger."""
        return self._book(policy.population.name)

    def opened(self) -> tuple[Policy, Ledger]:
        """Both."""
        policy = self.policy()
        return policy, self.ledger(policy)

    def read_ahead(self) -> None:
        """Read every line of the ledger, which takes a while if there are many, before a page asks for them."""
        with contextlib.suppress(PrivityError, sqlite3.Error):  # the pages say what is wrong
            name = self.opened()[0].population.name
            self.books.reader(name, self.config.ledger or default_ledger(name)).newest(0, 1)

    def _book(self, name: str) -> Ledger:
        return self.books.of(name, self.config.ledger or default_ledger(name), self.config)
