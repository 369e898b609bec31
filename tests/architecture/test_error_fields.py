"""An error that is raised fills in every field of its text: an error about an error hides what went wrong."""

import ast
from string import Formatter

from privity.common.errors import Catalogue
from tests.harness.places import ROOT, sources


def fields_of(kind: Catalogue) -> set[str]:
    texts = (kind.value.text, kind.value.remedy)
    return {name for text in texts for _, name, _, _ in Formatter().parse(text) if name}


def missing_fields(source: str) -> list[str]:
    """Each call with a member of the catalogue that leaves fields of its text out."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Attribute)):
            continue
        kind = node.args[0]
        if not (isinstance(kind.value, ast.Name) and kind.value.id == "Catalogue"):
            continue
        given = {keyword.arg for keyword in node.keywords}
        if None in given:  # **fields
            continue
        missing = fields_of(Catalogue[kind.attr]) - {name for name in given if name}
        if missing:
            found.append(f"line {node.lineno}: {kind.attr} without {', '.join(sorted(missing))}")
    return found


def test_every_error_fills_in_its_text() -> None:
    found = {
        str(path.relative_to(ROOT)): missing for path in sources() if (missing := missing_fields(path.read_text()))
    }
    assert not found


def test_a_field_left_out_is_found() -> None:
    assert missing_fields("raise PrivityError(Catalogue.IDENTITY_UNKNOWN, identity='x')") == [
        "line 1: IDENTITY_UNKNOWN without reason"
    ]
