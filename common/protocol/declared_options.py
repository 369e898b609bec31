"""How the options of a run are declared: kinds of values, and the fields of a dataclass that options give.

``privity.common.protocol.run_terms`` declares what parties enrol in, ``privity.common.runs.run_request`` the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum, StrEnum
from fractions import Fraction
from typing import Any

from privity.common.formats import LINE
from privity.common.formats.given_values import bad_option, names_in, one_of, plain_settings, whole_number
from privity.common.privacy.budget import Number, exact_number
from privity.common.storage.canonical_json import fraction


class Taker(StrEnum):
    """What takes an option."""

    SUBMIT = "submit"
    PLAN = "plan"
    SIMULATE = "simulate"
    SYNTHESIZE = "synthesize"


EVERY = tuple(Taker)
OVER_PARTIES = (Taker.SUBMIT, Taker.PLAN, Taker.SIMULATE)
OF_A_CONSORTIUM = (Taker.SUBMIT, Taker.PLAN)


@dataclass(frozen=True)
class Kind:
    """How values of one type are written and checked.

    Attributes:
        schema: JSON Schema of a value in a run request.
        command, python: type of a command's option; annotation of an argument in Python.
        given: a value as it was given under a name, as a run request has it; raises PrivityError, bad-option.
        read: a value of a run request that fits the schema, for programs.
        write: the inverse of ``read``.
        of_plan: a value of a plan, where texts of numbers have one spelling; raises ValueError or TypeError.
        between: what stands between several values in a form.
    """

    schema: Mapping[str, Any]
    command: Any
    python: str
    given: Callable[[str, Any], Any]
    read: Callable[[Any], Any] = lambda value: value
    write: Callable[[Any], Any] = lambda value: value
    of_plan: Callable[[Any], Any] = lambda value: value
    between: str = ","


@dataclass(frozen=True)
class Option:
    """One thing that may be asked for.

    Attributes:
        meaning: in a few words.
        default: as in a run request; None if nothing is asked for, or what holds follows from something else.
        by_default: what holds then, in words.
        takers: what takes it.
        key: where a run request has it, if that is not its own name.
        flag: its name as a command's option, if that is not its own.
        label: what the operator's form calls it, which has no other options.
        is_required: whether a run request must have it.
    """

    meaning: str
    kind: Kind
    default: Any = None
    by_default: str = ""
    takers: Sequence[Taker] = OVER_PARTIES
    key: tuple[str, ...] = ()
    flag: str = ""
    label: str = ""
    is_required: bool = False

    @property
    def may_be_nothing(self) -> bool:
        """Whether nothing may be asked for."""
        return self.default is None and not self.is_required

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of its value in a run request, which may be null if nothing is asked for by default."""
        form, described = self.kind.schema, {"description": self.told}
        if not self.may_be_nothing or self.key:
            return {**form, **described}
        if "enum" in form:
            return {"enum": [*form["enum"], None], **described}
        if form["type"] == "array":
            return {"anyOf": [form, {"type": "null"}], **described}
        return {**form, "type": [form["type"], "null"], **described}

    @property
    def told(self) -> str:
        """Meaning and default in one line."""
        default = self.by_default or ("" if self.default is None else str(self.default))
        return f"{self.meaning}; by default {default}" if default else self.meaning


def whole(least: int, most: int, *, of_one_owner: int | None = None) -> Kind:
    """A whole number, both ends included; the plan of one owner's run may have another one."""

    def given(name: str, value: Any) -> int:
        return value if value is not None and value == of_one_owner else whole_number(name, value, least)

    def of_plan(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError("no whole number")
        return value

    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Kind(schema, int, "int", given, of_plan=of_plan)


def exact(parse: Callable[[Number, str], Fraction]) -> Kind:
    """An exact number within what ``parse`` takes; a text of a person stays as it is."""

    def given(name: str, value: Number) -> str:
        number = parse(value, name)
        return value.strip() if isinstance(value, str) else str(number)

    def read(text: str) -> Fraction:
        try:
            return exact_number(text)
        except ValueError as error:
            hint = "Give a decimal such as 1.0 or a fraction such as 1/3."
            raise bad_option("epsilon or delta", str(error), hint) from None

    schema = {"type": "string", "minLength": 1, "maxLength": 100, "pattern": LINE}
    return Kind(schema, str, "Number", given, read, str, fraction)


def names(
    most: int | None = None, *, least: int = 1, commas: bool = False, once: bool = True, between: str = ","
) -> Kind:
    """Several names, on a command line in one text with commas or one at a time.

    Args:
        between: what stands between them in a form.
        once: whether the format of a request refuses one that is named twice.
    """

    def given(name: str, value: Any) -> list[str] | None:
        if commas and isinstance(value, str):
            value = [word for word in map(str.strip, value.split(",")) if word]
        return names_in(name, value) or None

    item = {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": LINE}
    bounds: dict[str, Any] = {"minItems": least} if least else {}
    bounds |= {} if most is None else {"maxItems": most}
    schema = {"type": "array", **bounds, **({"uniqueItems": True} if once else {}), "items": item}
    return Kind(schema, str if commas else list[str], "Sequence[str]", given, tuple, list, _texts, between)


def _texts(value: Any) -> tuple[str, ...]:
    if not all(isinstance(text, str) for text in value) or len(set(value)) != len(value):
        raise ValueError("no names, or one twice")
    return tuple(value)


def choice(members: type[Enum]) -> Kind:
    """The text of a member of an enumeration."""
    texts = [member.value for member in members]
    return Kind(
        {"enum": texts}, members, f"{members.__name__} | str",
        lambda name, value: one_of(name, value, members).value, members, lambda member: member.value, members,
    )  # fmt: skip


def one_number_of(*numbers: int) -> Kind:
    """One of some numbers."""
    *others, last = map(str, numbers)

    def given(name: str, value: Any) -> int:
        if value not in numbers:
            raise bad_option(name, f"{value} is not offered", f"Use {', '.join(others)} or {last}.")
        return int(value)

    return Kind({"enum": list(numbers)}, int, "int", given)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


NAME = Kind(
    {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": LINE}, str, "str",
    lambda _name, value: value, of_plan=_text,
)  # fmt: skip


def _document(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("no settings")
    return value


SETTINGS = Kind({"type": "object"}, str, "Mapping[str, Any]", plain_settings, of_plan=_document)


class Term:
    """A field of a dataclass of terms, which one option gives."""

    def __init__(self, option: Option) -> None:
        self._option, self._kind = option, option.kind

    def options(self, name: str) -> dict[str, Option]:
        """What gives it, by name."""
        return {name: self._option}

    def read(self, name: str, request: Mapping[str, Any]) -> Any:
        """Its value from a run request that holds every option."""
        return None if request[name] is None else self._kind.read(request[name])

    def default(self) -> Any:
        return self.read("", {"": self._option.default})

    def content(self, value: Any) -> Any:
        """Its value in plans and releases."""
        return None if value is None else self._kind.write(value)

    def of_plan(self, content: Any) -> Any:
        """The inverse of ``content``; raises ValueError, KeyError or TypeError for anything else."""
        return None if content is None and self._option.may_be_nothing else self._kind.of_plan(content)

    def asked(self, name: str, value: Any) -> dict[str, Any]:
        """Its part of a run request."""
        return {name: self.content(value)}


def term(how: Term | Option) -> Any:
    """A field of a dataclass of terms; it has a default unless it is required."""
    made = how if isinstance(how, Term) else Term(how)
    if isinstance(how, Option) and how.is_required:
        return field(metadata={"term": made})
    return field(default_factory=made.default, metadata={"term": made})


def terms_of(kind: type[Any]) -> dict[str, Term]:
    """The terms that a dataclass declares, by the names of its fields."""
    return {each.name: each.metadata["term"] for each in fields(kind) if "term" in each.metadata}


def options_of(kind: type[Any], taker: Taker | None = None) -> dict[str, Option]:
    """The options that give the terms of a dataclass, by name; those that one takes, if it is named."""
    every = {name: each for field_, how in terms_of(kind).items() for name, each in how.options(field_).items()}
    return {name: each for name, each in every.items() if taker is None or taker in each.takers}
