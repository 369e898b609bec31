"""How far the journal knows the ledger to be: a ledger that is lost or set back alone forgets no charge.

One mark for each population, ``#ledger/LINES/POPULATION``: the number of lines and the link of the last one. It is
renewed in the same transaction as the next reply, so whatever has left this party is known to have been charged.
"""

from __future__ import annotations

from privity.common.privacy.ledger import Ledger
from privity.common.storage.journal import Journal

MARKS = "#ledger/"


class KnownLedger:
    """The ledger of one party as its journal knows it."""

    def __init__(self, journal: Journal, ledger: Ledger) -> None:
        self._journal = journal
        self._ledger = ledger
        self._name = ledger.population.name

    def check(self) -> None:
        """Go on only if the ledger has every line that it had.

        Raises:
            PrivityError: ledger-unusable.
        """
        for key in self._marks():
            link = self._journal.content(key)
            # Another process may have renewed it in this moment.
            if link is not None:
                self._ledger.check_extends(_lines_of(key), link.decode())

    def renewal(self) -> tuple[list[tuple[str, str, bytes]], list[str]]:
        """The mark of now, if lines were written since, as an entry of the journal; and the keys that it replaces."""
        lines, link = self._ledger.end()
        marks, mark = self._marks(), f"{MARKS}{lines}/{self._name}"
        # After a merge the population's ledger may have fewer lines of its own than the one that was marked before.
        if not lines or (mark in marks and self._journal.content(mark) == link.encode()):
            return [], []
        return [(mark, link, link.encode())], [old for old in marks if old != mark]

    def _marks(self) -> list[str]:
        """Of this population: several only if processes wrote them at once."""
        keys = self._journal.keys(MARKS)
        return [key for key in keys if _after_mark(key).partition("/")[2] == self._name]


def _after_mark(key: str) -> str:
    return key.removeprefix(MARKS)


def _lines_of(key: str) -> int:
    return int(_after_mark(key).partition("/")[0])
