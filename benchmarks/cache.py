"""Results of a sweep in a file of JSON lines, so that a sweep that was cut off goes on where it stopped."""

from __future__ import annotations

import ast
import hashlib
import json
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from privity.common.errors import PrivityError

ROOT = Path(__file__).parents[1]
CODE = (
    "common/synthesis",
    "common/privacy",
    "party/charged_releases.py",
    "deploy/planning/in_process_session.py",
)
"""What decides a result besides the point; a change of it makes cached results old."""

SAY_SECONDS = 10.0

Values = dict[str, Any]
Point = TypeVar("Point", bound=Hashable)


def code_digest(root: Path = ROOT, places: Sequence[str] = CODE) -> str:
    """Of the statements of the algorithms: comments, docstrings and layout do not count."""
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


class Cache:
    """One line for each point and seed; the last line counts. Without a file it is kept in memory only."""

    def __init__(self, file: Path | None, code: str, *, any_code: bool = False) -> None:
        self._file = file
        self._code = code
        self._any_code = any_code
        self._found: dict[str, Values] = {}
        self.old = 0
        for key, made_by, values in self._lines():
            if any_code or made_by == code:
                self._found[key] = values
            else:
                self.old += 1

    def _lines(self) -> Iterator[tuple[str, str, Values]]:
        if self._file is None or not self._file.exists():
            return
        for line in self._file.read_text(encoding="utf-8").splitlines():
            try:
                document = json.loads(line)
                yield _text(document["key"]), document["code"], document["values"]
            except (ValueError, KeyError, TypeError):
                continue  # the line at which a sweep was cut off

    def get(self, key: Mapping[str, Any]) -> Values | None:
        return self._found.get(_text(key))

    def put(self, key: Mapping[str, Any], values: Values) -> None:
        self._found[_text(key)] = values
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            start = "\n" if self._cut_off() else ""
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(start + json.dumps({"key": key, "code": self._code, "values": values}) + "\n")

    def _cut_off(self) -> bool:
        if self._file is None or not self._file.exists():
            return False
        content = self._file.read_bytes()
        return bool(content) and not content.endswith(b"\n")


def _text(key: Mapping[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)


class Results(Generic[Point]):
    """What was found: the values of all seeds of a point, and why some points have none."""

    def __init__(self) -> None:
        self._found: dict[Point, dict[int, Values]] = {}
        self.failed: dict[tuple[Point, int], str] = {}

    def add(self, point: Point, seed: int, values: Values) -> None:
        self._found.setdefault(point, {})[seed] = values

    def seeds(self, point: Point) -> list[Values]:
        found = self._found.get(point, {})
        return [found[seed] for seed in sorted(found)]

    def values(self, point: Point, measure: str) -> list[float]:
        """Of all seeds that have the measure."""
        return [values[measure] for values in self.seeds(point) if measure in values]

    def points(self, kind: str, data: str) -> list[Point]:
        """Those of a kind and a table, for points that have such attributes."""
        return [p for p in self._found if (getattr(p, "kind", None), getattr(p, "data", None)) == (kind, data)]


def attempt(measure: Callable[[], Values]) -> Values | str:
    """The values, or why there are none; one bad point does not end a sweep."""
    try:
        return measure()
    except PrivityError as error:
        return " ".join(error.message.split())
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())


class Progress:
    """A line every few seconds, at the end, for each refusal, and for whatever is worth a line of its own."""

    def __init__(self, total: int, say: Callable[[str], None]) -> None:
        self._total, self._say = total, say
        self._done = 0
        self._started = self._said = time.perf_counter()

    def step(self, work: tuple[Hashable, int], values: Values | str, *, always: bool = False) -> None:
        self._done += 1
        point, seed = work
        refused = f", refused: {values}" if isinstance(values, str) else ""
        now = time.perf_counter()
        if always or refused or now - self._said > SAY_SECONDS or self._done == self._total:
            self._said = now
            seconds = now - self._started
            left = seconds / self._done * (self._total - self._done)
            self._say(
                f"{self._done} / {self._total}, {seconds:.0f} s, {left:.0f} s left: {point}, seed {seed}{refused}"
            )
