"""The data owner's pages over a node's own files: the overview, the history, a run, the owner's word, keys."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from privity.common.data import contingency_tables
from privity.common.data.schema import load_schema
from privity.common.errors import PrivityError
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.session import Session
from privity.common.release.release_contents import Release
from privity.common.release.release_folder import write_learnt
from privity.common.runs import planned_run, rehearsed_release
from privity.common.runs.rehearsed_release import rehearse_release
from privity.common.storage.canonical_json import canonical_bytes
from privity.common.storage.journal import Journal
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.interfaces.console.party_console import party_site
from privity.interfaces.console.run_list import A_PAGE
from privity.party import answers_from_rows, run_notice, told_in_time
from privity.party.approvals import Approvals, attested_key
from privity.party.config import JOURNAL_FILE
from privity.party.sources import pass_progress
from privity.party.sources.pass_progress import a_pass, kept_in
from tests.harness.command import wait_until
from tests.harness.console import Visitor, visited
from tests.harness.long import long_but
from tests.harness.signed_requests import signed_for

pytestmark = pytest.mark.process

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


@pytest.fixture
def owner(north: Path) -> Iterator[Visitor]:
    with visited(party_site(north)) as visitor:
        yield visitor


@pytest.fixture
def approvals(north: Path) -> Approvals:
    return Approvals(Journal(north.parent / "state" / JOURNAL_FILE))


def explained(owner: Visitor, run: str) -> str:
    """The page of a run once all of it is there."""
    wait_until(lambda: "is being worked out" not in owner.get(f"/runs/{run}").text, "the explanation")
    return owner.get(f"/runs/{run}").text


def test_no_page_rehearses_and_price_and_buttons_are_there_at_once(
    owner: Visitor, asked: Callable[..., RunSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, go_on = list[str](), threading.Event()

    def slow(*_: object) -> list[run_notice.Leaving]:
        threads.append(threading.current_thread().name)
        assert go_on.wait(60)
        return []

    monkeypatch.setattr(told_in_time, "leaving_in_time", slow)
    asked("spring")
    for _ in range(6):
        page = owner.get("/runs/spring").text
        assert "What it asks for in detail is being worked out" in page
        assert "This run would take 0.2 of the 1 that are left of 1." in page
        assert "Approve spring" in page
    for path in ("/", "/runs", "/budget", "/ledger", "/policy", "/releases", "/log"):
        assert owner.get(path).status == 200
    go_on.set()
    assert "It is about 5 attributes" in explained(owner, "spring")
    assert owner.get("/runs/spring").status == 200
    assert len(threads) == 1, "once for each digest"


def test_no_page_calls_what_rehearses_or_counts(
    owner: Visitor, asked: Callable[..., RunSpec], approvals: Approvals, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = list[str]()

    def refuse(name: str) -> Callable[..., None]:
        def called_here(*_args: object, **_more: object) -> None:
            called.append(name)
            raise AssertionError(name)

        return called_here

    # Where the name is kept, and where it is called from; another process has its own.
    for place, name in (
        (run_notice, "leaving"), (run_notice, "rehearse"), (planned_run, "rehearse"), (planned_run, "learn"),
        (Session, "measure"), (Session, "selection"), (Session, "learn_apart"), (Session, "score"),
        (Session, "compute"),
        (contingency_tables, "contingency_tables"), (answers_from_rows, "noisy_counts"),
        *((type(one), "run") for one in ALGORITHMS.values()),
    ):  # fmt: skip
        monkeypatch.setattr(place, name, refuse(name))
    asked("spring")
    asked("autumn", algorithm="aim")
    for number in range(2):
        approvals.note_closed("autumn", "FAILED", "2026-01-02T03:04:05+00:00", f"why {number}")
    for path in ("/", "/runs", "/runs/spring", "/runs/autumn", "/budget", "/ledger", "/policy", "/releases", "/log"):
        assert owner.get(path).status == 200
    assert "It is about 5 attributes" in explained(owner, "spring")
    assert owner.post("/runs/spring/approve", {"spec": approvals.of("spring").spec.digest}).status == 200
    assert called == []


def test_what_cannot_be_told_in_time_is_said_to_be_and_the_buttons_stay(
    owner: Visitor, asked: Callable[..., RunSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(told_in_time, "MOST_SECONDS", 0.0)
    asked("spring")
    page = explained(owner, "spring")
    assert "What spring asks for in detail could not be worked out within 0 s on this machine." in page
    assert "Do not approve what you cannot read." in page
    assert "No outcome becomes more than 1.23 times as likely" in page
    assert "Approve spring" in page


def test_a_console_of_a_node_that_was_never_started_says_what_comes_first(founded: Path) -> None:
    with pytest.raises(PrivityError, match="privity party serve"):
        party_site(founded / "south" / "party.toml")


def test_what_waits_is_on_the_first_page_with_what_it_costs(
    north: Path, owner: Visitor, asked: Callable[..., RunSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pass_progress, "SECONDS", 0.0)
    assert "Nothing waits for your approval." in owner.get("/").text
    asked("spring")
    with kept_in(north.parent / "state"), a_pass() as told:
        told(0.25)
        assert "A pass over the rows is at 25 %" in owner.get("/").text
    page = owner.get("/").text
    assert "A pass over the rows" not in page
    assert page.startswith("(1) Overview")
    assert "It would cost epsilon 0.2 of the 1 that are left" in page
    assert re.search(r"waits since \d+ \w+ 2\d{3}, \d\d:\d\d UTC", page)
    assert "not at work" in page


def test_a_run_is_read_and_approved(owner: Visitor, asked: Callable[..., RunSpec], approvals: Approvals) -> None:
    spec = asked("spring")
    # Nobody approves without the digest of what a page showed.
    sure = {"spec": spec.digest, "sure": "yes"}
    assert owner.post("/runs/spring/approve", {"sure": "yes"}).status == 400
    page = explained(owner, "spring")
    for words in (
        "This run would take 0.2 of the 1 that are left of 1.",
        "Exactly: what leaves this party",
        "No outcome becomes more than 1.23 times as likely",
        "If you say nothing, nothing happens",
        "It is about 5 attributes",
        "factor of at most 1.23; all runs within the total together by at most 2.72.",
        "No purpose is given with a run: ask the operator.",
        "How many rows it holds, and how many one person has at most, becomes known to the curator and all members,",
        "Sums over the parties are revealed with noise in them, and are published.",
        "The curator also sees some selections made from your rows alone, under noise.",
        "DP-SUBN: a Bayesian network",
        "over 3 parties: north, south, east",
    ):
        assert words in page
    assert not approvals.of("spring").approved
    # Another spec than the one on the page, as from a page that was left open.
    assert "is not what you read any more" in owner.post("/runs/spring/approve", {"spec": "0" * 64}).text
    asked_once_more = owner.post("/runs/spring/approve", {"spec": spec.digest}).text
    assert "Approve spring? Nothing has left yet. Up to 0.2 of epsilon will be spent." in asked_once_more
    assert not approvals.of("spring").approved
    assert owner.post("/runs/spring/approve", sure).status == 303
    assert approvals.of("spring").approved
    page = owner.get("/runs/spring").text
    assert re.search(
        r"Approved by you on [^.]+ UTC\. The run begins when all parties have approved\. Nothing has", page
    )
    assert "Reject it after all" in page
    assert "after this run" not in page
    assert "Nothing waits" in owner.get("/").text
    log = owner.get("/log").text
    assert "approved a run" in log
    assert "not done: approved a run" in log
    assert "run: spring" in log


def test_a_run_is_rejected_with_a_reason_that_others_read(
    owner: Visitor, asked: Callable[..., RunSpec], approvals: Approvals
) -> None:
    asked("spring")
    assert owner.post("/runs/spring/reject", {"reason": f"not before\nthe board met {HOSTILE}"}).status == 303
    with pytest.raises(PrivityError, match="not before the board met") as refused:
        approvals.refuse_rejected("spring", "north")
    assert refused.value.code == "rejected-by-owner"
    assert "1 run." in owner.get("/runs?search=rejected").text
    for path in ("/runs/spring", "/runs", "/"):
        told = (
            r"Rejected by you on [^.]+ UTC\. The operator and the other members are told, with this reason: not before"
        )
        assert re.search(told, owner.get(path).text)
    for path in ("/runs/spring", "/runs", "/", "/log"):
        found = owner.get(path)
        assert found.status == 200
        assert "not before" in found.text
        assert "<script>alert" not in found.body.decode()
        assert "\x1b" not in found.body.decode()
        assert "\u202e" not in found.body.decode()


def test_the_history_has_every_run_and_is_searched(
    owner: Visitor, asked: Callable[..., RunSpec], approvals: Approvals
) -> None:
    for number in range(A_PAGE + 5):
        asked(f"run-{number}")
        approvals.note_closed(f"run-{number}", "FAILED", "2026-01-02T03:04:05+00:00", f"why {HOSTILE} {number}")
    spec = asked("dear", epsilon="3")
    approvals.deny("dear", "refused-by-policy", ["epsilon 3 is above 1 a run", "fewer than 9 parties"], spec)
    page = owner.get("/runs")
    assert f"{A_PAGE + 6} runs, of which 1 to {A_PAGE} are shown" in page.text
    assert "It asked for epsilon 3. You allow at most 1 a run. Fewer than 9 parties." in page.text
    assert "2 January 2026, 03:04" in page.text
    assert "<script>alert" not in page.body.decode()
    assert "run-0 " in owner.get(f"/runs?first={A_PAGE}").text
    assert "0 runs." in owner.get("/runs?search=nine").text
    assert "1 run." in owner.get("/runs?search=9+parties").text
    assert "1 run." in owner.get("/runs?state=refused+by+your+policy").text
    assert "Why it was refused" in explained(owner, "dear")
    assert owner.get("/runs?first=-7").status == owner.get("/runs?first=x").status == 200


def test_a_broken_policy_is_said_and_pages_stay(owner: Visitor, asked: Callable[..., RunSpec], north: Path) -> None:
    asked("spring")
    (north.parent / "policy.toml").write_text("epsilon_per_run = ")
    for path in ("/", "/runs/spring", "/runs", "/node", "/releases"):
        assert owner.get(path).status == 200
    assert "cannot be obeyed" in owner.get("/").text
    assert "policy.toml" in owner.get("/runs/spring").text


@pytest.mark.parametrize(
    "name",
    long_but(
        ["..%2Fkeys", "%2e%2e/keys/signing.key"],
        ["..%2Fkeys", "%2e%2e/keys/signing.key", "../party.toml", "report.html", "keys"],
    ),
)
def test_no_path_leads_out_of_the_releases(
    owner: Visitor, asked: Callable[..., RunSpec], approvals: Approvals, name: str
) -> None:
    asked("spring")
    approvals.note_closed("spring", "COMPLETED", "2026-01-02T03:04:05+00:00")
    for run in ("spring", "..", "%2e%2e", ".", "none"):
        found = owner.get(f"/releases/{run}/{name}")
        assert found.status in (400, 404)
        assert b"PRIVATE" not in found.body
    assert owner.post("/releases/none/fetch").status == 400
    assert owner.post("/releases/..%2F..%2Fx/fetch").status in (400, 404)


def test_what_a_run_had_learnt_before_it_failed_can_be_fetched_and_gone_on_from(
    owner: Visitor, asked: Callable[..., RunSpec], approvals: Approvals, north: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in ("spring", "summer"):
        asked(run)
        approvals.note_closed(run, "FAILED", "2026-01-02T03:04:05+00:00", "a fault")
    signed = canonical_bytes({"statement": {"release_digest": "0" * 64}})
    Journal(north.parent / "state" / JOURNAL_FILE).record(attested_key("spring"), "step", signed)
    assert "Its release can be fetched" in owner.get("/runs/spring").text
    assert "Its release" not in owner.get("/runs/summer").text
    page = owner.get("/releases").text
    assert "Fetch spring" in page
    assert "summer" not in page
    schema = load_schema(north.parent / "schema.json")

    def keep(learnt: Release, _places: int) -> None:
        write_learnt(north.parent / "releases" / "spring", learnt)

    monkeypatch.setattr(rehearsed_release, "_try", keep)
    rehearse_release(schema)
    page = owner.get("/releases").text
    assert "It has no rows and no report" in page
    assert "privity sample" in page
    assert "model.json" in page
    assert "Read the report" not in page
    assert "Its release is here" in owner.get("/runs/spring").text


def test_the_map_of_a_table_in_its_own_words_is_shown_with_its_faults(north: Path) -> None:
    with visited(party_site(north)) as owner:
        assert "The table in your words" not in owner.get("/node").text
    north.write_text('map = "map.json"\n' + north.read_text())
    schema = load_schema(north.parent / "schema.json")
    with visited(party_site(north)) as owner:
        for name, expected in ((schema.names[0], "column "), ("nobody", "no attribute of this name")):
            document = {"format_version": 1, "fields": [{"name": name, "column": HOSTILE}]}
            (north.parent / "map.json").write_text(json.dumps(document))
            page = owner.get("/node")
            assert page.status == 200
            assert "The table in your words" in page.text
            assert expected in page.text
            assert b"<script>alert" not in page.body


def test_keys_are_renewed_and_the_answer_is_for_the_organiser(owner: Visitor, north: Path) -> None:
    assert owner.get("/node/answer").status == 404
    assert "Make a new certificate" in owner.get("/node").text
    assert owner.post("/node/renew").status == 303
    assert (north.parent / "next" / "tls.pem").exists()
    answer = owner.get("/node/answer")
    assert answer.status == 200
    assert "attachment" in answer.headers["content-disposition"]
    assert b"PRIVATE" not in answer.body
    assert "wait for the organiser" in owner.get("/node").text
    assert owner.post("/node/renew").status == 400


@pytest.mark.parametrize(
    ("submitter", "words"),
    [
        ("operator", "by the operator operator, who signed the request for it. No purpose"),
        (
            "registry",
            "by the operator registry, who signed the request for it; the organiser's manifest lists no operator",
        ),
    ],
)
def test_which_operator_asks_is_on_the_page(
    owner: Visitor, asked: Callable[..., RunSpec], approvals: Approvals, submitter: str, words: str
) -> None:
    spec = replace(asked("spring"), run="autumn")
    approvals.file(spec, signed_for(spec, submitter))
    page = owner.get("/runs/autumn")
    assert words in page.text
    assert "<script>alert" not in page.body.decode()
    assert "\x1b" not in page.body.decode()


def test_a_run_under_way_tells_its_phase_and_a_failed_one_where_its_log_is(
    owner: Visitor, asked: Callable[..., RunSpec], approvals: Approvals, north: Path
) -> None:
    asked("spring")
    journal = Journal(north.parent / "state" / JOURNAL_FILE)
    for step in ("enrol", "begin", "contribute/1-marginals"):
        journal.record(f"spring/transcript/step/{step}", "", b"{}")
    page = owner.get("/runs/spring").text
    assert "Under way. Allowed by your policy." in page
    assert "3 steps answered, the last one of the phase marginals , " in page
    assert "Under way. Allowed by your policy. Last asked for marginals." in owner.get("/").text
    approvals.note_closed("spring", "FAILED", "2026-01-02T03:04:05+00:00", "south does not answer")
    page = owner.get("/runs/spring").text
    assert "Ended without a table on 2 January 2026, 03:04 UTC, failed: south does not answer" in page
    assert "the lines with run=spring" in page
    assert "steps answered" not in page


def test_the_doctors_findings_are_read_on_request(owner: Visitor, north: Path) -> None:
    assert "Verdict" not in owner.get("/node").text
    assert "Is all well? Look now" in owner.get("/").text
    (north.parent / "party.toml").chmod(0o644)
    assert "Verdict" not in owner.get("/node?look=1").text
    assert owner.get("/node/look").status == 405
    assert owner.post("/node/look", {"token": "guess"}).status == 403
    assert "Is all well? Look now" in owner.get("/").text
    page = owner.post("/node/look").text
    assert "all within the schema" in page
    assert "amiss" in page  # no curator answers here
    assert "Other people on this computer can open private files of this node." in page
    assert "Ask your IT department to run: chmod 600" in page
    assert re.search(r"Is all well\? No : \d+ findings on ", owner.get("/").text)
