"""What objects show of themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table_in_html(title: str, rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    """A titled table of texts; nothing in them is markup."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align: left">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<table><caption>{escape(title)}</caption>"
        + (f"<thead><tr>{head}</tr></thead>" if head else "")
        + (f"<tbody>{body}</tbody></table>")
    )
