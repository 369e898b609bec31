"""What objects show of themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from privity.common.storage.safe_files import refuse_existing, write_text
from privity.common.text.visible import in_line

HEIGHT = "44em"
"""Of a page in a notebook."""


class Page(str):
    """A page: as a text it is HTML, and a notebook shows it in a frame of its own."""

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self)}" sandbox style="width: 100%; height: {HEIGHT}; border: 0"></iframe>'

    def save(self, path: Path | str) -> None:
        """Write it as a file.

        Raises:
            PrivityError: bad-option: there is something already.
        """
        refuse_existing(Path(path), "path")
        write_text(self, Path(path))


def shown(text: str) -> str:
    """A text, in which nothing is markup and nothing hides."""
    return escape(in_line(text))


def table_in_html(title: str, rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    """A titled table of texts; nothing in them is markup."""
    head = "".join(f"<th>{shown(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align: left">{shown(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    return (
        "<table>"
        + (f"<caption>{shown(title)}</caption>" if title else "")
        + (f"<thead><tr>{head}</tr></thead>" if head else "")
        + (f"<tbody>{body}</tbody></table>")
    )
