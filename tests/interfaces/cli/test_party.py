"""What a data owner's commands say, in folders that were made by the commands of docs/walkthrough.md; nobody serves."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.exit_codes import Exit
from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.run_spec import RunSpec
from privity.common.storage.journal import Journal
from privity.party.approvals import Approvals, closed_key
from privity.party.config import JOURNAL_FILE, ledger_of, load_config, read_policy
from privity.party.sources import pass_progress
from privity.party.sources.pass_progress import a_pass, kept_in
from tests.harness.command import privity, program
from tests.harness.founding import found
from tests.harness.signed_requests import signed_for
from tests.harness.walkthrough import PARTIES, free_port

pytestmark = pytest.mark.process

SPEC = RunSpec(
    run="autumn",
    algorithm="dp-subn",
    settings={"largest_degree": 2},
    epsilon=Fraction(1, 3),
    tolerate=1,
    members=PARTIES,
    manifest_digest="0" * 64,
)
CONFIG = "--config north/party.toml"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A consortium before its nodes start; the northern party has been asked for two runs, of which one has ended."""
    place = tmp_path_factory.mktemp("consortium")
    found(place, f"localhost:{free_port()}")
    (place / "north" / "manifest.json").write_bytes((place / "organiser" / "manifest.json").read_bytes())
    settings = load_config(place / "north" / "party.toml")
    settings.state.mkdir()
    journal = Journal(settings.state / JOURNAL_FILE)
    for run in ("autumn", "spring"):
        spec = replace(SPEC, run=run)
        Approvals(journal).file(spec, signed_for(spec, "registry"))
    journal.record(closed_key("spring"), "closed", b"{}")
    ledger_of(settings, read_policy(settings).population.name).charge(
        Charge("spring", "a", PureDP(Fraction(1, 3), RELATION)), Allowance(), "north"
    )
    return place


def run(place: Path, command: str, **options) -> subprocess.CompletedProcess[str]:
    if not options:
        return privity(*shlex.split(command), cwd=place)
    defaults = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 120, "cwd": place}
    return subprocess.run(program(f"privity {command}"), **{**defaults, **options})


def test_an_owner_reads_and_then_approves_exactly_that(place: Path) -> None:
    approvals = Approvals(Journal(load_config(place / "north" / "party.toml").state / JOURNAL_FILE))
    reader, writer = os.pipe()
    os.close(reader)
    done = run(place, f"party approve autumn {CONFIG}", stdout=writer, input="y\n")
    os.close(writer)
    assert done.returncode == Exit.INPUT
    assert "it was not read to the end; nothing was approved" in done.stderr
    assert "BrokenPipe" not in done.stderr
    for said in ("", "n\n", "\n"):
        refused = run(place, f"party approve autumn {CONFIG}", input=said)
        assert refused.returncode == Exit.INPUT
        assert "nobody approved autumn when asked" in refused.stderr
        assert f"privity party approve autumn {CONFIG} --digest DIGEST" in refused.stderr
        assert not approvals.of("autumn").approved
    shown = run(place, f"party show autumn {CONFIG}").stdout
    assert 'with the settings {"largest_degree": 2}' in shown
    assert "epsilon 0.333333" in shown
    assert "by the operator registry, who signed the request for it;" in shown
    assert "the organiser's manifest lists no operator of this name" in shown
    assert f"or: privity party reject autumn {CONFIG}" in shown
    (then,) = re.findall(rf"Then: privity (party approve autumn {CONFIG} --digest \w{{64}})\n", shown)
    assert "is not what you read any more" in run(place, then[:-1] + ("0" if then[-1] != "0" else "1")).stderr
    assert not approvals.of("autumn").approved
    assert run(place, then).returncode == Exit.DONE
    assert approvals.of("autumn").approved


def test_an_owner_who_is_asked_says_yes_to_what_was_shown_just_now(place: Path) -> None:
    approvals = Approvals(Journal(load_config(place / "north" / "party.toml").state / JOURNAL_FILE))
    cheap, dear = (replace(SPEC, run="summer", epsilon=Fraction(1, n)) for n in (100, 2))
    approvals.file(cheap, signed_for(cheap))
    program_ = program(f"privity party approve summer {CONFIG}")
    with subprocess.Popen(program_, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdin is not None
        assert asking.stdout is not None
        read = next(line for line in asking.stdout if "Epsilon" in line)
        assert "Epsilon 0.01, delta 0 for each row" in read
        approvals.forget("summer", "STOPPED", "")
        approvals.file(dear, signed_for(dear))
        asking.stdin.write("y\n")
        asking.stdin.close()
        assert asking.wait(60) == Exit.INPUT
    assert not approvals.of("summer").approved
    done = run(place, f"party approve summer {CONFIG}", input="y\n")
    assert done.returncode == Exit.DONE
    assert "Epsilon 0.5," in done.stdout
    assert approvals.of("summer").approved


def test_a_run_that_has_ended_is_said_to_have(place: Path) -> None:
    done = run(place, f"party reject spring {CONFIG}")
    assert done.returncode == Exit.DONE
    assert "spring has ended" in done.stdout
    assert "Nothing more" not in done.stdout
    assert "spring has ended" in run(place, f"party approve spring {CONFIG}").stderr


def test_a_run_that_nobody_asked_for(place: Path) -> None:
    done = run(place, f"party show winter {CONFIG}")
    assert done.returncode == Exit.REFUSED
    assert "`privity party show` lists the runs" in done.stderr


def test_amounts_are_told_with_decimals_and_how_far_a_pass_is(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pass_progress, "SECONDS", 0.0)
    with kept_in(load_config(place / "north" / "party.toml").state), a_pass() as told:
        told(0.25)
        listed = run(place, f"party show {CONFIG}").stdout
    assert re.search(r"autumn .*dp-subn .*0\.333333", listed)
    assert "A pass over the rows is at 25 % (seen at 20" in listed
    book = run(place, f"party ledger {CONFIG}").stdout
    assert "epsilon 0.333333 spent. Left: 0.666667 of 1." in book


def test_the_doctor_names_every_fault_of_a_policy_as_it_is_written(place: Path) -> None:
    policy = place / "south" / "policy.toml"
    text = policy.read_text()
    changed = text.replace('approval = "by-policy"', 'approval = "[/red]"')
    changed = changed.replace('# attributes = ["age"]', 'attributes = ["age", "shoes"]')
    changed = changed.replace('"one-way"]', '"magic"]')
    policy.write_text(changed + 'total_epsilon = "1/2"\n')
    try:
        done = run(place, "doctor --config south/party.toml")
        found = [json.loads(line) for line in run(place, "doctor --config south/party.toml --json").stdout.splitlines()]
    finally:
        policy.write_text(text)
    assert done.returncode == 1
    (said,) = [check["found"] for check in found if check["check"] == "policy"]
    for fault in (
        "'[/red]' is not one of",
        "'shoes' is none of the attr",
        "'magic' is none of the algor",
        "unknown key 'total_epsilon'",
    ):
        assert fault in said
        assert fault in done.stdout
    assert len(re.findall(r"policy\.toml:\d+: ", said)) == 4


def test_data_that_are_not_there_are_warned_of(place: Path) -> None:
    invite = "organiser/invites/north.json"
    done = run(place, f"party init --invite {invite} --data missing.csv --population people --folder other")
    assert done.returncode == Exit.DONE
    assert "Warning: missing.csv is not there" in done.stderr
    assert "privity population declare 'people' --total-epsilon TOTAL" in done.stderr


def test_a_draft_is_written_over_nothing(place: Path) -> None:
    before = (place / "people.schema.json").read_bytes()
    done = run(place, "schema draft north.csv --out people.schema.json")
    assert done.returncode == Exit.INPUT
    assert "exists already" in done.stderr
    assert (place / "people.schema.json").read_bytes() == before


def test_the_next_command_is_named_as_it_has_to_be_typed(place: Path) -> None:
    assert (
        "then: privity consortium seal --folder organiser" in run(place, "consortium invite --folder organiser").stdout
    )


def test_a_draft_is_readable_by_its_owner_alone_and_says_what_it_is(place: Path) -> None:
    done = run(place, "schema draft north.csv --out drafted.schema.json")
    assert done.returncode == 0, done.stderr
    assert (place / "drafted.schema.json").stat().st_mode & 0o777 == 0o600
    drafted = json.loads((place / "drafted.schema.json").read_text())
    assert {field["readOffRows"] for field in drafted["fields"]} == {"undeclared"}
    checked = run(place, "schema check drafted.schema.json --data north.csv")
    assert checked.returncode == 0, checked.stdout


def test_a_run_that_the_node_refused_is_shown_with_all_reasons(place: Path) -> None:
    settings = load_config(place / "north" / "party.toml")
    approvals = Approvals(Journal(settings.state / JOURNAL_FILE))
    # Of no algorithm that there is: what it would take cannot be said.
    asked = replace(SPEC, run="winter", algorithm="magic", epsilon=Fraction(9))
    approvals.deny("winter", "refused-by-policy", ("algorithm 'magic' is unknown", "epsilon 9 is above 1 a run"), asked)
    shown = run(place, f"party show winter {CONFIG}").stdout
    assert re.match(r"winter, asked for (\S+) by the curator; [^:]+: refused by policy, since \1\.\n", shown)
    assert "- Algorithm 'magic' is unknown.\n- It asked for epsilon 9. You allow at most 1 a run.\n" in shown
    assert "privity party approve" not in shown
    (listed,) = [one for one in json.loads(run(place, f"party show --json {CONFIG}").stdout) if one["run"] == "winter"]
    assert listed["state"] == "refused by policy"
    assert listed["refusal"]["reasons"] == ["algorithm 'magic' is unknown", "epsilon 9 is above 1 a run"]
    refused = run(place, f"party approve winter {CONFIG}")
    assert refused.returncode == Exit.INPUT
    assert "winter was refused by policy: algorithm 'magic' is unknown; epsilon 9" in refused.stderr
