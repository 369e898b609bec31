"""Each claim about the guarantee names a test that exists, or says that it has none."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from privity.common.release.statement import SENTENCES
from tests.harness.places import ROOT

SECURITY, PRIVACY = ROOT / "SECURITY.md", ROOT / "docs" / "privacy.md"

CLAIMS = {
    SECURITY: ("What is protected", "Assumptions", "Members who cheat", "Consoles", "What is not protected",
               "What a transcript tells", "What tests hold this"),
    PRIVACY: ("The promise in words", "What privacy.json says in words", "The mechanisms that a run uses", "Budgets",
              "People with several rows", "Histories", "Selecting the marginal that the model explains worst",
              "Before anything leaves a party", "What costs nothing"),
}  # fmt: skip
"""Sections that claim something about the guarantee."""

OTHERS = {
    SECURITY: ("Reporting",),
    PRIVACY: ("The claim in reading order", "How we know", "Deviations from the papers"),
}
"""Sections that point to files, or to what others published."""

REFERENCE = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
NONE = "No test."


def sections(page: Path) -> dict[str, str]:
    """Heading of the second level to its text."""
    parts = re.split(r"^## (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def claims(text: str) -> list[str]:
    """Paragraphs, items of lists, and rows of tables, each on one line; no headings of tables, formulas or lead-ins."""
    found = []
    for block in re.split(r"\n\s*\n|\n(?=- |\d+\. |\|)", re.sub(r"<!--.*?-->", "", text)):
        if block.startswith("    ") or not block.strip():
            continue
        line = " ".join(block.split())
        if not line.endswith(":") and not re.fullmatch(r"\|[-| ]+\|", line):
            found.append(line)
    heads = {
        claim
        for before, claim in zip(["", *found], found, strict=False)
        if claim.startswith("|") and not before.startswith("|")
    }
    return [claim for claim in found if claim not in heads]


@pytest.mark.parametrize("page", CLAIMS, ids=lambda page: page.name)
def test_every_section_claims_something_or_is_known_to_claim_nothing(page: Path) -> None:
    assert sorted(sections(page)) == sorted((*CLAIMS[page], *OTHERS[page]))


@pytest.mark.parametrize(("page", "heading"), [(page, heading) for page in CLAIMS for heading in CLAIMS[page]])
def test_every_claim_has_a_test_or_says_that_it_has_none(page: Path, heading: str) -> None:
    found = claims(sections(page)[heading])
    assert found
    without = [claim for claim in found if not REFERENCE.search(claim) and NONE not in claim]
    intro = "Each sentence that a statement may have"
    assert not [claim for claim in without if not claim.startswith(intro)]


@pytest.mark.parametrize("page", CLAIMS, ids=lambda page: page.name)
def test_every_test_that_is_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = REFERENCE.findall(text)
    assert len(named) > 50
    assert len(named) == text.count("`tests/"), "every path to a test has the form that is looked for"
    for file, function in named:
        assert (ROOT / file).is_file(), file
        if function:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert function in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, function


@pytest.mark.parametrize("sentence", SENTENCES.values(), ids=SENTENCES)
def test_every_sentence_of_a_statement_is_listed_with_its_test(sentence: str) -> None:
    rows = [row for row in claims(sections(PRIVACY)["What privacy.json says in words"]) if row.startswith("| ")]
    (row,) = [row for row in rows if row.startswith(f"| {sentence} | ")]
    assert REFERENCE.search(row) or NONE in row


def test_nothing_is_listed_that_no_statement_says() -> None:
    rows = [row for row in claims(sections(PRIVACY)["What privacy.json says in words"]) if row.startswith("| ")]
    assert len(rows) == len(SENTENCES)


def test_a_claim_without_a_test_is_found() -> None:
    table = "| a | b |\n|---|---|\n| one | `tests/common/privacy/test_group_privacy.py` |\n| two | |"
    text = f"\n\nA claim.\n\n{table}\n\n- item\n- other [No test.]\n"
    without = [claim for claim in claims(text) if not REFERENCE.search(claim) and NONE not in claim]
    assert without == ["A claim.", "| two | |", "- item"]


@pytest.mark.parametrize("page", CLAIMS, ids=lambda page: page.name)
def test_the_curator_is_said_not_to_be_trusted_where_it_is_first_named(page: Path) -> None:
    text = re.sub(r"\s+", " ", page.read_text(encoding="utf-8")).lower()
    assert "not trusted with rows" in text[text.index("curator") :][:150]


@pytest.mark.parametrize("page", CLAIMS, ids=lambda page: page.name)
def test_words_that_readers_would_have_to_learn_are_not_used(page: Path) -> None:
    text = re.sub("`[^`]*`", "", page.read_text(encoding="utf-8").lower())
    for word in (
        "descriptor",
        "handicap",
        "account in rho",
        "drown",
        "opened",
        "draws",
        "says yes",
        "said yes",
        "a yes",
    ):
        assert word not in text, word
