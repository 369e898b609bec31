"""Another node under this party's certificate, as the curator tells of it: a copy of this one, which charges by itself.

What was told stands in the journal, so that whoever looks later reads it. The node that the curator refused as the
older one does not serve again by itself: started anew, it would count as the newer one.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
from dataclasses import asdict, dataclass

from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.common.storage.journal import Journal
from privity.common.text.utc_times import check_utc, utc, utc_now

SEEN = "#other-node"
LATELY_SECONDS = 7 * 86400.0
"""How long a node that goes on says that an older one was refused."""

STOP_ONE = "Stop the older one for good, and look at its ledger: docs/deploy.md, two nodes under one certificate."

_log = logging.getLogger("privity.party")


@dataclass(frozen=True)
class OtherNode:
    """What is known of another node.

    Attributes:
        at: in UTC: when the older one of the two was refused last, as far as this one was told.
        is_newer: whether the other one is the newer: then this one has stopped.
    """

    at: str
    is_newer: bool

    def __str__(self) -> str:
        if self.is_newer:
            return f"a newer node serves under the same certificate, and this one was refused on {self.at}"
        return f"another node serves under the same certificate: the older one was refused on {self.at}"


class OtherNodes:
    """What one node notes of others."""

    def __init__(self, party: str, journal: Journal) -> None:
        self._party = party
        self._journal = journal

    def seen(self) -> OtherNode | None:
        """The newest that was noted: a newer node whenever that was, an older one lately; None if there is none."""
        stored = self._journal.content(SEEN)
        other = None if stored is None else OtherNode(**parse(stored))
        lately = other is not None and (other.is_newer or other.at >= utc(time.time() - LATELY_SECONDS))
        return other if lately else None

    def note(self, at: str) -> None:
        """The curator says when it last refused an older node than this one; empty if it did not."""
        with contextlib.suppress(ValueError):  # what is no moment says nothing
            if check_utc(at) and self.seen() != (other := OtherNode(at, is_newer=False)):
                _log.error("another node serves under this certificate, and the curator refuses it: privity doctor")
                self._keep(other)

    def stopped(self) -> PrivityError:
        """This node is the older one: noted, and the error with which it stops."""
        self._keep(OtherNode(utc_now(), is_newer=True))
        return self._two_nodes()

    def check(self) -> None:
        """Refuse to serve again after that.

        Raises:
            PrivityError: two-nodes.
        """
        if (other := self.seen()) is not None and other.is_newer:
            raise self._two_nodes()

    def forget(self) -> None:
        """The owner has said which one serves."""
        self._journal.drop([SEEN])

    def _keep(self, other: OtherNode) -> None:
        # A node that cannot write stops, or goes on, all the same.
        with contextlib.suppress(PrivityError, sqlite3.Error):
            self._journal.record_together([(SEEN, "", canonical_bytes(asdict(other)))], instead_of=[SEEN])

    def _two_nodes(self) -> PrivityError:
        return PrivityError(Catalogue.TWO_NODES, party=self._party)
