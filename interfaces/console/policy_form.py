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
from fractions import Fraction
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array

from privity.common.crypto.residues import Exponents
from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.privacy.budget import exact_number, readable
from privity.common.protocol.secure_sum_method import Method
from privity.common.runs.run_limits import RunLimits
from privity.common.storage.safe_files import appearing
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.party.approvals import Filed
from privity.party.policy import Approval, Policy

BOM = "\ufeff"
YES, NO = "yes", "no"
Typed = dict[str, str | list[str]]
"""What a form holds, by the keys of the policy: a text, or the names that are ticked."""
Read = Callable[[Path], Policy]


@dataclass(frozen=True)
class Field:
    """A key of the policy as a form shows it.

    Attributes:
        choices: names that may be ticked; of a text there are none.
        several: whether more than one may be ticked.
        lines: whether the text is a list of names, one a line.
        technical: whether few owners need to look at it.
    """

    key: str
    label: str
    hint: str
    choices: tuple[str, ...] = ()
    several: bool = False
    lines: bool = False
    technical: bool = False


_LIMITS = tuple(RunLimits.__dataclass_fields__)
FIELDS = (
    Field(
        "approval",
        "Who approves a run",
        "manual: each run waits until a person approves it. by-policy: a run within these limits goes on by itself.",
        tuple(one.value for one in Approval),
    ),
    Field(
        "runs_per_day",
        "Most runs a day without asking",
        "With by-policy: one more within 24 hours waits until a person approves it. Empty sets no limit.",
    ),
    Field(
        "epsilon_per_day",
        "Most these runs may cost a day (epsilon)",
        "With by-policy: what the runs of 24 hours about which nobody was asked may cost one person. Empty: no limit.",
    ),
    Field(
        "epsilon_per_run",
        "Most one run may cost (epsilon)",
        "What one run may cost one person, such as 0.5 or 1/3. Less is more private, and makes a less accurate table.",
    ),
    Field(
        "delta_per_run",
        "Most one run may cost besides (delta)",
        "The small chance that one run may exceed its epsilon. 0 allows none. Empty"
        " stands for the total that was declared for these people.",
    ),
    Field(
        "algorithms",
        "Algorithms",
        "How a synthetic table may be made. A run by any other algorithm is refused.",
        tuple(ALGORITHMS),
        several=True,
    ),
    Field("minimum_parties", "Fewest parties", "A run over fewer parties than this is refused; at least 2."),
    Field(
        "parties_per_person",
        "Most parties at which one person has rows",
        "What a run costs a person is counted with it. 1: each person is at one party only.",
    ),
    Field(
        "attributes",
        "Attributes",
        "Those that a run may be about, one a line. Leave it empty to allow all of them.",
        lines=True,
    ),
    Field(
        "evaluation",
        "Scores of the synthetic table",
        "Whether a run may spend a share of its epsilon on telling how good its table is, by these rows.",
        (YES, NO),
    ),
    Field(
        "published",
        "Limits that operators may know",
        "So that they ask for no run that would be refused. A refusal names its limit in any case.",
        _LIMITS,
        several=True,
    ),
    Field(
        "minimum_tolerate",
        "Fewest colluding parties tolerated",
        "So many of the other parties may join forces without learning this party's sums; at least 1.",
        technical=True,
    ),
    Field(
        "minimum_key_bits",
        "Shortest key of encrypted sums, in bits",
        "3072 is usual; 2048 is the least.",
        technical=True,
    ),
    Field(
        "secure_sums",
        "Secure sums",
        "How parties may add up their counts without showing them. paillier: by encryption."
        " masks: by random numbers that cancel, which is faster.",
        tuple(one.value for one in Method),
        several=True,
        technical=True,
    ),
    Field(
        "exponents",
        "Exponents of encrypted sums",
        "Of the randomness of encryption. short is fastest, and rests on a stronger assumption.",
        tuple(one.value for one in Exponents),
        several=True,
        technical=True,
    ),
)  # fmt: skip
LABELS = {field.key: field.label for field in FIELDS}
_NUMBERS = ("minimum_parties", "minimum_tolerate", "minimum_key_bits", "parties_per_person", "runs_per_day")
_MAY_BE_EMPTY = ("delta_per_run", "runs_per_day", "epsilon_per_day")
_STRING_OR_COMMENT = re.compile(
    r'"""(?:\\.|[^\\])*?"""' r"|'''.*?'''" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'" r"|(#[^\r\n]*)", re.DOTALL
)
"""In TOML a # within a string begins no comment."""
_PRICES = ("epsilon_per_run", "delta_per_run", "epsilon_per_day")


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
    found: Typed = {}
    for field in FIELDS:
        value = getattr(policy, field.key)
        if field.key in _PRICES:
            found[field.key] = str(document.get(field.key, ""))
        elif field.several:
            found[field.key] = list(value)
        elif field.lines:
            found[field.key] = "\n".join(value or ())
        elif isinstance(value, bool):
            found[field.key] = YES if value else NO
        else:
            found[field.key] = "" if value is None else str(value.value if isinstance(value, Approval) else value)
    return found


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
        key, value = field.key, _value(field, now[field.key])
        if value == _value(field, was[field.key]):
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


def _value(field: Field, given: str | list[str]) -> Any:
    """For the file: None leaves the key out. What is no number stays a text, at which the format takes offence."""
    if isinstance(given, list):
        return given
    if field.lines:
        return list(dict.fromkeys(line.strip() for line in given.split("\n") if line.strip())) or None
    text = given.strip()
    if field.key == "evaluation" and text in (YES, NO):
        return text == YES
    if field.key in _MAY_BE_EMPTY and not text:
        return None
    if field.key in _NUMBERS:
        return int(text) if text.isdecimal() and len(text) < 10 else text
    return text


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
        # The order of names says nothing.
        same = set(before) == set(after) if field.several else before == after
        if not same:
            yield field.label, _words(before), _words(after)


def _words(value: object) -> str:
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, Fraction):
        return readable(value)
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if isinstance(value, Approval):
        return value.value
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
        value, given = getattr(policy, field.key), _value(field, now[field.key])
        if given is None and field.key == "epsilon_per_day":
            same = value is None
        elif field.key in _PRICES:
            same = value == (policy.population.total_delta if given is None else exact_number(given))
        elif field.several:
            same = set(value) == set(given)
        elif field.lines:
            same = value == (None if given is None else tuple(given)) or set(value or ()) == set(given or ())
        else:
            same = (value.value if isinstance(value, Approval) else value) == given
        if not same:
            return False
    return True
