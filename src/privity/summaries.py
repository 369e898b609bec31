"""What objects show of themselves at a prompt, and in a notebook: the same facts as text and as HTML.

Much of it was written by others: a schema's names, a party's note. Nothing in it acts on a terminal or a page.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privity.common.text.visible import in_line
from privity.html import shown, table_in_html

if TYPE_CHECKING:
    import pandas as pd

MOST_LINES = 20
"""Of a table that is shown."""


@dataclass(frozen=True)
class Summary:
    """A title, facts by name, sentences, and the first lines of a table."""

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    table: pd.DataFrame | None = None

    def text(self) -> str:
        """For a terminal."""
        width = max((len(name) for name, _ in self.facts), default=0)
        facts = [f"  {name:<{width}}  {in_line(text)}" for name, text in self.facts]
        table = [] if self.table is None else [self._lines().to_string(index=False)]
        return "\n".join([in_line(self.title), *facts, *map(in_line, self.notes), *table, *self._more()])

    def html(self) -> str:
        """For a notebook; no text is markup."""
        found = table_in_html(self.title, self.facts)
        found += "".join(f"<p>{shown(note)}</p>" for note in self.notes)
        if self.table is not None:
            lines = self._lines()
            found += table_in_html("", lines.to_numpy().tolist(), list(lines.columns))
        return f"<div>{found}{''.join(f'<p>{shown(more)}</p>' for more in self._more())}</div>"

    def _lines(self) -> pd.DataFrame:
        """The first lines, as texts."""
        assert self.table is not None
        return self.table.head(MOST_LINES).map(lambda value: in_line(str(value))).rename(columns=in_line)

    def _more(self) -> list[str]:
        left = 0 if self.table is None else len(self.table) - MOST_LINES
        return [f"and {left:,} more"] if left > 0 else []


class Shown(ABC):
    """An object that shows its summary."""

    @abstractmethod
    def _summary(self) -> Summary: ...

    def __repr__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()
