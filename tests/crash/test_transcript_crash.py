"""A party that is killed at any write while it closes a run: its transcript is written, and always the same."""

from __future__ import annotations

import os
import signal
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.consortium.manifest import manifest_from
from privity.common.crypto.identity import Identity
from privity.common.privacy.ledger import Ledger
from privity.common.protocol.steps import Close, Contribute, Done
from privity.common.protocol.transcript import read_transcript
from privity.common.storage import safe_files
from privity.common.storage.canonical_json import parse
from privity.common.storage.journal import Journal
from privity.common.wire.codec import decode_reply
from privity.party import transcript
from privity.party.charged_releases import ChargedReleases
from privity.party.keys import Keys
from privity.party.sources.rows import InMemory
from privity.party.step_answers import PartyEngine
from tests.harness.consortium import POPULATION, make_consortium, make_schema, make_table, open_policy
from tests.harness.steps import laplace_round
from tests.harness.zygote import zygote

pytestmark = pytest.mark.process

NAME, RUN = "party-1", "run-1"
ROUND = laplace_round(RUN, "test", "1", ((0,),), Fraction(1))
KEYS, MANIFEST = "keys", "manifest.json"


def prepare(folder: Path) -> None:
    """A party with an open run, in files."""
    consortium = make_consortium(2, domain=(2, 3), rows=20, folder=folder)
    consortium.begin(consortium.spec(algorithm="one-way"))
    consortium.seal(ROUND, consortium.attempt(ROUND))
    consortium.tell(NAME, Contribute(laplace_round(RUN, "test", "2", ((9,),), Fraction(1))))
    consortium.parties[NAME].identity.save(folder / KEYS)
    stored = consortium.parties[NAME].journal.content(f"{RUN}/manifest")
    assert stored is not None
    (folder / MANIFEST).write_bytes(stored)
    for party in consortium.parties.values():
        party.journal.close()


def party_of(folder: Path) -> PartyEngine:
    """That party, started from its files."""
    journal = Journal(folder / f"{NAME}-journal.sqlite")
    ledger = Ledger(folder / f"{NAME}-ledger.sqlite", POPULATION)
    releases = ChargedReleases(NAME, InMemory(make_table(make_schema((2, 3)), 20, seed=1)), journal, ledger)
    manifest = manifest_from(parse((folder / MANIFEST).read_bytes()))
    keys = Keys(NAME, Identity.load(folder / KEYS))
    return PartyEngine(releases, open_policy, keys, manifest, folder / transcript.TRANSCRIPTS)


def close_and_die(place: str, writes: int) -> None:
    """Close the run, killed before the write of this number."""
    folder, left = Path(place), writes

    def before(original):
        def counted(*arguments, **options):
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return original(*arguments, **options)

        return counted

    engine = party_of(folder)
    for name in ("record", "record_together", "erase", "drop"):
        setattr(Journal, name, before(getattr(Journal, name)))
    transcript.write_private = before(safe_files.write_private)
    transcript.sync = before(transcript.sync)
    print(decode_reply(engine.handle(Close(RUN, "COMPLETED"))))


def killed(folder: Path, writes: int) -> bool:
    process = zygote().start(f"{__name__}:close_and_die", [str(folder), writes])
    _, told = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGKILL), told
    return process.returncode != 0


def test_a_party_killed_while_it_closes_writes_one_transcript(tmp_path: Path) -> None:
    texts, points = set(), 0
    prepare(tmp_path)
    saved = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    file = tmp_path / transcript.TRANSCRIPTS / f"{RUN}.json"
    while True:
        for name, content in saved.items():
            (tmp_path / name).write_bytes(content)
        for name in ("-wal", "-shm"):
            if f"{NAME}-journal.sqlite{name}" not in saved:
                (tmp_path / f"{NAME}-journal.sqlite{name}").unlink(missing_ok=True)
        file.unlink(missing_ok=True)
        if not killed(tmp_path, points):
            break
        before = file.read_bytes() if file.exists() else None
        engine = party_of(tmp_path)
        assert decode_reply(engine.handle(Close(RUN, "COMPLETED")))[2] == Done()
        text = file.read_bytes()
        assert before in (None, text), "what was written stays as it was"
        texts.add(text)
        assert engine._journal.keys(f"{RUN}/") == []
        engine._journal.close()
        points += 1
    assert points >= 5, "the end, the file, its folder, the mark, the erasure"
    assert len(texts) == 1
    signed = read_transcript(file, [manifest_from(parse((tmp_path / MANIFEST).read_bytes()))])
    assert signed.end == "COMPLETED"
    assert [entry.step for entry in signed.entries] == [
        "enrol", "begin", "contribute/1", "seal/1/1/0", "contribute/2", "close",
    ]  # fmt: skip
