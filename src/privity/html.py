"""What objects show of themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from privity.common.text.visible import in_line


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
