"""Results in a file of JSON lines, so that a run that was cut off goes on where it stopped."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def code_digest(places: Sequence[str], root: Path = ROOT) -> str:
    """Of the statements in these files and folders: comments, docstrings and layout do not count."""
    digest = hashlib.sha256()
    for place in places:
        files = sorted((root / place).rglob("*.py")) if (root / place).is_dir() else [root / place]
        for file in files:
            digest.update(ast.dump(_without_docstrings(ast.parse(file.read_text(encoding="utf-8")))).encode())
    return digest.hexdigest()[:16]


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                statement
                for statement in body
                if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
            ]
    return tree


class Store:
    """One line for each point and seed; of lines with one key the last one counts."""

    def __init__(self, file: Path, code: str, *, any_code: bool = False) -> None:
        self._file, self._code = file, code
        self._found: dict[str, Any] = {}
        self.old = 0
        for key, made_by, values in self._lines():
            if any_code or made_by == code:
                self._found[key] = values
            else:
                self.old += 1

    def _lines(self) -> Iterator[tuple[str, str, Any]]:
        if not self._file.exists():
            return
        for line in self._file.read_text(encoding="utf-8").splitlines():
            try:
                document = json.loads(line)
                yield _text(document["key"]), document["code"], document["values"]
            except (ValueError, KeyError, TypeError):
                continue  # the line at which a run was cut off

    def get(self, key: Mapping[str, Any]) -> Any:
        return self._found.get(_text(key))

    def put(self, key: Mapping[str, Any], values: Any) -> None:
        self._found[_text(key)] = values
        self._file.parent.mkdir(parents=True, exist_ok=True)
        start = "\n" if self._cut_off() else ""
        with self._file.open("a", encoding="utf-8") as stream:
            stream.write(start + json.dumps({"key": key, "code": self._code, "values": values}) + "\n")

    def _cut_off(self) -> bool:
        return self._file.exists() and not self._file.read_bytes().endswith(b"\n")


def _text(key: Mapping[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)
