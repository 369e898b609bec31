"""``privity population ...`` as a data owner uses it, in processes of their own: totals, typos, doctor."""

from __future__ import annotations

import re
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.exit_codes import Exit
from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP, PureDP
from tests.harness.command import here
from tests.harness.tables import write_people

NORTH = "patients of the north"
DELTA = Fraction(1, 10**9)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_people(tmp_path, 200)
    return tmp_path


def run(place: Path, command: str):
    return here(place, f"privity {command}")


def done(place: Path, command: str) -> str:
    found = run(place, command)
    assert found.returncode == 0, found.stderr
    return found.stdout


def synthesize(place: Path, epsilon: str, out: str, population: str = NORTH):
    table = next(place.glob("*.csv")).name
    schema = next(place.glob("*.json")).name
    rest = f"--algorithm one-way --epsilon {epsilon} --population {population!r} --out {out}"
    return run(place, f"synthesize --data {table} --schema {schema} {rest}")


def test_a_total_is_given_once_and_binds_every_release(place: Path) -> None:
    assert synthesize(place, "1", "none").returncode == Exit.BUDGET
    said = done(place, f"population declare {NORTH!r} --total-epsilon 4")
    assert f"{NORTH!r}: epsilon 4 and delta 0 in all; a person has 1 row. Spent so far: epsilon 0." in said
    assert done(place, f"population declare {NORTH!r} --total-epsilon 4") == said
    assert synthesize(place, "3", "release").returncode == 0
    refused = synthesize(place, "5", "more")
    assert refused.returncode == Exit.BUDGET
    assert "asked 5, 1 left of 4" in refused.stderr
    assert not (place / "more").exists()
    typo = synthesize(place, "1", "typo", "patients of the nroth")
    assert typo.returncode == Exit.BUDGET
    assert f"is {NORTH!r} meant?" in typo.stderr
    assert len(list((place / "state/privity/ledgers").glob("*.sqlite"))) == 1
    listed = done(place, "population list")
    assert re.search(rf"{NORTH} .*3 .*4 .*0 .*0 .*1 .*patients_of_the_north.sqlite", listed)


def test_a_total_is_raised_only_if_it_is_meant_and_each_change_is_a_line(place: Path) -> None:
    done(place, f"population declare {NORTH!r} --total-epsilon 2")
    refused = run(place, f"population change {NORTH!r} --total-epsilon 3")
    assert refused.returncode == Exit.INPUT
    assert "add --raise" in refused.stderr
    assert "epsilon 3 and" in done(place, f"population change {NORTH!r} --total-epsilon 3 --raise")
    assert "epsilon 1 and" in done(place, f"population change {NORTH!r} --total-epsilon 1")
    assert "up to 3 rows" in done(place, f"population change {NORTH!r} --rows-per-person 3")
    fewer = run(place, f"population change {NORTH!r} --rows-per-person 2")
    assert fewer.returncode == Exit.INPUT
    assert "Keep 3 or more" in fewer.stderr
    lines = done(place, f"party ledger --population {NORTH!r} --steps")
    for total, rows in ((2, 1), (3, 1), (1, 1), (1, 3)):
        assert f"total: epsilon {total}, delta 0, {rows} row{'' if rows == 1 else 's'} a person" in lines
    assert "Left: 1 of 1." in lines


def test_two_ledgers_become_one_and_the_other_is_closed(place: Path) -> None:
    done(place, f"population declare {NORTH!r} --total-epsilon 4")
    here_, there = place / "state/privity/ledgers/patients_of_the_north.sqlite", place / "copy.sqlite"
    there.write_bytes(here_.read_bytes())
    with_line = open_ledger(NORTH, there)
    with_line.charge(Charge("old", "a", PureDP(Fraction(3), RELATION)), Allowance(), "owner")
    with_line.close()
    assert synthesize(place, "1", "release").returncode == 0
    merged = done(place, f"population merge {NORTH!r} copy.sqlite")
    assert "which is closed: 1." in merged
    assert "Spent: epsilon 4." in merged
    assert "nothing more" not in done(place, f"party ledger --population {NORTH!r}")
    assert "0 left of 4" in synthesize(place, "1", "more").stderr
    again = run(place, f"population merge {NORTH!r} copy.sqlite")
    assert again.returncode == Exit.BUDGET
    assert "was merged into another ledger" in again.stderr


def joined(place: Path, **changes: str) -> Path:
    """The folder of a party that an organiser invited, with changes to its settings."""
    done(place, "consortium init --folder organiser --name clinics --curator localhost:7443 --schema people.schema.json"
                " --party north --party south")  # fmt: skip
    done(place, "consortium invite --folder organiser")
    done(place, f"party init --invite organiser/invites/north.json --data people.csv --population {NORTH!r}")
    settings = place / "north" / "party.toml"
    settings.write_text(settings.read_text() + "".join(f"{key} = {value!r}\n" for key, value in changes.items()))
    return place / "north"


def test_the_doctor_warns_of_a_second_ledger_of_the_same_people(place: Path) -> None:
    """Finding C: nodes, programs and folders with ledgers of their own had separate budgets without a word."""
    joined(place, ledger="own.sqlite")
    done(place, f"population declare {NORTH!r} --total-epsilon 4 --ledger north/own.sqlite")
    assert "the only one of" in run(place, "doctor --config north/party.toml").stdout
    second = place / "state/privity/ledgers/patients_of_the_north.sqlite"
    second.write_bytes((place / "north" / "own.sqlite").read_bytes())
    warned = run(place, "doctor --config north/party.toml").stdout
    assert f"{NORTH!r} has another ledger, and so another budget: {second}" in " ".join(warned.split())
    done(place, f"population merge {NORTH!r} {second} --ledger north/own.sqlite")
    assert "the only one of" in run(place, "doctor --config north/party.toml").stdout


def test_what_is_reserved_is_shown_in_plain_words_and_can_be_returned(place: Path) -> None:
    done(place, f"population declare {NORTH!r} --total-epsilon 4")
    with closing(open_ledger(NORTH, None, "a node that is gone")) as ledger:
        ledger.reserve("run-1", ApproxDP(Fraction(3), Fraction(0), RELATION), "north")
    listed = done(place, "population list")
    assert f"{NORTH}: epsilon 3 reserved by run-1, a run that has begun, since " in listed
    assert re.search(rf"{NORTH} .*0 .*3 .*4 .*0 .*0 .*0 .*1 ", listed)
    refused = synthesize(place, "2", "release")
    assert refused.returncode == Exit.BUDGET
    assert "asked 2, 1 left of 4 (3 of it reserved by runs that have begun)" in refused.stderr
    shown = done(place, f"party ledger --population {NORTH!r} --steps")
    assert "reserved for the run: epsilon 3" in shown
    assert "Epsilon 3 reserved by run-1, a run that has begun, since " in shown
    assert "Left: 1 of 4." in shown
    lowered = done(place, f"population change {NORTH!r} --total-epsilon 2")
    assert "have reserved epsilon 3 besides, with what is spent more than the total" in lowered
    unknown = run(place, f"population return {NORTH!r} run-2")
    assert unknown.returncode == Exit.INPUT
    assert "'run-2' has reserved nothing" in unknown.stderr
    assert "Returned. Left: epsilon 2 of 2." in done(place, f"population return {NORTH!r} run-1")
    assert synthesize(place, "2", "release").returncode == 0
    assert "reserved by" not in done(place, "population list")
