"""Whether every reference of a site leads somewhere, and nothing is fetched from another host."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

TAG = re.compile(r"<(\w+)\s([^>]*)>")
ATTRIBUTE = re.compile(r'\b(id|name|href|src)="([^"]*)"')
FETCHED = {"img", "script", "link", "iframe", "source"}
OF_THE_THEME = "_static"


@dataclass
class References:
    """What a page names: the places on it, and what it refers to, with whether a browser fetches that by itself."""

    anchors: set[str] = field(default_factory=lambda: {"", "top"})
    references: set[tuple[str, bool]] = field(default_factory=set)


def references(html: str) -> References:
    """Of one page."""
    found = References()
    for tag, attributes in TAG.findall(html):
        for name, value in ATTRIBUTE.findall(attributes):
            if name in ("id", "name"):
                found.anchors.add(unescape(value))
            else:
                found.references.add((unescape(value), tag in FETCHED))
    return found


def broken_references(folder: Path) -> list[str]:
    """One line for each reference that leads nowhere, or that a browser would fetch over the network."""

    @cache
    def read(page: Path) -> References:
        return references(page.read_text(encoding="utf-8"))

    faults = []
    for page in sorted(folder.rglob("*.html")):
        name = page.relative_to(folder).as_posix()
        if name.startswith(OF_THE_THEME):
            continue
        for reference, fetched in sorted(read(page).references):
            parts = urlsplit(reference)
            if parts.scheme == "data" or (parts.scheme and not fetched):
                continue
            if parts.scheme or parts.netloc:
                faults.append(f"{name}: {reference}: fetched from another host")
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file():
                faults.append(f"{name}: {reference}: there is no such file")
            elif target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
                faults.append(f"{name}: {reference}: there is no such place on the page")
    return faults
