"""What a party does not attest, and says so: figures that are not its ledger's, another plan, another digest."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from privity.common.errors import ProblemsFound
from privity.common.node.logs import content_of
from privity.common.notices.channels import Webhook
from privity.common.notices.outbox import Outbox
from privity.common.protocol.evaluation_scores import Evaluation
from privity.common.protocol.steps import Attest, Attested, Close, Contribute, Done, Enrol, Refusal
from privity.common.release.attestations import release_digest, write_attestations
from privity.common.release.release_contents import PRIVACY, RUN
from privity.common.release.statement import in_words
from privity.common.release.verification.release_verification import check_release, check_signed_release
from privity.common.storage.canonical_json import b64
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.party.approvals import Approvals
from privity.party.owner_notices import OwnerNotices
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.long import thinned
from tests.harness.signed_releases import attest, attested, document_of
from tests.harness.steps import laplace_round

Change = Callable[[dict[str, Any], dict[str, Any]], None]
HALF = "1/2"
DELTA = Fraction(1, 10**9)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[TestConsortium, Path]:
    """A run of three parties that has ended, and of whose end nobody was told."""
    folder = tmp_path_factory.mktemp("made")
    consortium = make_consortium(3, domain=(2, 3), rows=20, simulation=False)
    consortium.drive(folder / "release", algorithm="one-way", close=False)
    return consortium, folder / "release"


def forged(release: Path, change: Change, *, digested: bool = True) -> Attest:
    """The question about a release whose documents were changed, as consistently as a forger can."""
    run, privacy = (json.loads((release / name).read_bytes()) for name in (RUN, PRIVACY))
    change(run, privacy)
    data = json.dumps(privacy, indent=2, ensure_ascii=False).encode()
    if digested and PRIVACY in run["files"]:
        run["files"][PRIVACY] = hashlib.sha256(data).hexdigest()
    return Attest("run-1", json.dumps(run, indent=2).encode(), data)


def understated(figure: str, value: str = HALF, *, also_words: bool = True) -> Change:
    """Every party is said to have lost less, in all figures that must fit this one."""

    def change(_run: dict[str, Any], privacy: dict[str, Any]) -> None:
        word = figure.split("_")[0]
        for party in privacy["parties"]:
            party[figure] = value
            if word == "epsilon":
                party["epsilon_per_row"] = party["epsilon_per_person"] = value
                first, *rest = party["epsilon_per_row_by_phase"]
                party["epsilon_per_row_by_phase"] = {first: value, **dict.fromkeys(rest, "0")}
        for observer in privacy["observers"]:
            observer[word] = value
        for phase in privacy["phases"]:
            phase[f"{word}_per_row"] = value
        if also_words:
            privacy["in_words"] = in_words(privacy, True)

    return change


def of_run(**changes: Any) -> Change:
    return lambda run, _: run.update(changes)


def of_statement(**changes: Any) -> Change:
    return lambda _, privacy: privacy.update(changes)


def of_own_entry(**changes: Any) -> Change:
    return lambda _, privacy: privacy["parties"][0].update(changes)


FOUND = {"attributes": ["x0"], "run": "r", "population": "p", "epsilon": "1", "delta": "0"}
DECLARED = {"attributes": ["x0"], "declared_by": "organiser"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (understated("epsilon_per_person"), "states epsilon_per_row 0.5, and its ledger was charged 1"),
        (understated("epsilon_per_person", "2"), "states epsilon_per_row 2, and its ledger was charged 1"),
        (understated("epsilon_per_person", "99999999999999999/100000000000000000"), "/100000000000000000, and its"),
        (understated("delta_per_row", "1/1000"), "states delta_per_row 0.001, and its ledger was charged 0"),
        (of_own_entry(rho_per_row="1"), "states rho_per_row 1, and its ledger was charged 0"),
        (of_own_entry(epsilon_per_row="1/0"), "run.json or privacy.json does not fit its format"),
        (of_own_entry(rows=21), "does not name exactly the parties of the plan"),
        (lambda _, privacy: privacy["parties"].pop(), "does not name exactly the parties of the plan"),
        (lambda _, privacy: privacy["parties"].reverse(), "does not name exactly the parties of the plan"),
        (of_statement(K=2), "states another K"),
        (of_statement(t=2), "states another t"),
        (of_statement(run="run-2"), "privacy.json states another run"),
        (of_statement(split="position", simulation=True), "states another split"),
        (of_statement(curator_member="party-1"), "states another curator_member"),
        (of_statement(parties_per_person=2), "states another parties_per_person"),
        (of_statement(in_words=["Nobody loses anything."]), "the sentences in privacy.json"),
        (lambda _, privacy: privacy["schema"].update(absent_rows=True), "states another schema"),
        (lambda _, privacy: privacy["schema"]["discoveries"].append(FOUND), "states another schema"),
        (lambda _, privacy: privacy["schema"]["read_off_rows"].append(DECLARED), "states another schema"),
        (of_run(run="run-2"), "run.json states another run"),
        (of_run(plan_digest="0" * 64), "states another plan_digest"),
        (of_run(epsilon="2"), "states another epsilon"),
        (of_run(algorithm="mst"), "states another algorithm"),
        (of_run(settings={"tables": 7}), "states another settings"),
        (of_run(rows=7), "states another number of rows than the operator asked for"),
        (lambda run, _: run["files"].pop("model.json"), "does not name exactly the files of a release"),
        (lambda run, _: run["files"].update({"more.txt": "0" * 64}), "does not name exactly the files of a release"),
        (lambda run, _: run["files"].pop(PRIVACY), "names another privacy.json"),
        (lambda run, _: run.pop("plan_digest"), "does not fit its format"),
        (lambda _, privacy: privacy.update(format_version=2), "does not fit its format"),
    ],
)
def test_a_party_refuses_what_its_journal_and_ledger_do_not_say(
    made: tuple[TestConsortium, Path], change: Change, said: str
) -> None:
    consortium, release = made
    reply = consortium.tell("party-1", forged(release, change))
    assert isinstance(reply, Refusal)
    assert reply.code == "not-attested"
    assert said in reply.message


def test_a_digest_that_does_not_stand_for_the_statement_is_refused(made: tuple[TestConsortium, Path]) -> None:
    consortium, release = made
    reply = consortium.tell("party-1", forged(release, lambda _, privacy: privacy["in_words"].pop(), digested=False))
    assert isinstance(reply, Refusal)
    assert "run.json names another privacy.json" in reply.message


@pytest.mark.parametrize("document", [b"", b"{", b"[]", b'{"run":"a","run":"b"}', b"\xff", b"[" * 9999])
def test_what_is_no_document_is_refused_by_name(made: tuple[TestConsortium, Path], document: bytes) -> None:
    consortium, release = made
    for step in (Attest("run-1", document, (release / PRIVACY).read_bytes()), Attest("run-1", b"{}", document)):
        reply = consortium.tell("party-1", step)
        assert isinstance(reply, Refusal)
        assert reply.code == "not-attested"


def test_the_refusal_stands_in_the_log_and_before_the_owner(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    consortium = make_consortium(3, domain=(2, 3), rows=20, simulation=False)
    consortium.drive(tmp_path / "release", algorithm="one-way", close=False)
    party = consortium.parties["party-1"]
    outbox = Outbox(party.journal, "party-1", [Webhook("http://127.0.0.1:9/")])
    party.engine.listener = OwnerNotices(outbox, party.journal, party.ledger, lambda: Fraction(1)).answered
    with caplog.at_level(logging.INFO):
        reply = consortium.tell("party-1", forged(tmp_path / "release", understated("epsilon_per_person")))
    assert isinstance(reply, Refusal)
    lines = [content_of(record) for record in caplog.records]
    (line,) = [line for line in lines if line["event"] == "this party does not attest a release"]
    assert line["run"] == "run-1"
    assert "states epsilon_per_row 0.5, and its ledger was charged 1" in line["detail"]
    (notice,) = party.journal.keys("#unsent/")
    assert "run-1/not attested/" in notice
    filed = Approvals(party.journal).of("run-1")
    assert (filed.attested, "its ledger was charged 1" in filed.unattested) == ("", True)
    # The curator corrects itself: nothing was signed yet.
    assert isinstance(consortium.tell("party-1", attest(tmp_path / "release")), Attested)
    assert Approvals(party.journal).of("run-1").attested == release_digest((tmp_path / "release" / RUN).read_bytes())


def test_one_statement_a_run_and_nothing_is_charged_after_it(tmp_path: Path) -> None:
    (tmp_path / "parties").mkdir()
    consortium = make_consortium(3, domain=(2, 3), rows=20, simulation=False, folder=tmp_path / "parties")
    consortium.drive(tmp_path / "release", algorithm="one-way", close=False)
    party = consortium.parties["party-1"]
    first = consortium.tell("party-1", attest(tmp_path / "release"))
    assert isinstance(first, Attested)
    assert consortium.tell("party-1", attest(tmp_path / "release")) == first
    other = forged(tmp_path / "release", of_run(rows=7))
    spent = party.ledger.spent()
    for _ in range(2):
        for step in (other, Contribute(laplace_round("run-1", "more", "r", ((0,),), Fraction(1, 1000)))):
            reply = consortium.tell("party-1", step)
            assert isinstance(reply, Refusal), step
        assert consortium.tell("party-1", attest(tmp_path / "release")) == first
        consortium.restart("party-1")
    assert consortium.parties["party-1"].ledger.spent() == spent
    assert consortium.tell("party-1", Close("run-1", "COMPLETED")) == Done()
    assert consortium.tell("party-1", attest(tmp_path / "release")) == first
    reply = consortium.tell("party-1", other)
    assert isinstance(reply, Refusal)
    assert reply.code == "step-changed"


def test_what_was_not_begun_or_is_closed_is_not_attested(tmp_path: Path) -> None:
    consortium = make_consortium(3, domain=(2, 3), rows=20, simulation=False)
    consortium.drive(tmp_path / "release", algorithm="one-way", close=False)
    asked = attest(tmp_path / "release")
    assert consortium.tell("party-2", Close("run-1", "COMPLETED")) == Done()
    reply = consortium.tell("party-2", asked)
    assert isinstance(reply, Refusal)
    assert "the run is closed" in reply.message
    consortium.tell("party-1", Enrol(consortium.spec(run="run-2")))
    reply = consortium.tell("party-1", Attest("run-2", asked.run_document, asked.privacy))
    assert isinstance(reply, Refusal)
    assert "the run has not begun" in reply.message


def test_a_curator_that_tells_parties_different_digests_is_shown_to_every_reader(tmp_path: Path) -> None:
    """Each party attests what it was told; beside the release that is published the others' statements do not hold."""
    consortium = make_consortium(3, domain=(2, 3), rows=20, simulation=False)
    release = tmp_path / "release"
    consortium.drive(release, algorithm="one-way", close=False)
    other = forged(release, of_run(cells={"learning": 7}))
    replies = [consortium.tell(f"party-{k}", other if k == 3 else attest(release)) for k in (1, 2, 3)]
    statements = [reply.attestation for reply in replies if isinstance(reply, Attested)]
    assert len(statements) == 3
    write_attestations(release, document_of(consortium, release, statements))
    (tmp_path / "root").write_text(b64(consortium.tls.organiser.public().signing))
    with pytest.raises(ProblemsFound, match=r"other-digest.*party-3 signed another digest") as found:
        list(check_signed_release(release, tmp_path / "root"))
    assert len(found.value.problems) == 1


def test_a_run_under_another_plan_is_not_attested_as_this_one(tmp_path: Path) -> None:
    """A curator that began the run under two plans finds no party that signs for the other's."""
    consortium = make_consortium(3, domain=(2, 3), rows=20, simulation=False)
    consortium.drive(tmp_path / "release", algorithm="one-way", close=False)
    asked = forged(tmp_path / "release", of_run(plan_digest=hashlib.sha256(b"another").hexdigest()))
    for party in consortium.parties:
        reply = consortium.tell(party, asked)
        assert isinstance(reply, Refusal)
        assert "another plan_digest" in reply.message


LEARNING = [name for name, algorithm in ALGORITHMS.items() if not algorithm.discovers]
"""Under a schema without open domains; what else runs is followed to its signatures by ``test_two_runs``."""


@pytest.mark.parametrize(("algorithm", "delta"), thinned(product(LEARNING, [Fraction(0), DELTA]), 3))
def test_every_algorithm_is_charged_exactly_what_its_statement_says(
    tmp_path: Path, algorithm: str, delta: Fraction
) -> None:
    if algorithm == "independent" and delta:
        pytest.skip("it has no use for a delta")
    policies = {f"party-{k}": open_policy(total_delta=Fraction(1, 1000)) for k in (1, 2, 3)}
    consortium = make_consortium(3, domain=(2, 3, 2), rows=30, policies=policies, simulation=False)
    consortium.drive(tmp_path / "release", algorithm=algorithm, delta=delta, close=False)
    assert len(attested(consortium, tmp_path / "release")) == 3
    assert any("follow from the" in line for line in check_release(tmp_path / "release"))


@pytest.mark.parametrize(("rows", "parties", "delta"), [(2, 1, Fraction(0)), (3, 1, DELTA), (2, 2, Fraction(0))])
def test_people_with_several_rows_are_attested_for_all_of_them(
    tmp_path: Path, rows: int, parties: int, delta: Fraction
) -> None:
    policies = {
        f"party-{k}": open_policy(
            rows_per_person=rows + (k == 1), parties_per_person=parties, total_delta=Fraction(1, 9)
        )
        for k in (1, 2, 3)
    }
    consortium = make_consortium(
        3, domain=(2, 3), rows=30, policies=policies, parties_per_person=parties, simulation=False
    )
    consortium.drive(tmp_path / "release", algorithm="one-way", delta=delta, close=False)
    less = forged(tmp_path / "release", of_own_entry(epsilon_per_person="1/1000"))
    reply = consortium.tell("party-1", less)
    assert isinstance(reply, Refusal)
    assert "states epsilon_per_person 0.001, and its ledger was charged" in reply.message
    signed = attested(consortium, tmp_path / "release")
    entries = json.loads((tmp_path / "release" / PRIVACY).read_text())["parties"]
    stated = [entry["epsilon_per_person"] for entry in entries]
    assert [one["statement"]["charges"]["epsilon_per_person"] for one in signed] == stated


def test_a_run_that_the_parties_scored_is_attested_with_what_scoring_cost(tmp_path: Path) -> None:
    consortium = make_consortium(3, domain=(2, 3), rows=30, simulation=False)
    evaluation = Evaluation(Fraction(1, 5), ("A0",))
    consortium.drive(tmp_path / "release", algorithm="one-way", evaluation=evaluation, close=False)
    assert len(attested(consortium, tmp_path / "release")) == 3
