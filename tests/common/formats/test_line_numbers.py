"""Lines of keys and entries: against documents whose writer knows where it put them, and the standard parsers."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.schema import load_schema
from privity.common.errors import ProblemsFound
from privity.common.formats.line_numbers import json_lines, toml_lines
from privity.common.privacy.population import Population
from privity.curator.server import load_config as load_curator
from privity.party.policy import Policy, load_policy

BARE = st.text("abzAZ09_-", min_size=1, max_size=4)
ODD = st.text("a.#\"[]{}=,' \\\n\té", max_size=5)
NAMES = BARE | ODD
BLANKS = st.sampled_from(["", " ", "\t "])
BREAKS = st.sampled_from(["", " ", "\n", '  # ] } """ \'\n', "\n\n#a = 1\n "])


def paths(value: object, path: tuple = ()) -> set[tuple]:
    found = {path} if path else set()
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found.union(*(paths(member, (*path, step)) for step, member in members))


class Writer:
    """Writes a document in drawn ways, and notes the line of everything as it goes."""

    def __init__(self, draw, toml: bool) -> None:
        self.draw = draw
        self.toml = toml
        self.text = ""
        self.lines: dict[tuple, int] = {}

    def note(self, path: tuple) -> None:
        line = self.text.count("\n") + 1
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def gap(self, *, breaks: bool) -> None:
        if self.toml:
            self.text += self.draw(BREAKS if breaks else BLANKS)
        else:
            self.text += self.draw(st.sampled_from(["", " ", "\n", "\r\n  "]))

    def quoted(self, text: str, *, lines: bool = False) -> str:
        kinds = ["basic"]
        if self.toml and "'" not in text and "\n" not in text and "\t" not in text:
            kinds.append("literal")
        if self.toml and lines:
            kinds.append("long basic")
            if "'" not in text and not text.startswith("\n"):
                kinds.append("long literal")
        match self.draw(st.sampled_from(kinds)):
            case "literal":
                return f"'{text}'"
            case "long basic":
                inside = text.replace("\\", "\\\\").replace('"""', '""\\"')
                # Up to two quotation marks may stand before the closing ones.
                return '"""\n' + inside + '"""'
            case "long literal":
                return "'''" + text + "'''"
        return json.dumps(text, ensure_ascii=not self.toml)

    def name(self, name: str) -> str:
        bare = self.toml and name and all(sign.isascii() and (sign.isalnum() or sign in "_-") for sign in name)
        return name if bare and self.draw(st.booleans()) else self.quoted(name)

    def value(self, value: object, path: tuple) -> None:
        if isinstance(value, list):
            self.text += "["
            for place, entry in enumerate(value):
                self.gap(breaks=True)
                self.note((*path, place))
                self.value(entry, (*path, place))
                self.gap(breaks=True)
                self.text += "," if place < len(value) - 1 else ""
            self.gap(breaks=True)
            self.text += "]"
        elif isinstance(value, dict):
            self.text += "{"
            for number, (name, member) in enumerate(value.items()):
                self.text += "," if number else ""
                self.gap(breaks=False)
                self.member(name, member, path)
                self.gap(breaks=False)
            self.text += "}"
        elif isinstance(value, str):
            self.text += self.quoted(value, lines=True)
        else:
            self.text += json.dumps(value)

    def member(self, name: str, value: object, path: tuple) -> None:
        inner = value
        steps = [name]
        # a = {b = 1} is a.b = 1, too.
        while self.toml and isinstance(inner, dict) and len(inner) == 1 and self.draw(st.booleans()):
            ((step, inner),) = inner.items()
            steps.append(step)
        self.note((*path, *steps))
        for number, step in enumerate(steps):
            self.text += "." if number else ""
            self.text += self.name(step)
            self.gap(breaks=False)
        self.text += "=" if self.toml else ":"
        self.gap(breaks=False)
        self.value(inner, (*path, *steps))

    def tables(self, table: dict, path: tuple, head: tuple[str, ...]) -> None:
        """Members first, then those members that become tables of their own."""
        later = []
        for name, value in table.items():
            many = isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)
            if (many or isinstance(value, dict)) and self.draw(st.booleans()):
                later.append((name, value))
            else:
                self.gap(breaks=False)
                self.member(name, value, path)
                self.text += self.draw(st.sampled_from(["\n", " # x = [\n", "\r\n", "\n\n"]))
        for name, value in later:
            entries = value if isinstance(value, list) else [value]
            for place, entry in enumerate(entries):
                at = (*path, name, place) if isinstance(value, list) else (*path, name)
                self.note(at)
                start, end = ("[[", "]]\n") if isinstance(value, list) else ("[", "] # y\n")
                self.text += start + " . ".join(self.name(step) for step in (*head, name)) + end
                self.tables(entry, at, (*head, name))


def documents(scalars: st.SearchStrategy) -> st.SearchStrategy:
    values = st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=10,
    )
    return st.dictionaries(NAMES, values, max_size=4)


SCALARS = st.integers(-9, 10**6) | st.booleans() | NAMES | st.floats(-9, 9).map(lambda x: round(x, 2))


@given(st.data(), documents(SCALARS))
def test_toml(data: st.DataObject, document: dict) -> None:
    writer = Writer(data.draw, toml=True)
    writer.tables(document, (), ())
    parsed = tomllib.loads(writer.text)
    found = toml_lines(writer.text)
    assert set(found) == paths(parsed)
    assert found == writer.lines


@given(st.data(), documents(SCALARS | st.none()))
def test_json(data: st.DataObject, document: dict) -> None:
    writer = Writer(data.draw, toml=False)
    writer.gap(breaks=True)
    writer.value(document, ())
    parsed = json.loads(writer.text)
    assert parsed == document
    found = json_lines(writer.text)
    assert set(found) == paths(parsed)
    assert found == writer.lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('a = """"quoted"""""\nb = 1', {("a",): 1, ("b",): 2}),
        ("a = '''\n'x'''''\nb = 1", {("a",): 1, ("b",): 3}),
        ("a = 1979-05-27 07:32:00 # b = 2\nb = 1", {("a",): 1, ("b",): 2}),
        ("[[a]]\n[[a.b]]\n[[a.b]]\n[[a]]\n[a.b]\nc=1", {
            ("a",): 1, ("a", 0): 1, ("a", 0, "b"): 2, ("a", 0, "b", 0): 2, ("a", 0, "b", 1): 3,
            ("a", 1): 4, ("a", 1, "b"): 5, ("a", 1, "b", "c"): 6,
        }),
        ("", {}),
    ],
)  # fmt: skip
def test_corners_of_toml(text: str, lines: dict) -> None:
    assert set(toml_lines(text)) == paths(tomllib.loads(text))
    assert toml_lines(text) == lines


def test_what_is_nested_too_deep_is_known_from_outside() -> None:
    assert json_lines('{"a": 1,\n"b": ' + "[" * 900 + "]" * 900 + "}")[("b",)] == 2
    assert json_lines('{"a": 1,\n"b": ' + "[" * 2_000)[("b",)] == 2


def shown(load, file: Path, text: str) -> list[tuple[int | None, str, str]]:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemsFound) as caught:
        load(file)
    for problem in caught.value.problems:
        place = file if problem.line is None else f"{file}:{problem.line}"
        assert str(problem).startswith(f"{place}: {problem.field and problem.field + ': '}[{problem.rule}] ")
    return [(problem.line, problem.field, problem.rule) for problem in caught.value.problems]


def policy_of(file: Path) -> Policy:
    return load_policy(file, lambda name: Population(name, Fraction(1)))


def test_problems_show_the_line_of_their_key(tmp_path: Path) -> None:
    policy = """\
format_version = 1
population = ""
epsilon_per_run = "much"
colour = "red"
algorithms = [
  "dp-subn",
  7,
]
minimum_parties = 1
minimum_tolerate = 1
minimum_key_bits = 3072
shape.round = true
"""
    assert shown(policy_of, tmp_path / "policy.toml", policy) == [
        (2, "population", "minLength"),
        (3, "epsilon_per_run", "epsilon"),
        (4, "colour", "additionalProperties"),
        (7, "algorithms[1]", "type"),
        (9, "minimum_parties", "minimum"),
        (12, "shape", "additionalProperties"),
    ]


def test_problems_of_a_schema_show_theirs(tmp_path: Path) -> None:
    document = """\ufeff{
  "colour": 1,
  "fields": [
    {"name": "a", "type": "string", "categories": ["x", "y"],
     "taxonomy": {"A": ["x"]}},
    {"type": "boolean"},
    {"name": "a",
     "type": "number"}
  ]
}"""
    assert shown(load_schema, tmp_path / "s.json", document) == [
        (2, "colour", "additionalProperties"),
        (5, "fields[0].taxonomy", "taxonomy-leaves"),
        (6, "fields[1]", "required"),
        (7, "fields[2].name", "duplicate-name"),
        (7, "fields[2]", "no-domain"),
    ]


def test_a_number_that_is_none_has_a_line(tmp_path: Path) -> None:
    keys = ("listen", "key", "manifest", "organiser_key", "schema", "state")
    text = "format_version = 1\npatience = inf\n" + "".join(f'{key} = "h:1"\n' for key in keys)
    assert shown(load_curator, tmp_path / "curator.toml", text) == [(2, "patience", "finite")]
