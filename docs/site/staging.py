"""Lay out the repository's pages for Sphinx: each at its place in the navigation, each link to where its target is."""

from __future__ import annotations

import posixpath
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docs.site import notebooks, reference

ROOT = Path(__file__).resolve().parents[2]
NAVIGATION = Path(__file__).with_name("navigation.toml")
ELSEWHERE = {
    "README.md": "index.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "docs/benchmarks": "benchmarks/index.md",
    "docs/benchmarks/README.md": "benchmarks/index.md",
}
"""Pages whose place on the site is another one than below ``docs/``."""

FENCE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def place(path: str) -> str | None:
    """Where on the site a page of the repository is; None for other files."""
    if path in ELSEWHERE:
        return ELSEWHERE[path]
    return path.removeprefix("docs/") if path.startswith("docs/") and path.endswith(".md") else None


def with_links(text: str, source: str, code: Callable[[str], None]) -> str:
    """A page's text with its relative links as they are on the site.

    Args:
        text: Markdown.
        source: the page's path in the repository.
        code: is told of every other file of the repository that is linked to.
    """
    here = posixpath.dirname(place(source) or "")

    def moved(link: re.Match[str]) -> str:
        image, label, target = link.groups()
        path, _, fragment = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return link[0]
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if image:
            return f"![{label}]({posixpath.relpath(inside.removeprefix('docs/'), here or '.')})"
        if page := place(inside):
            return f"[{label}]({posixpath.relpath(page, here or '.')}{'#' + fragment if fragment else ''})"
        if not (ROOT / inside).is_file():
            return label
        code(inside)
        line = "#" + re.sub(r"^L(\d+)$", r"L-\1", fragment) if fragment else ""
        return f'<a href="{posixpath.relpath(f"code/{inside}.html", here or ".")}{line}">{label}</a>'

    pieces, end = [], 0
    for fence in FENCE.finditer(text):
        pieces += [LINK.sub(moved, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*pieces, LINK.sub(moved, text[end:])])


def navigation() -> list[dict[str, Any]]:
    """The sections of the site."""
    return tomllib.loads(NAVIGATION.read_text(encoding="utf-8"))["section"]


def toctree(pages: list[str], caption: str = "") -> str:
    """A list of pages for Sphinx, shown in the navigation alone."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["```{toctree}", *options, "", *pages, "```", ""])


def section_page(section: dict[str, Any], titles: dict[str, str]) -> str:
    """The first page of a section: what it is for, and a line for each of its pages."""
    lines = [f"# {section['title']}", "", section["about"], ""]
    for group in section["group"]:
        if "title" in group:
            lines += [f"## {group['title']}", ""]
        for page, about in group["pages"].items():
            where = posixpath.relpath(page, section["name"])
            lines.append(f"- [{titles[page]}]({where}): {about}" if about else f"- [{titles[page]}]({where})")
        lines.append("")
    trees = []
    for group in section["group"]:
        trees.append(toctree([f"/{page.removesuffix('.md')}" for page in group["pages"]], group.get("title", "")))
    return "\n".join([*lines, *trees])


def front_page(lead: str, sections: list[dict[str, Any]]) -> str:
    """README's first words, and the sections."""
    lines = [lead, "", "## Where to begin", ""]
    for section in sections:
        where = section.get("page", f"{section['name']}/index.md")
        lines.append(f"- **[{section['title']}]({where})**: {section['about']}")
    roots = [section.get("page", f"{section['name']}/index.md").removesuffix(".md") for section in sections]
    return "\n".join([*lines, "", toctree(roots)])


def stage(work: Path) -> None:
    """Write all pages below ``work / "pages"``, and the list of linked files of code beside it."""
    pages = work / "pages"
    linked: set[str] = set()
    titles: dict[str, str] = {}

    def write(where: str, text: str) -> None:
        titles[where] = TITLE.search(text)[1] if TITLE.search(text) else where  # type: ignore[index]
        (pages / where).parent.mkdir(parents=True, exist_ok=True)
        (pages / where).write_text(text, encoding="utf-8")

    sources = [
        *sorted((ROOT / "docs").rglob("*.md")),
        *(ROOT / name for name in ELSEWHERE if name.isupper() or "." in name),
    ]
    for path in dict.fromkeys(sources):
        source = path.relative_to(ROOT).as_posix()
        where = place(source)
        if where and where != "index.md":
            write(where, with_links(path.read_text(encoding="utf-8"), source, linked.add))
    for picture in (ROOT / "docs").rglob("*.svg"):
        to = pages / picture.relative_to(ROOT / "docs")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, to)
    for where, text in (*reference.pages(), *notebooks.pages(pages)):
        write(where, text)
    sections = navigation()
    for section in sections:
        if "every" in section:
            first = f"{section['every']}/index.md"
            rest = [
                f"/{page.removesuffix('.md')}"
                for page in sorted(titles)
                if page.startswith(f"{section['every']}/") and page != first
            ]
            write(first, (pages / first).read_text(encoding="utf-8") + "\n" + toctree(rest))
        elif "group" in section:
            write(f"{section['name']}/index.md", section_page(section, titles))
    lead = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ")[0]
    write("index.md", front_page(with_links(lead, "README.md", linked.add), sections))
    (work / "linked.txt").write_text("\n".join(sorted(linked)), encoding="utf-8")
