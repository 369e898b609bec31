"""Links of documents to what a file of Python defines name its line; ``python -m`` this module sets them right."""

import ast
import re
from functools import cache

from tests.harness.places import ROOT

PAGES = [ROOT / "docs" / "privacy.md"]
LINK = re.compile(r"\[`(?P<name>\w+)`\]\(\.\./(?P<path>[\w/]+\.py)(?:#L\d+)?\)")


@cache
def definitions(path: str) -> dict[str, int]:
    """Names that a file defines at its top, with their lines."""
    found: dict[str, int] = {}
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = node.lineno
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node.lineno for target in targets if isinstance(target, ast.Name)}
    return found


def with_lines(text: str) -> str:
    """The text with the right line in each such link.

    Raises:
        KeyError: a file does not define what a link names.
    """

    def line_of(link: re.Match[str]) -> str:
        name, path = link["name"], link["path"]
        return f"[`{name}`](../{path}#L{definitions(path)[name]})"

    return LINK.sub(line_of, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_lines(page.read_text(encoding="utf-8")), encoding="utf-8")
