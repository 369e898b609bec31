"""A whole run between real processes, and the transcripts of its parties compared by the commands."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from privity.common.crypto.identity import Identity
from privity.common.exit_codes import Exit
from privity.common.formats import read_json
from privity.common.protocol.transcript import open_transcript, transcript_text
from tests.harness.command import here, privity, run_in, serves, wait_until
from tests.harness.founding import found
from tests.harness.walkthrough import CURATOR, PARTIES, Background, commands, free_port

pytestmark = pytest.mark.process

RUN = "autumn"
FILES = tuple(f"{party}.json" for party in PARTIES)


def fails(place: Path, *files: str) -> tuple[int, str]:
    command = f"privity transcript verify {' '.join(files)} --manifest organiser/manifest.json"
    done = here(place, command)
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A consortium that has completed a run, with an exported transcript of each party."""
    folder = tmp_path_factory.mktemp("consortium")
    address = f"localhost:{free_port()}"
    found(folder, address)
    with Background(folder) as nodes:
        for command in commands():
            if serves(command):
                nodes.start(command)
        *_, submit = commands()
        done = privity(*shlex.split(f"{submit.replace(CURATOR, address)} --name {RUN}")[1:], cwd=folder)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}{nodes.logs()}"
        for party, file in zip(PARTIES, FILES, strict=True):
            kept = folder / party / "state" / "transcripts" / f"{RUN}.json"
            wait_until(kept.exists, "a run that is closed")
            # Beside the node, which serves on.
            run_in(folder, "party", "transcript", RUN, "--config", f"{party}/party.toml", "--out", file)
            assert (folder / file).read_bytes() == kept.read_bytes()
    return folder


def test_all_parties_were_told_the_same(place: Path) -> None:
    for manifest in ("organiser/manifest.json", "north/manifest.json"):
        said = run_in(place, "transcript", "verify", *FILES, "--manifest", manifest)
        assert "They agree: east, north, south were told the same in autumn." in said
    assert "COMPLETED" in run_in(place, "party", "transcript", "--config", "south/party.toml")


def test_one_transcript_alone_says_nothing_about_others(place: Path) -> None:
    said = run_in(place, "transcript", "verify", FILES[0], "--manifest", "north/manifest.json")
    assert "Chain and signature hold." in said
    assert "Nothing is said about south, east" in said


def test_a_changed_file_is_named(place: Path) -> None:
    document = json.loads((place / FILES[1]).read_text())
    document["entries"][3]["content"] = "0" * 64
    (place / "changed.json").write_text(json.dumps(document))
    code, said = fails(place, FILES[0], "changed.json")
    assert code == Exit.OTHER
    assert "error [tampered]: changed.json: entry 4 (" in said


def signed_anew(place: Path, party: str, **changes: Any) -> None:
    """``other.json``: what this party would sign if it had been told otherwise."""
    told = open_transcript(read_json(place / f"{party}.json"), party)
    other = replace(told, **changes).signed(Identity.load(place / party / "keys"))
    (place / "other.json").write_text(transcript_text(other))


def test_a_difference_is_named_and_has_an_exit_code_of_its_own(place: Path) -> None:
    entries = open_transcript(read_json(place / "south.json"), "south").entries
    step = next(entry.step for entry in entries if entry.step.startswith("contribute/"))
    changed = tuple(replace(entry, content="0" * 64) if entry.step == step else entry for entry in entries)
    signed_anew(place, "south", entries=changed)
    code, said = fails(place, "north.json", "other.json", "east.json")
    assert code == Exit.DIFFER
    assert "error [transcripts-differ]: the transcripts of run autumn do not fit together:" in said
    for parties in ("north and south", "south and east"):
        assert f"{parties}, {step}: the content differs. They were asked different questions in one round." in said
    assert "north and east" not in said


def test_transcripts_of_several_runs_are_not_compared(place: Path) -> None:
    signed_anew(place, "south", run="spring")
    code, said = fails(place, "north.json", "other.json")
    assert (code, "they are of several runs: autumn, spring" in said) == (Exit.INPUT, True)


def test_unknown_runs_and_missing_files_are_told(place: Path) -> None:
    done = privity("party", "transcript", "../ledger", "--config", "north/party.toml", cwd=place)
    assert done.returncode == Exit.REFUSED
    assert "no run ../ledger" in done.stderr
    code, said = fails(place, "none.json")
    assert (code, "none.json: no such file" in said) == (Exit.INPUT, True)
