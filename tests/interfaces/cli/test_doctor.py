"""``privity doctor`` on folders that were made as an organiser, a curator and a party make them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.exit_codes import Exit
from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.storage.journal import Journal
from privity.common.text.utc_times import utc_now
from privity.party.config import JOURNAL_FILE, load_config, open_books
from privity.party.ledger_rollback import KnownLedger
from privity.party.other_nodes import OtherNodes
from privity.party.policy_file import policy_obeyed, sha256
from tests.harness.command import privity, run_in, start, wait_until
from tests.harness.tables import write_people

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A consortium of two that was sealed; nobody serves."""
    place = tmp_path_factory.mktemp("consortium")
    table, schema = write_people(place, 60)
    organiser, joins = place / "organiser", place / "organiser" / "joins"
    steps = [
        ["consortium", "init", "--folder", organiser, "--name", "clinics", "--curator", "localhost:1",
         "--schema", schema, "--party", "north", "--party", "south"],
        ["consortium", "invite", "--folder", organiser],
        ["curator", "init", "--invite", organiser / "invites" / "curator.json", "--folder", place / "curator",
         "--listen", "127.0.0.1:0", "--answer", joins / "curator.json"],
        *(
            ["party", "init", "--invite", organiser / "invites" / f"{name}.json", "--folder", place / name,
             "--data", table, "--population", "people", "--total-epsilon", "1", "--answer", joins / f"{name}.json"]
            for name in ("north", "south")
        ),
        ["operator", "init", "--invite", organiser / "invites" / "operator.json", "--folder", place / "operator",
         "--answer", joins / "operator.json"],
        ["consortium", "seal", "--folder", organiser],
        ["curator", "accept", organiser / "manifest.json", "--config", place / "curator" / "curator.toml"],
    ]  # fmt: skip
    for step in steps:
        done = privity(*(str(part) for part in step))
        assert done.returncode == 0, done.stderr
    return place


def verdicts(file: Path) -> tuple[int, dict[str, tuple[str, str, str]]]:
    done = privity("doctor", "--config", str(file), "--json")
    checks = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, {c["check"]: (c["verdict"], c["found"], c["remedy"]) for c in checks}


def test_a_party_with_everything_but_a_curator(made: Path) -> None:
    code, found = verdicts(made / "north" / "party.toml")
    assert code == 1
    amiss = {what for what, (verdict, _, _) in found.items() if verdict == "amiss"}
    assert amiss == {"connection"}
    assert "nobody answers there" in found["connection"][1]
    assert found["manifest"][0] == "warning", "it comes with the first connection"
    assert found["data"][1].startswith("60 rows")
    assert found["budget"][1] == "epsilon 1 of 1 left"
    assert "the only one of 'people'" in found["ledger"][1]
    assert found["certificate"][1] == "364 days left"


def test_a_curator_that_could_serve(made: Path) -> None:
    code, found = verdicts(made / "curator" / "curator.toml")
    assert code == 0
    assert {verdict for verdict, _, _ in found.values()} == {"ok"}
    assert {"certificate of party/north", "certificate of operator/operator", "schema", "address"} <= set(found)
    shown = privity("doctor", "--config", str(made / "curator" / "curator.toml"))
    assert shown.returncode == 0
    assert re.search(r"manifest .*ok", shown.stdout)


def test_an_operator_with_everything_but_a_curator(made: Path) -> None:
    code, found = verdicts(made / "operator" / "operator.toml")
    assert code == 1
    assert {what for what, (verdict, _, _) in found.items() if verdict == "amiss"} == {"connection"}
    assert found["certificate"] == ("ok", "364 days left", "")


def changed(made: Path, file: str, old: str, new: str):
    """Puts the file back afterwards."""
    path = made / file
    before = path.read_bytes()
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path, before


@pytest.mark.parametrize(
    ("file", "old", "new", "check", "said"),
    [
        ("north/policy.toml", 'epsilon_per_run = "1"', 'epsilon_per_run = "none"', "policy", "not a positive number"),
        ("north/policy.toml", 'population = "people"', 'population = "poeple"', "policy", "is not declared"),
        ("north/policy.toml", 'population = "people"', 'population = "poeple"', "budget", "is 'people' meant?"),
        ("north/party.toml", "people.csv", "missing.csv", "data", "no such file"),
        ("north/schema.json", '"name"', '"nam"', "data", "unknown key"),
    ],
)
def test_what_is_amiss_is_named_with_a_remedy(made: Path, file: str, old: str, new: str, check: str, said: str) -> None:
    path, before = changed(made, file, old, new)
    try:
        code, found = verdicts(made / "north" / "party.toml")
    finally:
        path.write_bytes(before)
    assert code == 1
    verdict, text, remedy = found[check]
    assert verdict == "amiss"
    assert said in text
    assert remedy


def test_a_total_below_what_a_run_may_cost_is_named(made: Path) -> None:
    path, before = changed(made, "north/policy.toml", 'epsilon_per_run = "1"', 'epsilon_per_run = "2"')
    try:
        _, found = verdicts(made / "north" / "party.toml")
    finally:
        path.write_bytes(before)
    verdict, text, remedy = found["policy"]
    assert (verdict, text) == ("warning", "the total is below what a run may cost: epsilon 2 a run, 1 in all")
    assert "privity population change" in remedy


def test_keys_that_others_may_read_and_a_manifest_that_lists_others(made: Path) -> None:
    key = made / "south" / "keys" / "signing.pem"
    key.chmod(0o644)
    (made / "south" / "manifest.json").write_bytes((made / "organiser" / "manifest.json").read_bytes())
    other = (made / "north" / "tls.pem").read_bytes()
    (made / "south" / "tls.pem").write_bytes(other)
    code, found = verdicts(made / "south" / "party.toml")
    assert code == 1
    assert found["private files"][0] == "amiss"
    assert "chmod 600" in found["private files"][2]
    assert "another certificate for south" in found["manifest"][1]


def test_a_curator_takes_no_manifest_over_another_schema(made: Path) -> None:
    path, before = changed(made, "curator/schema.json", '"name": "age"', '"name": "years"')
    try:
        accepted = ("curator", "accept", str(made / "organiser" / "manifest.json"))
        done = privity(*accepted, "--config", str(made / "curator" / "curator.toml"))
    finally:
        path.write_bytes(before)
    assert done.returncode == Exit.INPUT
    assert "over another schema" in done.stderr
    assert "--schema FILE" in done.stderr


def test_an_address_for_metrics_is_looked_at(made: Path) -> None:
    file = made / "north" / "party.toml"
    before = file.read_text()
    try:
        file.write_text(before + 'metrics = "127.0.0.1:0"\n')
        assert verdicts(file)[1]["metrics"] == ("ok", "127.0.0.1:0 is free", "")
        file.write_text(before + 'metrics = "127.0.0.1"\n')
        done = privity("doctor", "--config", str(file))
        assert "metrics" in done.stderr
    finally:
        file.write_text(before)


def read_by_its_node(party: Path) -> str:
    """The digest of the policy that the running node has read last."""
    file = party / "state" / JOURNAL_FILE
    if not file.exists():
        return ""
    with closing(Journal(file)) as journal:
        obeyed = policy_obeyed(journal)
    return obeyed.sha256 if obeyed else ""


def test_it_says_which_policy_the_running_node_obeys(made: Path) -> None:
    file, policy = made / "north" / "party.toml", made / "north" / "policy.toml"
    before = policy.read_text()
    idle = "no node is running"
    assert verdicts(file)[1]["policy at work"][1].startswith(idle)
    node = start("party", "serve", "--config", file)
    try:
        for text, verdict, said in (
            (before, "ok", "the running node has obeyed"),
            (before.replace('"manual"', '"by-policy"'), "ok", "the running node has obeyed"),
            (before.replace("minimum_parties", "minimum_partys"), "amiss", "has refused every run since"),
            (before.replace('"people"', '"poeple"'), "amiss", "has refused every run since"),
            (before, "ok", "the running node has obeyed"),
        ):
            policy.write_text(text)
            wait_until(lambda text=text: read_by_its_node(made / "north") == sha256(text.encode()), "it is read")
            found = verdicts(file)[1]["policy at work"]
            assert (found[0], said in found[1]) == (verdict, True), found
        assert node.poll() is None, "a broken policy ends no node"
    finally:
        node.kill()
        node.communicate()
        policy.write_text(before)
    assert verdicts(file)[1]["policy at work"][1].startswith(idle)


def test_a_ledger_that_was_set_back_is_found_and_has_a_way_on(made: Path, tmp_path: Path) -> None:
    place, book, copy = tmp_path / "north", tmp_path / "ledger.sqlite", tmp_path / "backup.sqlite"
    shutil.copytree(made / "north", place)
    shutil.copy(made / "people.csv", tmp_path)
    file, policy = place / "party.toml", place / "policy.toml"
    policy.write_text(policy.read_text().replace('"people"', '"patients"'))
    file.write_text(f'ledger = "{book}"\n{file.read_text()}')
    run_in(place, "population", "declare", "patients", "--total-epsilon", "1", "--ledger", str(book))
    shutil.copy(book, copy)
    (place / "state").mkdir(exist_ok=True)
    journal, ledger = open_books(load_config(file), "patients")
    with closing(journal), closing(ledger):
        ledger.charge(Charge("autumn", "a", PureDP(Fraction(1, 4), RELATION)), Allowance(), "north")
        journal.record_together(KnownLedger(journal, ledger).renewal()[0])
    assert verdicts(file)[1]["ledger"][0] == "ok"
    shutil.copy(copy, book)
    verdict, found, remedy = verdicts(file)[1]["ledger"]
    served = privity("party", "serve", "--config", file)
    assert (verdict, served.returncode) == ("amiss", Exit.BUDGET), served.stderr
    assert "it was set back" in found
    assert "it was set back" in served.stderr
    assert "privity party restored --config" in remedy
    assert "Spent so far: epsilon 0." in run_in(place, "party", "restored", "--config", "party.toml")
    verdict, found, remedy = verdicts(file)[1]["ledger"]
    assert (verdict, "was set back" in found) == ("amiss", True), found
    assert "privity population adjust" in remedy
    said = run_in(place, "population", "adjust", "patients", "--spent-epsilon", "0.25", "--ledger", str(book))
    assert said == "Spent: epsilon 0.25. Left: 0.75 of 1.\n"
    assert verdicts(file)[1]["ledger"][0] == "ok"


@pytest.fixture
def proxy() -> Iterator[int]:
    """The port of one that asks for credentials."""
    command = [sys.executable, "-m", "tests.harness.proxy", "0", "north:secret"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("", "asks for credentials"),
        ("north:wrong@", "does not accept these credentials"),
        ("north:secret@", "says: HTTP/1.1 503"),
    ],
)
def test_a_proxy_is_named_with_what_it_says_and_without_its_password(
    made: Path, proxy: int, user: str, said: str
) -> None:
    setting = f'proxy = "http://{user}127.0.0.1:{proxy}"\ndata = '
    path, before = changed(made, "north/party.toml", "data = ", setting)
    try:
        code, found = verdicts(path)
    finally:
        path.write_bytes(before)
    assert code == 1
    assert found["proxy"][0] == found["connection"][0] == "amiss"
    for what in ("proxy", "connection"):
        assert f"the proxy http://127.0.0.1:{proxy}" in found[what][1]
        assert said in found[what][1]
    assert "wrong" not in str(found)
    assert "secret" not in str(found)


def test_another_node_under_the_certificate_is_named_and_the_older_one_does_not_serve_again(
    made: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(made / "north", tmp_path / "north"))
    shutil.copy(made / "people.csv", tmp_path)
    file, state = folder / "party.toml", folder / "state"
    state.mkdir(mode=0o700, exist_ok=True)
    with closing(Journal(state / JOURNAL_FILE)) as journal:
        nodes = OtherNodes("north", journal)
        nodes.note(utc_now())
        verdict, found, remedy = verdicts(file)[1]["other nodes"]
        assert (verdict, "the older one was refused on" in found) == ("warning", True)
        assert "Stop the older one" in remedy
        nodes.stopped()
    verdict, found, remedy = verdicts(file)[1]["other nodes"]
    assert (verdict, "a newer node serves" in found) == ("amiss", True)
    assert "privity party restored" in remedy
    refused = privity("party", "serve", "--config", str(file))
    assert refused.returncode == Exit.OTHER
    assert "a newer node serves" in refused.stderr


def test_where_there_is_no_node_it_says_so(tmp_path: Path) -> None:
    done = privity("doctor", "--config", str(tmp_path / "policy.toml"))
    assert done.returncode == Exit.INPUT
    assert "[bad-option]" in done.stderr
