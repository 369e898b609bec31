"""policy.toml as a form: what was typed becomes a change of the file's text, checked by what the node reads it with."""

from __future__ import annotations

import contextlib
import hashlib
import re
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import tomlkit
from markupsafe import Markup, escape
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array

from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.formats.declared_keys import Key, keys_of
from privity.common.privacy.budget import readable
from privity.common.storage.safe_files import appearing
from privity.party.approvals import Filed
from privity.party.policy import Policy

BOM = "\ufeff"
YES, NO = "yes", "no"
Typed = dict[str, str | list[str]]
"""What a form holds, by the keys of the policy: a text, or the names that are ticked."""
Read = Callable[[Path], Policy]


@dataclass(frozen=True)
class Field:
    """A key of the policy as a form shows it, by how it is declared."""

    key: str
    declared: Key

    @property
    def label(self) -> str:
        return self.declared.label or self.key.replace("_", " ").capitalize()

    @property
    def hint(self) -> Markup:
        lines, empty = "One a line." if self.lines else "", "May be empty." if self.may_be_empty else ""
        said = " ".join(filter(None, (self.declared.sentence, lines, empty)))
        return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(said))))  # noqa: S704

    @property
    def choices(self) -> tuple[str, ...]:
        """Names that may be ticked; of a text there are none."""
        return (YES, NO) if self.declared.form.get("type") == "boolean" else self.declared.choices

    @property
    def several(self) -> bool:
        """Whether more than one may be ticked."""
        return self.declared.is_list and bool(self.choices)

    @property
    def lines(self) -> bool:
        """Whether the text is a list of names, one a line."""
        return self.declared.is_list and not self.choices

    @property
    def may_be_empty(self) -> bool:
        return not self.declared.required and self.declared.default is None

    @property
    def technical(self) -> bool:
        return self.declared.technical

    def shown(self, policy: Policy, document: Mapping[str, Any]) -> str | list[str]:
        """What the form holds of a policy that is obeyed, whose file is this document."""
        value = getattr(policy, self.key)
        if self.declared.form.get("type") == "string":
            return str(document.get(self.key, ""))
        if self.several:
            return list(value)
        if self.lines:
            return "\n".join(value or ())
        if isinstance(value, bool):
            return YES if value else NO
        return "" if value is None else str(value.value if isinstance(value, Enum) else value)

    def value(self, given: str | list[str]) -> Any:
        """For the file: None leaves the key out. What is no number stays a text, at which the format takes offence."""
        if isinstance(given, list):
            return given
        text, kind = given.strip(), self.declared.form.get("type")
        if self.lines:
            return list(dict.fromkeys(line.strip() for line in text.split("\n") if line.strip())) or None
        if kind == "boolean" and text in (YES, NO):
            return text == YES
        if self.may_be_empty and not text:
            return None
        if kind == "integer":
            return int(text) if text.isdecimal() and len(text) < 10 else text
        return text

    def same(self, one: object, other: object) -> bool:
        """Whether a policy says the same by both; the order of names says nothing."""
        if isinstance(one, tuple) and isinstance(other, tuple):
            return set(one) == set(other)
        return one == other


FIELDS = tuple(
    sorted(
        (Field(name, each) for name, each in keys_of(Policy).items() if name != "population"),
        key=lambda field: field.technical,
    )
)
LABELS = {field.key: field.label for field in FIELDS}
_STRING_OR_COMMENT = re.compile(
    r'"""(?:\\.|[^\\])*?"""' r"|'''.*?'''" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'" r"|(#[^\r\n]*)", re.DOTALL
)
"""In TOML a # within a string begins no comment."""


def sha256(text: str) -> str:
    """Of a file's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def text_of(path: Path) -> str:
    """A policy's text, byte by byte as it stands.

    Raises:
        PrivityError: file-missing, or file-unreadable.
    """
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        raise PrivityError(Catalogue.FILE_MISSING, file=path) from None
    except (OSError, ValueError) as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=type(error).__name__) from None


def unchanged(path: Path, digest: str) -> str:
    """The text of a file that is still the one which a form was made of.

    Raises:
        PrivityError: bad-option: it is not; or as ``text_of``.
    """
    text = text_of(path)
    if sha256(text) != digest:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="policy", reason="the file changed since the form was shown; nothing was"
            " written", hint="Open the page of the policy again, and change it there.",
        )  # fmt: skip
    return text


def shown(policy: Policy, text: str) -> Typed:
    """What the form holds of a policy that is obeyed, before anybody types."""
    document = tomlkit.parse(text.removeprefix(BOM))
    return {field.key: field.shown(policy, document) for field in FIELDS}


def typed(form: Any) -> Typed:
    """What was sent; what is absent is empty, so that a form that was cut off changes nothing unseen."""
    return {
        field.key: form.getlist(field.key) if field.several else form.get(field.key, "").replace("\r\n", "\n")
        for field in FIELDS
    }


def changed_text(text: str, was: Typed, now: Typed) -> str:
    """The file's text with what was typed, and everything else as it was."""
    mark = BOM if text.startswith(BOM) else ""
    document = tomlkit.parse(text.removeprefix(BOM))
    for field in FIELDS:
        key, value = field.key, field.value(now[field.key])
        if value == field.value(was[field.key]):
            continue
        if isinstance(value, list) and field.several and set(value) == set(was[key]):
            continue
        if value is None:
            document.remove(key)
        elif isinstance(value, list) and isinstance(document.get(key), Array):
            document[key] = _with_names(document[key], value)
        else:
            if key not in document and document.as_string() and not document.as_string().endswith("\n"):
                document.add(tomlkit.nl())
            document[key] = value
    return mark + document.as_string()


def _with_names(array: Array, names: list[str]) -> Array:
    """What is left of a list keeps its place and its comments, if the library can; what is new comes last."""
    there = [str(name) for name in array]
    wanted = [*(name for name in there if name in names), *(name for name in names if name not in there)]
    for name in there:
        if name not in names:
            array.remove(name)
    for name in names:
        if name not in there:
            array.append(name)
    with contextlib.suppress(TOMLKitError):
        # After some comments it writes an array that does not end, or of which a name is commented out.
        if [*tomlkit.parse(f"names = {array.as_string()}")["names"]] == wanted:
            return array
    fresh = tomlkit.array()
    fresh.extend(wanted)
    return fresh


def lost_comments(before: str, after: str) -> list[str]:
    """Comments of a file that its new text does not have: they stood with what was taken out."""
    kept = Counter(_comments(after))
    return [comment for comment in _comments(before) if not kept[comment] or kept.subtract((comment,))]


def _comments(text: str) -> list[str]:
    return [found[1].strip() for found in _STRING_OR_COMMENT.finditer(text) if found[1]]


def checked(text: str, read: Read) -> Policy:
    """The policy that a text would be, by what the node reads it with.

    Raises:
        PrivityError, ProblemsFound: as ``load_policy``.
    """
    with tempfile.TemporaryDirectory(prefix="privity-") as folder:
        scratch = Path(folder) / "policy.toml"
        scratch.write_bytes(text.encode())
        return read(scratch)


def faults(error: PrivityError) -> dict[str, list[str]]:
    """What is amiss, by the keys of the form; under "" what belongs to none."""
    problems = error.problems if isinstance(error, ProblemsFound) else ()
    found: dict[str, list[str]] = {}
    for one in problems or (Problem("", "", "", error.message, error.remedy),):
        key = one.field.partition("[")[0]
        found.setdefault(key if key in LABELS else "", []).append(f"{one.message} {one.remedy}")
    return found


def differences(was: Policy, now: Policy) -> Iterator[tuple[str, str, str]]:
    """What changes: (label, before, from now on)."""
    for field in FIELDS:
        before, after = getattr(was, field.key), getattr(now, field.key)
        if not field.same(before, after):
            yield field.label, _words(before), _words(after)


def _words(value: object) -> str:
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, Fraction):
        return readable(value)
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if isinstance(value, Enum):
        return str(value.value)
    return "all" if value is None else str(value)


@dataclass(frozen=True)
class Hindsight:
    """What a policy would have said to past runs: names, each with reasons of a refusal.

    Attributes:
        refused: those that were asked for, and that it would have refused.
        allowed: those that were refused by policy, and that it would not refuse now; with the reasons of then.
    """

    refused: list[tuple[str, list[str]]]
    allowed: list[tuple[str, list[str]]]


def hindsight(filed: list[Filed], policy: Policy, party: str, parties_per_person: int) -> Hindsight:
    """By the rules that the node admits runs with; keys are made later than that, and are left out."""
    found = Hindsight([], [])
    for one in filed:
        reasons = policy.refusals(
            one.spec, party, here=policy.population.rows_per_person, elsewhere=parties_per_person - 1,
            parties_per_person=parties_per_person,
        )  # fmt: skip
        denied = one.denied is not None and one.denied.code == Catalogue.REFUSED_BY_POLICY.value.code
        if reasons and not denied:
            found.refused.append((one.spec.run, reasons))
        elif denied and not reasons and one.denied is not None:
            found.allowed.append((one.spec.run, list(one.denied.reasons)))
    return found


def write(path: Path, text: str, digest: str) -> None:
    """The new text in the place of that which was shown, or nothing.

    Raises:
        PrivityError: bad-option: the file was changed meanwhile; file-unreadable.
    """
    place = path.resolve()
    with appearing(place) as scratch:
        scratch.write_bytes(text.encode())
        scratch.chmod(stat.S_IMODE(place.stat().st_mode))
        unchanged(place, digest)


def is_same(policy: Policy, now: Mapping[str, str | list[str]]) -> bool:
    """Whether a policy is what was typed, so that no rewriting of the text can have meant something else."""
    for field in FIELDS:
        given = field.value(now[field.key])
        absent = policy.population.total_delta if field.key == "delta_per_run" else None
        meant = absent if given is None else field.declared.read(given, Path())
        if not field.same(getattr(policy, field.key), meant):
            return False
    return True
