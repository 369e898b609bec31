"""Keys of a settings file: fields of a dataclass, each declared once with its form, default and meaning.

From this follow reading, the JSON Schema of the format, the file that a command writes for a new member, the form in
the console, and the tables of docs/formats.md; ``python -m docs.site.declared_keys`` writes what is committed of them.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any

from privity.common.errors import Problem
from privity.common.formats import LINE
from privity.common.formats.toml_file import read_toml

FORMAT_VERSION = 1
WIDTH = 120
"""Characters of a line of a new file."""

PATHS = "Paths are relative to this file; absolute paths are taken as they are."
NAME = {
    "type": "string",
    "title": "1 to 63 letters, digits, dots, _ or -, a letter or digit first",
    "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$",
}
ADDRESS = {"type": "string", "title": "host:port", "pattern": "^.{1,255}:[0-9]{1,5}$"}
PUBLIC_ADDRESS = ADDRESS | {"pattern": r"^[^:\s]{1,255}:[0-9]{1,5}$"}


@dataclass(frozen=True, kw_only=True)
class Key:
    """How one key was declared.

    Attributes:
        form: JSON Schema of its values.
        meaning: in words, from the middle of a sentence on, without the last full stop.
        required: whether every file has it.
        default: as in a document; None if there is none, or what holds follows from something else.
        by_default: the default in words; empty if there is nothing to say.
        read: what the field holds, of a value that fits and the file's folder.
        problems: faults that the form does not know, of a document with this key alone, which need not fit the form.
        start: value in a new file; None leaves it to whoever makes the file.
        example: in TOML, for a new file that does not have the key; empty leaves it out.
        label: name in the console.
        choices: names of which a value is one, or some.
        technical: whether few people need to look at it.
    """

    form: Mapping[str, Any]
    meaning: str
    required: bool
    default: Any
    by_default: str
    read: Callable[[Any, Path], Any] = lambda value, _folder: value
    problems: Callable[[dict[str, Any], str], Iterable[Problem]] = lambda _document, _file: ()
    start: Any = None
    example: str = ""
    label: str = ""
    choices: tuple[str, ...] = ()
    technical: bool = False

    def by_itself(self) -> Any:
        """What the field holds by default."""
        return None if self.default is None else self.read(self.default, Path())

    @property
    def is_list(self) -> bool:
        return self.form.get("type") == "array"

    @property
    def description(self) -> str:
        """Its meaning and its default."""
        return ". By default ".join(filter(None, (self.meaning, self.by_default)))

    @property
    def in_words(self) -> str:
        """The same with the range of a number."""
        least, above, most = (self.form.get(name) for name in ("minimum", "exclusiveMinimum", "maximum"))
        if self.form.get("type") not in ("integer", "number"):
            return self.description
        known = f"A number above {above}" if least is None else f"A number from {least} to {most}"
        return f"{self.meaning}. {'; by default '.join(filter(None, (known, self.by_default)))}"

    @property
    def sentence(self) -> str:
        """The same from the beginning of a sentence to its full stop."""
        return f"{self.in_words[0].upper()}{self.in_words[1:]}."


def of_form(
    form: Mapping[str, Any],
    meaning: str,
    default: Any = MISSING,
    *,
    by_default: str = "",
    secret: bool = False,
    **how: Any,
) -> Any:
    """A key of any form.

    Args:
        default: as in a document; without one the key is required.
        secret: whether its value is left out of text forms.
        how: other attributes of ``Key``.
    """
    required = default is MISSING
    default = None if required else default
    if default is not None and not by_default:
        several = default if isinstance(default, list) else [default]
        by_default = " and ".join(f"`{each}`" if isinstance(each, str) else json.dumps(each) for each in several)
    made = Key(form=form, meaning=meaning, required=required, default=default, by_default=by_default, **how)
    absent: dict[str, Any] = {} if required else {"default_factory": made.by_itself}
    return field(**absent, repr=not secret, metadata={"key": made})


def text(meaning: str, longest: int = 1000, **how: Any) -> Any:
    """A text in one line."""
    return of_form({"type": "string", "minLength": 1, "maxLength": longest, "pattern": LINE}, meaning, **how)


def path(meaning: str, **how: Any) -> Any:
    """A path, relative to the file's folder."""
    return text(meaning, 4096, read=lambda value, folder: folder / value, **how)


def whole(meaning: str, least: int, most: int, **how: Any) -> Any:
    """A whole number, both ends included."""
    return of_form({"type": "integer", "minimum": least, "maximum": most}, meaning, **how)


def positive(meaning: str, most: int | None = None, **how: Any) -> Any:
    """A number above 0, whole or not."""
    form = {"type": "number", "exclusiveMinimum": 0} | ({} if most is None else {"maximum": most})
    return of_form(form, meaning, read=lambda value, _folder: float(value), **how)


def flag(meaning: str, *, default: bool, **how: Any) -> Any:
    """True or false."""
    return of_form({"type": "boolean"}, meaning, default=default, **how)


def choice(meaning: str, kind: type[Enum], **how: Any) -> Any:
    """A member of an enumeration, by its value."""
    names = [member.value for member in kind]
    return of_form({"enum": names}, meaning, choices=tuple(names), read=lambda value, _folder: kind(value), **how)


def names(meaning: str, items: Mapping[str, Any], least: int = 1, **how: Any) -> Any:
    """Different texts of one form."""
    form = {"type": "array", **({"minItems": least} if least else {}), "uniqueItems": True, "items": items}
    return of_form(form, meaning, read=lambda value, _folder: tuple(value), **how)


def some_of(meaning: str, choices: Sequence[str], least: int = 1, **how: Any) -> Any:
    """Some of these texts."""
    return names(meaning, {"enum": list(choices)}, least, choices=tuple(choices), **how)


def table(meaning: str, read: Callable[[Any, Path], Any], problems: Any, **how: Any) -> Any:
    """A table at the end of the file, empty by default."""
    return of_form({"type": "object"}, meaning, read=read, problems=problems, default={}, **how)


def part(kind: type[Any]) -> Any:
    """An object of another dataclass, whose keys stand in the same file."""
    return field(metadata={"part": kind})


def or_none(declared: Any) -> Any:
    """A field that is None of an object that does not give it, whatever a file without the key means."""
    return field(default=None, metadata=declared.metadata)


def always(kind: type[Any], name: str) -> Any:
    """The key of a class above, in a field that is never None."""
    return field(metadata=kind.__dataclass_fields__[name].metadata)


@dataclass(frozen=True)
class SettingsFile:
    """What a format is beside its keys; a dataclass of keys has it as ``FILE``.

    Attributes:
        name: of the format.
        title: of the JSON Schema.
        description: of what people must know of the file.
        together: keys that say nothing without others.
    """

    name: str
    title: str
    description: str = PATHS
    together: Mapping[str, list[str]] = field(default_factory=dict)


def keys_of(kind: type[Any]) -> dict[str, Key]:
    """The keys by name, in the order of the fields."""
    found: dict[str, Key] = {}
    for each in fields(kind):
        if "part" in each.metadata:
            found |= keys_of(each.metadata["part"])
        elif "key" in each.metadata:
            found[each.name] = each.metadata["key"]
    return found


def read_settings(
    kind: type[Any], file: Path, also: Callable[[dict[str, Any]], Iterable[Problem]] = lambda _document: ()
) -> dict[str, Any]:
    """What the fields hold of the keys that a file has.

    Args:
        also: finds faults that lie between keys, or that ``Key.problems`` cannot know.

    Raises:
        PrivityError, ProblemsFound: as ``read_toml``; every fault at once.
    """
    keys = keys_of(kind)

    def problems(document: dict[str, Any]) -> list[Problem]:
        given = [(name, each) for name, each in keys.items() if name in document]
        own = [found for name, each in given for found in each.problems({name: document[name]}, str(file))]
        return [*own, *also(document)]

    document = read_toml(file, kind.FILE.name, problems)
    return {name: each.read(document[name], file.parent) for name, each in keys.items() if name in document}


def new_file(kind: type[Any], **given: Any) -> str:
    """The text of a new file: keys with these values or those they start with, and examples, each with its meaning.

    JSON writes texts, numbers and lists as TOML does.
    """
    lines = [
        *_comment(f"{kind.FILE.title} (docs/formats.md). {kind.FILE.description}"),
        f"format_version = {FORMAT_VERSION}",
    ]
    # What stands below the name of a table belongs to it.
    for name, each in sorted(keys_of(kind).items(), key=lambda item: item[1].form.get("type") == "object"):
        value = each.start if given.get(name) is None else given[name]
        if value is None and not each.example:
            continue
        lines += ["", *_comment(each.sentence)]
        example = each.example if each.example.startswith("[" + name) else f"{name} = {each.example}"
        lines += [f"# {line}" for line in example.split("\n")] if value is None else [_assigned(name, value)]
    return "\n".join([*lines, ""])


def _comment(words: str) -> list[str]:
    return textwrap.wrap(words, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _assigned(name: str, value: Any) -> str:
    line = f"{name} = {json.dumps(value)}"
    if len(line) <= WIDTH or not isinstance(value, list | tuple):
        return line
    inner = textwrap.fill(f"{json.dumps(value)[1:-1]},", WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"{name} = [\n{inner}\n]"
