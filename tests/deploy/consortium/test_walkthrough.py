"""docs/walkthrough.md, step by step as it stands: real processes, separate folders, separate keys."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from privity.common.exit_codes import Exit
from privity.common.formats import require
from privity.common.release.release_folder import verify_release
from tests.harness.command import here, listening, privity, serves, wait_until
from tests.harness.walkthrough import Background, check_release, commands, edit, make_files, steps_of_two_runs

pytestmark = pytest.mark.process

MOST_COMMANDS = 15


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The parties' rows and the schema, as the page makes them, on a machine whose ledgers nobody has used."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "account"))
    if listening(7443):
        pytest.skip("port 7443, which the page names, is taken on this machine")
    make_files(tmp_path)
    return tmp_path


@pytest.fixture
def nodes(place: Path) -> Iterator[Background]:
    """Nodes that were started, to be stopped."""
    with Background(place) as made:
        yield made


def follow(place: Path, nodes: Background, steps: list[str]) -> None:
    for step in steps:
        if step.startswith("#"):
            edit(place, step)
            continue
        if serves(step):
            nodes.start(step)
            continue
        done = privity(*shlex.split(step)[1:], cwd=place)
        assert done.returncode == 0, f"{step}\n{done.stdout}{done.stderr}{nodes.logs()}"


def test_a_newcomer_reaches_a_release(place: Path, nodes: Background) -> None:
    assert len(commands()) <= MOST_COMMANDS
    follow(place, nodes, commands())
    check_release(place)
    statement = json.loads((place / "release" / "privacy.json").read_text())
    require(statement, "privacy", "privacy")
    assert not statement["simulation"]
    assert [party["rows"] for party in statement["parties"]] == [6730, 6730, 6730]
    spent = here(place, "privity party ledger --config north/party.toml")
    assert "epsilon 1 spent. Left: 0 of 1." in spent.stdout


@pytest.mark.long
def test_the_page_is_followed_to_its_end(place: Path, nodes: Background) -> None:
    follow(place, nodes, commands())
    follow(place, nodes, steps_of_two_runs())
    verify_release(place / "release")
    verify_release(place / "second")
    header = (place / "second" / "synthetic.csv").read_text().splitlines()[0]
    assert header == "visits,diseases,deductible,health"
    first, second = ((place / name / "schema.json").read_text() for name in ("release", "second"))
    assert first != second, "the second has the domains that were found"


def test_a_party_that_nobody_sealed_is_told_so_and_stops(place: Path, nodes: Background) -> None:
    for command in commands()[:10]:
        if serves(command):
            nodes.start(command)
        else:
            assert here(place, command).returncode == 0
    wait_until(lambda: listening(7443), "the curator")
    # The north lost its folder and joined anew; its answer never came to the organiser.
    (place / "north").rename(place / "lost")
    again = "privity party init --invite organiser/invites/north.json --data north.csv --population p --total-epsilon 1"
    assert here(place, again).returncode == 0
    done = privity("party", "serve", "--config", "north/party.toml", cwd=place)
    assert done.returncode == Exit.CONNECTION
    assert "connection-failed" in done.stderr
    assert "manifest does not list it" in done.stderr
    assert "Ask the organiser" in done.stderr
