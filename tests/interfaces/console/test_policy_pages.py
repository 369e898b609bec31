"""The policy's page over a node's own files: what is typed, previewed, and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest

from privity.common.errors import Catalogue
from privity.common.protocol.run_spec import RunSpec
from privity.common.storage.journal import Journal
from privity.interfaces.console import policy_form as forms
from privity.interfaces.console.party_console import party_site
from privity.party.approvals import Approvals
from privity.party.config import JOURNAL_FILE, load_config, read_policy
from tests.harness.console import Page, Visitor, visited

pytestmark = pytest.mark.process


@pytest.fixture
def owner(north: Path) -> Iterator[Visitor]:
    with visited(party_site(north)) as visitor:
        yield visitor


@pytest.fixture
def fields(north: Path, owner: Visitor) -> dict[str, str | list[str]]:
    """What a browser would send of the form that nobody has touched."""
    file = north.parent / "policy.toml"
    shown = forms.shown(read_policy(load_config(north)), forms.text_of(file))
    return {**shown, "sha256": forms.sha256(forms.text_of(file))}


def hidden_form(page: Page) -> dict[str, str | list[str]]:
    """What the form of a page sends, its text fields and what is ticked."""
    form = page.body.decode().partition("/policy/preview")[2].partition("</form>")[0]
    found: dict[str, str | list[str]] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = (re.search(rf'{key}="([^"]*)"', tag) for key in ("name", "value"))
        assert name is not None
        assert value is not None
        if "text" in tag or "hidden" in tag:
            found[name[1]] = unescape(value[1])
        elif " checked" in tag:
            found[name[1]] = [*found.get(name[1], []), unescape(value[1])]
    return found


def hidden(page: Page) -> dict[str, str | list[str]]:
    """What the button of a preview sends."""
    form = page.body.decode().partition("/policy/write")[2].partition("</form>")[0]
    found: dict[str, str | list[str]] = {}
    for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form):
        before = found.get(name, [])
        found[name] = [*before, unescape(value)]
    return found


def test_a_limit_is_lowered_after_a_preview(
    north: Path, owner: Visitor, fields: dict[str, str | list[str]], asked: Callable[..., RunSpec]
) -> None:
    file = north.parent / "policy.toml"
    before = file.read_text()
    asked("spring", "1/2")
    asked("summer", "1/10")
    page = owner.post("/policy/preview", {**fields, "epsilon_per_run": "0.2"})
    assert page.status == 200
    assert "Most one run may cost (epsilon) 1 0.2" in page.text
    assert "would have refused these 1." in page.text
    assert "spring : epsilon 0.5 is above 0.2 a run" in page.text
    assert file.read_text() == before
    answer = owner.post("/policy/write", hidden(page))
    assert answer.status == 303
    said = owner.ask("GET", answer.headers["location"]).text
    assert "Most one run may cost (epsilon): 0.2 instead of 1." in said
    assert file.read_text() == before.replace('epsilon_per_run = "1"', 'epsilon_per_run = "0.2"')
    assert "changes: Most one run may cost (epsilon): 0.2 instead of 1" in owner.get("/log").text


def test_a_run_that_the_policy_refused_is_named_if_it_would_be_allowed(
    north: Path, owner: Visitor, fields: dict[str, str | list[str]], asked: Callable[..., RunSpec]
) -> None:
    spec = asked("spring", "1/2", "independent")
    code = Catalogue.REFUSED_BY_POLICY.value.code
    Approvals(Journal(north.parent / "state" / JOURNAL_FILE)).deny(spec.run, code, ["no such algorithm"])
    allowed = [*fields["algorithms"], "independent"]
    page = owner.post("/policy/preview", {**fields, "algorithms": allowed}).text
    assert "What it would now allow" in page
    assert "spring : no such algorithm" in page


def test_faults_stand_beside_their_fields_and_nothing_typed_is_lost(
    north: Path, owner: Visitor, fields: dict[str, str | list[str]]
) -> None:
    before = (north.parent / "policy.toml").read_bytes()
    wrong = {**fields, "epsilon_per_run": '"much"<b>', "minimum_parties": "1", "attributes": "height"}
    for step in ("preview", "write"):
        page = owner.post(f"/policy/{step}", wrong)
        assert page.status == 400
        body = page.body.decode()
        assert 'value="&#34;much&#34;&lt;b&gt;"' in body
        assert set(re.findall(r'id="wrong-(\w+)"', body)) == {"epsilon_per_run", "minimum_parties", "attributes"}
        assert ">\nheight</textarea>" in body
        assert re.search(r'id="epsilon_per_run"[^>]*aria-invalid="true" autofocus', body), "where one begins to mend"
        assert body.count("autofocus") == 1
    assert (north.parent / "policy.toml").read_bytes() == before


def test_a_file_that_changed_meanwhile_is_not_overwritten(
    north: Path, owner: Visitor, fields: dict[str, str | list[str]]
) -> None:
    file = north.parent / "policy.toml"
    page = owner.post("/policy/preview", {**fields, "approval": "manual"})
    file.write_text(file.read_text() + "# Looked at.\n")
    refused = owner.post("/policy/write", hidden(page))
    assert refused.status == 400
    assert "the file changed since the form was shown" in refused.text
    # What was typed is there to be previewed anew, and sent.
    again = owner.post("/policy/preview", hidden_form(refused))
    assert again.status == 200
    assert "Who approves a run by-policy manual" in again.text
    assert read_policy(load_config(north)).approval.value == "by-policy"


def test_a_comment_that_goes_with_a_name_is_told_before_it_goes(
    north: Path, owner: Visitor, fields: dict[str, str | list[str]]
) -> None:
    file = north.parent / "policy.toml"
    text = file.read_text()
    line = next(line for line in text.split("\n") if line.startswith("algorithms"))
    names = [*fields["algorithms"]]
    listed = "".join(f'    "{name}",  # about {name} <b>\n' for name in names)
    file.write_text(text.replace(line, f"algorithms = [\n{listed}]"))
    sent = {**fields, "sha256": forms.sha256(forms.text_of(file)), "algorithms": names[1:]}
    page = owner.post("/policy/preview", sent)
    assert f"These comments of the file go with what you take out: # about {names[0]} <b>" in page.text
    assert f"# about {names[1]}" not in page.text
    assert owner.post("/policy/write", hidden(page)).status == 303
    assert file.read_text() == text.replace(line, f"algorithms = [\n{listed}]").replace(
        f'    "{names[0]}",  # about {names[0]} <b>\n', ""
    )


def test_to_ask_nobody_any_more_is_said_to_be_that(
    north: Path, owner: Visitor, fields: dict[str, str | list[str]]
) -> None:
    file, warning = north.parent / "policy.toml", "From now on nobody here is asked"
    assert warning not in owner.post("/policy/preview", {**fields, "approval": "manual"}).text
    file.write_text(file.read_text().replace('approval = "by-policy"', 'approval = "manual"'))
    page = owner.post("/policy/preview", {**fields, "sha256": forms.sha256(forms.text_of(file))}).text
    assert f"{warning}: runs within these limits take part by themselves." in page
    assert "Nothing would have changed: no past run would newly be refused." in page


def test_a_decimal_with_a_comma_is_answered_with_a_point(owner: Visitor, fields: dict[str, str | list[str]]) -> None:
    assert "Write 0.5 with a point." in owner.post("/policy/preview", {**fields, "epsilon_per_run": "0,5"}).text


def test_nothing_changes_where_nothing_was_typed(owner: Visitor, fields: dict[str, str | list[str]]) -> None:
    page = owner.post("/policy/preview", fields)
    assert "Nothing changes" in page.text
    assert "/policy/write" not in page.body.decode()


def test_a_broken_policy_is_shown_with_its_faults(north: Path, owner: Visitor) -> None:
    (north.parent / "policy.toml").write_text("format_version = 1\n# ours <script>\n")
    page = owner.get("/policy")
    assert page.status == 200
    assert "so that every run is refused" in page.text
    assert "epsilon_per_run" in page.text
    assert "# ours &lt;script&gt;" in page.body.decode()
    assert "Mend it in an editor" in page.text
