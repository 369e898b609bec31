"""The project's words: pages, messages, comments and docstrings have one term for one concept."""

from __future__ import annotations

import io
import json
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from privity.common.errors import Catalogue
from privity.common.synthesis.algorithm_settings import declared
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.wire.v1 import privity_pb2 as pb
from tests.harness.places import PACKAGES, ROOT

REVEAL = "reveal, decrypt; a noisy marginal"
BUDGET = r"(?:epsilon|eps|rho|delta|the budget|ρ|ε)"
NOUN = (
    r"\b(?:a|an|the|one|each|every|next|no|any|its|all|own|private|series of|of|and|rounds or|earlier|later|most|more) "
)

RETIRED = {
    # What a curator and parties do.
    r"\bopen(?:s|ed|ing)? (?:the |a |both |its |noisy |all )?(?:sums?|rounds?|tables?|cells?|vectors?)\b": REVEAL,
    r"\b(?:sums?|tables?|cells?|scores?|rounds?|marginals?|updates?) (?:is|are|was|were|be|been) open(?:ed)?\b": REVEAL,
    r"\bsums? opened\b|\bopened (?:values?|noise|sums?)\b": REVEAL,
    r"\bopenings?\b(?= (?:of|after|before|schedule|over|is|are|carries|all|together)\b)": REVEAL,
    # Selections.
    NOUN + r"draws?\b(?! (?:of P|from|a |its |the |others|it))": "selection; sample (of noise, of rows)",
    r"\bdraws? (?:among|by the exponential|of the exponential|at (?:one|the) part)": "selection",
    r"\b(?:edges?|pairs?|networks?|candidates?|trees?|forests?) (?:is|are|was|were) drawn\b": "selected",
    r"\bdrawn (?:by the exponential|edge by edge)": "selected",
    r"\b(?:by|drawn|public) lots?\b|\ba lot (?:of|has)\b|\bthis lot\b": "public coin",
    r"\b(?:private|random) choices?\b": "selection",
    # The budget.
    r"\bamounts?\b(?! to\b)": "share of the budget, privacy loss",
    r"\bparts? of (?:(?:the|its|their|our|a|this) (?:run's )?)?" + BUDGET + r"\b": "share of the budget",
    r"\b(?:its|their) part (?:goes|to the)\b": "share",
    r"\baccounts? (?:in|of) rho\b|\brun's account\b|\baccount's rho\b|\bwithout an account\b": "budget in rho",
    r"\bwhat it costs to be told\b": "privacy loss",
    # Tables, models, data.
    r"\bhandicap(?:s|ped)?\b": "score penalty, bias correction",
    r"\bdrown(?:s|ed|ing)?\b": "below the noise floor",
    r"\bnoisy tables?\b|\bopened tables?\b": "noisy marginal, measurement",
    r"\bunlike\b": "heterogeneous, different",
    r"(?<!file\s)\bdescriptors?\b": "schema; Table Schema (the Frictionless format)",
    r"\blight fit\b|\bthe light one\b": "consistency post-processing",
    r"\bthe other fit\b": "graphical model inference",
    r"\bmade-up\b|\bmade up rows\b": "synthetic",
    r"\bforet(?:ell|ells|old|elling)\b": "predict, estimate",
    r"\b(?:mean|largest|median) (?:\(largest\) )?[1-9]-way distances?\b": "TVD (total variation distance)",
    # People.
    r"\b(?:a|the|no|say|says|its) yes\b|\b(?:a|the|its) no\b(?! )|\byes or no\b": "approve, reject, pending",
    r"\b(?:this|that|your|own|the|of) house\b": "data owner, party",
    r"\bfor the (?:rows'? )?owner alone\b|\bfor the rows' owner\b": "data owner only; do not publish",
    r"\btaken? up again\b|\basked again\b|\basks again\b": "resume, retry, replay",
}
"""Pattern, of any case and over line ends: what to write instead."""

PATTERNS = [(re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), instead) for pattern, instead in RETIRED.items()]

TOLD = re.compile(r'\s*"(?:title|description)": "')
"""A line of a JSON Schema that people read."""

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"``[^`]*``|`[^`]*`|\{[^{}]*\}|<[^>]*>|\]\([^)]*\)")


@dataclass(frozen=True)
class Finding:
    """A retired word: where it stands, and what to write instead."""

    place: str
    word: str
    instead: str

    def __str__(self) -> str:
        return f"{self.place}: {self.word!r}: write {self.instead}"


def blanked(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", "x", match[0])


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Texts for people in a file, each with the number of its first line; code in them is blanked."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        kinds = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", None)}
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            # A string without a space is a key, a name or a label.
            if token.type in kinds and " " in token.string:
                yield token.start[0], CODE.sub(blanked, token.string)
    elif path.suffix == ".proto":
        yield from ((n, line.partition("//")[2]) for n, line in enumerate(source.splitlines(), 1) if "//" in line)
    elif path.suffix == ".json":
        yield from ((n, line) for n, line in enumerate(source.splitlines(), 1) if TOLD.match(line))
    else:
        # A block that names its language is code, any other one a diagram.
        source = FENCE.sub(lambda found: found[0] if found[0].startswith("```\n") else blanked(found), source)
        yield 1, CODE.sub(blanked, source)


def findings(path: Path, name: str) -> list[Finding]:
    found = []
    for first, text in prose(path):
        for pattern, instead in PATTERNS:
            for match in pattern.finditer(text):
                line = first + text.count("\n", 0, match.start())
                found.append(Finding(f"{name}:{line}", " ".join(match[0].split()), instead))
    return found


def pages() -> list[Path]:
    """Everything that the check reads: all but generated pages and generated code."""
    folders = [ROOT / name for name in PACKAGES] + [ROOT / "src" / "privity"]
    code = [p for folder in folders for p in folder.rglob("*") if p.suffix in {".py", ".j2", ".html"}]
    docs = [p for p in (ROOT / "docs").rglob("*.md") if "benchmarks" not in p.relative_to(ROOT).parts]
    text = [
        *docs,
        ROOT / "README.md",
        ROOT / "SECURITY.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "protos").rglob("*.proto"),
        *(ROOT / "common" / "formats").glob("*.json"),
    ]
    return sorted(p for p in [*code, *text] if "_pb2" not in p.name)


def test_no_retired_word_is_left() -> None:
    found = [finding for path in pages() for finding in findings(path, path.relative_to(ROOT).as_posix())]
    assert not found, f"{len(found)} retired words:\n" + "\n".join(map(str, found))


RETIRED_IN_NAMES = re.compile(r"open(ed|ing)|draws?|lots?|choices?|amounts?|handicaps?|drown(s|ed)|house|descriptor")


def lasting_names() -> Iterator[str]:
    """What may not be renamed once it is published: on the wire, in files, as settings and as codes of errors."""
    for message in pb.DESCRIPTOR.message_types_by_name.values():
        yield from (message.name, *(field.name for field in message.fields))
    for form in (ROOT / "common" / "formats").glob("*.json"):
        yield from keys_and_values(json.loads(form.read_text(encoding="utf-8")))
    for algorithm in ALGORITHMS.values():
        yield from declared(algorithm.settings)
    yield from (kind.value.code for kind in Catalogue)


def keys_and_values(form: object) -> Iterator[str]:
    """Keys of the documents of a JSON Schema, and values that it lists."""
    if isinstance(form, dict):
        yield from form.get("properties", ())
        yield from (str(value) for value in [*form.get("enum", ()), form.get("const", "")])
    for inner in form.values() if isinstance(form, dict) else form if isinstance(form, list) else ():
        yield from keys_and_values(inner)


def test_no_retired_word_is_in_a_name_that_lasts() -> None:
    names = set(lasting_names())
    assert {"SelectTable", "selection", "format_version", "selecting", "by-policy", "bad-option"} <= names
    parts = {name: re.findall("[A-Z]?[a-z]+", name) for name in names}
    assert not [name for name in names if any(RETIRED_IN_NAMES.fullmatch(part.lower()) for part in parts[name])]


PLANTED = {
    "opens the sum": '"""The curator opens the sum."""',
    "handicap": "# less the handicap of a table",
    "descriptor": 'HELP = "The descriptor of the table."',
    "a draw": 'f"a draw of {1} tables"',
    "part of epsilon": 'x = """One\n    part of\n    epsilon."""',
}


@pytest.mark.parametrize("word", PLANTED)
def test_a_planted_word_is_found(tmp_path: Path, word: str) -> None:
    file = tmp_path / "planted.py"
    file.write_text(PLANTED[word])
    (finding,) = findings(file, "planted.py")
    assert finding.word == word
    assert str(finding).startswith(f"planted.py:{2 if word == 'part of epsilon' else 1}: '{word}': write ")


@pytest.mark.parametrize(
    "text",
    [
        "Open the file; a file descriptor is open. The page opens from disk.",
        "Noise is drawn before rows are read. Rows are drawn from the model.",
        "The noise amounts to K/(K-t) variables. A party takes part in a run.",
        "The account of the operating system owns the files. One Dirichlet slot.",
        "`handicaps` is code, and ``opened`` a name.",
    ],
)
def test_other_uses_are_left_alone(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    assert findings(page, "page.md") == []
