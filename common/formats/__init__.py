"""The formats of every file that people write or that a run releases, as JSON Schemas (draft 2020-12).

A format ``NAME`` is the file ``common/formats/NAME.schema.json``. JSON is read with its numbers exact: integers as
``int`` of any size, all others as ``decimal.Decimal``. A fault names the place in the file and what to write there.

Open this file for how a document is checked, ``toml_file.py`` for settings that people write, ``line_numbers.py`` for
where in a file a fault is, ``declared_keys.py`` to declare a key of such a file, and ``given_values.py`` for options
and arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from importlib import resources
from math import inf, isfinite
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound, other_version
from privity.common.storage.exact_json import DEEPEST, read_exactly
from privity.common.storage.safe_files import read_regular
from privity.common.text.first_few import FEW
from privity.common.text.short_values import LONGEST_ECHO, listed, path_text, shorten

Places = dict[tuple[str | int, ...], int]
NUMBERS: dict[str, set[type]] = {"integer": {int}, "number": {int, float, Decimal}}
OF_NUMBERS = {"type", "minimum", "maximum", "description", "x-types"}  # keys of a schema that `_all_fit` knows
PLAIN = {str, int, float, Decimal, bool, type(None)}  # types of values without members
OF_PLAIN = OF_NUMBERS | {"const", "enum", "minLength", "maxLength", "pattern"}  # keys of a schema that `_fits` knows
EXACT = "^(0|[1-9][0-9]{0,999})(/[1-9][0-9]{0,999})?$"
"""The form of every exact number that a program writes."""
LINE = r"^([\s\S]*[^\n\r])?$"
"""The form of every text that has no narrower one, and is no content of a table, prose or PEM."""
VALUES_KEPT, LONGEST_KEPT = 1 << 16, 100  # values that are known to fit or not; characters of a text among them
UNREAD = ("format-version", "depth", "text")  # rules whose breach ends the check before the schema is applied


@cache
def load(name: str) -> dict[str, Any]:
    """Return the JSON Schema of the format ``name``; ``KeyError`` if there is no such format."""
    file = resources.files(__name__).joinpath(f"{name}.schema.json")
    if not file.is_file():
        raise KeyError(f"no format is named {name!r}")
    return json.loads(file.read_text(encoding="utf-8"))


def _items(validator: Any, items: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Those of the draft. Items that all fit are looked at together: one by one, a large table takes minutes."""
    if not _all_fit(items, instance):
        yield from Draft202012Validator.VALIDATORS["items"](validator, items, instance, schema)


def _properties(validator: Any, properties: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Those of the draft. A value that many objects have is looked at once."""
    if isinstance(instance, dict):
        held = ((key, instance[key]) for key in properties if key in instance)
        instance = {key: value for key, value in held if not _fits(properties[key], value)}
    yield from Draft202012Validator.VALIDATORS["properties"](validator, properties, instance, schema)


def _all_fit(items: Any, instance: Any) -> bool:
    """Whether an array is known to fit: of numbers alone, or of texts alone, under a schema for such."""
    if not (isinstance(items, dict) and isinstance(instance, list)):
        return False
    types = set(map(type, instance))
    if types == {str}:
        return all(_fits(items, text) for text in instance)
    if not (items.keys() <= OF_NUMBERS and types <= NUMBERS.get(str(items.get("type")), set())):
        return False
    least, most = items.get("minimum", -inf), items.get("maximum", inf)
    return all(least <= number <= most for number in instance)


def _fits(schema: Any, value: Any) -> bool:
    """Whether a value without members is known to fit: its schema has no keys but those in `OF_PLAIN`."""
    if not (type(value) in PLAIN and isinstance(schema, dict) and schema.keys() <= OF_PLAIN):
        return False
    if isinstance(value, str) and len(value) > LONGEST_KEPT:
        return Validator(schema).is_valid(value)
    return _plain_fits(_Schema(schema), value)


class _Schema:
    """A schema as a key of a cache: equal to itself alone, as dictionaries have no hash."""

    __slots__ = ("schema",)

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Schema) and self.schema is other.schema


@lru_cache(maxsize=VALUES_KEPT, typed=True)
def _plain_fits(schema: _Schema, value: object) -> bool:
    """The types of equal values matter: True is no number."""
    return Validator(schema.schema).is_valid(value)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """That of the draft, whose ``$`` is the very end of a text: Python's stands before a last line end, too."""
    if isinstance(instance, str) and not _whole_text(pattern).search(instance):
        yield ValidationError(f"not of the form {pattern}")


@cache
def _whole_text(pattern: str) -> re.Pattern[str]:
    """A pattern of a format as Python reads it; its one ``$``, if it has one, is its last character."""
    return re.compile(f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern)


def _unique_items(validator: Any, unique: bool, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """That of the draft, in one pass: its own compares every two items where some have no order."""
    if unique and isinstance(instance, list) and len(set(map(_hashable, instance))) < len(instance):
        yield ValidationError("an entry appears twice")


def _hashable(value: Any) -> Hashable:
    """Equal for equal values of JSON alone. Numbers are texts here, whose hashes nobody can choose."""
    if isinstance(value, dict):
        return frozenset((key, _hashable(member)) for key, member in value.items())
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    if isinstance(value, bool | None):
        return value
    if isinstance(value, float) and not isfinite(value):
        return "number", repr(value)
    if isinstance(value, int | float | Decimal):
        exact = Fraction(value)
        return "number", f"{exact.numerator:x}/{exact.denominator:x}"
    return "text", value


Validator = extend(
    Draft202012Validator,
    {"items": _items, "properties": _properties, "pattern": _pattern, "uniqueItems": _unique_items},
)
"""Finds what the draft's validator finds, where patterns are as in JavaScript."""


@cache
def _validator(name: str) -> Draft202012Validator:
    return Validator(load(name))


def check(document: object, format_name: str, file: str) -> list[Problem]:
    """Return every violation of the format by ``document``, in order of place; empty if there is none.

    ``file`` is the name that the problems carry; their ``field`` is the path within the document, such
    as ``fields[3].bins``.
    """
    unfit = _other_version(document, format_name, file) or _unfit_text_or_depth(document, file)
    if unfit:
        return unfit
    errors = _leaves(_validator(format_name).iter_errors(document))
    # A dict drops equal problems.
    problems = {problem: _order(path) for error in errors for path, problem in _problems(error, file)}
    return sorted(problems, key=lambda problem: problems[problem])


def located(problems: Iterable[Problem], lines: Callable[[str], Places], text: str) -> list[Problem]:
    """The problems of a document with their lines in its text, as ``lines`` finds them, from the top down.

    What a document lacks has the line of the entry that lacks it, and none if that is the whole document.
    """
    # No problem lies deeper, and what does may be long.
    known = {path_text(path): line for path, line in lines(text).items() if len(path) <= DEEPEST}

    def line_of(field: str) -> int | None:
        while field and field not in known:
            field = field[: max(field.rfind("."), field.rfind("["), 0)]
        return known.get(field)

    found = [replace(problem, line=line_of(problem.field)) for problem in problems]
    return sorted(found, key=lambda problem: problem.line or 0)


def require(document: object, format_name: str, file: str) -> None:
    """Raise ``ProblemsFound`` with every violation of the format, if there is any."""
    problems = check(document, format_name, file)
    if problems:
        raise ProblemsFound(problems)


def read_json(path: Path | str, *, links: bool = True) -> Any:
    """Read a JSON file with exact numbers; a key that appears twice, NaN and Infinity are errors.

    Raises ``PrivityError`` (file-missing, file-unreadable); ``links`` as of ``read_regular``.
    """
    return parse_json(read_regular(path, links=links), str(path))


def parse_json(data: bytes, path: str) -> Any:
    """The same from bytes that came as ``path``."""
    try:
        return read_exactly(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason="not UTF-8 text") from error
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=reason) from error
    except ValueError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=f"not JSON: {error}") from error


def _other_version(document: object, format_name: str, file: str) -> list[Problem]:
    """That a document is of another version of its format: what else is wrong with it is not known then."""
    expected = load(format_name)["properties"].get("format_version", {}).get("const")
    found = document.get("format_version") if isinstance(document, dict) else None
    if expected is None or type(found) is not int or found == expected:
        return []
    return [other_version(file, found, expected)]


def _unfit_text_or_depth(document: object, file: str) -> list[Problem]:
    """Find what neither the validator nor canonical JSON can carry: deep nesting and lone surrogates."""
    problems = []
    pending: list[tuple[object, tuple[str | int, ...]]] = [(document, ())]
    while pending:
        value, path = pending.pop()
        if len(path) > DEEPEST:
            message, remedy = f"nested deeper than {DEEPEST} levels.", "Use fewer levels."
            return [Problem(file, path_text(path[:3]), "depth", message, remedy)]
        if isinstance(value, dict):
            pending += [(member, (*path, str(key))) for key, member in value.items() if _may_be_unfit(member, path)]
            pending += [(key, path) for key in value if _may_be_unfit(key, ())]
        elif isinstance(value, list) and not set(map(type, value)) <= NUMBERS["number"]:
            pending += [(member, (*path, place)) for place, member in enumerate(value) if _may_be_unfit(member, path)]
        elif isinstance(value, str) and not _is_unicode(value):
            message, remedy = "a text holds half of a surrogate pair.", "Write it as Unicode text."
            problems.append(Problem(file, path_text(path).encode(errors="replace").decode(), "text", message, remedy))
    return problems


def _may_be_unfit(value: object, within: tuple[str | int, ...]) -> bool:
    """Whether a value has members, is as deep as that is refused, or is a text that is not ASCII."""
    if isinstance(value, str):
        return not value.isascii() or len(within) >= DEEPEST
    return isinstance(value, dict | list)


def _is_unicode(text: str) -> bool:
    """Whether every surrogate has its pair: UTF-8 has no others."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _leaves(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """Walk to the innermost errors: those of the branch of an ``anyOf`` or ``oneOf`` that fits best."""
    for error in errors:
        if not error.context:
            yield error
            continue
        branches: dict[object, list[ValidationError]] = {}
        for inner in error.context:
            branches.setdefault(inner.schema_path[0], []).append(inner)
        # A branch that fails deeper in the document was nearer to what the writer meant.
        yield from _leaves(max(branches.values(), key=lambda branch: max(len(e.path) for e in branch)))


def _order(path: Iterable[str | int]) -> tuple[tuple[int, int, str], ...]:
    """Sort key of a place: array positions by number, keys by name."""
    return tuple((0, step, "") if isinstance(step, int) else (1, 0, step) for step in path)


def _problems(error: ValidationError, file: str) -> Iterator[tuple[tuple[str | int, ...], Problem]]:
    """Problems with their paths: one for each unknown key, and one for anything else."""
    path, rule = tuple(error.absolute_path), str(error.validator)
    known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    if rule == "additionalProperties" and isinstance(error.instance, dict) and error.validator_value is False:
        unknown = [key for key in error.instance if key not in known]
        remedy = f"Known keys: {', '.join(sorted(known))}."
        for key in unknown[:FEW]:
            # A key that is too long to be repeated is told by what holds it.
            place = path_text([*path, key] if len(key) <= LONGEST_ECHO else path)
            yield (*path, key), Problem(file, place, rule, f"unknown key {shorten(key)}.", remedy)
        if len(unknown) > FEW:
            message = f"{len(unknown) - FEW} more unknown keys."
            yield path, Problem(file, path_text(path), rule, message, remedy)
        return
    message, remedy = _describe(error)
    yield path, Problem(file, path_text(path), rule, message, remedy)


def _describe(error: ValidationError) -> tuple[str, str]:
    """Return (message, remedy) of one violation, in plain words and without echoing large values."""
    limit: Any = error.validator_value
    found: Any = error.instance
    match error.validator:
        case "required":
            lacking = next(key for key in limit if key not in found and repr(key) in error.message)
            return f"the key {lacking!r} is missing.", f"Add {lacking!r}."
        case "dependentRequired":
            pairs = [(key, need) for key in limit if key in found for need in limit[key] if need not in found]
            key, need = next(pair for pair in pairs if repr(pair[1]) in error.message)
            return (
                f"the key {need!r} is missing, without which {key!r} says nothing.",
                f"Add {need!r}, or remove {key!r}.",
            )
        case "type":
            expected = " or ".join([limit] if isinstance(limit, str) else limit)
            return f"expected {expected}, found {_json_type(found)}.", f"Write a value of type {expected}."
        case "enum":
            return f"{shorten(found)} is not one of the values allowed.", f"Write one of: {listed(limit)}."
        case "const":
            return f"{shorten(found)} is not {shorten(limit)}.", f"Write {shorten(limit)}."
        case "minimum":
            return f"{shorten(found)} is less than {limit}.", f"Write {limit} or more."
        case "exclusiveMinimum":
            return f"{shorten(found)} is not more than {limit}.", f"Write more than {limit}."
        case "maximum":
            return f"{shorten(found)} is more than {limit}.", f"Write {limit} or less."
        case "exclusiveMaximum":
            return f"{shorten(found)} is not less than {limit}.", f"Write less than {limit}."
        case "minItems" | "minProperties":
            return f"{len(found)} entries, fewer than {limit}.", f"Give at least {limit}."
        case "maxItems" | "maxProperties":
            return f"{len(found)} entries, more than {limit}.", f"Give at most {limit}."
        case "minLength":
            return f"{len(found)} characters, fewer than {limit}.", f"Write at least {limit} character(s)."
        case "maxLength":
            return f"{len(found)} characters, more than {limit}.", f"Write at most {limit} characters."
        case "uniqueItems":
            return "an entry appears twice.", "Keep each entry once."
        case "pattern" if limit == LINE:
            return f"{shorten(found)} ends with a line end.", "Remove the line end."
        case "pattern" if limit == EXACT:
            return f"{shorten(found)} is no exact number.", "Write a whole number or a fraction, such as 5 or 1/3."
        case "pattern":
            form = error.schema.get("title", limit) if isinstance(error.schema, dict) else limit
            return f"{shorten(found)} does not have the form {form}.", "Write it in this form."
        case other:
            return f"does not meet {other!r}: {shorten(limit)}.", "Correct it as the format says."


def _json_type(value: object) -> str:
    names = {
        dict: "object",
        list: "array",
        str: "string",
        bool: "boolean",
        type(None): "null",
        int: "integer",
    }
    return names.get(type(value), "number")
